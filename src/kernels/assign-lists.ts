/**
 * assign-lists: the nearest among explicit candidates of each point.
 *
 * lists: u32 [n][width], NO_LABEL for an empty place. labels: u32 [n], distances: f32 [n], squared.
 * With `merge` what they hold competes; without it a point with an empty list gets NO_LABEL.
 * Cost: 3 n width d operations; of sparse rows 5 for each entry and candidate, and 2 k d for the lengths of the centres.
 */
import { assignListsBody } from '../../shaders/assign-lists.ts'
import { NO_LABEL } from '../../shaders/snippets.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { CPU_SQUARES, GPU_SQUARES, runWithSquares } from './center-squares.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS, VECTORS } from './kernel-fields.ts'
import { type DeviceRows, distanceOperations } from './rows.ts'

/** The label of a point that has none. */
export { NO_LABEL }

export const labelConstants = new SharedConstants({ NO_LABEL: { type: 'u32', value: NO_LABEL } })

export const assignListsKernel = declareKernel('assign-lists', {
  args: {
    points: VECTORS,
    centers: READ_ROWS,
    lists: reads('u32'),
    width: 'u32',
    labels: writes('u32'),
    distances: writes('f32'),
    merge: 'bool',
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: GPU_SQUARES,
    body: assignListsBody,
    cut: { params: ['firstRow', 'rows'], operations: rowOperations },
  },
  cpu: {
    entry: 'assignLists',
    args: CPU_SQUARES,
    grain: (args) => Math.max(16, Math.round(1.5e6 / rowOperations(args))),
  },
})

function rowOperations({ points, width }: { readonly points: DeviceRows; readonly width: number }): number {
  return Math.max(1, width) * distanceOperations(points)
}

export interface AssignListsArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly lists: DeviceBuffer
  readonly width: number
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  readonly merge?: boolean
}

export function assignLists(device: Device, args: AssignListsArgs): Promise<void> {
  const { points, centers, lists, width, labels, distances, merge = false } = args
  return runWithSquares(device, assignListsKernel, {
    points,
    centers,
    lists: elements(lists, points.rows * width),
    width,
    labels: elements(labels, points.rows),
    distances: elements(distances, points.rows),
    merge,
  })
}

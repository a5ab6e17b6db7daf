/**
 * assign-groups: the nearest among the centres of the point's group, so that many small k-means run at
 * once over the same points.
 *
 * groups: u32 [g][2], first centre and number of centres. places: u32 [n], the group of each point,
 * NO_LABEL for none. labels: u32 [n], the number of the nearest centre (ties: the lowest), NO_LABEL
 * where there is none. Cost: 3 n width d operations; of sparse rows 5 for each entry and centre of the group, and
 * 2 k d for the lengths of the centres.
 */
import { assignGroupsBody } from '../../shaders/assign-groups.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { CPU_SQUARES, GPU_SQUARES, runWithSquares } from './center-squares.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS, VECTORS } from './kernel-fields.ts'
import { type DeviceRows, distanceOperations } from './rows.ts'

export const assignGroupsKernel = declareKernel('assign-groups', {
  args: {
    points: VECTORS,
    centers: READ_ROWS,
    /** First centre and number of centres of each group. */
    ranges: reads('vec2u'),
    groupOf: reads('u32'),
    labels: writes('u32'),
    /** Centres of the largest group. */
    width: 'u32',
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: GPU_SQUARES,
    body: assignGroupsBody,
    cut: { params: ['firstRow', 'rows'], operations: rowOperations },
  },
  cpu: {
    entry: 'assignGroups',
    args: CPU_SQUARES,
    scratch: {
      /** Four distances. */
      four: () => 16,
      /** The row as floats. */
      row: ({ points }) => (points.type === 'u8' ? points.stride * 4 : 0),
    },
    grain: (args) => Math.max(16, Math.round(1.5e6 / rowOperations(args))),
  },
})

function rowOperations({ points, width }: { readonly points: DeviceRows; readonly width: number }): number {
  return Math.max(1, width) * distanceOperations(points)
}

export interface AssignGroupsArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly groups: DeviceBuffer
  /** Centres of the largest group. */
  readonly width: number
  readonly places: DeviceBuffer
  readonly labels: DeviceBuffer
}

export function assignGroups(device: Device, args: AssignGroupsArgs, control?: RunControl): Promise<void> {
  const { points, centers, groups, width, places, labels } = args
  const given = {
    points,
    centers,
    ranges: elements(groups, groups.bytes / 8),
    groupOf: elements(places, points.rows),
    labels: elements(labels, points.rows),
    width,
  }
  return runWithSquares(device, assignGroupsKernel, given, control)
}

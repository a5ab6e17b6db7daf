/**
 * assign-lists: the nearest among explicit candidates of each point.
 *
 * lists: u32 [n][width], NO_LABEL for an empty place. labels: u32 [n], distances: f32 [n], squared.
 * With `merge` what they hold competes; without it a point with an empty list gets NO_LABEL.
 * Cost: 3 n width d operations; of sparse rows 5 for each entry and candidate, and 2 k d for the lengths of the centres.
 */
import { assignListsShader } from '../../shaders/assign-lists.ts'
import { NO_LABEL, THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { squaresJob, squaresPasses, withSquares } from './center-squares.ts'
import { declareFunction, SharedConstants, VECTORS } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, distanceOperations, rowBindings } from './rows.ts'

/** The label of a point that has none. */
export { NO_LABEL }

export const labelConstants = new SharedConstants({ NO_LABEL: { type: 'u32', value: NO_LABEL } })

export const assignListsFunction = declareFunction('assignLists', {
  args: {
    points: VECTORS,
    centers: reads('f32'),
    squares: mayRead('f64'),
    lists: reads('u32'),
    width: 'u32',
    labels: writes('u32'),
    distances: writes('f32'),
    merge: 'bool',
  },
})

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
  const perRow = Math.max(1, width) * distanceOperations(points)
  const shader = assignListsShader(points.type)
  return withSquares(device, points, centers, (squares) =>
    device.run({
      name: 'assign-lists',
      *webgpu(gpu) {
        if (squares) yield* squaresPasses(gpu, centers, squares)
        const rowArgs = rowBindings(points, centers, squares)
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow,
          atLeast: THREADS,
          pass: (firstRow, rows) =>
            shader.pass(gpu, { ...rowArgs, firstRow, rows, width, merge, lists, labels, distances }, { items: rows }),
        })
      },
      *cpu(memory) {
        if (squares) yield squaresJob(memory, centers, squares)
        yield assignListsFunction.job(
          memory,
          {
            points,
            centers: elements(centers.buffer, centers.rows * centers.stride),
            squares: elements(squares, centers.rows),
            lists: elements(lists, points.rows * width),
            width,
            labels: elements(labels, points.rows),
            distances: elements(distances, points.rows),
            merge,
          },
          { items: points.rows, grain: Math.max(16, Math.round(1.5e6 / perRow)) },
        )
      },
    }),
  )
}

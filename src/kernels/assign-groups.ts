/**
 * assign-groups: the nearest among the centres of the point's group, so that many small k-means run at
 * once over the same points.
 *
 * groups: u32 [g][2], first centre and number of centres. places: u32 [n], the group of each point,
 * NO_LABEL for none. labels: u32 [n], the number of the nearest centre (ties: the lowest), NO_LABEL
 * where there is none. Cost: 3 n width d operations; of sparse rows 5 for each entry and centre of the group, and
 * 2 k d for the lengths of the centres.
 */
import { assignGroupsShader } from '../../shaders/assign-groups.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { squaresJob, squaresPasses, withSquares } from './center-squares.ts'
import { declareFunction, VECTORS } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, distanceOperations, rowBindings } from './rows.ts'

export const assignGroupsFunction = declareFunction('assignGroups', {
  args: {
    points: VECTORS,
    centers: reads('f32'),
    squares: mayRead('f64'),
    ranges: reads('u32'),
    groupOf: reads('u32'),
    labels: writes('u32'),
  },
  scratch: {
    /** Four distances. */
    four: () => 16,
    /** The row as floats. */
    row: ({ points }) => (points.type === 'u8' ? points.stride * 4 : 0),
  },
})

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
  const perRow = Math.max(1, width) * distanceOperations(points)
  const shader = assignGroupsShader(points.type)
  return withSquares(device, points, centers, (squares) =>
    device.run(
      {
        name: 'assign-groups',
        *webgpu(gpu) {
          if (squares) yield* squaresPasses(gpu, centers, squares)
          const rowArgs = rowBindings(points, centers, squares)
          yield* rowPasses(gpu, {
            rows: points.rows,
            perRow,
            atLeast: THREADS,
            pass: (firstRow, rows) =>
              shader.pass(
                gpu,
                { ...rowArgs, firstRow, rows, ranges: groups, groupOf: places, labels },
                { items: rows },
              ),
          })
        },
        *cpu(memory) {
          if (squares) yield squaresJob(memory, centers, squares)
          yield assignGroupsFunction.job(
            memory,
            {
              points,
              centers: elements(centers.buffer, centers.rows * centers.stride),
              squares: elements(squares, centers.rows),
              ranges: elements(groups),
              groupOf: elements(places, points.rows),
              labels: elements(labels, points.rows),
            },
            { items: points.rows, grain: Math.max(16, Math.round(1.5e6 / perRow)) },
          )
        },
      },
      control,
    ),
  )
}

/**
 * assign-groups-sparse: the nearest among the centres of the group of every sparse row. What
 * `assignGroups` does when it is given such rows; called through it.
 * Cost: 5 operations for each entry and centre of the group, and k d for the lengths of the centres.
 */
import { assignGroupsSparse } from '../../shaders/assign-groups-sparse.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { BufferScope, type Device, type RunControl, slice } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import type { AssignGroupsArgs } from './assign-groups.ts'
import { entryArgs, meanEntries, sparsePlaces, squaresJob, squaresPasses } from './assign-sparse.ts'
import { rowPasses } from './row-passes.ts'
import { rowsAt } from './rows.ts'

export async function assignGroupsOfSparse(
  device: Device,
  { points, centers, groups, width, places, labels }: AssignGroupsArgs,
  control?: RunControl,
): Promise<void> {
  const work = 5 * Math.max(1, width) * meanEntries(points)
  const scope = new BufferScope(device)
  try {
    const squares = scope.allocate(centers.rows * 8, 'squared lengths of centres')
    await device.run(
      {
        name: 'assign-groups-sparse',
        *webgpu(gpu) {
          yield* squaresPasses(gpu, centers, squares)
          yield* rowPasses(gpu, {
            rows: points.rows,
            perRow: work,
            atLeast: THREADS,
            pass: (first, count) => ({
              shader: assignGroupsSparse,
              bindings: [
                points.buffer,
                sparsePlaces(points).places,
                centers.buffer,
                slice(squares, 0, centers.rows * 4),
                groups,
                places,
                labels,
              ],
              params: [first, count, sparsePlaces(points).columnsAt, centers.stride],
              groups: gridFor(count, THREADS, gpu.limits.workgroups),
            }),
          })
        },
        *cpu(memory) {
          const start = rowsAt(memory, centers)
          yield squaresJob(start, centers, memory.address(squares, centers.rows * 8))
          yield {
            entry: 'assignGroupsSparse',
            items: points.rows,
            grain: Math.max(16, Math.round(5e5 / work)),
            args: [
              ...entryArgs(memory, points),
              start,
              memory.address(squares, centers.rows * 8),
              memory.address(groups, groups.bytes),
              memory.address(places, points.rows * 4),
              memory.address(labels, points.rows * 4),
            ],
          }
        },
      },
      control,
    )
  } finally {
    scope.free()
  }
}

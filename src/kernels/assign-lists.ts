/**
 * assign-lists: the nearest among explicit candidates of each point.
 *
 * lists: u32 [n][width], NO_LABEL for an empty place. labels: u32 [n], distances: f32 [n], squared.
 * With `merge` what they hold competes; without it a point with an empty list gets NO_LABEL.
 * Cost: 3 n width d operations.
 */
import { assignListsShader } from '../../shaders/assign-lists.ts'
import { THREADS } from '../../shaders/pieces.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { assignListsOfSparse } from './assign-sparse.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

/** The label of a point that has none. */
export const NO_LABEL = 0xffffffff

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
  const { points, centers, lists, width, labels, distances } = args
  if (points.type === 'csr') return assignListsOfSparse(device, args)
  const merge = args.merge ? 1 : 0
  return device.run({
    name: 'assign-lists',
    *webgpu(gpu) {
      yield* rowPasses(gpu, {
        rows: points.rows,
        perRow: 3 * width * points.stride,
        atLeast: THREADS,
        pass: (first, count) => ({
          shader: assignListsShader(denseType(points)),
          bindings: [points.buffer, centers.buffer, lists, labels, distances],
          params: [first, count, points.stride / 4, width, merge],
          groups: gridFor(count, THREADS, gpu.limits.workgroups),
        }),
      })
    },
    *cpu(memory) {
      yield {
        entry: 'assignLists',
        items: points.rows,
        grain: Math.max(16, Math.round(5e5 / (Math.max(1, width) * points.stride))),
        args: [
          ...rowArgs(memory, points),
          rowsAt(memory, centers),
          memory.address(lists, points.rows * width * 4),
          width,
          memory.address(labels, points.rows * 4),
          memory.address(distances, points.rows * 4),
          merge,
        ],
      }
    },
  })
}

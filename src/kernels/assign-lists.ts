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
import { gridFor, rowsWithinOperations } from '../device/plan.ts'
import { type DeviceRows, kindOf } from './rows.ts'

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
  const merge = args.merge ? 1 : 0
  return device.run({
    name: 'assign-lists',
    *webgpu(gpu) {
      const perRow = 3 * width * points.stride
      for (let row = 0; row < points.rows; ) {
        const rows = Math.min(points.rows - row, rowsWithinOperations(gpu.operationsPerPass, perRow, THREADS))
        yield {
          shader: assignListsShader(points.type),
          bindings: [points.buffer, centers.buffer, lists, labels, distances],
          params: [row, rows, points.stride / 4, width, merge],
          groups: gridFor(rows, THREADS, gpu.limits.workgroups),
          operations: rows * perRow,
        }
        row += rows
      }
    },
    *cpu(memory) {
      yield {
        entry: 'assignLists',
        items: points.rows,
        grain: Math.max(16, Math.round(5e5 / (Math.max(1, width) * points.stride))),
        args: [
          memory.address(points.buffer),
          kindOf(points),
          points.stride,
          memory.address(centers.buffer),
          memory.address(lists),
          width,
          memory.address(labels),
          memory.address(distances),
          merge,
        ],
      }
    },
  })
}

/**
 * project: the dot product of each point with the direction of its tree node.
 * nodes: u32 [n], rows of `directions`; out: f32 [n]. Cost: 2 n d operations.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { projectShader } from '../../shaders/project.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { gridFor, rowsWithinOperations } from '../device/plan.ts'
import { type DeviceRows, kindOf } from './rows.ts'

export interface ProjectArgs {
  readonly points: DeviceRows
  readonly directions: DeviceRows
  readonly nodes: DeviceBuffer
  readonly out: DeviceBuffer
}

export function project(device: Device, { points, directions, nodes, out }: ProjectArgs): Promise<void> {
  return device.run({
    name: 'project',
    *webgpu(gpu) {
      const perRow = 2 * points.stride
      for (let row = 0; row < points.rows; ) {
        const rows = Math.min(points.rows - row, rowsWithinOperations(gpu.operationsPerPass, perRow, THREADS))
        yield {
          shader: projectShader(points.type),
          bindings: [points.buffer, directions.buffer, nodes, out],
          params: [row, rows, points.stride / 4],
          groups: gridFor(rows, THREADS, gpu.limits.workgroups),
          operations: rows * perRow,
        }
        row += rows
      }
    },
    *cpu(memory) {
      yield {
        entry: 'project',
        items: points.rows,
        grain: Math.max(64, Math.round(5e5 / points.stride)),
        args: [
          memory.address(points.buffer),
          kindOf(points),
          points.stride,
          memory.address(directions.buffer),
          memory.address(nodes),
          memory.address(out),
        ],
      }
    },
  })
}

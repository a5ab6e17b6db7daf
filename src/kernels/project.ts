/**
 * project: the dot product of each point with the direction of its tree node.
 * nodes: u32 [n], rows of `directions`; out: f32 [n]. Cost: 2 n d operations.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { projectShader } from '../../shaders/project.ts'
import type { ComputePass, Device, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

export interface ProjectArgs {
  readonly points: DeviceRows
  readonly directions: DeviceRows
  readonly nodes: DeviceBuffer
  readonly out: DeviceBuffer
}

export function* projectPasses(
  gpu: GpuTarget,
  { points, directions, nodes, out }: ProjectArgs,
): Generator<ComputePass> {
  yield* rowPasses(gpu, {
    rows: points.rows,
    perRow: 2 * points.stride,
    atLeast: THREADS,
    pass: (first, count) => ({
      shader: projectShader(denseType(points)),
      bindings: [points.buffer, directions.buffer, nodes, out],
      params: [first, count, points.stride / 4],
      groups: gridFor(count, THREADS, gpu.limits.workgroups),
    }),
  })
}

export function project(device: Device, args: ProjectArgs): Promise<void> {
  const { points, directions, nodes, out } = args
  return device.run({
    name: 'project',
    webgpu: (gpu) => projectPasses(gpu, args),
    *cpu(memory) {
      yield {
        entry: 'project',
        items: points.rows,
        grain: Math.max(64, Math.round(5e5 / points.stride)),
        args: [
          ...rowArgs(memory, points),
          rowsAt(memory, directions),
          memory.address(nodes, points.rows * 4),
          memory.address(out, points.rows * 4),
        ],
      }
    },
  })
}

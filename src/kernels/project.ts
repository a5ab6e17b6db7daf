/**
 * project: the dot product of each point with the direction of its tree node.
 * nodes: u32 [n], rows of `directions`; out: f32 [n]. Cost: 2 n d operations.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { projectShader } from '../../shaders/project.ts'
import type { ComputePass, Device, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'

export const projectFunction = declareFunction('project', {
  args: { points: DENSE_VECTORS, directions: reads('f32'), nodes: reads('u32'), out: writes('f32') },
})

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
  const shader = projectShader(denseType(points))
  const args = { x: points.buffer, directions: directions.buffer, nodes, out, quads: points.stride / 4 }
  yield* rowPasses(gpu, {
    rows: points.rows,
    perRow: 2 * points.stride,
    atLeast: THREADS,
    pass: (firstRow, rows) => shader.pass(gpu, { ...args, firstRow, rows }, { items: rows }),
  })
}

export function project(device: Device, args: ProjectArgs): Promise<void> {
  const { points, directions, nodes, out } = args
  return device.run({
    name: 'project',
    webgpu: (gpu) => projectPasses(gpu, args),
    *cpu(memory) {
      yield projectFunction.job(
        memory,
        {
          points,
          directions: elements(directions.buffer, directions.rows * directions.stride),
          nodes: elements(nodes, points.rows),
          out: elements(out, points.rows),
        },
        { items: points.rows, grain: Math.max(64, Math.round(5e5 / points.stride)) },
      )
    },
  })
}

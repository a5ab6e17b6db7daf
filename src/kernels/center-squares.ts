/**
 * center-squares: |c|^2 of every centre, which distances of sparse rows need. f32 [k] on a GPU, f64 [k] on the CPU.
 * Cost: 2 k d operations.
 */
import { centerSquaresShader } from '../../shaders/center-squares.ts'
import {
  type BufferPart,
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  slice,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { declareFunction } from './declared-function.ts'
import type { DeviceRows } from './rows.ts'

export const centerSquares = declareFunction('centerSquares', {
  args: { centers: reads('f32'), stride: 'u32', squares: writes('f64') },
})

/** Room for the squares on either device. */
export function allocateSquares(scope: BufferScope, centers: DeviceRows): DeviceBuffer {
  return scope.allocate(centers.rows * 8, 'squared lengths of centres')
}

export function* squaresPasses(gpu: GpuTarget, centers: DeviceRows, squares: DeviceBuffer): Generator<ComputePass> {
  const rowBytes = centers.stride * 4
  for (const { start, end } of cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')) {
    const count = end - start
    yield centerSquaresShader.pass(
      gpu,
      {
        centers: slice(centers.buffer, start * rowBytes, count * rowBytes),
        squares: slice(squares, start * 4, count * 4),
        count,
        quads: centers.stride / 4,
      },
      { items: count, operations: 2 * count * centers.stride },
    )
  }
}

export function squaresJob(
  memory: CpuMemory,
  { buffer, rows, stride }: DeviceRows,
  squares: DeviceBuffer | BufferPart,
): CpuJob {
  return centerSquares.job(
    memory,
    { centers: elements(buffer, rows * stride), stride, squares: elements(squares, rows) },
    { items: rows, grain: Math.max(1, Math.round(2e5 / stride)) },
  )
}

/** Runs `work` with room for the squares of the centres if the points are sparse, and without if they are dense. */
export async function withSquares<T>(
  device: Device,
  points: DeviceRows,
  centers: DeviceRows,
  work: (squares: DeviceBuffer | undefined) => Promise<T>,
): Promise<T> {
  if (points.type !== 'csr') return work(undefined)
  const scope = new BufferScope(device)
  try {
    return await work(allocateSquares(scope, centers))
  } finally {
    scope.free()
  }
}

/**
 * center-squares: |c|^2 of every centre, which distances of sparse rows need. f32 [k] on a GPU, f64 [k] on the CPU.
 * Cost: 2 k d operations.
 */
import { centerSquaresBody } from '../../shaders/center-squares.ts'
import {
  type BufferPart,
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  slice,
} from '../device/contract.ts'
import { type Elements, elements, mayRead, reads, writes } from '../device/fields.ts'
import { cutForBinding } from '../device/plan.ts'
import { declareKernel } from './declared-kernel.ts'
import { inForms, READ_ROWS } from './kernel-fields.ts'
import { type DeviceRows, rowsPart } from './rows.ts'

export const centerSquaresKernel = declareKernel('center-squares', {
  args: { centers: READ_ROWS, stride: 'stride' },
  items: ({ centers }) => centers.rows,
  gpu: {
    args: { squares: writes('f32'), count: 'u32' },
    body: centerSquaresBody,
    operations: ({ centers }) => 2 * centers.rows * centers.stride,
  },
  cpu: {
    entry: 'centerSquares',
    args: { squares: writes('f64') },
    grain: ({ stride }) => Math.max(1, Math.round(2e5 / stride)),
  },
})

/** What kernels that measure distances of any rows are given besides: |c|^2 of each centre where the rows are sparse. */
export const GPU_SQUARES = { squares: inForms(({ points }) => points === 'csr', reads('f32')) } as const
export const CPU_SQUARES = { squares: mayRead('f64') } as const

/** Room for the squares on either device. */
export function allocateSquares(scope: BufferScope, centers: DeviceRows): DeviceBuffer {
  return scope.allocate(centers.rows * 8, 'squared lengths of centres')
}

export function* squaresPasses(gpu: GpuTarget, centers: DeviceRows, squares: DeviceBuffer): Generator<ComputePass> {
  const { stride } = centers
  for (const { start, end } of cutForBinding(centers.rows, stride * 4, gpu.limits, 'centres')) {
    const count = end - start
    const part = slice(squares, start * 4, count * 4)
    yield centerSquaresKernel.pass(gpu, { centers: rowsPart(centers, start, end), stride, squares: part, count })
  }
}

export function squaresJob(memory: CpuMemory, centers: DeviceRows, squares: DeviceBuffer | BufferPart): CpuJob {
  const { rows, stride } = centers
  return centerSquaresKernel.job(memory, { centers, stride, squares: elements(squares, rows) })
}

/** A kernel that measures distances of rows of any type to centres. */
interface MeasuringKernel<A> {
  readonly name: string
  passes(gpu: GpuTarget, args: A & { readonly squares?: Elements | undefined }): Generator<ComputePass>
  job(memory: CpuMemory, args: A & { readonly squares?: Elements | undefined }): CpuJob
}

/** The kernel over all points; where they are sparse, the squares of the centres first. */
export function runWithSquares<A extends { readonly points: DeviceRows; readonly centers: DeviceRows }>(
  device: Device,
  kernel: MeasuringKernel<NoInfer<A>>,
  args: A,
  control?: RunControl,
): Promise<void> {
  const { points, centers } = args
  return withSquares(device, points, centers, (squares) => {
    const all = { ...args, squares: elements(squares, centers.rows) }
    return device.run(
      {
        name: kernel.name,
        *webgpu(gpu) {
          if (squares) yield* squaresPasses(gpu, centers, squares)
          yield* kernel.passes(gpu, all)
        },
        *cpu(memory) {
          if (squares) yield squaresJob(memory, centers, squares)
          yield kernel.job(memory, all)
        },
      },
      control,
    )
  })
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

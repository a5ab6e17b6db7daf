/**
 * encode: in each of m subspaces (ranges of columns) the nearest of h codewords.
 *
 * books: f32 [m][h][bookStride], bookStride a multiple of 4, zeros behind a codeword. codes: u8
 * [n][codeStride] while h <= 256, u32 above; codeStride = m rounded up to a multiple of 4. Ties go to
 * the lowest code. errors, if asked for: f32 [n][codeStride / 4], squared distances to the codewords
 * taken, four subspaces to a number. Cost: 2 to 3 n h d operations.
 */
import { encodePointsPerGroup, encodeRegisters, encodeShader, MOST_REGISTER_QUADS } from '../../shaders/encode.ts'
import { THREADS } from '../../shaders/pieces.ts'
import {
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
import { gridFor } from '../device/plan.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, paddedCols, rowArgs } from './rows.ts'

export interface EncodeArgs {
  readonly points: DeviceRows
  /** First column of each subspace and the end of the last: m + 1 rising numbers. */
  readonly ranges: readonly number[]
  readonly books: DeviceBuffer
  readonly codewords: number
  readonly codes: DeviceBuffer
  /** `errorBytes` long. */
  readonly errors?: DeviceBuffer | undefined
}

/** Floats of a codeword in the books: the widest subspace, padded. */
export function bookStride(ranges: readonly number[]): number {
  let widest = 0
  for (let s = 0; s + 1 < ranges.length; s++) widest = Math.max(widest, ranges[s + 1] - ranges[s])
  return paddedCols(widest)
}

export function codeStride(m: number): number {
  return paddedCols(m)
}

/** Bytes of the codes of n points. */
export function codeBytes(n: number, m: number, codewords: number): number {
  return n * codeStride(m) * (codewords <= 256 ? 1 : 4)
}

/** Bytes of the errors of n points. */
export function errorBytes(n: number, m: number): number {
  return n * codeStride(m)
}

export async function encode(device: Device, args: EncodeArgs, control?: RunControl): Promise<void> {
  const { points, ranges, books, codewords, codes, errors } = args
  const m = ranges.length - 1
  const stride = bookStride(ranges)
  const scope = new BufferScope(device)
  try {
    const rangeBuffer = scope.upload(Uint32Array.from(ranges), 'ranges of subspaces')
    const bookBytes = panelsBytes({ rows: codewords, stride })
    const packed = device.info.kind === 'cpu' ? scope.allocate(bookBytes * m, 'packed codebooks') : undefined
    const work = {
      name: 'encode',
      *webgpu(gpu: GpuTarget): Generator<ComputePass> {
        const quads = stride / 4
        const words = codeStride(m) / 4
        const type = denseType(points)
        const wide = codewords > 256
        const registers = gpu.tiled && quads <= MOST_REGISTER_QUADS
        const shader = registers
          ? encodeRegisters(type, quads, wide, errors !== undefined)
          : encodeShader(type, wide, errors !== undefined)
        const pointsPerGroup = encodePointsPerGroup(quads)
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow: 3 * codewords * points.stride,
          atLeast: registers ? pointsPerGroup : THREADS,
          pass: (first, count) => ({
            shader,
            bindings: [points.buffer, rangeBuffer, books, codes, ...(errors ? [errors] : [])],
            params: [first, count, points.stride, m, codewords, stride, codeStride(m)],
            share: (first + count) / points.rows,
            groups: registers
              ? gridFor(Math.ceil(count / pointsPerGroup) * words, 1, gpu.limits.workgroups)
              : gridFor(count * words, THREADS, gpu.limits.workgroups),
          }),
        })
      },
      *cpu(memory: CpuMemory): Generator<CpuJob> {
        const address = memory.address(packed as DeviceBuffer, bookBytes * m)
        const bookStart = memory.address(books, m * codewords * stride * 4)
        for (let s = 0; s < m; s++) {
          yield packCentersJob(memory, {
            centers: slice(books, s * codewords * stride * 4, codewords * stride * 4),
            stride,
            count: codewords,
            norms: true,
            packed: slice(packed as DeviceBuffer, s * bookBytes, bookBytes),
          })
        }
        yield {
          entry: 'encode',
          items: points.rows,
          grain: Math.max(1, Math.round(2.5e5 / (codewords * points.stride))) * 4,
          args: [
            ...rowArgs(memory, points),
            memory.address(rangeBuffer, (m + 1) * 4),
            m,
            bookStart,
            address,
            codewords,
            stride,
            memory.address(codes, codeBytes(points.rows, m, codewords)),
            codeStride(m),
            errors ? memory.address(errors, errorBytes(points.rows, m)) : 0,
          ],
          scratchBytes: stride * 16 + Math.ceil(codewords / PANEL) * PANEL * 16 + 64,
        }
      },
    }
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

/**
 * encode: in each of m subspaces (ranges of columns) the nearest of h codewords.
 *
 * books: f32 [m][h][bookStride], bookStride a multiple of 4, zeros after each codeword. codes: u8 [n][codeStride] while
 * h <= 256, u32 above; codeStride = m rounded up to a multiple of 4. Ties go to the lowest code. errors, if given: f32
 * [n][codeStride / 4], squared distances to the chosen codewords, summed over four subspaces each. Cost: 2 to 3 n h d operations.
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
import { elements, mayWrite, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, paddedCols } from './rows.ts'

const panelsOf = (h: number): number => Math.ceil(h / PANEL)

export const encodeFunction = declareFunction('encode', {
  args: {
    points: DENSE_VECTORS,
    ranges: reads('u32'),
    m: 'u32',
    books: reads('f32'),
    /** The codebooks in panels, one after the other. */
    packed: reads('f32'),
    h: 'u32',
    bookStride: 'u32',
    codes: writes('u8'),
    codeStride: 'u32',
    errors: mayWrite('f32'),
  },
  scratch: {
    /** A subspace of four points, f32 [bookStride][4]. */
    rows: ({ bookStride }) => bookStride * 16,
    /** Scores of four points, f32 [4][panels][PANEL]. */
    scores: ({ h }) => 4 * panelsOf(h) * PANEL * 4,
    /** The largest scores of four points, in four lanes for each point. */
    maxima: () => 64,
  },
})

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

/** A software adapter takes up to seconds to compile the form in registers: it is for calls of so many operations there. */
const REPAYS_COMPILING = 1e9

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
        const large = 3 * codewords * points.stride * points.rows >= REPAYS_COMPILING
        const suited = gpu.tiled || (gpu.softwareTiles.includes('encode') && large)
        const registers = suited && quads <= MOST_REGISTER_QUADS
        const shader = registers
          ? encodeRegisters(type, quads, wide, errors !== undefined)
          : encodeShader(type, wide, errors !== undefined)
        const pointsPerGroup = encodePointsPerGroup(quads)
        const shared = {
          stride: points.stride,
          m,
          h: codewords,
          bookStride: stride,
          codeStride: codeStride(m),
          x: points.buffer,
          ranges: rangeBuffer,
          books,
          codes,
          errors: elements(errors, points.rows * words),
        }
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow: 3 * codewords * points.stride,
          atLeast: registers ? pointsPerGroup : THREADS,
          pass: (firstRow, rows) => {
            const grid = registers
              ? { items: Math.ceil(rows / pointsPerGroup) * words, perGroup: 1 }
              : { items: rows * words }
            return shader.pass(gpu, { ...shared, firstRow, rows }, { ...grid, share: (firstRow + rows) / points.rows })
          },
        })
      },
      *cpu(memory: CpuMemory): Generator<CpuJob> {
        const panels = packed as DeviceBuffer
        for (let s = 0; s < m; s++) {
          yield packCentersJob(memory, {
            centers: slice(books, s * codewords * stride * 4, codewords * stride * 4),
            stride,
            count: codewords,
            norms: true,
            packed: slice(panels, s * bookBytes, bookBytes),
          })
        }
        yield encodeFunction.job(
          memory,
          {
            points,
            ranges: elements(rangeBuffer, m + 1),
            m,
            books: elements(books, m * codewords * stride),
            packed: elements(panels, (bookBytes * m) / 4),
            h: codewords,
            bookStride: stride,
            codes: elements(codes, codeBytes(points.rows, m, codewords)),
            codeStride: codeStride(m),
            errors: elements(errors, errorBytes(points.rows, m) / 4),
          },
          { items: points.rows, grain: Math.max(1, Math.round(2.5e5 / (codewords * points.stride))) * 4 },
        )
      },
    }
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

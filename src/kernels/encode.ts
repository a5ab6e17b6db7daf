/**
 * encode: in each of m subspaces (ranges of columns) the nearest of h codewords.
 *
 * books: f32 [m][h][bookStride], bookStride a multiple of 4, zeros after each codeword. codes: u8 [n][codeStride] while
 * h <= 256, u32 above; codeStride = m rounded up to a multiple of 4. Ties go to the lowest code. errors, if given: f32
 * [n][codeStride / 4], squared distances to the chosen codewords, summed over four subspaces each. Cost: 2 to 3 n h d operations.
 */
import { encodeBlocks, encodePointsPerGroup, encodeRegisters, MOST_REGISTER_QUADS } from '../../shaders/encode.ts'
import { THREADS } from '../../shaders/snippets.ts'
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
import { declareKernel } from './declared-kernel.ts'
import { byForm, compiled, compiledOf, FLAT_VECTORS, inForms } from './kernel-fields.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { type DeviceRows, paddedCols } from './rows.ts'

const panelsOf = (h: number): number => Math.ceil(h / PANEL)

export const encodeKernel = declareKernel('encode', {
  args: {
    points: FLAT_VECTORS,
    /** [m + 1] */
    ranges: reads('u32'),
    m: 'u32',
    h: 'u32',
    /** Floats of a codeword, a multiple of 4. */
    bookStride: 'u32',
    /** Codes of a row, a multiple of 4. */
    codeStride: 'u32',
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: {
      /** Quads of columns that a thread keeps in registers; 0: the form without that. */
      registers: compiledOf<number>(1, 2, 4, 8, 24),
      wide: compiled(true, false),
      measured: compiled(true, false),
      /** Columns of a row. */
      stride: 'u32',
      /** [m][h][bookStride] */
      books: byForm(({ registers }) => reads(registers === 0 ? 'f32' : 'vec4f')),
      codes: writes('u32'),
      errors: inForms(({ measured }) => measured === true, writes('f32')),
    },
    body: ({ points, registers, wide, measured }) =>
      registers === 0 ? encodeBlocks(points, wide, measured) : encodeRegisters(points, registers, wide, measured),
    cut: {
      params: ['firstRow', 'rows'],
      operations: ({ points, h }) => 3 * h * points.stride,
      atLeast: ({ registers }) => (registers === 0 ? THREADS : encodePointsPerGroup(registers)),
    },
    grid: ({ registers, rows, codeStride }) =>
      registers === 0
        ? (rows * codeStride) / 4
        : { groups: (Math.ceil(rows / encodePointsPerGroup(registers)) * codeStride) / 4 },
    forms: [
      ...[1, 2, 4, 8, 24].map((registers) => ({ points: 'f32', registers, wide: false, measured: false }) as const),
      { points: 'f32', registers: 4, wide: true, measured: true },
      { points: 'u8', registers: 4, wide: false, measured: false },
      { points: 'f32', registers: 0, wide: false, measured: false },
      { points: 'f32', registers: 0, wide: true, measured: true },
      { points: 'u8', registers: 0, wide: false, measured: false },
    ],
  },
  cpu: {
    entry: 'encode',
    args: {
      books: reads('f32'),
      /** The codebooks in panels, one after the other. */
      packed: reads('f32'),
      codes: writes('u8'),
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
    grain: ({ points, h }) => Math.max(1, Math.round(2.5e5 / (h * points.stride))) * 4,
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
    const shared = {
      points,
      ranges: elements(rangeBuffer, m + 1),
      m,
      h: codewords,
      bookStride: stride,
      codeStride: codeStride(m),
      errors: elements(errors, errorBytes(points.rows, m) / 4),
    }
    const work = {
      name: 'encode',
      *webgpu(gpu: GpuTarget): Generator<ComputePass> {
        const quads = stride / 4
        const large = 3 * codewords * points.stride * points.rows >= REPAYS_COMPILING
        const suited = gpu.tiled || (gpu.softwareTiles.includes('encode') && large)
        const form = {
          registers: suited && quads <= MOST_REGISTER_QUADS ? quads : 0,
          wide: codewords > 256,
          measured: errors !== undefined,
        }
        const share = (done: number) => done / points.rows
        yield* encodeKernel.passes(gpu, { ...shared, ...form, stride: points.stride, books, codes }, { share })
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
        yield encodeKernel.job(memory, {
          ...shared,
          books: elements(books, m * codewords * stride),
          packed: elements(panels, (bookBytes * m) / 4),
          codes: elements(codes, codeBytes(points.rows, m, codewords)),
        })
      },
    }
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

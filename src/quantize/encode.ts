/** Vectors through a codec and back, in pieces that fit the device. */

import { elementBytes, type Matrix, matrix, readWide, type VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { bookStride, codeBytes, codeStride, errorBytes } from '../kernels/encode.ts'
import { matmul } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, firstRows, paddedCols, writeRows } from '../kernels/rows.ts'
import { tally, tallyWorkspaceBytes } from '../kernels/tally.ts'
import { frameOfNew, intoFrame, outOfFrame } from '../vectors/frame.ts'
import { type Codec, DeviceCodec } from './codec.ts'
import { codeRowBytes, packCodes, unpackCodes } from './codes.ts'

interface Watching {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((share: number) => void) | undefined
}

/** Numbers of a piece: enough to keep a device busy, little enough for any. */
const PIECE_NUMBERS = 1 << 22

/** Rows of a part, so that no buffer exceeds a binding. */
function pieceRows(device: Device, rows: number, codec: Codec): number {
  const m = codec.ranges.length - 1
  const widest = Math.max(paddedCols(codec.cols) * 4, codeStride(m) * (codec.codewords > 256 ? 4 : 1))
  const fitting = Math.floor(device.info.limits.bindingBytes / widest)
  return Math.max(1, Math.min(rows, fitting, Math.ceil(PIECE_NUMBERS / codec.cols)))
}

/** Pieces of a source on the device, projected; good until the next is asked for. */
export async function* projectedPieces(
  device: Device,
  source: VectorSource,
  codec: Codec,
  onDevice: DeviceCodec,
  piece: number,
  { signal, onProgress }: Watching = {},
): AsyncGenerator<{ first: number; count: number; framed: Float32Array | Uint8Array; projected: DeviceRows }> {
  const frame = await frameOfNew(source, 'euclidean', codec.frame)
  const scope = new BufferScope(device)
  try {
    const rows = allocateRows(scope, piece, codec.cols, frame.type, 'vectors')
    for (let first = 0; first < source.rows; first += piece) {
      signal?.throwIfAborted()
      const count = Math.min(piece, source.rows - first)
      const framed = intoFrame(await readWide(source, first, first + count), codec.cols, frame)
      writeRows(device, rows, framed)
      yield { first, count, framed, projected: await onDevice.project(firstRows(rows, count)) }
      onProgress?.((first + count) / source.rows)
    }
  } finally {
    scope.free()
  }
}

export interface Encoded {
  readonly codes: Matrix<Uint8Array>
  /** Sum of squared distances to what the codes stand for, in the input's units; 0 unless asked for. */
  readonly error: number
}

export async function encodeVectors(
  device: Device,
  source: VectorSource,
  codec: Codec,
  options: Watching & { readonly errors?: boolean } = {},
): Promise<Encoded> {
  const m = codec.ranges.length - 1
  const shape = { m, codewords: codec.codewords }
  const piece = pieceRows(device, source.rows, codec)
  const scope = new BufferScope(device)
  const onDevice = new DeviceCodec(device, codec, piece)
  const out = new Uint8Array(source.rows * codeRowBytes(shape))
  const watch = options.errors ? new ErrorSum(device, scope, piece, codec) : undefined
  try {
    const codes = scope.allocate(codeBytes(piece, m, codec.codewords), 'codes')
    for await (const part of projectedPieces(device, source, codec, onDevice, piece, options)) {
      await onDevice.encode(part.projected, codes, watch?.errors, { signal: options.signal })
      const bytes = codeBytes(part.count, m, codec.codewords)
      packCodes(await device.read({ buffer: codes, offset: 0, bytes }), part.count, shape, out, part.first)
      await watch?.take(part)
    }
    return { codes: matrix(out, source.rows, codeRowBytes(shape)), error: watch?.total ?? 0 }
  } finally {
    onDevice.free()
    scope.free()
  }
}

class ErrorSum {
  readonly errors
  readonly #device: Device
  readonly #codec: Codec
  readonly #blocks
  #sum = 0

  constructor(device: Device, scope: BufferScope, rows: number, codec: Codec) {
    const bytes = errorBytes(rows, codec.ranges.length - 1)
    this.errors = scope.allocate(bytes, 'squared distances')
    this.#blocks = [0, 1].map(() => scope.allocate(tallyWorkspaceBytes(bytes / 4), 'sums of blocks'))
    this.#device = device
    this.#codec = codec
  }

  get total(): number {
    const { scale } = this.#codec.frame
    return this.#sum / (scale * scale)
  }

  async take(part: { count: number; framed: ArrayLike<number>; projected: DeviceRows }): Promise<void> {
    const { errors } = this
    const [sums, differences] = this.#blocks
    const count = errorBytes(part.count, this.#codec.ranges.length - 1) / 4
    this.#sum += (await tally(this.#device, { count, values: errors, left: errors, sums, differences })).sum
    if (this.#codec.offset === undefined) return
    const rows = new Float32Array(await this.#device.read(part.projected.buffer))
    for (const rest of leftOver(part.framed, rows, part.projected.stride, part.count, this.#codec)) this.#sum += rest
  }
}

/** |x - offset|^2 - |R'x|^2 for every row: what no direction sees, the same for all codes. */
export function leftOver(
  framed: ArrayLike<number>,
  projected: Float32Array,
  stride: number,
  rows: number,
  { cols, offset, ranges }: Codec,
): Float64Array {
  const s = ranges[ranges.length - 1]
  const rest = new Float64Array(rows)
  if (offset === undefined) return rest
  for (let i = 0; i < rows; i++) {
    let sum = 0
    for (let j = 0; j < cols; j++) sum += (framed[i * cols + j] - offset[j]) ** 2
    for (let t = 0; t < s; t++) sum -= projected[i * stride + t] ** 2
    rest[i] = Math.max(0, sum)
  }
  return rest
}

/** Codewords side by side: [rows][s], in the space of the codebooks. */
export function wordsOf(codes: Uint32Array, codec: Codec): Float32Array {
  const { ranges, codewords, books } = codec
  const m = ranges.length - 1
  const s = ranges[m]
  const stride = bookStride(ranges)
  const rows = codes.length / m
  const out = new Float32Array(rows * s)
  for (let i = 0; i < rows; i++) {
    for (let space = 0; space < m; space++) {
      const at = (space * codewords + codes[i * m + space]) * stride
      for (let t = ranges[space]; t < ranges[space + 1]; t++) out[i * s + t] = books[at + t - ranges[space]]
    }
  }
  return out
}

export async function decodeCodes(
  device: Device,
  codes: Matrix,
  codec: Codec,
  { signal, onProgress }: Watching = {},
): Promise<Matrix<Float32Array>> {
  const { cols, ranges, rotation, offset, frame } = codec
  const s = ranges[ranges.length - 1]
  const shape = { m: ranges.length - 1, codewords: codec.codewords }
  const out = new Float32Array(codes.rows * cols)
  const piece = pieceRows(device, Math.max(1, codes.rows), codec)
  const scope = new BufferScope(device)
  try {
    const words = allocateRows(scope, rotation ? piece : 0, s, 'f32', 'codewords')
    const turned = allocateRows(scope, rotation ? piece : 0, cols, 'f32', 'decoded vectors')
    const back = allocateRows(scope, rotation ? cols : 0, s, 'f32', 'rotation')
    if (rotation) {
      const rows = new Float32Array(cols * s)
      for (let t = 0; t < s; t++) for (let j = 0; j < cols; j++) rows[j * s + t] = rotation[t * cols + j]
      writeRows(device, back, rows)
    }
    for (let first = 0; first < codes.rows; first += piece) {
      signal?.throwIfAborted()
      const count = Math.min(piece, codes.rows - first)
      const bytes = codes.data.subarray(first * codes.cols, (first + count) * codes.cols)
      const flat = wordsOf(unpackCodes(matrix(bytes, count, codes.cols), shape), codec)
      if (rotation === undefined) {
        out.set(flat, first * cols)
      } else {
        writeRows(device, words, flat)
        await matmul(device, { a: firstRows(words, count), b: back, out: firstRows(turned, count) })
        const read = { buffer: turned.buffer, offset: 0, bytes: count * turned.stride * elementBytes('f32') }
        const found = new Float32Array(await device.read(read))
        for (let i = 0; i < count; i++) {
          for (let j = 0; j < cols; j++) {
            out[(first + i) * cols + j] = found[i * turned.stride + j] + (offset ? offset[j] : 0)
          }
        }
      }
      onProgress?.((first + count) / codes.rows)
    }
  } finally {
    scope.free()
  }
  return matrix(outOfFrame(out, cols, frame), codes.rows, cols)
}

/**
 * Vectors that an inverted file keeps for re-ranking, in a byte for each number: column j of a vector is offsets[j] + steps[j]
 * times the byte. Vectors of bytes are kept as they are.
 */
import { recordOf } from '../core/arguments.ts'
import { badOption } from '../core/errors.ts'
import { type Matrix, matrix, type VectorData, type VectorSource } from '../core/matrix.ts'
import { chunks } from '../vectors/frame.ts'

/** The values that bytes represent, column by column. */
export interface ByteScale {
  /** The value of byte 0. */
  readonly offsets: Float32Array
  /** The difference between consecutive bytes. */
  readonly steps: Float32Array
}

const HIGHEST = 255

/** From the least to the largest value of each column; what is outside later becomes the nearest of them. */
export async function byteScaleOf(source: VectorSource): Promise<ByteScale> {
  const { cols } = source
  if (source.type === 'u8') return { offsets: new Float32Array(cols), steps: new Float32Array(cols).fill(1) }
  const lowest = new Float32Array(cols).fill(Number.POSITIVE_INFINITY)
  const highest = new Float32Array(cols).fill(Number.NEGATIVE_INFINITY)
  for await (const { data } of chunks(source)) {
    for (let at = 0; at < data.length; at++) {
      const column = at % cols
      if (data[at] < lowest[column]) lowest[column] = data[at]
      if (data[at] > highest[column]) highest[column] = data[at]
    }
  }
  // Halves first: the difference of two large floats may be none.
  return { offsets: lowest, steps: highest.map((high, j) => (high / 2 - lowest[j] / 2) / (HIGHEST / 2)) }
}

function toBytes(data: VectorData, { offsets, steps }: ByteScale, out: Uint8Array, at: number): void {
  const cols = offsets.length
  for (let i = 0; i < data.length; i++) {
    const step = steps[i % cols]
    const value = step > 0 ? (data[i] - offsets[i % cols]) / step : 0
    out[at + i] = Math.max(0, Math.min(HIGHEST, Math.round(value)))
  }
}

/** A row of bytes as the numbers that it stands for. */
export function fromBytes(bytes: Uint8Array, at: number, { offsets, steps }: ByteScale, out: Float32Array): void {
  for (let j = 0; j < offsets.length; j++) out[j] = offsets[j] + steps[j] * bytes[at + j]
}

/** A ByteScale that a caller gave. */
export function byteScale(value: unknown, thing: string): ByteScale {
  const { offsets, steps } = recordOf(value, thing, 'offsets and steps')
  const fits = (list: unknown): list is Float32Array => list instanceof Float32Array && list.every(Number.isFinite)
  if (fits(offsets) && fits(steps) && offsets.length === steps.length) return { offsets, steps }
  throw badOption(thing, value, 'give offsets and steps, a Float32Array of finite numbers each.')
}

/** Vectors as bytes. */
export async function bytesOfRows(source: VectorSource, scale: ByteScale): Promise<Matrix> {
  const { rows, cols } = source
  const out = new Uint8Array(rows * cols)
  for await (const { first, data } of chunks(source)) toBytes(data, scale, out, first * cols)
  return matrix(out, rows, cols)
}

/** Rows of two matrices of bytes, one behind the other. */
export function sideBySide(left: Matrix, right: Matrix): Uint8Array {
  const width = left.cols + right.cols
  const out = new Uint8Array(left.rows * width)
  for (let i = 0; i < left.rows; i++) {
    out.set(left.data.subarray(i * left.cols, (i + 1) * left.cols), i * width)
    out.set(right.data.subarray(i * right.cols, (i + 1) * right.cols), i * width + left.cols)
  }
  return out
}

/**
 * A codec as faiss has it, and back. There all subspaces have the same width, a code takes a fixed number of bits with the
 * first code in the lowest ones, and vectors are transformed (y = A x + b) before anything else. Subspaces of several widths
 * are filled up with dimensions that are zero in vectors and codewords; distances stay what they are.
 */
import { bookStride } from '../kernels/encode.ts'
import { codeLayout } from '../kernels/scan-codes.ts'
import type { Codec } from '../quantize/codec.ts'

/** y = A x + b. */
export interface LinearTransform {
  /** [outputs][inputs] */
  readonly rows: Float32Array
  readonly bias: Float32Array
  readonly inputs: number
  readonly outputs: number
}

export interface FaissSpace {
  readonly m: number
  /** Dimensions of a subspace. */
  readonly width: number
  /** Bits of a code. */
  readonly bits: number
  /** Undefined: vectors are taken as they are. */
  readonly transform: LinearTransform | undefined
  /** [m][2^bits][width] */
  readonly codewords: Float32Array
}

/** Bits of a code in a file, the fewest that its codes can be copied with, where they take up to a byte. */
function bitsOf(m: number, codewords: number): number {
  const { bits } = codeLayout(m, codewords)
  return bits <= 8 ? bits : Math.ceil(Math.log2(codewords))
}

/** `withBias`: where vectors are turned, the transform shifts them; otherwise the codewords lie where they belong. */
export function faissSpaceOf(codec: Codec, withBias: boolean): FaissSpace {
  const { cols, ranges, codewords: h, frame, rotation, books } = codec
  const m = ranges.length - 1
  const stride = bookStride(ranges)
  const width = ranges.reduce((widest, end, i) => Math.max(widest, i === 0 ? 0 : end - ranges[i - 1]), 0)
  const even = ranges[m] === m * width
  const rows = new Float32Array(m * width * cols)
  const shifts = new Float64Array(m * width)
  for (let s = 0; s < m; s++) {
    for (let row = ranges[s]; row < ranges[s + 1]; row++) {
      const to = s * width + row - ranges[s]
      if (rotation) rows.set(rotation.subarray(row * cols, (row + 1) * cols), to * cols)
      else rows[to * cols + row] = 1
      if (frame.shift === undefined) continue
      for (let j = 0; j < cols; j++) shifts[to] += rows[to * cols + j] * frame.shift[j]
    }
  }
  const biased = withBias && rotation !== undefined
  const bits = bitsOf(m, h)
  const words = 2 ** bits
  const out = new Float32Array(m * words * width)
  for (let s = 0; s < m; s++) {
    for (let word = 0; word < words; word++) {
      // No code stands for words beyond those that there are.
      const from = (s * h + Math.min(word, h - 1)) * stride
      for (let t = 0; t < width; t++) {
        const shift = biased ? 0 : shifts[s * width + t]
        out[(s * words + word) * width + t] = (t < stride ? books[from + t] / frame.scale : 0) + shift
      }
    }
  }
  const bias = Float32Array.from(shifts, (shift) => (biased ? -shift : 0))
  const transform = even && rotation === undefined ? undefined : { rows, bias, inputs: cols, outputs: m * width }
  return { m, width, bits, transform, codewords: out }
}

/** A codec of what a file holds; undefined where the transform changes distances. */
export function codecOf({ m, width, bits, transform, codewords }: FaissSpace): Codec | undefined {
  const h = 2 ** bits
  const inputs = transform?.inputs ?? m * width
  const used = Array.from({ length: m * width }, (_, row) => transform === undefined || isUsed(transform, row))
  const ranges = [0]
  for (let s = 0; s < m; s++) {
    ranges.push(ranges[s] + used.slice(s * width, (s + 1) * width).filter(Boolean).length)
    if (ranges[s + 1] === ranges[s]) return undefined
  }
  const kept = used.flatMap((there, row) => (there ? [row] : []))
  const stride = bookStride(ranges)
  const books = new Float32Array(m * h * stride)
  for (let word = 0; word < m * h; word++) {
    const s = Math.floor(word / h)
    for (let t = ranges[s]; t < ranges[s + 1]; t++) {
      books[word * stride + t - ranges[s]] = codewords[word * width + kept[t] - s * width]
    }
  }
  const plain = { cols: inputs, ranges, codewords: h, offset: undefined, books }
  const frame = { scale: 1, unit: false, type: 'f32' } as const
  if (transform === undefined) return { ...plain, rotation: undefined, frame: { ...frame, shift: undefined } }
  const rotation = new Float32Array(kept.length * inputs)
  kept.forEach((row, t) => {
    rotation.set(transform.rows.subarray(row * inputs, (row + 1) * inputs), t * inputs)
  })
  if (!isOrthonormal(rotation, inputs)) return undefined
  const shift = turnedBack(
    rotation,
    kept.map((row) => -transform.bias[row]),
    inputs,
  )
  const moved = shift.some((value) => value !== 0) ? shift : undefined
  return { ...plain, rotation: isIdentity(rotation, inputs) ? undefined : rotation, frame: { ...frame, shift: moved } }
}

/** Whether a dimension of the result is anything but zero. */
function isUsed({ rows, bias, inputs }: LinearTransform, row: number): boolean {
  return bias[row] !== 0 || rows.subarray(row * inputs, (row + 1) * inputs).some((value) => value !== 0)
}

/** A' y */
export function turnedBack(rotation: Float32Array, y: ArrayLike<number>, cols: number): Float64Array {
  const out = new Float64Array(cols)
  for (let row = 0; row * cols < rotation.length; row++) {
    for (let j = 0; j < cols; j++) out[j] += rotation[row * cols + j] * y[row]
  }
  return out
}

/** How far rows of 32-bit floats may be from length one and from right angles. */
const SLACK = 1e-3

function isOrthonormal(rows: Float32Array, cols: number): boolean {
  const count = rows.length / cols
  for (let a = 0; a < count; a++) {
    for (let b = a; b < count; b++) {
      let product = 0
      for (let j = 0; j < cols; j++) product += rows[a * cols + j] * rows[b * cols + j]
      if (!(Math.abs(product - (a === b ? 1 : 0)) <= SLACK)) return false
    }
  }
  return true
}

function isIdentity(rows: Float32Array, cols: number): boolean {
  return rows.length === cols * cols && rows.every((value, i) => value === (i % (cols + 1) === 0 ? 1 : 0))
}

/** Codes with another number of bits each; the first code of a row is in the lowest bits. */
export function repacked(codes: Uint8Array, rows: number, m: number, from: number, to: number): Uint8Array {
  if (from === to) return codes
  const width = Math.ceil((m * from) / 8)
  const outWidth = Math.ceil((m * to) / 8)
  const out = new Uint8Array(rows * outWidth)
  for (let row = 0; row < rows; row++) {
    for (let s = 0; s < m; s++) {
      const code = bitsAt(codes, row * width, s * from, from)
      for (let bit = 0; bit < Math.min(from, to); bit++) {
        const at = s * to + bit
        out[row * outWidth + (at >> 3)] |= ((code >>> bit) & 1) << (at & 7)
      }
    }
  }
  return out
}

function bitsAt(bytes: Uint8Array, start: number, first: number, count: number): number {
  let value = 0
  for (let bit = 0; bit < count; bit++) {
    const at = first + bit
    value |= ((bytes[start + (at >> 3)] >> (at & 7)) & 1) << bit
  }
  return value >>> 0
}

/** Bits of a code in memory. */
export function storedBits(m: number, codewords: number): number {
  return codeLayout(m, codewords).bits
}

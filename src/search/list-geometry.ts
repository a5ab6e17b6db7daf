/**
 * Where the centres and codewords of an inverted file lie, in the numbers that the kernels work with.
 *
 * Vectors and centres are shifted by the mean of the centres and multiplied by the scale of the quantizer. A code y of a list
 * then stands for c + R y, where c is the centre with the shift and the offset of the quantizer, and R its directions:
 * |q - c - R y|^2 = |q - c|^2 + (|y|^2 + 2 C.y) - 2 Q.y with Q = R' q and C = R' c. The part in parentheses does not depend
 * on the query: it is the term that is kept with a vector. For inner products q.(c + R y) = q.c + Q.y, without terms.
 */
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix, readWide, type VectorSource } from '../core/matrix.ts'
import { bookStride } from '../kernels/encode.ts'
import { packCenters } from '../kernels/nearest-lists.ts'
import { paddedCols } from '../kernels/rows.ts'
import type { Codec } from '../quantize/codec.ts'
import { unpackCodes } from '../quantize/codes.ts'
import { type Frame, inspectVectors, intoFrame, largestMagnitude } from '../vectors/frame.ts'
import type { SearchMetric } from './flat.ts'

/** Squares of larger values, summed over columns, might overflow. */
const LARGEST = 2 ** 50
/** Codes that are unpacked at a time. */
const PIECE = 65536

export class ListGeometry {
  readonly codec: Codec
  readonly metric: SearchMetric
  readonly cols: number
  /** Columns with padding. */
  readonly stride: number
  /** Directions of the quantizer. */
  readonly width: number
  readonly k: number
  /** c, [k][stride]. */
  readonly centers: Float32Array
  /** C, [k][width]. */
  readonly projected: Float32Array
  /** R', [width][stride]. Undefined: the dimensions as they are. */
  readonly rotation: Float32Array | undefined
  readonly #frame: Frame
  /** Centres as the lists are chosen by, [k][stride]. */
  readonly #plain: Float32Array
  /** |y|^2, [m][codewords]. */
  readonly #squares: Float64Array

  constructor(centers: Matrix, codec: Codec, metric: SearchMetric) {
    const { cols, rows: k } = centers
    const { scale, shift: residualShift } = codec.frame
    this.codec = codec
    this.metric = metric
    this.cols = cols
    this.k = k
    this.stride = paddedCols(cols)
    this.width = codec.ranges[codec.ranges.length - 1]
    // Inner products change with a shift.
    const shift = metric === 'inner-product' ? undefined : meanOf(centers)
    this.#frame = { shift, scale, unit: false, type: 'f32' }
    this.centers = new Float32Array(k * this.stride)
    const same = residualShift === undefined && codec.offset === undefined
    this.#plain = same ? this.centers : new Float32Array(k * this.stride)
    for (let i = 0; i < k; i++) {
      for (let j = 0; j < cols; j++) {
        const value = centers.data[i * cols + j] - (shift ? shift[j] : 0)
        const at = i * this.stride + j
        this.#plain[at] = value * scale
        this.centers[at] = (value + (residualShift ? residualShift[j] : 0)) * scale + (codec.offset?.[j] ?? 0)
      }
    }
    this.rotation = codec.rotation && paddedRows(codec.rotation, this.width, cols, this.stride)
    this.projected = this.#project()
    this.#squares = squaresOf(codec)
  }

  get inner(): boolean {
    return this.metric === 'inner-product'
  }

  /** Whether the directions span the whole space. */
  get whole(): boolean {
    return this.codec.rotation === undefined || this.width === this.cols
  }

  /** Centres packed to choose lists by. */
  panels(): Float32Array {
    return packCenters(this.#plain, this.stride, this.inner)
  }

  /**
   * Centres to choose lists by, as rows; for inner products with a further column that brings them to the same length. Queries
   * have 0 there: the squared distance is then a constant of the query less twice the product.
   */
  chosenBy(): Matrix {
    const { k, cols, stride } = this
    const width = this.inner ? cols + 1 : cols
    const out = new Float32Array(k * width)
    for (let i = 0; i < k; i++) out.set(this.#plain.subarray(i * stride, i * stride + cols), i * width)
    if (this.inner) {
      const squares = Float64Array.from({ length: k }, (_, i) =>
        this.#plain.subarray(i * stride, i * stride + cols).reduce((sum, value) => sum + value * value, 0),
      )
      const most = squares.reduce((largest, square) => Math.max(largest, square), 0)
      for (let i = 0; i < k; i++) out[i * width + cols] = Math.sqrt(most - squares[i])
    }
    return matrix(out, k, width)
  }

  /** What is stored with each code. */
  terms(codes: Uint8Array, lists: Uint32Array): Float32Array {
    const terms = new Float32Array(lists.length)
    if (this.inner) return terms
    const { ranges, codewords, books } = this.codec
    const m = ranges.length - 1
    const width = codes.length / Math.max(1, lists.length)
    const stride = bookStride(ranges)
    for (let first = 0; first < lists.length; first += PIECE) {
      const count = Math.min(PIECE, lists.length - first)
      const piece = codes.subarray(first * width, (first + count) * width)
      const words = unpackCodes(matrix(piece, count, width), { m, codewords })
      for (let i = 0; i < count; i++) {
        const center = lists[first + i] * this.width
        let sum = 0
        for (let s = 0; s < m; s++) {
          const number = s * codewords + words[i * m + s]
          const start = ranges[s]
          const end = ranges[s + 1]
          const word = number * stride - start
          let product = 0
          for (let t = start; t < end; t++) product += this.projected[center + t] * books[word + t]
          sum += this.#squares[number] + 2 * product
        }
        terms[first + i] = sum
      }
    }
    return terms
  }

  /** Rows `first` to `end` of queries as kernels take them, [rows][stride]. */
  async queries(source: VectorSource, first: number, end: number): Promise<Float32Array> {
    const { cols, stride } = this
    const data = await readWide(source, first, end)
    const largest = largestMagnitude(data, first, source)
    // Says which row is all zeros.
    if (this.metric === 'cosine')
      await inspectVectors(
        { ...source, rows: end - first, read: (a, b) => source.read(first + a, first + b) },
        'cosine',
      )
    const unit =
      this.metric === 'cosine' ? intoFrame(data, cols, { shift: undefined, scale: 1, unit: true, type: 'f32' }) : data
    const { shift, scale } = this.#frame
    if (!(largest * scale <= LARGEST)) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} holds values up to ${largest.toPrecision(3)}, and the inverted file supports distances up to ${(LARGEST / scale).toPrecision(3)}: remove such rows, or train on vectors that include them.`,
      )
    }
    const out = new Float32Array((end - first) * stride)
    for (let i = 0; i < end - first; i++) {
      for (let j = 0; j < cols; j++) out[i * stride + j] = (unit[i * cols + j] - (shift ? shift[j] : 0)) * scale
    }
    return out
  }

  /** A distance as kernels have it, of one in the units of the input. */
  inward(distance: number): number {
    const { scale } = this.#frame
    return distance * scale * scale * (this.metric === 'cosine' ? 2 : 1)
  }

  #project(): Float32Array {
    const { k, width, stride, rotation, centers } = this
    const out = new Float32Array(k * width)
    for (let i = 0; i < k; i++) {
      for (let t = 0; t < width; t++) {
        if (rotation === undefined) {
          out[i * width + t] = centers[i * stride + t]
          continue
        }
        let sum = 0
        for (let j = 0; j < this.cols; j++) sum += rotation[t * stride + j] * centers[i * stride + j]
        out[i * width + t] = sum
      }
    }
    return out
  }
}

function meanOf({ data, rows, cols }: Matrix): Float64Array {
  const mean = new Float64Array(cols)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) mean[j] += data[i * cols + j] / rows
  return mean
}

function paddedRows(data: Float32Array, rows: number, cols: number, stride: number): Float32Array {
  if (cols === stride) return data
  const out = new Float32Array(rows * stride)
  for (let i = 0; i < rows; i++) out.set(data.subarray(i * cols, (i + 1) * cols), i * stride)
  return out
}

function squaresOf({ ranges, codewords, books }: Codec): Float64Array {
  const m = ranges.length - 1
  const stride = bookStride(ranges)
  const out = new Float64Array(m * codewords)
  for (let i = 0; i < out.length; i++) {
    for (let t = i * stride; t < (i + 1) * stride; t++) out[i] += books[t] * books[t]
  }
  return out
}

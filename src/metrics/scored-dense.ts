/** Dense rows for the scores of a clustering: converted to 64 bits a block at a time. */
import { badData } from '../core/arguments.ts'
import { wideChunks } from '../core/chunks.ts'
import type { CentroidalError } from '../core/errors.ts'
import type { VectorSource, WideData } from '../core/matrix.ts'
import type { Pace } from './pace.ts'
import { type Means, noDirection, numbersFor, type RowBlock, type ScoredRows } from './scored-rows.ts'

/** Numbers of a block: together with a slice of means they fit the second cache. */
export const BLOCK_NUMBERS = 16_384

/** Dense rows, read from their source in every pass. */
export class DenseRows implements ScoredRows {
  readonly #source: VectorSource
  readonly #unit: boolean
  /** The first row, where rows have 64 bits: distances do not change, and sums of squares keep more digits. */
  #origin: Float64Array | undefined

  constructor(source: VectorSource, unit: boolean) {
    this.#source = source
    this.#unit = unit
  }

  get rows(): number {
    return this.#source.rows
  }

  get cols(): number {
    return this.#source.cols
  }

  get numbers(): number {
    return this.rows * this.cols
  }

  async *blocks(): AsyncGenerator<DenseBlock> {
    const { rows, cols } = this
    const most = Math.min(rows, Math.max(1, Math.floor(BLOCK_NUMBERS / cols)))
    const buffer = numbersFor(most, cols, 'rows')
    if (!this.#unit && rows > 0) this.#origin ??= await this.#source.read64?.(0, 1)
    for await (const { first, data } of wideChunks(this.#source)) {
      const read = data.length / cols
      for (let start = 0; start < read; start += most) {
        const count = Math.min(most, read - start)
        this.#convert(data.subarray(start * cols, (start + count) * cols), buffer, first + start)
        yield new DenseBlock(buffer, first + start, count, cols)
      }
    }
  }

  async gather(order: Uint32Array, pace: Pace): Promise<DenseBlock> {
    const { rows, cols } = this
    const places = new Uint32Array(rows)
    for (let place = 0; place < rows; place++) places[order[place]] = place
    const all = numbersFor(rows, cols, 'rows')
    for await (const { first, count, numbers, data } of this.blocks()) {
      if (pace.count(numbers)) await pace.rest()
      for (let row = 0; row < count; row++) {
        all.set(data.subarray(row * cols, (row + 1) * cols), places[first + row] * cols)
      }
    }
    return new DenseBlock(all, 0, rows, cols)
  }

  /** Copies rows in 64 bits, which refuses numbers that are not finite: finite 32-bit floats cannot overflow a sum. */
  #convert(from: WideData, to: Float64Array, first: number): void {
    const { cols } = this
    const origin = this.#origin
    for (let at = 0; at < from.length; at += cols) {
      let sum = 0
      let squares = 0
      for (let i = at; i < at + cols; i++) {
        const value = origin ? from[i] - origin[i - at] : from[i]
        to[i] = value
        sum += value
        squares += value * value
      }
      if (!Number.isFinite(sum)) throw this.#notFinite(from, at, first)
      if (!this.#unit) continue
      if (squares === 0) throw noDirection(first + at / cols, this.#source.name)
      const factor = 1 / Math.sqrt(squares)
      for (let i = at; i < at + cols; i++) to[i] *= factor
    }
  }

  #notFinite(data: WideData, at: number, first: number): CentroidalError {
    let column = 0
    while (column < this.cols - 1 && Number.isFinite(data[at + column])) column++
    return badData(
      `Row ${first + at / this.cols} of ${this.#source.name} holds ${data[at + column]} in column ${column}: remove or fix the row, all numbers must be finite.`,
    )
  }
}

class DenseBlock implements RowBlock {
  readonly data: Float64Array
  readonly first: number
  readonly count: number
  readonly #cols: number

  constructor(data: Float64Array, first: number, count: number, cols: number) {
    this.data = data
    this.first = first
    this.count = count
    this.#cols = cols
  }

  get numbers(): number {
    return this.count * this.#cols
  }

  addTo(sums: Float64Array, clusters: Uint32Array): void {
    const { data, first, count } = this
    const cols = this.#cols
    for (let row = 0; row < count; row++) {
      const from = row * cols
      const to = clusters[first + row] * cols
      for (let j = 0; j < cols; j++) sums[to + j] += data[from + j]
    }
  }

  ownSquares(means: Means, clusters: Uint32Array, out: Float64Array): void {
    const { data, first, count } = this
    const cols = this.#cols
    for (let row = 0; row < count; row++) {
      const from = row * cols
      const mean = clusters[first + row] * cols
      let sum = 0
      for (let j = 0; j < cols; j++) {
        const difference = data[from + j] - means.data[mean + j]
        sum += difference * difference
      }
      out[row] = sum
    }
  }

  meanSquares(means: Means, from: number, to: number, out: Float64Array): void {
    squaredDistances(this.data, 0, this.count, means.data, from, to, this.#cols, out)
  }

  pairSquares(a0: number, a1: number, b0: number, b1: number, out: Float64Array): void {
    squaredDistances(this.data, a0, a1, this.data, b0, b1, this.#cols, out)
  }
}

/**
 * Squared distances between rows a0 to a1 of a and rows b0 to b1 of b, by differences, as an (a1 - a0) x (b1 - b0)
 * matrix. Four rows against two at a time, so that a number is used several times once it is loaded; where fewer are
 * left, the last one is repeated, which writes the same result again.
 */
export function squaredDistances(
  a: Float64Array,
  a0: number,
  a1: number,
  b: Float64Array,
  b0: number,
  b1: number,
  cols: number,
  out: Float64Array,
): void {
  const width = b1 - b0
  for (let i = a0; i < a1; i += 4) {
    const i1 = Math.min(i + 1, a1 - 1)
    const i2 = Math.min(i + 2, a1 - 1)
    const i3 = Math.min(i + 3, a1 - 1)
    const p0 = i * cols
    const p1 = i1 * cols
    const p2 = i2 * cols
    const p3 = i3 * cols
    for (let j = b0; j < b1; j += 2) {
      const q0 = j * cols
      const step = j + 1 < b1 ? 1 : 0
      const q1 = q0 + step * cols
      let s0 = 0
      let s1 = 0
      let s2 = 0
      let s3 = 0
      let t0 = 0
      let t1 = 0
      let t2 = 0
      let t3 = 0
      for (let col = 0; col < cols; col++) {
        const x0 = a[p0 + col]
        const x1 = a[p1 + col]
        const x2 = a[p2 + col]
        const x3 = a[p3 + col]
        const y = b[q0 + col]
        const z = b[q1 + col]
        s0 += (x0 - y) * (x0 - y)
        s1 += (x1 - y) * (x1 - y)
        s2 += (x2 - y) * (x2 - y)
        s3 += (x3 - y) * (x3 - y)
        t0 += (x0 - z) * (x0 - z)
        t1 += (x1 - z) * (x1 - z)
        t2 += (x2 - z) * (x2 - z)
        t3 += (x3 - z) * (x3 - z)
      }
      const at = j - b0
      const o0 = (i - a0) * width + at
      const o1 = (i1 - a0) * width + at
      const o2 = (i2 - a0) * width + at
      const o3 = (i3 - a0) * width + at
      out[o0] = s0
      out[o1] = s1
      out[o2] = s2
      out[o3] = s3
      out[o0 + step] = t0
      out[o1 + step] = t1
      out[o2 + step] = t2
      out[o3 + step] = t3
    }
  }
}

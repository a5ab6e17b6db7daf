/**
 * Cartesian k-means (Norouzi and Fleet, 2013) and its special cases, a round at a time.
 *
 * Minimises |X - mean - R D B|, R with orthonormal columns, D block diagonal with m blocks of h
 * codewords, B one codeword a block. A round: codes (nearest codewords of R'x), codewords (means), then
 * the rotation that fits X to D B best (see procrustes.ts). None of the three can raise the objective.
 *
 * - `pq` leaves R alone. `ok` is m blocks of one row with two codewords: mean and middle of the
 *   two together are the mu of ok-means, half their difference is its D. `itq` keeps R within the
 *   principal directions and all codewords at plus and minus one common length.
 * - Departure: the paper's ck-means has no mean. It is taken out here, so that a rank below d spends
 *   no direction on it and ok-means is exactly the case h = 2; at full rank it changes nothing but
 *   that rotations turn the data around its mean.
 * - Departure: a codeword without points becomes a random point.
 *
 * Cost of a round: 2 n d s for R'x, 2 n h s for the codes, n m d for the sums; all on the device. The
 * rotation is found from the sums alone, 2 m h d s.
 */

import type { Random } from '../core/random.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { bookStride } from '../kernels/encode.ts'
import { gram, matmul } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, writeRows } from '../kernels/rows.ts'
import { inner, product, transposed } from '../math/orthogonal.ts'
import type { PointStore } from '../vectors/points.ts'
import type { QuantizerType } from './options.ts'
import { rotationFor } from './procrustes.ts'
import { along, type Samples } from './start.ts'
import type { Trainer } from './trainer.ts'

export interface RoundsArgs {
  readonly type: QuantizerType
  readonly ranges: readonly number[]
  readonly codewords: number
  /** R', s x d. */
  readonly directions: Float64Array
  /** R is always the identity: points are encoded without rotation. */
  readonly natural: boolean
  readonly books: Float32Array
  readonly mean: Float64Array
  /** Sum of squared distances to the mean. */
  readonly scatter: number
  readonly samples: Samples
  /** Sums of the points come from there. */
  readonly trainer: Trainer
  readonly refill: Random
}

export interface Round {
  /** Sum over all points, after the round. */
  readonly objective: number
  readonly rotationSeconds: number
}

export class Rounds {
  readonly #device: Device
  readonly #points: PointStore
  readonly #args: RoundsArgs
  readonly #scope: BufferScope
  /** Sums of rows by codeword, [m h][d]; of rotated rows where the rotation stays. */
  readonly #sums: DeviceRows
  readonly #counts: DeviceBuffer
  /** For the rotation: sums and codewords turned, and their product. */
  readonly #turned: DeviceRows
  readonly #words: DeviceRows
  readonly #product: DeviceBuffer
  /** Of itq: the principal directions, s x d, that R stays within. */
  readonly #span: Float64Array
  #directions: Float64Array
  #books: Float32Array

  constructor(device: Device, points: PointStore, args: RoundsArgs) {
    this.#device = device
    this.#points = points
    this.#args = args
    this.#directions = args.directions
    this.#span = args.directions
    this.#books = args.books
    const { ranges, codewords } = args
    const m = ranges.length - 1
    const s = ranges[m]
    const scope = new BufferScope(device)
    this.#scope = scope
    this.#sums = allocateRows(scope, m * codewords, this.#fixed ? s : points.cols, 'f32', 'sums by codeword')
    this.#counts = scope.allocate(m * codewords * 4, 'points of codewords')
    const rows = this.#fixed ? 0 : m * codewords
    this.#turned = allocateRows(scope, rows, s, 'f32', 'rotated sums')
    this.#words = allocateRows(scope, rows, s, 'f32', 'codewords as a block matrix')
    this.#product = scope.allocate(
      this.#fixed ? 0 : this.#sums.stride * this.#words.stride * 4,
      'points times codewords',
    )
  }

  get directions(): Float64Array {
    return this.#directions
  }

  get books(): Float32Array {
    return this.#books
  }

  get #fixed(): boolean {
    return this.#args.type === 'pq'
  }

  /** Stopped by the signal, it throws and leaves everything as it was after the round before. */
  async run(control: RunControl = {}): Promise<Round> {
    const rotation = this.#args.natural && this.#fixed ? undefined : Float32Array.from(this.#directions)
    const target = { sums: this.#sums, counts: this.#counts }
    const error = await this.#args.trainer.sum({ books: this.#books, rotation }, target, control)
    const { ranges, codewords } = this.#args
    // A buffer may be longer than it was asked for.
    const counts = new Uint32Array(await this.#device.read(this.#counts)).subarray(0, (ranges.length - 1) * codewords)
    const { gain, energy } = await this.#moveCodewords(counts)
    const s = ranges[ranges.length - 1]
    // At full rank the measured error keeps its digits; below it, what the directions leave out is known from the rest.
    const measured = s === this.#points.cols && this.#args.type !== 'itq'
    let objective = measured ? error - gain : this.#args.scatter - energy
    let rotationSeconds = 0
    if (!this.#fixed) {
      const turned = await this.#turn(counts)
      objective -= turned.gain
      rotationSeconds = turned.seconds
    }
    this.#refill(counts)
    return { objective: Math.max(0, objective), rotationSeconds }
  }

  free(): void {
    this.#scope.free()
  }

  /** Codewords become means. Gain: by how much that lowers the error. Energy: sum of count |codeword - center|^2. */
  async #moveCodewords(counts: Uint32Array): Promise<{ gain: number; energy: number }> {
    const { ranges, codewords, type } = this.#args
    const m = ranges.length - 1
    const stride = bookStride(ranges)
    const center = this.#center()
    const { sums, sumStride } = await this.#rotatedSums()
    const books = this.#books.slice()
    let gain = 0
    let energy = 0
    let reach = 0
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < codewords; j++) {
        const row = i * codewords + j
        const count = counts[row]
        if (count === 0) continue
        for (let t = ranges[i]; t < ranges[i + 1]; t++) {
          const at = row * stride + t - ranges[i]
          const mean = sums[row * sumStride + t] / count
          if (type === 'itq') reach += (j === 0 ? -1 : 1) * count * (mean - center[t])
          gain += count * (mean - books[at]) ** 2
          books[at] = mean
          energy += count * (mean - center[t]) ** 2
        }
      }
    }
    if (type === 'itq') {
      // One length for all bits: the mean of |z|, which fits best among equal ones.
      const length = Math.max(0, reach / (this.#points.rows * m))
      for (let i = 0; i < m; i++) {
        books[i * 2 * stride] = center[i] - length
        books[(i * 2 + 1) * stride] = center[i] + length
      }
      energy = this.#points.rows * m * length ** 2
    }
    this.#books = books
    return { gain, energy }
  }

  /** R' times the sums by codeword. */
  async #rotatedSums(): Promise<{ sums: Float32Array; sumStride: number }> {
    if (this.#fixed) {
      return { sums: new Float32Array(await this.#device.read(this.#sums.buffer)), sumStride: this.#sums.stride }
    }
    const s = this.#words.cols
    const scope = new BufferScope(this.#device)
    try {
      const rotation = allocateRows(scope, s, this.#points.cols, 'f32', 'rotation')
      writeRows(this.#device, rotation, new Float32Array(this.#directions))
      await matmul(this.#device, { a: this.#sums, b: rotation, out: this.#turned })
      return { sums: new Float32Array(await this.#device.read(this.#turned.buffer)), sumStride: this.#turned.stride }
    } finally {
      scope.free()
    }
  }

  /** The rotation that fits best to the codewords, which turn with it. */
  async #turn(counts: Uint32Array): Promise<{ gain: number; seconds: number }> {
    const d = this.#points.cols
    const { ranges, codewords, type } = this.#args
    const s = this.#words.cols
    const stride = bookStride(ranges)
    const center = this.#center()
    const words = new Float32Array(this.#words.rows * s)
    const balance = new Float64Array(s)
    for (let i = 0; i + 1 < ranges.length; i++) {
      for (let j = 0; j < codewords; j++) {
        const row = i * codewords + j
        for (let t = ranges[i]; t < ranges[i + 1]; t++) {
          const value = this.#books[row * stride + t - ranges[i]] - center[t]
          words[row * s + t] = value
          balance[t] += counts[row] * value
        }
      }
    }
    writeRows(this.#device, this.#words, words)
    await gram(this.#device, { a: this.#sums, b: this.#words, out: this.#product })
    const found = new Float32Array(await this.#device.read(this.#product))
    // M = (X - mean) (D B)', d x s
    const fit = new Float64Array(d * s)
    const { mean } = this.#args
    for (let i = 0; i < d; i++) {
      for (let t = 0; t < s; t++) fit[i * s + t] = found[i * this.#words.stride + t] - mean[i] * balance[t]
    }
    const began = performance.now()
    const before = transposed(this.#directions, s, d)
    const after =
      type === 'itq' ? await this.#withinSpan(fit, s, d) : await rotationFor(this.#device, fit, before, d, s)
    const gain = 2 * (inner(after, fit) - inner(before, fit))
    const seconds = (performance.now() - began) / 1000
    // Rounding alone can make a rotation worse once nothing is left to gain.
    if (!(gain > 0)) return { gain: 0, seconds }
    this.#directions = transposed(after, d, s)
    this.#moveBooks(center, this.#center())
    return { gain, seconds }
  }

  /** W R for the best rotation R of the principal directions W. */
  async #withinSpan(fit: Float64Array, s: number, d: number): Promise<Float64Array> {
    const span = transposed(this.#span, s, d)
    const within = product(this.#span, fit, s, d, s)
    const before = product(this.#span, transposed(this.#directions, s, d), s, d, s)
    const rotation = await rotationFor(this.#device, within, before, s, s)
    return product(span, rotation, d, s, s)
  }

  /** Codewords are kept relative to the turned mean. */
  #moveBooks(from: Float64Array, to: Float64Array): void {
    const { ranges, codewords } = this.#args
    const stride = bookStride(ranges)
    for (let i = 0; i + 1 < ranges.length; i++) {
      for (let row = i * codewords; row < (i + 1) * codewords; row++) {
        for (let t = ranges[i]; t < ranges[i + 1]; t++) this.#books[row * stride + t - ranges[i]] += to[t] - from[t]
      }
    }
  }

  /** R' mean. */
  #center(): Float64Array {
    const { mean, ranges } = this.#args
    return along(this.#directions, mean, ranges[ranges.length - 1])
  }

  #refill(counts: Uint32Array): void {
    const { ranges, codewords, samples, refill, type } = this.#args
    if (type === 'itq') return
    for (let row = 0; row < counts.length; row++) {
      if (counts[row] > 0) continue
      const i = Math.floor(row / codewords)
      const at = row * bookStride(ranges)
      samples.project(refill.below(samples.count), this.#directions, ranges[i], ranges[i + 1], this.#books, at)
    }
  }
}

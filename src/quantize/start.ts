/** Where training begins: the first rotation, and the first codewords. */

import { type Random, sampleDistinct, shuffle } from '../core/random.ts'
import { bookStride } from '../kernels/encode.ts'
import { leadingEigenvectors, product, randomRotation } from '../math/orthogonal.ts'
import type { PointStore } from '../vectors/points.ts'
import { wordStart } from './codec.ts'
import type { ResolvedQuantizerOptions } from './options.ts'
import type { Trainer } from './trainer.ts'

/** Rows kept on the host for first codewords and for codewords that lost all points. */
const SAMPLES = 2048

export interface FirstDirections {
  /** R', rank x d: one direction a row. Empty where pq leaves the dimensions as they are, which may be many thousands. */
  readonly directions: Float64Array
  /** The dimensions in their own order: nothing needs to be rotated. */
  readonly natural: boolean
}

export async function firstDirections(
  { rows, cols }: PointStore,
  trainer: Trainer,
  mean: Float64Array,
  { type, order, rank, m }: ResolvedQuantizerOptions,
  random: Random,
): Promise<FirstDirections> {
  if (type === 'pq' && order === 'natural') return { directions: new Float64Array(0), natural: true }
  if (order === 'principal') {
    const covariance = covarianceFrom(await trainer.covariance(), rows, mean)
    const leading = leadingEigenvectors(covariance, cols, rank)
    return { directions: product(randomRotation(random, rank), leading, rank, rank, cols), natural: false }
  }
  const dimensions = Uint32Array.from({ length: cols }, (_, i) => i)
  if (order === 'random') shuffle(random, dimensions)
  // Dimensions with the same remainder side by side: exactly the ranges, as both give the first subspaces more.
  if (order === 'structured') dimensions.sort((a, b) => (a % m) - (b % m) || a - b)
  const directions = new Float64Array(rank * cols)
  dimensions.forEach((dimension, i) => {
    directions[i * cols + dimension] = 1
  })
  return { directions, natural: order === 'natural' }
}

/** Where a vector lies along the directions; itself where there are none. */
export function along(directions: Float64Array, vector: Float64Array, rank: number): Float64Array {
  return directions.length === 0 ? vector : product(directions, vector, rank, vector.length, 1)
}

/** From sums of products of columns. */
function covarianceFrom(products: Float64Array, rows: number, mean: Float64Array): Float64Array {
  const cols = mean.length
  return products.map((sum, at) => sum / rows - mean[Math.floor(at / cols)] * mean[at % cols])
}

/** Rows drawn at random, as the device holds them. */
export class Samples {
  readonly #data: Float32Array
  readonly #cols: number
  readonly count: number

  static async draw(points: PointStore, least: number, random: Random): Promise<Samples> {
    const count = Math.min(points.rows, Math.max(least, SAMPLES))
    // In rising order, so that a file is read forwards; which is which stays random below.
    const chosen = sampleDistinct(random, points.rows, count).sort()
    return new Samples(await points.gather(chosen), points.cols, count)
  }

  private constructor(data: Float32Array, cols: number, count: number) {
    this.#data = data
    this.#cols = cols
    this.count = count
  }

  /** Directions first to last of sample i, into a place of the books. */
  project(i: number, directions: Float64Array, first: number, last: number, out: Float32Array, at: number): void {
    const cols = this.#cols
    if (directions.length === 0) {
      out.set(this.#data.subarray(i * cols + first, i * cols + last), at)
      return
    }
    for (let t = first; t < last; t++) {
      let dot = 0
      for (let j = 0; j < cols; j++) dot += directions[t * cols + j] * this.#data[i * cols + j]
      out[at + t - first] = dot
    }
  }
}

/**
 * Random samples. Where a subspace is one direction with two codewords, they begin on either side of
 * the mean, at the mean distance from it: the first codes are then signs, as in ok-means.
 */
export function firstBooks(
  samples: Samples,
  directions: Float64Array,
  center: Float64Array,
  ranges: readonly number[],
  codewords: number,
  random: Random,
): Float32Array {
  const m = ranges.length - 1
  const books = new Float32Array(m * codewords * bookStride(ranges))
  const one = new Float32Array(1)
  for (let i = 0; i < m; i++) {
    if (codewords === 2 && ranges[i + 1] - ranges[i] === 1) {
      let spread = 0
      for (let row = 0; row < samples.count; row++) {
        samples.project(row, directions, ranges[i], ranges[i + 1], one, 0)
        spread += Math.abs(one[0] - center[ranges[i]]) / samples.count
      }
      books[wordStart(ranges, codewords, i, 0)] = center[ranges[i]] - spread
      books[wordStart(ranges, codewords, i, 1)] = center[ranges[i]] + spread
      continue
    }
    const chosen = sampleDistinct(random, samples.count, codewords)
    chosen.forEach((row, j) => {
      samples.project(row, directions, ranges[i], ranges[i + 1], books, wordStart(ranges, codewords, i, j))
    })
  }
  return books
}

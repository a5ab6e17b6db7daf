/** The silhouette of a clustering: exactly, from all pairs of rows, or simplified, from the means of the clusters. */

import { abortSignal, callback, choice, type OptionChecks, optionsOf } from '../core/arguments.ts'
import type { VectorInput } from '../core/matrix.ts'
import type { OnProgress } from '../core/progress.ts'
import { type LabelledRows, labelledRows, meansOf, scoredRows } from './labelled-rows.ts'
import { Pace } from './pace.ts'
import type { Labels } from './partition.ts'
import { BLOCK_NUMBERS } from './scored-dense.ts'
import type { Means, RowBlock, ScoredRows } from './scored-rows.ts'

/** Watching and stopping the computation of a score. */
export interface ScoreOptions {
  /** Stops the work: the call then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called from time to time with the share that is done, 0 to 1. */
  readonly onProgress?: OnProgress | undefined
}

/** Options of {@link silhouette}. */
export interface SilhouetteOptions extends ScoreOptions {
  /**
   * `exact`: from the distances between all rows, which keeps all rows in memory in 64 bits and takes n^2 d / 2 steps.
   * `simplified`: from the distances of rows to the means of clusters, n k d steps. Default `auto`: exact up to
   * {@link SILHOUETTE_EXACT_ROWS} rows, simplified beyond.
   */
  readonly method?: 'auto' | 'exact' | 'simplified' | undefined
  /** `cosine`: one minus the cosine of the angle between two vectors. Default `euclidean`. */
  readonly metric?: 'euclidean' | 'cosine' | undefined
}

/** Up to this many rows {@link silhouette} is exact by default. */
export const SILHOUETTE_EXACT_ROWS = 5000

export const SCORE_CHECKS: OptionChecks<ScoreOptions> = { signal: abortSignal, onProgress: callback }

const SILHOUETTE_CHECKS: OptionChecks<SilhouetteOptions> = {
  ...SCORE_CHECKS,
  method: choice(['auto', 'exact', 'simplified']),
  metric: choice(['euclidean', 'cosine']),
}

/** A tile of distances: rows of one side, and at most so many numbers. */
const TILE_ROWS = 32
const TILE_NUMBERS = 65_536

/**
 * The mean silhouette coefficient of all vectors, from -1 to 1: the higher, the better the clusters are separated. The
 * coefficient of a vector is (b - a) / max(a, b); in a cluster of one vector it is 0.
 *
 * - Exact: a is the mean distance to the other vectors of its cluster, b the mean distance to the vectors of the
 *   nearest other cluster. This is `silhouette_score` of scikit-learn.
 * - Simplified: a is the distance to the mean of its own cluster, b the distance to the nearest mean of another cluster.
 *   It is usually somewhat higher than the exact one: compare only scores of the same method.
 *
 * Labels are any whole numbers. The vectors may be sparse, or a source that is read in pieces.
 *
 * @example
 * ```ts
 * import { silhouette } from 'centroidal'
 *
 * const vectors = [[0, 0], [0, 1], [9, 9], [9, 8]]
 * await silhouette(vectors, [0, 0, 1, 1]) // => 0.917
 * await silhouette(vectors, [0, 0, 1, 1], { method: 'simplified' }) // => 0.958
 * await silhouette(vectors, [0, 1, 0, 1]) // => -0.458
 * ```
 */
export async function silhouette(
  vectors: VectorInput,
  labels: Labels,
  options: SilhouetteOptions = {},
): Promise<number> {
  const given = optionsOf<SilhouetteOptions>('silhouette', options, SILHOUETTE_CHECKS)
  const { method = 'auto', metric = 'euclidean' } = given
  const labelled = labelledRows(vectors, labels)
  const unit = metric === 'cosine'
  const rows = scoredRows(labelled.source, unit)
  const exact = method === 'exact' || (method === 'auto' && rows.rows <= SILHOUETTE_EXACT_ROWS)
  return exact ? exactSilhouette(rows, labelled, unit, given) : simplifiedSilhouette(rows, labelled, unit, given)
}

/** Bringing equal directions to length one leaves less than this between them; other 32-bit vectors are further apart. */
const ROUNDING = 1e-28

/** Rows of length one are |x - y|^2 / 2 apart by cosine. */
function distanceOf(squared: number, unit: boolean): number {
  if (!unit) return Math.sqrt(squared)
  return squared < ROUNDING ? 0 : squared / 2
}

function coefficient(own: number, other: number): number {
  const larger = Math.max(own, other)
  return larger === 0 ? 0 : (other - own) / larger
}

/** Every pair of clusters once: their distances count for the rows of both. No array of size n x k or n x n is needed. */
async function exactSilhouette(
  rows: ScoredRows,
  labelled: LabelledRows,
  unit: boolean,
  watch: ScoreOptions,
): Promise<number> {
  const { sizes } = labelled
  const k = sizes.length
  const pace = new Pace(rows.numbers * (1 + rows.rows / 2), watch)
  const { order, starts } = byCluster(labelled)
  const block = await rows.gather(order, pace)
  const pairs = new PairSums(block, unit, pace, rows.numbers / rows.rows)
  const own = new Float64Array(rows.rows)
  const other = new Float64Array(rows.rows).fill(Number.POSITIVE_INFINITY)
  for (let a = 0; a < k; a++) {
    await pairs.add(starts[a], starts[a + 1], starts[a], starts[a + 1])
    for (let i = starts[a]; i < starts[a + 1]; i++) own[i] = pairs.first[i] / (sizes[a] - 1)
    for (let b = a + 1; b < k; b++) {
      await pairs.add(starts[a], starts[a + 1], starts[b], starts[b + 1])
      for (let i = starts[a]; i < starts[a + 1]; i++) other[i] = Math.min(other[i], pairs.first[i] / sizes[b])
      for (let i = starts[b]; i < starts[b + 1]; i++) other[i] = Math.min(other[i], pairs.second[i] / sizes[a])
    }
  }
  let sum = 0
  for (let a = 0; a < k; a++) {
    if (sizes[a] === 1) continue
    for (let i = starts[a]; i < starts[a + 1]; i++) sum += coefficient(own[i], other[i])
  }
  pace.finish()
  return sum / rows.rows
}

/** The rows of cluster c are at places starts[c] to starts[c + 1] of `order`. */
function byCluster({ clusters, sizes }: LabelledRows): { order: Uint32Array; starts: Uint32Array } {
  const starts = new Uint32Array(sizes.length + 1)
  for (let c = 0; c < sizes.length; c++) starts[c + 1] = starts[c] + sizes[c]
  const next = starts.slice()
  const order = new Uint32Array(clusters.length)
  for (let row = 0; row < clusters.length; row++) order[next[clusters[row]]++] = row
  return { order, starts }
}

/** Sums of distances from the rows of one cluster to those of another, and back. */
class PairSums {
  /** By place: of the rows of the first cluster and of the second, since the last `add`. */
  readonly first: Float64Array
  readonly second: Float64Array
  readonly #block: RowBlock
  readonly #unit: boolean
  readonly #pace: Pace
  readonly #width: number
  readonly #tileCols: number
  readonly #tile: Float64Array

  /** `width`: numbers in a row, on average. */
  constructor(block: RowBlock, unit: boolean, pace: Pace, width: number) {
    this.#block = block
    this.#unit = unit
    this.#pace = pace
    this.#width = width
    this.first = new Float64Array(block.count)
    this.second = new Float64Array(block.count)
    this.#tileCols = Math.min(Math.ceil(BLOCK_NUMBERS / width), TILE_NUMBERS / TILE_ROWS)
    this.#tile = new Float64Array(TILE_ROWS * this.#tileCols)
  }

  async add(a0: number, a1: number, b0: number, b1: number): Promise<void> {
    this.first.fill(0, a0, a1)
    this.second.fill(0, b0, b1)
    // The pairs within a cluster are met twice, those of two clusters once.
    const half = a0 === b0 ? 0.5 : 1
    for (let b = b0; b < b1; b += this.#tileCols) {
      const bEnd = Math.min(b1, b + this.#tileCols)
      for (let a = a0; a < a1; a += TILE_ROWS) {
        const aEnd = Math.min(a1, a + TILE_ROWS)
        this.#addTile(a, aEnd, b, bEnd)
        if (this.#pace.count(half * (aEnd - a) * (bEnd - b) * this.#width)) await this.#pace.rest()
      }
    }
  }

  #addTile(a0: number, a1: number, b0: number, b1: number): void {
    const { first, second } = this
    const tile = this.#tile
    const unit = this.#unit
    this.#block.pairSquares(a0, a1, b0, b1, tile)
    let at = 0
    for (let a = a0; a < a1; a++) {
      let sum = 0
      for (let b = b0; b < b1; b++) {
        const distance = distanceOf(tile[at++], unit)
        sum += distance
        second[b] += distance
      }
      first[a] += sum
    }
  }
}

async function simplifiedSilhouette(
  rows: ScoredRows,
  labelled: LabelledRows,
  unit: boolean,
  watch: ScoreOptions,
): Promise<number> {
  const { clusters, sizes } = labelled
  const pace = new Pace(rows.numbers * (1 + sizes.length), watch)
  const means = await meansOf(rows, labelled, unit, pace)
  const lift = means.squares.map((square) => (unit && square === 0 ? 1 : 0))
  let sum = 0
  for await (const block of rows.blocks()) {
    const { own, other } = await nearestMeans(block, means, lift, clusters, pace)
    for (let i = 0; i < block.count; i++) {
      if (sizes[clusters[block.first + i]] === 1) continue
      sum += coefficient(distanceOf(own[i], unit), distanceOf(other[i], unit))
    }
  }
  pace.finish()
  return sum / rows.rows
}

/**
 * Squared distances to the own mean and to the nearest other. A mean of all zeros has no direction: `lift` makes its
 * cosine distance 1, that of a right angle.
 */
async function nearestMeans(
  block: RowBlock,
  means: Means,
  lift: Float64Array,
  clusters: Uint32Array,
  pace: Pace,
): Promise<{ own: Float64Array; other: Float64Array }> {
  const { count, first } = block
  const own = new Float64Array(count)
  const other = new Float64Array(count).fill(Number.POSITIVE_INFINITY)
  const fitting = Math.floor(Math.min(BLOCK_NUMBERS / means.cols, TILE_NUMBERS / count))
  const step = Math.min(means.k, Math.max(2, fitting))
  const tile = new Float64Array(count * step)
  for (let from = 0; from < means.k; from += step) {
    const to = Math.min(means.k, from + step)
    block.meanSquares(means, from, to, tile)
    let at = 0
    for (let i = 0; i < count; i++) {
      const cluster = clusters[first + i]
      for (let mean = from; mean < to; mean++) {
        const squared = tile[at++] + lift[mean]
        if (mean === cluster) own[i] = squared
        else if (squared < other[i]) other[i] = squared
      }
    }
    if (pace.count(block.numbers * (to - from))) await pace.rest()
  }
  return { own, other }
}

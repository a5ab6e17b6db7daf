/** Scores of a clustering that need only its vectors: how close clusters are, against how far apart. */
import { optionsOf } from '../core/arguments.ts'
import type { VectorInput } from '../core/matrix.ts'
import { type LabelledRows, labelledRows, meansOf, scoredRows } from './labelled-rows.ts'
import { Pace } from './pace.ts'
import type { Labels } from './partition.ts'
import { squaredDistances } from './scored-dense.ts'
import type { Means, ScoredRows } from './scored-rows.ts'
import { SCORE_CHECKS, type ScoreOptions } from './silhouette.ts'

/**
 * The Davies-Bouldin index, 0 or more: the lower, the better. The likeness of two clusters is the sum of their mean
 * distances to their means, divided by the distance between the means; the index is the likeness of a cluster to the
 * one it resembles most, averaged over clusters. This is `davies_bouldin_score` of scikit-learn.
 *
 * Labels are any whole numbers. The vectors may be sparse, or a source that is read in pieces: two passes are made.
 *
 * @example
 * ```ts
 * import { daviesBouldin } from 'centroidal'
 *
 * const vectors = [[0, 0], [0, 2], [10, 0], [10, 2]]
 * await daviesBouldin(vectors, [0, 0, 1, 1]) // => 0.2
 * ```
 */
export async function daviesBouldin(vectors: VectorInput, labels: Labels, options: ScoreOptions = {}): Promise<number> {
  const watch = optionsOf<ScoreOptions>('daviesBouldin', options, SCORE_CHECKS)
  const labelled = labelledRows(vectors, labels)
  const rows = scoredRows(labelled.source, false)
  const k = labelled.sizes.length
  const pace = new Pace(2 * rows.numbers + (k * k * rows.cols) / 2, watch)
  const means = await meansOf(rows, labelled, false, pace)
  const spreads = await scatter(rows, labelled, means, Math.sqrt, pace)
  for (let c = 0; c < k; c++) spreads[c] /= labelled.sizes[c]
  const worst = await mostAlike(means, spreads, pace)
  pace.finish()
  return worst.reduce((sum, value) => sum + value, 0) / k
}

/** Means whose distances to all later ones are taken together. */
const ROWS_AT_ONCE = 4

/** Of each cluster, its largest likeness to another. Clusters with the same mean are left out, as in scikit-learn. */
export async function mostAlike(means: Means, spreads: Float64Array, pace: Pace): Promise<Float64Array> {
  const { k, cols, data } = means
  const worst = new Float64Array(k)
  const squares = new Float64Array(ROWS_AT_ONCE * k)
  for (let first = 0; first < k; first += ROWS_AT_ONCE) {
    const end = Math.min(k, first + ROWS_AT_ONCE)
    squaredDistances(data, first, end, data, first, k, cols, squares)
    for (let a = first; a < end; a++) {
      for (let b = a + 1; b < k; b++) {
        const squared = squares[(a - first) * (k - first) + b - first]
        if (squared === 0) continue
        const likeness = (spreads[a] + spreads[b]) / Math.sqrt(squared)
        worst[a] = Math.max(worst[a], likeness)
        worst[b] = Math.max(worst[b], likeness)
      }
    }
    if (pace.count((end - first) * (k - first) * cols)) await pace.rest()
  }
  return worst
}

/**
 * The Calinski-Harabasz index (variance ratio criterion), 0 or more: the higher, the better. The spread of the means
 * around the mean of all vectors, over the spread of the vectors around the means of their clusters, each divided by its
 * degrees of freedom. This is `calinski_harabasz_score` of scikit-learn: 1 if every vector equals the mean of its
 * cluster.
 *
 * Labels are any whole numbers. The vectors may be sparse, or a source that is read in pieces: two passes are made.
 *
 * @example
 * ```ts
 * import { calinskiHarabasz } from 'centroidal'
 *
 * const vectors = [[0, 0], [0, 2], [10, 0], [10, 2]]
 * await calinskiHarabasz(vectors, [0, 0, 1, 1]) // => 50
 * ```
 */
export async function calinskiHarabasz(
  vectors: VectorInput,
  labels: Labels,
  options: ScoreOptions = {},
): Promise<number> {
  const watch = optionsOf<ScoreOptions>('calinskiHarabasz', options, SCORE_CHECKS)
  const labelled = labelledRows(vectors, labels)
  const rows = scoredRows(labelled.source, false)
  const pace = new Pace(2 * rows.numbers, watch)
  const means = await meansOf(rows, labelled, false, pace)
  const spreads = await scatter(rows, labelled, means, (squared) => squared, pace)
  const within = spreads.reduce((sum, value) => sum + value, 0)
  pace.finish()
  if (within === 0) return 1
  const k = means.k
  return (betweenMeans(means, labelled) * (rows.rows - k)) / (within * (k - 1))
}

/** By cluster, the sum over its rows of what `measure` makes of their squared distance to its mean: the second pass. */
async function scatter(
  rows: ScoredRows,
  { clusters, sizes }: LabelledRows,
  means: Means,
  measure: (squared: number) => number,
  pace: Pace,
): Promise<Float64Array> {
  const sums = new Float64Array(sizes.length)
  let squares = new Float64Array(0)
  for await (const block of rows.blocks()) {
    if (squares.length < block.count) squares = new Float64Array(block.count)
    block.ownSquares(means, clusters, squares)
    for (let i = 0; i < block.count; i++) sums[clusters[block.first + i]] += measure(squares[i])
    if (pace.count(block.numbers)) await pace.rest()
  }
  return sums
}

/** The squared distance of every row's mean to the mean of all rows, summed over the rows. */
export function betweenMeans(
  { k, cols, data }: Means,
  { sizes, clusters }: Pick<LabelledRows, 'sizes' | 'clusters'>,
): number {
  const centre = new Float64Array(cols)
  for (let mean = 0; mean < k; mean++) {
    const share = sizes[mean] / clusters.length
    for (let j = 0; j < cols; j++) centre[j] += share * data[mean * cols + j]
  }
  const squared = new Float64Array(1)
  let sum = 0
  for (let mean = 0; mean < k; mean++) {
    squaredDistances(data, mean, mean + 1, centre, 0, 1, cols, squared)
    sum += sizes[mean] * squared[0]
  }
  return sum
}

/** The Bayesian information criterion (BIC): how likely a clustering makes the vectors, and how many numbers it takes to say so. */
import { optionsOf } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import type { VectorInput } from '../core/matrix.ts'
import type { Labels } from './partition.ts'
import { type ScatterSums, scatterSums } from './scatter-sums.ts'
import { SCORE_CHECKS, type ScoreOptions } from './silhouette.ts'

/** A cluster of one vector, or of equal ones, would be infinitely likely: variances are at least this share of their mean. */
const LEAST_OF_MEAN = 0.01
/** Where every cluster is a single place, that mean is 0, and this share of the variance of all vectors counts. */
const LEAST_OF_ALL = 1e-6

/**
 * The BIC of a clustering, in nats: the lower, the better. It is -2 ln L + p ln n, for n vectors of d dimensions in k
 * clusters. L is the likelihood of spherical Gaussians, one for each cluster, with the mean of its vectors, one variance
 * s = SS / (m d), and the weight m / n, where m is the number of its vectors and SS the sum of their squared distances
 * to the mean:
 *
 * ln L = sum over clusters of m ln(m / n) - (m d / 2) ln(2 pi s) - SS / (2 s)
 *
 * p = k (d + 2) - 1 is the number of weights, means and variances. A variance is at least a hundredth of the mean
 * variance within clusters, so that single vectors do not make a clustering infinitely likely. The criterion means
 * little when clusters have only a few vectors each.
 *
 * Labels are any whole numbers; with a single cluster the BIC is defined too. The vectors may be sparse, or a source
 * that is read in pieces: two passes are made.
 *
 * @example
 * ```ts
 * import { bic, blobs } from 'centroidal'
 *
 * const { vectors, labels } = blobs({ rows: 300, cols: 2, clusters: 3, separated: true })
 * const three = await bic(vectors, labels)
 * const two = await bic(vectors, labels.map((label) => Math.min(label, 1)))
 * three < two // => true
 * ```
 */
export async function bic(vectors: VectorInput, labels: Labels, options: ScoreOptions = {}): Promise<number> {
  const watch = optionsOf<ScoreOptions>('bic', options, SCORE_CHECKS)
  return bicOfSums(await scatterSums(vectors, labels, watch))
}

/** -2 ln L + p ln n for a mixture of k spherical Gaussians; `logLikelihood` is that of all vectors together. */
export function mixtureBic(logLikelihood: number, rows: number, k: number, cols: number): number {
  return -2 * logLikelihood + (k * (cols + 2) - 1) * Math.log(rows)
}

export function bicOfSums({ rows, cols, sizes, squares, between }: ScatterSums): number {
  const within = squares.reduce((sum, value) => sum + value, 0)
  const least = Math.max(LEAST_OF_MEAN * within, LEAST_OF_ALL * (within + between)) / (rows * cols)
  if (!(least > 0)) {
    throw new CentroidalError('bad-data', 'All vectors are the same: the BIC is undefined. Give vectors that differ.')
  }
  let logLikelihood = 0
  for (let c = 0; c < sizes.length; c++) {
    const variance = Math.max(least, squares[c] / (sizes[c] * cols))
    logLikelihood += sizes[c] * Math.log(sizes[c] / rows)
    logLikelihood -= ((sizes[c] * cols) / 2) * Math.log(2 * Math.PI * variance) + squares[c] / (2 * variance)
  }
  return mixtureBic(logLikelihood, rows, sizes.length, cols)
}

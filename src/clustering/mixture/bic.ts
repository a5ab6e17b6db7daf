/**
 * The Bayesian information criterion of a mixture of spherical Gaussians, and what merging two of its
 * components changes. Everything follows from weight, mean and variance of the components, so the cost does
 * not depend on the number of points.
 */
import type { Mixture } from '../../models/mixture.ts'
import { jointVariance, sharesOfPair } from './join.ts'

/** A mixture with its means, on the host: [k][d] in the points' frame. */
export interface HostMixture extends Mixture {
  readonly means: Float32Array
}

/** What the criteria need to know of the data. */
export interface DataSize {
  /** Points as evidence: see `effectivePoints` in distinct.ts. */
  readonly points: number
  readonly cols: number
}

/** What a component costs in log-likelihood: half of its numbers (mean, variance, weight) times ln(points). */
export function componentPenalty({ points, cols }: DataSize): number {
  return ((cols + 2) / 2) * logPoints(points)
}

/** -2 log-likelihood + (number of parameters) ln(points): lower is better. `logLikelihood` is that of all points. */
export function bayesianCriterion(logLikelihood: number, k: number, { points, cols }: DataSize): number {
  return -2 * logLikelihood + (k * (cols + 2) - 1) * logPoints(points)
}

/** Weights may add up to less than one point; a component is never free. */
function logPoints(points: number): number {
  return Math.log(Math.max(points, 2))
}

/**
 * The loss of classification likelihood when components i and j become one Gaussian with the weight, mean and variance
 * of both. The lower it is, the better the two fit one Gaussian. Unlike the likelihood itself this counts the entropy of
 * choosing between the two, as the integrated completed likelihood does (Biernacki, Celeux and Govaert 2000), and so
 * prefers one Gaussian to a Gaussian that was cut into cells.
 */
export function mergeLoss(
  { weights, variances }: Mixture,
  i: number,
  j: number,
  squaredGap: number,
  { points, cols }: DataSize,
): number {
  const [a, b] = [points * weights[i], points * weights[j]]
  const both = a + b
  const joint = jointVariance([a, variances[i]], [b, variances[j]], squaredGap, cols)
  const likelihood = (cols / 2) * (a * Math.log(joint / variances[i]) + b * Math.log(joint / variances[j]))
  return likelihood - both * choiceEntropy(sharesOfPair(a, b)[0])
}

/**
 * The gain of classification likelihood when a component is replaced by two: the counterpart of {@link mergeLoss}.
 * Each argument is the weight, in points, and the variance of a component.
 */
export function splitGain(
  [n, variance]: readonly [number, number],
  [a, left]: readonly [number, number],
  [b, right]: readonly [number, number],
  cols: number,
): number {
  const likelihood = (cols / 2) * (n * Math.log(variance) - a * Math.log(left) - b * Math.log(right))
  return likelihood - n * choiceEntropy(a / n)
}

/** Entropy of a choice between two, the first with probability p, in nats. */
export function choiceEntropy(p: number): number {
  return p > 0 && p < 1 ? -p * Math.log(p) - (1 - p) * Math.log(1 - p) : 0
}

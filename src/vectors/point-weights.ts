/** Weights of points: checked, and scaled where they are very large or very small. */
import { badOption, CentroidalError } from '../core/errors.ts'

export interface PointWeights {
  /** Multiplied by `weightScale`. */
  readonly weights: Float32Array | undefined
  /** A power of two, so that nothing but overflow changes: 1 unless weights are very large or very small. */
  readonly weightScale: number
}

/** Points that have weight. */
export function weightedRows(weights: Float32Array | undefined, rows: number): number {
  return weights ? weights.reduce((count, weight) => count + Number(weight > 0), 0) : rows
}

/** Weights beyond this, or below one over it, are scaled: sums of weighted squares stay finite. */
const LARGE_WEIGHT = 2 ** 20
/** A weight above 0 stays above 0, however small it is against the largest. */
const LEAST_WEIGHT = 2 ** -100

export function checkWeights(weights: ArrayLike<number> | undefined, rows: number): PointWeights {
  if (weights === undefined) return { weights: undefined, weightScale: 1 }
  if (weights.length !== rows) {
    throw badOption('weights', `${weights.length} numbers`, `give one for each of the ${rows} vectors.`)
  }
  const checked = Float32Array.from(weights)
  let largest = 0
  for (let i = 0; i < rows; i++) {
    if (!(checked[i] >= 0) || checked[i] === Number.POSITIVE_INFINITY) {
      throw new CentroidalError('bad-data', `Weight ${i} is ${weights[i]}: weights must be finite and not negative.`)
    }
    largest = Math.max(largest, checked[i])
  }
  if (largest === 0) throw badOption('weights', 'all zero', 'give at least one point a weight above 0.')
  const ordinary = largest <= LARGE_WEIGHT && largest >= 1 / LARGE_WEIGHT
  const weightScale = ordinary ? 1 : 2 ** -Math.round(Math.log2(largest))
  for (let i = 0; i < rows; i++) {
    if (checked[i] > 0) checked[i] = Math.max(LEAST_WEIGHT, checked[i] * weightScale)
  }
  return { weights: checked, weightScale }
}

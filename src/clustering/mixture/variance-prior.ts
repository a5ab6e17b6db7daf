/**
 * A weak prior on the variances of components. The likelihood of a mixture has no upper bound: a component that
 * shrinks onto a single point raises it without limit, and in many dimensions every criterion then prefers such
 * components. The prior counts as `strength` further points, spread like the average component (the geometric mean
 * of the variances), and takes that gain away (after Fraley and Raftery, "Bayesian regularization for normal mixture
 * estimation and model-based clustering", 2007, whose prior has one scale for all data instead). Besides, the variance
 * of n points about their own mean is divided by n - 1, as is usual: with few points the likeliest one is too small. A
 * component of a single point then has the variance of the prior.
 */

/** The geometric mean depends on what the prior makes of the variances: it settles within few steps. */
const STEPS = 3

/** `totals`: weight of each component, in points; `variances`: estimates without the prior. */
export function regularizedVariances(totals: Float64Array, variances: Float64Array, strength: number): Float64Array {
  if (!(strength > 0)) return variances
  const weight = totals.reduce((sum, total) => sum + total, 0)
  if (!(weight > 0)) return variances
  let regularized = variances
  for (let step = 0; step < STEPS; step++) {
    let mean = 0
    totals.forEach((total, c) => {
      if (total > 0) mean += (total / weight) * Math.log(regularized[c])
    })
    const typical = Math.exp(mean)
    regularized = variances.map((variance, c) =>
      totals[c] > 0 ? (totals[c] * variance + strength * typical) / (Math.max(0, totals[c] - 1) + strength) : variance,
    )
  }
  return regularized
}

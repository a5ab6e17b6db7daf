/** What the kernel expand found, as a mixture. */
import type { Mixture } from '../../models/mixture.ts'
import { regularizedVariances } from './variance-prior.ts'

/** Numbers it finds for a component: total of shares, that of inner ones, variance. */
export const FOUND = 3

/** Of what each component has: the share that comes from points it answers for most. */
export function ownShares(found: Float32Array): Float64Array {
  return Float64Array.from({ length: found.length / FOUND }, (_, component) => {
    const [total, inner] = found.subarray(FOUND * component)
    return total > 0 ? inner / total : 0
  })
}

/**
 * Totals become weights; a component without any keeps its width. `prior` is the strength of the prior on variances,
 * in points; `points` is the total weight of the data in the same unit.
 */
export function nextMixture(found: Float32Array, { variances }: Mixture, prior: number, points: number): Mixture {
  let total = 0
  for (let at = 0; at < found.length; at += FOUND) total += found[at]
  const weights = variances.map((_, component) => found[FOUND * component] / total)
  const estimates = variances.map((variance, component) =>
    weights[component] > 0 ? found[FOUND * component + 2] : variance,
  )
  const inPoints = weights.map((weight) => weight * points)
  return { weights, variances: regularizedVariances(inPoints, estimates, prior) }
}

/** A mixture as kernels rank its components: see kernels/respond.ts. */
import type { Mixture } from './mixture.ts'

export interface Scales {
  /** f32 [k][2]. */
  readonly values: Float32Array
  /** To be added to a rank, or to evidence, to make it the logarithm of a density. */
  readonly constant: number
}

/** The rank of a component without weight: below all others, but no infinity, which shaders may not know. */
const NEVER = -1e30

export function logScales({ weights, variances }: Mixture, cols: number): Scales {
  // Against a width in the middle of all, ranks stay small and keep their digits.
  let middle = 0
  for (const variance of variances) middle += Math.log(variance) / variances.length
  const values = new Float32Array(2 * weights.length)
  weights.forEach((weight, component) => {
    const variance = variances[component]
    values[2 * component] = weight > 0 ? Math.log(weight) - (cols / 2) * (Math.log(variance) - middle) : NEVER
    values[2 * component + 1] = 1 / (2 * variance)
  })
  return { values, constant: -(cols / 2) * (Math.log(2 * Math.PI) + middle) }
}

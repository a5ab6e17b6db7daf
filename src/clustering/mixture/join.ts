/** Two Gaussians become the one that has the weight, mean and width of both together. */
import type { Mixture } from '../../models/mixture.ts'

/** Of two components with a weight and a variance each, means that far apart: the variance, per column, about both's mean. */
export function jointVariance(
  [a, u]: readonly [weight: number, variance: number],
  [b, v]: readonly [weight: number, variance: number],
  squared: number,
  cols: number,
): number {
  const both = a + b
  return (a * u + b * v) / both + (((a * b) / both ** 2) * squared) / cols
}

/** In place, and of `centers`, [k][d], too. With `unit` means are brought to length one. */
export function joinComponents(
  { weights, variances }: Mixture,
  centers: Float32Array,
  joined: readonly (readonly [component: number, other: number])[],
  unit: boolean,
): void {
  const cols = centers.length / weights.length
  for (const [component, other] of joined) {
    const [a, b] = [weights[component], weights[other]]
    const both = a + b
    const mean = new Float64Array(cols)
    let squared = 0
    let length = 0
    for (let j = 0; j < cols; j++) {
      const [from, to] = [centers[component * cols + j], centers[other * cols + j]]
      mean[j] = (a * from + b * to) / both
      squared += (from - to) ** 2
      length += mean[j] ** 2
    }
    const scale = unit && length > 0 ? 1 / Math.sqrt(length) : 1
    centers.set(
      mean.map((value) => value * scale),
      other * cols,
    )
    variances[other] = jointVariance([a, variances[component]], [b, variances[other]], squared, cols)
    weights[other] = both
  }
}

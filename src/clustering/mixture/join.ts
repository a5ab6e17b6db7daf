/** Two Gaussians become the one that has the weight, mean and width of both together. */
import type { Mixture } from '../../models/mixture.ts'

/** Of two components with a weight and a variance each, means that far apart: the variance, per column, about both's mean. */
export function jointVariance(
  [a, u]: readonly [weight: number, variance: number],
  [b, v]: readonly [weight: number, variance: number],
  squared: number,
  cols: number,
): number {
  const [p, q] = sharesOfPair(a, b)
  return p * u + q * v + (p * q * squared) / cols
}

/** What each of two components has of their weight. Two without weight count alike. */
export function sharesOfPair(a: number, b: number): readonly [number, number] {
  const both = a + b
  return both > 0 ? [a / both, b / both] : [0.5, 0.5]
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
    const [p, q] = sharesOfPair(a, b)
    const mean = new Float64Array(cols)
    let squared = 0
    let length = 0
    for (let j = 0; j < cols; j++) {
      const [from, to] = [centers[component * cols + j], centers[other * cols + j]]
      mean[j] = p * from + q * to
      squared += (from - to) ** 2
      length += mean[j] ** 2
    }
    const scale = unit && length > 0 ? 1 / Math.sqrt(length) : 1
    centers.set(
      mean.map((value) => value * scale),
      other * cols,
    )
    variances[other] = jointVariance([a, variances[component]], [b, variances[other]], squared, cols)
    weights[other] = a + b
  }
}

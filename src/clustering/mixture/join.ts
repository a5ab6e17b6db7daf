/** Two Gaussians become the one that has the weight, mean and width of both together. */
import type { Mixture } from '../run-state.ts'

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
    variances[other] =
      (a * variances[component] + b * variances[other]) / both + (((a * b) / both ** 2) * squared) / cols
    weights[other] = both
  }
}

/**
 * Computes the coefficients of the polar iteration in src/quantize/procrustes.ts: `node scripts/polar-coefficients.mjs`.
 *
 * A step maps every singular value x to p(x) = a x + b x^3 + c x^5. The best p for values in [low, high] minimizes the largest
 * |p(x) - 1| there. By the equioscillation theorem its error takes its largest size e with alternating signs at four points:
 * both ends and two points in between. The Remez algorithm solves for a, b, c and e at four points, moves the inner points to
 * the extrema of the new error, and repeats. The values are then in [1 - e, 1 + e], which is the interval of the next step.
 */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Solves a small dense system by Gaussian elimination with partial pivoting. */
function solve(rows) {
  const n = rows.length
  for (let i = 0; i < n; i++) {
    const pivot = rows
      .slice(i)
      .reduce((best, row, at) => (Math.abs(row[i]) > Math.abs(rows[best][i]) ? i + at : best), i)
    ;[rows[i], rows[pivot]] = [rows[pivot], rows[i]]
    for (let j = 0; j < n; j++) {
      if (j === i) continue
      const factor = rows[j][i] / rows[i][i]
      for (let column = i; column <= n; column++) rows[j][column] -= factor * rows[i][column]
    }
  }
  return rows.map((row, i) => row[n] / row[i])
}

/** Coefficients [a, b, c] of the best polynomial on [low, high], and its largest error. */
export function bestStep(low, high) {
  let points = [low, low + (high - low) / 4, low + (3 * (high - low)) / 4, high]
  for (let round = 0; round < 100; round++) {
    const [a, b, c, error] = solve(points.map((x, i) => [x, x ** 3, x ** 5, i % 2 === 0 ? 1 : -1, 1]))
    // Zeros of the derivative a + 3 b x^2 + 5 c x^4.
    const root = Math.sqrt(9 * b * b - 20 * a * c)
    const inner = [(-3 * b - root) / (10 * c), (-3 * b + root) / (10 * c)].map(Math.sqrt).sort((x, y) => x - y)
    const next = [low, ...inner, high]
    const moved = Math.max(...next.map((x, i) => Math.abs(x - points[i])))
    points = next
    if (moved < 1e-14) return { coefficients: [a, b, c], error: Math.abs(error) }
  }
  throw new Error(`The Remez algorithm does not converge on [${low}, ${high}].`)
}

/** Coefficients of successive steps, and the interval that the last one leaves. */
export function polarSteps(smallest, count) {
  let [low, high] = [smallest, 1]
  const steps = []
  for (let i = 0; i < count; i++) {
    const { coefficients, error } = bestStep(low, high)
    steps.push(coefficients)
    ;[low, high] = [1 - error, 1 + error]
  }
  return { steps, low, high }
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  const { steps, low, high } = polarSteps(0.0085, 5)
  for (const step of steps) console.log(step.map((value) => value.toFixed(6)).join(', '))
  console.log(`The last step leaves [${low.toFixed(7)}, ${high.toFixed(7)}].`)
}

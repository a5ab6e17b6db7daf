/** Mixtures for the tests of their kernels, and what those should compute, in 64-bit floats. */
import { createRandom } from '../../src/core/random.ts'
import { countOf, NONE, type Rows, squaredDistance } from './oracles.ts'
import { centers, type Flavour, isBytes, points } from './vectors.ts'

export interface MixtureCase {
  readonly x: Rows
  readonly c: Rows
  /** [k][2]: ranks are scales[0] - distance * scales[1]. */
  readonly scales: Float32Array
}

/** Scales are multiples of powers of two, so that ranks of whole numbers are exact. */
export function makeMixture(flavour: Flavour, n: number, k: number, d: number, seed: number): MixtureCase {
  const random = createRandom(seed)
  const exact = flavour === 'whole' || flavour === 'wholeBytes'
  const spread = isBytes(flavour) && !exact ? 255 : 1
  return {
    x: { data: points(flavour, n, d, seed + 1), cols: d },
    c: { data: centers(flavour, k, d, seed + 2), cols: d },
    scales: Float32Array.from({ length: 2 * k }, (_, i) =>
      i % 2 === 0 ? random.below(9) / 4 : 2 ** -(2 + random.below(3)) / (exact ? 1 : Math.sqrt(d) * spread ** 2),
    ),
  }
}

export function rankOf({ x, c, scales }: MixtureCase, i: number, component: number): number {
  return scales[2 * component] - squaredDistance(x, i, c, component) * scales[2 * component + 1]
}

export interface Ranked {
  readonly component: number
  readonly log: number
}

/** The m best of the candidates, each once. */
export function bestAnswers(given: MixtureCase, i: number, candidates: Iterable<number>, m: number): Ranked[] {
  const different = [...new Set(candidates)].filter((component) => component !== NONE)
  return different
    .map((component) => ({ component, log: rankOf(given, i, component) }))
    .sort((a, b) => b.log - a.log || a.component - b.component)
    .slice(0, m)
}

export function logSumExp(logs: readonly number[]): number {
  const top = Math.max(...logs)
  return top + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - top), 0))
}

/** Answers of all points as the kernels lay them out: [n][m]. */
export function laidOut(answers: readonly (readonly Ranked[])[], m: number): { best: Uint32Array; logs: Float64Array } {
  const best = new Uint32Array(answers.length * m).fill(NONE)
  const logs = new Float64Array(answers.length * m).fill(Number.NEGATIVE_INFINITY)
  answers.forEach((list, i) => {
    list.forEach(({ component, log }, place) => {
      best[i * m + place] = component
      logs[i * m + place] = log
    })
  })
  return { best, logs }
}

export function allOf({ c }: MixtureCase): number[] {
  return Array.from({ length: countOf(c) }, (_, component) => component)
}

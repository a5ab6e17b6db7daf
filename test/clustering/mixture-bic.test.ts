/** What decides whether components are merged or split, and how a variance is estimated: pure functions. */

import { describe, expect, test } from 'vitest'
import {
  bayesianCriterion,
  choiceEntropy,
  componentPenalty,
  type HostMixture,
  mergeLoss,
  splitGain,
} from '../../src/clustering/mixture/bic.ts'
import { mergePairs } from '../../src/clustering/mixture/count-step.ts'
import { jointVariance } from '../../src/clustering/mixture/join.ts'
import { allPairs, squaredGap } from '../../src/clustering/mixture/pairs.ts'
import { regularizedVariances } from '../../src/clustering/mixture/variance-prior.ts'
import { createRandom } from '../../src/core/random.ts'
import { NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { fc } from '../properties.ts'

type Rows = readonly Float64Array[]
type Random = ReturnType<typeof createRandom>

function gaussian(random: Random, count: number, mean: ArrayLike<number>, sigma = 1): Rows {
  return Array.from({ length: count }, () => Float64Array.from(mean, (middle) => middle + sigma * random.normal()))
}

function direction(random: Random, cols: number): Float64Array {
  const values = Float64Array.from({ length: cols }, () => random.normal())
  const length = Math.hypot(...values)
  return values.map((value) => value / length)
}

function project(row: Float64Array, along: Float64Array): number {
  return row.reduce((sum, value, t) => sum + value * along[t], 0)
}

function statistics(rows: Rows): { readonly mean: Float64Array; readonly variance: number } {
  const mean = new Float64Array(rows[0].length)
  for (const row of rows) for (let t = 0; t < mean.length; t++) mean[t] += row[t] / rows.length
  let squares = 0
  for (const row of rows) for (let t = 0; t < mean.length; t++) squares += (row[t] - mean[t]) ** 2
  return { mean, variance: squares / rows.length / mean.length }
}

/** The loss of merging two groups, as a multiple of what a component costs: below 1 they are merged. */
function lossInPenalties(left: Rows, right: Rows): number {
  const [a, b] = [statistics(left), statistics(right)]
  const size = { points: left.length + right.length, cols: a.mean.length }
  const weights = Float64Array.of(left.length / size.points, right.length / size.points)
  const gap = a.mean.reduce((sum, value, t) => sum + (value - b.mean[t]) ** 2, 0)
  const variances = Float64Array.of(a.variance, b.variance)
  return mergeLoss({ weights, variances }, 0, 1, gap, size) / componentPenalty(size)
}

function separate(rows: Rows, isLeft: (row: Float64Array) => boolean): readonly [Rows, Rows] {
  return [rows.filter((row) => isLeft(row)), rows.filter((row) => !isLeft(row))]
}

function apart(seed: number, cols: number, [a, b]: readonly [number, number], gap: number, width = 1): number {
  const random = createRandom(seed)
  const far = direction(random, cols).map((value) => gap * value)
  return lossInPenalties(gaussian(random, a, new Float64Array(cols)), gaussian(random, b, far, width))
}

const seeds = fc.integer({ min: 0, max: 2 ** 31 })

describe('merging', () => {
  test('two halves of one Gaussian, cut by a plane through its mean, are merged', () => {
    // With 20 points in 1 or 2 dimensions the halves of a sample can by chance be two narrow groups.
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 64 }),
        fc.integer({ min: 150, max: 400 }),
        fc.double({ min: 0.001, max: 1000, noNaN: true }),
        (seed, cols, count, sigma) => {
          const random = createRandom(seed)
          const mean = Float64Array.from({ length: cols }, () => 10 * sigma * random.normal())
          const normal = direction(random, cols)
          const middle = project(mean, normal)
          const rows = gaussian(random, count, mean, sigma)
          const [left, right] = separate(rows, (row) => project(row, normal) > middle)
          expect(lossInPenalties(left, right)).toBeLessThan(1)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('two random parts of one Gaussian are merged, also if they are small', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 128 }),
        fc.integer({ min: 40, max: 200 }),
        fc.double({ min: 0.3, max: 0.7, noNaN: true }),
        (seed, cols, count, share) => {
          const random = createRandom(seed)
          const rows = gaussian(random, count, new Float64Array(cols))
          const [left, right] = separate(rows, () => random.uniform() < share)
          fc.pre(Math.min(left.length, right.length) >= 10)
          expect(lossInPenalties(left, right)).toBeLessThan(1)
        },
      ),
      { numRuns: 60 },
    )
  })

  // In many dimensions 6 standard deviations between two groups of n points raise the likelihood by at most 9 n, of which
  // the choice between the two takes 1.4 n, and a component costs (d + 2) / 2 ln 2n. In 128 dimensions 20 points each are
  // therefore too few.
  test('two Gaussians 6 or more standard deviations apart are not merged', () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 1, max: 48 }),
        fc.integer({ min: 40, max: 150 }),
        fc.integer({ min: 40, max: 600 }),
        fc.double({ min: 6, max: 100, noNaN: true }),
        (seed, cols, a, b, gap) => {
          expect(apart(seed, cols, [a, b], gap)).toBeGreaterThan(1)
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each([1, 2, 3, 8, 16, 32])('nor with 20 points each, in %i dimensions', (cols) => {
    for (let seed = 0; seed < 40; seed++) {
      expect(apart(seed, cols, [20, 20], 6), `seed ${seed}`).toBeGreaterThan(1)
      expect(apart(seed, cols, [20, 1000], 6), `20 and 1,000, seed ${seed}`).toBeGreaterThan(1)
      expect(apart(seed, cols, [20, 20], 6, 0.2), `one narrower, seed ${seed}`).toBeGreaterThan(1)
    }
  })

  test('conserves weight, mean and second moment, and numbers what is left in order', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 2, max: 20 }), fc.integer({ min: 1, max: 9 }), (seed, k, cols) => {
        const random = createRandom(seed)
        const mixture = randomMixture(random, k, cols)
        const order = Array.from({ length: k }, (_, i) => i).sort(() => random.uniform() - 0.5)
        const pairs = Array.from({ length: random.below(Math.floor(k / 2)) + 1 }, (_, at) => ({
          i: order[2 * at],
          j: order[2 * at + 1],
          loss: 0,
        }))
        const { merged, renamed, heirs } = mergePairs(mixture, pairs, false)
        expect(merged.weights.length).toBe(k - pairs.length)
        const [before, after] = [moments(mixture), moments(merged)]
        expect(after.weight).toBeCloseTo(before.weight, 12)
        expect(after.second).toBeCloseTo(before.second, 4)
        before.mean.forEach((value, t) => {
          expect(after.mean[t]).toBeCloseTo(value, 5)
        })
        const kept = Array.from(renamed).filter((name) => name !== NO_LABEL)
        expect(kept).toEqual(kept.map((_, name) => name))
        expect(kept).toHaveLength(k - pairs.length)
        for (const { i, j } of pairs) {
          expect(renamed[j]).toBe(NO_LABEL)
          expect(heirs[j]).toBe(renamed[i])
          expect(merged.weights[renamed[i]]).toBeCloseTo(mixture.weights[i] + mixture.weights[j], 12)
        }
        renamed.forEach((name, component) => {
          if (name !== NO_LABEL) expect(heirs[component]).toBe(name)
        })
      }),
    )
  })

  test('with directions, means keep length one', () => {
    const mixture: HostMixture = {
      means: Float32Array.of(1, 0, 0, 1, -1, 0),
      weights: Float64Array.of(0.25, 0.25, 0.5),
      variances: Float64Array.of(0.1, 0.2, 0.3),
    }
    const { merged } = mergePairs(mixture, [{ i: 0, j: 1, loss: 0 }], true)
    expect(merged.means[0]).toBeCloseTo(Math.SQRT1_2, 6)
    expect(merged.means[1]).toBeCloseTo(Math.SQRT1_2, 6)
    expect(Array.from(merged.means.subarray(2))).toEqual([-1, 0])
  })
})

function randomMixture(random: Random, k: number, cols: number): HostMixture {
  const raw = Float64Array.from({ length: k }, () => 0.05 + random.uniform())
  const total = raw.reduce((sum, weight) => sum + weight, 0)
  return {
    means: Float32Array.from({ length: k * cols }, () => random.normal()),
    weights: raw.map((weight) => weight / total),
    variances: Float64Array.from({ length: k }, () => 0.1 + random.uniform()),
  }
}

/** Of the density as a whole: weight, mean, and the mean squared length. */
function moments({ means, weights, variances }: HostMixture): {
  readonly weight: number
  readonly mean: Float64Array
  readonly second: number
} {
  const cols = means.length / weights.length
  const mean = new Float64Array(cols)
  let [weight, second] = [0, 0]
  weights.forEach((share, c) => {
    weight += share
    second += share * cols * variances[c]
    for (let t = 0; t < cols; t++) {
      mean[t] += share * means[c * cols + t]
      second += share * means[c * cols + t] ** 2
    }
  })
  return { weight, mean, second }
}

describe('criteria', () => {
  test('BIC is that of the textbook: a mean, a variance and a weight per component, weights adding up to 1', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -1e6, max: 1e6, noNaN: true }),
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 2, max: 1e7 }),
        fc.integer({ min: 1, max: 1000 }),
        (logLikelihood, k, points, cols) => {
          const free = k * cols + k + (k - 1)
          const expected = free * Math.log(points) - 2 * logLikelihood
          const bic = bayesianCriterion(logLikelihood, k, { points, cols })
          expect(Math.abs(bic - expected)).toBeLessThanOrEqual(1e-9 * (Math.abs(expected) + Math.abs(logLikelihood)))
          // A component more must raise the likelihood by its penalty.
          const more = bayesianCriterion(logLikelihood + componentPenalty({ points, cols }), k + 1, { points, cols })
          expect(Math.abs(more - bic)).toBeLessThanOrEqual(1e-9 * (Math.abs(bic) + Math.abs(more) + 1))
        },
      ),
    )
  })

  test('a component is never free, even if the weights add up to less than a point', () => {
    for (const points of [0, 0.01, 1]) expect(componentPenalty({ points, cols: 3 })).toBe(2.5 * Math.log(2))
  })

  test('a split gains what merging the two again would lose', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 30 }), (seed, cols) => {
        const random = createRandom(seed)
        const mixture = randomMixture(random, 3, cols)
        const points = 10 + random.below(1000)
        const gap = squaredGap(mixture.means, 0, 2, cols)
        const [left, right] = [0, 2].map((c) => [points * mixture.weights[c], mixture.variances[c]] as const)
        const joint = jointVariance(left, right, gap, cols)
        const gain = splitGain([left[0] + right[0], joint], left, right, cols)
        const loss = mergeLoss(mixture, 0, 2, gap, { points, cols })
        expect(Math.abs(gain - loss)).toBeLessThanOrEqual(1e-9 * points * cols)
        expect(mergeLoss(mixture, 2, 0, gap, { points, cols })).toBeCloseTo(loss, 8)
        expect(allPairs(mixture, { points, cols })).toHaveLength(3)
      }),
    )
  })

  test('merging loses nothing but the choice between them where both are the same Gaussian', () => {
    const same = { weights: Float64Array.of(0.2, 0.8), variances: Float64Array.of(2, 2) }
    expect(mergeLoss(same, 0, 1, 0, { points: 50, cols: 7 })).toBeCloseTo(-50 * choiceEntropy(0.2), 10)
    expect(choiceEntropy(0.5)).toBeCloseTo(Math.LN2, 12)
    expect([choiceEntropy(0), choiceEntropy(1)]).toEqual([0, 0])
  })
})

describe('the prior of variances', () => {
  /** What components have of points, and the geometric mean of their variances. */
  function typical(totals: Float64Array, variances: Float64Array): number {
    const weight = totals.reduce((sum, total) => sum + total, 0)
    return Math.exp(totals.reduce((sum, total, c) => sum + (total / weight) * Math.log(variances[c]), 0))
  }

  test('a single point has the variance of the prior', () => {
    const totals = Float64Array.of(1, 400, 600)
    const variances = Float64Array.of(1e-9, 1, 4)
    const found = regularizedVariances(totals, variances, 0.1)
    expect(found[0] / typical(totals, found)).toBeCloseTo(1, 2)
  })

  test('many points are hardly affected', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 20 }), (seed, k) => {
        const random = createRandom(seed)
        const totals = Float64Array.from({ length: k }, () => 1000 + random.below(5000))
        const variances = Float64Array.from({ length: k }, () => 0.5 + random.uniform())
        regularizedVariances(totals, variances, 0.1).forEach((variance, c) => {
          expect(Math.abs(variance / variances[c] - 1)).toBeLessThan(2 / 1000)
        })
      }),
    )
  })

  test('of few points, the variance is that of n - 1 for a prior near nothing, and nearer the typical one for a strong one', () => {
    const totals = Float64Array.of(5, 95)
    const variances = Float64Array.of(0.1, 1)
    const weak = regularizedVariances(totals, variances, 1e-9)
    expect(weak[0]).toBeCloseTo(0.1 * (5 / 4), 6)
    const strong = regularizedVariances(totals, variances, 1000)
    expect(strong[0] / strong[1]).toBeGreaterThan(0.85)
    expect(strong[0]).toBeLessThan(strong[1])
  })

  test('is of the scale of the data', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: -60, max: 60 }), (seed, exponent) => {
        const random = createRandom(seed)
        const k = 1 + random.below(12)
        const totals = Float64Array.from({ length: k }, () => random.below(30))
        const variances = Float64Array.from({ length: k }, () => 1e-3 + random.uniform())
        const scale = 2 ** exponent
        const scaled = regularizedVariances(
          totals,
          variances.map((variance) => variance * scale),
          0.1,
        )
        regularizedVariances(totals, variances, 0.1).forEach((variance, c) => {
          expect(scaled[c] / scale / variance).toBeCloseTo(1, 10)
          expect(variance).toBeGreaterThan(0)
        })
      }),
    )
  })

  test('without strength, and without any points, nothing changes', () => {
    const variances = Float64Array.of(1, 2)
    expect(regularizedVariances(Float64Array.of(3, 4), variances, 0)).toEqual(variances)
    expect(regularizedVariances(Float64Array.of(0, 0), variances, 0.1)).toEqual(variances)
    expect(regularizedVariances(Float64Array.of(0, 9), variances, 0.1)[0]).toBe(1)
  })
})

test('two components without weight become one, with finite numbers', () => {
  const mixture: HostMixture = {
    means: Float32Array.of(1, 0, 0, 1, 0.6, 0.8),
    weights: Float64Array.of(0, 0, 1),
    variances: Float64Array.of(2, 4, 1),
  }
  const size = { points: 10, cols: 2 }
  expect(allPairs(mixture, size).map(({ loss }) => Number.isFinite(loss))).toEqual([true, true, true])
  const { merged } = mergePairs(mixture, [{ i: 0, j: 1, loss: 0 }], true)
  expect([...merged.weights]).toEqual([0, 1])
  // Both count alike: the middle of the means, brought to length one, and the spread about it.
  expect([...merged.means]).toEqual([...Float32Array.of(Math.SQRT1_2, Math.SQRT1_2, 0.6, 0.8)])
  expect([...merged.variances]).toEqual([3.25, 1])
})

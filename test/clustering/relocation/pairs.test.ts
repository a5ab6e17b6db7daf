/** Merges and splits on the host, against sums of squares taken from the points. */
import { describe, expect, test } from 'vitest'
import { clusterMasses, type Merge, mergeCost, pairUp } from '../../../src/clustering/relocation/pairs.ts'
import { RelocationSchedule } from '../../../src/clustering/relocation/schedule.ts'
import type { Round } from '../../../src/clustering/run-state.ts'
import { createRandom } from '../../../src/index.ts'

const COLS = 4

function mean(rows: readonly number[][], weights: readonly number[], unit: boolean): number[] {
  const sum = Array.from({ length: COLS }, (_, j) => rows.reduce((total, row, i) => total + weights[i] * row[j], 0))
  const size = unit ? Math.hypot(...sum) : weights.reduce((a, b) => a + b, 0)
  return sum.map((value) => value / size)
}

const squared = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, j) => sum + (value - b[j]) ** 2, 0)

const squares = (rows: readonly number[][], weights: readonly number[], center: readonly number[]): number =>
  rows.reduce((sum, row, i) => sum + weights[i] * squared(row, center), 0)

describe('the cost of a merge', () => {
  test.each([false, true])('is what it adds to the sum of squares, unit %s', (unit) => {
    const random = createRandom(4)
    for (let turn = 0; turn < 50; turn++) {
      const clusters = [2 + random.below(9), 1 + random.below(5)].map((count, side) => {
        const rows = Array.from({ length: count }, () => {
          const row = Array.from({ length: COLS }, () => random.normal() + 2 * side * random.uniform())
          const length = unit ? Math.hypot(...row) : 1
          return row.map((value) => value / length)
        })
        const weights = rows.map(() => 0.25 + random.below(4))
        return { rows, weights, center: mean(rows, weights, unit) }
      })
      const [a, b] = clusters
      const labels = Uint32Array.from(clusters.flatMap(({ rows }, label) => rows.map(() => label)))
      const distances = Float32Array.from(
        clusters.flatMap(({ rows, center }) => rows.map((row) => squared(row, center))),
      )
      const masses = clusterMasses(labels, distances, Float32Array.from([...a.weights, ...b.weights]), 2)
      const both = { rows: [...a.rows, ...b.rows], weights: [...a.weights, ...b.weights] }
      const together = squares(both.rows, both.weights, mean(both.rows, both.weights, unit))
      const apart = clusters.reduce((sum, { rows, weights, center }) => sum + squares(rows, weights, center), 0)
      expect(mergeCost(masses, 0, 1, squared(a.center, b.center), unit)).toBeCloseTo(together - apart, 4)
    }
  })
})

describe('pairs', () => {
  test('use no cluster twice, gain more than they cost, and are found where there are any', () => {
    const random = createRandom(7)
    for (let turn = 0; turn < 200; turn++) {
      const k = 3 + random.below(8)
      const merges: Merge[] = []
      for (let from = 1; from < k; from++) merges.push({ from, into: random.below(from), cost: random.uniform() })
      const splits = Array.from({ length: k }, (_, cluster) => ({ cluster, gain: random.uniform() }))
      const pairs = pairUp(merges, splits, 0.05)
      const used = pairs.flatMap(({ merge, split }) => [merge.from, merge.into, split.cluster])
      expect(new Set(used).size).toBe(used.length)
      for (const { merge, split } of pairs) expect(split.gain - merge.cost).toBeGreaterThan(0.05)
      const possible = splits.some(({ cluster, gain }) =>
        merges.some(({ from, into, cost }) => from !== cluster && into !== cluster && gain - cost > 0.05),
      )
      expect(pairs.length > 0).toBe(possible)
    }
  })

  test('there are none without merges or splits', () => {
    expect(pairUp([], [{ cluster: 0, gain: 1 }], 0)).toEqual([])
    expect(pairUp([{ from: 1, into: 0, cost: 0 }], [], 0)).toEqual([])
  })
})

describe('a run relocates', () => {
  const rounds = (...falls: readonly (number | readonly [number, number, number])[]): Round[] => {
    let distortion = 1
    return falls.map((given, i) => {
      const [fall, relocated, relocationGain] = typeof given === 'number' ? [given] : given
      distortion *= 1 - fall
      const extra = relocated === undefined ? {} : { extra: { relocated, relocationGain: relocationGain ?? 0 } }
      return { iteration: i + 1, distortion, moved: 5, candidates: 1, ...extra }
    })
  }
  const last = (k: number, tolerance: number, given: readonly Round[], over?: 'tolerance'): boolean => {
    const schedule = new RelocationSchedule(true, k, tolerance)
    return (
      given.map((round, i) => schedule.after(round, i === given.length - 1 ? over : undefined)).at(-1)?.relocate ===
      true
    )
  }

  test('when progress slows, not before, and not after a relocation that gained little', () => {
    expect(last(1000, 1e-4, rounds(0.5))).toBe(false)
    expect(last(1000, 1e-4, rounds(0.5, 0.3))).toBe(false)
    expect(last(1000, 1e-4, rounds(0.5, 0.005))).toBe(true)
    expect(last(1000, 1e-4, rounds(0.5, 0.005, [0.02, 9, 0.01], 0.004))).toBe(true)
    expect(last(1000, 1e-4, rounds(0.5, 0.005, [0.02, 9, 0.001], 0.004))).toBe(false)
    expect(last(1000, 1e-4, rounds(0.5, 0.005, [0.02, 0, 0], 0.004))).toBe(false)
  })

  test('before it ends, unless the last relocation was just that round or gained little of many clusters', () => {
    expect(last(1000, 1e-4, rounds(0.5, 0.00001), 'tolerance')).toBe(true)
    expect(last(1000, 1e-4, rounds(0.5, [0.00001, 1, 0.00001]), 'tolerance')).toBe(false)
    expect(last(1000, 1e-4, rounds(0.5, [0.02, 1, 0.0005], 0.00001), 'tolerance')).toBe(false)
    expect(last(1000, 1e-5, rounds(0.5, [0.02, 1, 0.0005], 0.00001), 'tolerance')).toBe(true)
    expect(last(100, 1e-4, rounds(0.5, [0.02, 1, 0.0005], 0.00001), 'tolerance')).toBe(true)
    expect(last(2, 1e-4, rounds(0.5, 0.00001), 'tolerance')).toBe(false)
  })

  test('a bounded number of times', () => {
    const many = Array.from({ length: 40 }, () => [0.001, 3, 0.5] as const)
    expect(last(1000, 0, rounds(...many, 0.001))).toBe(false)
    expect(last(1000, 0, rounds(...many, 0), 'tolerance')).toBe(false)
  })
})

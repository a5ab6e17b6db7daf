import { describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import {
  adjustedRandIndex,
  contingency,
  entropy,
  normalizedMutualInformation as nmi,
  purity,
} from '../../src/metrics/partition.ts'
import { fc } from '../properties.ts'

const labeling = (maxLabel = 6) => fc.array(fc.integer({ min: 0, max: maxLabel }), { minLength: 1, maxLength: 60 })
const twoLabelings = labeling().chain((a) =>
  fc.tuple(fc.constant(a), fc.array(fc.integer({ min: 0, max: 4 }), { minLength: a.length, maxLength: a.length })),
)
const metrics = { nmi, adjustedRandIndex, purity, entropy, contingency }

describe('contingency', () => {
  test('counts the pairs that occur', () => {
    const { total, firstCounts, secondCounts, first, second, counts } = contingency([5, 5, 9, 9, 9], [1, 1, 1, 0, 0])
    expect(total).toBe(5)
    expect([...firstCounts]).toEqual([2, 3])
    expect([...secondCounts]).toEqual([3, 2])
    expect([...counts].map((count, i) => [first[i], second[i], count])).toEqual([
      [0, 0, 2],
      [1, 0, 1],
      [1, 1, 2],
    ])
  })

  test('many labels, where the table would be too large', () => {
    const a = Uint32Array.from({ length: 30_000 }, (_, i) => (i * 7919) % 3000)
    const b = Uint32Array.from({ length: 30_000 }, (_, i) => (i * 104_729) % 2500)
    const { counts, first, second, firstCounts, secondCounts } = contingency(a, b)
    expect([firstCounts.length, secondCounts.length]).toEqual([3000, 2500])
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30_000)
    // The pairs repeat after 15,000 rows.
    expect(counts.every((count) => count === 2)).toBe(true)
    const rowSums = new Float64Array(3000)
    const columnSums = new Float64Array(2500)
    counts.forEach((count, i) => {
      rowSums[first[i]] += count
      columnSums[second[i]] += count
    })
    expect(rowSums).toEqual(firstCounts)
    expect(columnSums).toEqual(secondCounts)
  })

  test.each(Object.entries(metrics))('%s needs two labelings of the same rows', (_, metric) => {
    const differ = 'The labelings have 2 and 3 labels: give labels of the same rows.'
    expect(() => metric([0, 1], [0, 1, 2])).toThrow(new CentroidalError('bad-data', differ))
    const empty = 'The labelings are empty: give at least one label.'
    expect(() => metric([], [])).toThrow(new CentroidalError('bad-data', empty))
  })
})

describe('normalizedMutualInformation', () => {
  test('by hand', () => {
    // I = ln 2, H(a) = ln 2, H(b) = 1.5 ln 2
    expect(nmi([0, 0, 1, 1], [0, 0, 1, 2])).toBeCloseTo(1 / Math.sqrt(1.5), 14)
    // 2/3 and 1/3: I = ln 3 - (2/3) ln 2 from three equal thirds, of which two join.
    const joined = Math.log(3) - (2 / 3) * Math.log(2)
    expect(nmi([0, 1, 2], [0, 0, 1])).toBeCloseTo(joined / Math.sqrt(Math.log(3) * joined), 14)
    expect(nmi([0, 0, 1, 1], [0, 1, 0, 1])).toBe(0)
  })

  test('single clusters', () => {
    expect(nmi([4, 4, 4], [1, 1, 1])).toBe(1)
    expect(nmi([4, 4, 4], [1, 1, 2])).toBe(0)
    expect(nmi([1, 1, 2], [4, 4, 4])).toBe(0)
  })

  test('symmetric, between 0 and 1, and 1 for the same partition under other names', () => {
    fc.assert(
      fc.property(twoLabelings, ([a, b]) => {
        expect(nmi(a, b)).toBeCloseTo(nmi(b, a), 12)
        expect(nmi(a, b)).toBeGreaterThanOrEqual(0)
        expect(nmi(a, b)).toBeLessThanOrEqual(1)
        const renamed = a.map((label) => 100 - 3 * label)
        expect(nmi(a, renamed)).toBeCloseTo(1, 12)
      }),
    )
  })
})

describe('adjustedRandIndex', () => {
  test('by hand', () => {
    // One pair together of 1 and 2; expected 1/3: (1 - 1/3) / (3/2 - 1/3)
    expect(adjustedRandIndex([0, 0, 1, 1], [0, 0, 1, 2])).toBeCloseTo(4 / 7, 14)
    // No pair together of 2 and 2; expected 2/3: (0 - 2/3) / (2 - 2/3)
    expect(adjustedRandIndex([0, 0, 1, 1], [0, 1, 0, 1])).toBeCloseTo(-0.5, 14)
    expect(adjustedRandIndex([0, 0, 0], [0, 1, 2])).toBe(0)
  })

  test('partitions without room for chance are the same', () => {
    expect(adjustedRandIndex([1, 1, 1], [2, 2, 2])).toBe(1)
    expect(adjustedRandIndex([1, 2, 3], [7, 8, 9])).toBe(1)
    expect(adjustedRandIndex([1], [2])).toBe(1)
  })

  test('agrees with counting the pairs one by one', () => {
    fc.assert(
      fc.property(twoLabelings, ([a, b]) => {
        let [both, onlyA, onlyB, neither] = [0, 0, 0, 0]
        for (let i = 0; i < a.length; i++) {
          for (let j = 0; j < i; j++) {
            const [inA, inB] = [a[i] === a[j], b[i] === b[j]]
            if (inA && inB) both++
            else if (inA) onlyA++
            else if (inB) onlyB++
            else neither++
          }
        }
        const denominator = (both + onlyA) * (onlyA + neither) + (both + onlyB) * (onlyB + neither)
        const expected = denominator === 0 ? 1 : (2 * (both * neither - onlyA * onlyB)) / denominator
        expect(adjustedRandIndex(a, b)).toBeCloseTo(expected, 10)
      }),
    )
  })
})

describe('purity and entropy', () => {
  test('by hand', () => {
    const labels = [0, 0, 0, 0, 1, 1, 1, 1]
    const truth = [0, 0, 1, 1, 0, 0, 0, 0]
    expect(purity(labels, truth)).toBe(0.75)
    expect(entropy(labels, truth)).toBeCloseTo(0.5, 14)
    // One cluster of 3 classes, 2 1 1: 1.5 ln 2 / ln 3
    expect(entropy([0, 0, 0, 0], [5, 5, 6, 7])).toBeCloseTo((1.5 * Math.log(2)) / Math.log(3), 14)
    expect(purity([0, 0, 0, 0], [5, 5, 6, 7])).toBe(0.5)
  })

  test('are about the clusters, not the classes', () => {
    expect(purity([0, 1, 2], [0, 0, 1])).toBe(1)
    expect(entropy([0, 1, 2], [0, 0, 1])).toBe(0)
    expect(purity([0, 0, 1], [0, 1, 2])).toBeCloseTo(2 / 3, 14)
    expect(entropy([0, 0, 1], [5, 5, 5])).toBe(0)
  })

  test('a cluster of evenly mixed classes is all entropy', () => {
    expect(entropy([0, 0, 0], [0, 1, 2])).toBeCloseTo(1, 14)
  })
})

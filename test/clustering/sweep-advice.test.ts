/** What a sweep makes of its scores: numbers tried, elbow, and the sentence. */
import { describe, expect, test } from 'vitest'
import { adviceOf, bestOf, elbowOf, judgedSteps } from '../../src/clustering/sweep/advice.ts'
import { rangeCounts } from '../../src/clustering/sweep/options.ts'
import type { SweepStep } from '../../src/index.ts'

describe('numbers of a range', () => {
  test('grow by about the same factor, and hold both ends', () => {
    expect(rangeCounts(10, 1000, 12)).toEqual([10, 15, 23, 35, 53, 81, 123, 187, 284, 432, 657, 1000])
    expect(rangeCounts(2, 9, 12)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    expect(rangeCounts(1, 100, 5)).toEqual([1, 3, 10, 32, 100])
    expect(rangeCounts(7, 7, 12)).toEqual([7])
  })

  test('are distinct, in order and never more than asked for', () => {
    for (let from = 1; from < 40; from += 3) {
      for (const to of [from, from + 1, from + 7, 50, 1000, 123_457]) {
        for (const steps of [2, 3, 12, 50]) {
          const counts = rangeCounts(from, Math.max(from, to), steps)
          expect(counts.length).toBeLessThanOrEqual(steps)
          expect(counts.every((k, i) => i === 0 || k > counts[i - 1])).toBe(true)
          expect([counts[0], counts.at(-1)]).toEqual([from, Math.max(from, to)])
        }
      }
    }
  })
})

describe('the elbow', () => {
  const curve = (distortionOf: (k: number) => number) =>
    rangeCounts(2, 200, 12).map((k) => ({ k, distortion: distortionOf(k) }))

  test('is where a fall ends', () => {
    expect(elbowOf(curve((k) => (k < 27 ? 1000 / k : 10 - k / 100)))).toBe(27)
  })

  test('is not there where the curve falls evenly, or not at all', () => {
    expect(elbowOf(curve((k) => 100 / k))).toBeUndefined()
    expect(elbowOf(curve((k) => 100 * k ** -0.1))).toBeUndefined()
    expect(elbowOf(curve(() => 5))).toBeUndefined()
    expect(elbowOf(curve((k) => 5 - k / 1000))).toBeUndefined()
    expect(elbowOf(curve(() => 0))).toBeUndefined()
    expect(elbowOf(curve((k) => 100 / k).slice(0, 2))).toBeUndefined()
  })

  test('does not mind a step where every vector is a centre', () => {
    expect(elbowOf([...curve((k) => (k < 27 ? 1000 / k : 10 - k / 100)), { k: 300, distortion: 0 }])).toBe(27)
  })
})

describe('the advice', () => {
  /** Steps with scores that are best at the given numbers. */
  function told(
    counts: readonly number[],
    best: { bic: number; silhouette: number; daviesBouldin: number; calinskiHarabasz: number },
    { rows = 100_000, stability = 1, elbow }: { rows?: number; stability?: number; elbow?: number } = {},
  ) {
    const steps = counts.map((k): SweepStep => {
      const defined = k > 1
      return {
        ...{ k, method: 'lloyd', distortion: 1, inertia: rows, rounds: 1, seconds: 1, stability, stabilityRows: rows },
        bic: k === best.bic ? 1 : 2,
        silhouette: defined ? Number(k === best.silhouette) : undefined,
        daviesBouldin: defined ? Number(k !== best.daviesBouldin) : undefined,
        calinskiHarabasz: defined ? Number(k === best.calinskiHarabasz) : undefined,
      }
    })
    const judged = judgedSteps(steps, rows)
    return adviceOf(judged, bestOf(judged), elbow, rows)
  }
  const all = (k: number) => ({ bic: k, silhouette: k, daviesBouldin: k, calinskiHarabasz: k })

  test('all agree', () => {
    expect(told([4, 5, 6], all(5), { elbow: 5 })).toEqual({
      advised: 5,
      advice:
        'About 5 clusters: BIC, silhouette, the elbow of the distortion, Davies-Bouldin and Calinski-Harabasz agree.',
      next: undefined,
    })
  })

  test('numbers between were not tried', () => {
    const { advice, next } = told([10, 20, 50], all(20))
    expect(advice).toMatch(/^About 20 clusters \(between 10 and 50\): /)
    expect(next).toEqual({ from: 10, to: 50 })
  })

  test('some disagree', () => {
    expect(told([2, 3, 4, 5, 6, 7], { ...all(6), silhouette: 2, daviesBouldin: 3 }, { elbow: 6 }).advice).toBe(
      'About 6 clusters: BIC, the elbow of the distortion and Calinski-Harabasz agree, but silhouette prefers 2, Davies-Bouldin prefers 3.',
    )
    expect(told([2, 3, 4, 5, 6, 7], { ...all(6), silhouette: 2, daviesBouldin: 2 }).advice).toMatch(/^Perhaps 6 cl/)
  })

  test('two numbers tried one after the other share the votes', () => {
    const { advised, advice, next } = told([10, 18, 27, 40], { ...all(27), silhouette: 18, daviesBouldin: 18 })
    expect(advice).toMatch(/^Between 18 and 27 clusters: .*; a sweep from 18 to 27 tells more exactly\.$/)
    expect([advised, next]).toEqual([27, { from: 18, to: 27 }])
  })

  test('the best is at an end of the range', () => {
    expect(told([10, 30, 100], all(100))).toMatchObject({
      advised: undefined,
      advice: expect.stringMatching(/^100 clusters or more: .* largest number tried; try more, up to 1,000\.$/),
      next: { from: 100, to: 1000 },
    })
    expect(told([10, 30, 100], all(10))).toMatchObject({
      advice: expect.stringMatching(/^10 clusters or fewer: .* smallest number tried; try fewer, from 2 on\.$/),
      next: { from: 2, to: 10 },
    })
    expect(told([2, 3, 4], all(2)).advice).toMatch(/^About 2 clusters: /)
  })

  test('nothing agrees', () => {
    const none = { bic: 500, silhouette: 10, daviesBouldin: 30, calinskiHarabasz: 100 }
    expect(told([10, 30, 100, 500], none).advice).toBe(
      'No number of clusters stands out: BIC prefers 500, silhouette prefers 10, Davies-Bouldin prefers 30, Calinski-Harabasz prefers 100; try more than 500 or fewer than 10, or choose by how fine the clusters should be.',
    )
  })

  test('scores that only prefer an end of the range are not trusted without BIC', () => {
    const low = { bic: 500, silhouette: 10, daviesBouldin: 30, calinskiHarabasz: 10 }
    expect(told([10, 30, 100, 500], low).advice).toMatch(/^No number of clusters stands out: BIC prefers 500, silh/)
    const high = { bic: 30, silhouette: 500, daviesBouldin: 500, calinskiHarabasz: 500 }
    expect(told([10, 30, 100, 500], high).advice).toMatch(/^No number of clusters stands out: BIC prefers 30, silh/)
  })

  test('no clusters at all', () => {
    const none = { bic: 1, silhouette: 3, daviesBouldin: 400, calinskiHarabasz: 400 }
    const { advised, advice } = told([1, 3, 10, 400], none)
    expect(advised).toBe(1)
    expect(advice).toMatch(/^Perhaps no separate clusters: BIC prefers a single one; silhouette prefers 3, /)
  })

  test('other seeds give other clusters', () => {
    expect(told([4, 5, 6], all(5), { stability: 0.3 }).advice).toMatch(
      /agree; other seeds give other clusters \(stability 0\.30\)\.$/,
    )
  })

  test('steps with hardly any vectors in a cluster do not count', () => {
    const { advice } = told([2, 3, 4, 50], { ...all(50), silhouette: 3, calinskiHarabasz: 3 }, { rows: 100 })
    expect(advice).not.toContain('50')
  })

  test('a single number', () => {
    expect(told([7], all(7)).advice).toBe('Only 7 clusters tried: try several numbers to compare them.')
  })
})

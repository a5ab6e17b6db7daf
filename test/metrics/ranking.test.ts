import { describe, expect, test } from 'vitest'
import { averagePrecision, judgeRankings, meanAveragePrecision, nsScore } from '../../src/metrics/ranking.ts'
import { fc } from '../properties.ts'

describe('average precision', () => {
  test.each([
    ['all first', [1, 2, 3, 4], [1, 2], 1],
    ['one first, one third', [7, 3, 9], [7, 9], (1 + 2 / 3) / 2],
    ['last of four', [1, 2, 3, 4], [4], 1 / 4],
    ['one of two not listed', [5, 6], [6, 8], 1 / 2 / 2],
    ['nothing listed', [], [1], 0],
    ['nothing found', [2, 3], [1], 0],
    ['said twice what is relevant', [1, 2], [2, 2], 1 / 2],
  ])('%s', (_, ranked, relevant, wanted) => {
    expect(averagePrecision(ranked, relevant)).toBeCloseTo(wanted, 12)
  })

  test('is the area below the steps of precision over recall', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 20 })
    fc.assert(
      fc.property(ids, fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1 }), (ranked, relevant) => {
        let area = 0
        for (let rank = 1; rank <= ranked.length; rank++) {
          const hits = (length: number): number => ranked.slice(0, length).filter((id) => relevant.includes(id)).length
          area += (hits(rank) / rank) * ((hits(rank) - hits(rank - 1)) / relevant.length)
        }
        expect(averagePrecision(ranked, relevant)).toBeCloseTo(area, 12)
      }),
    )
  })

  test('refuses what has no answer', () => {
    expect(() => averagePrecision([1], [])).toThrow(/The query has no relevant items.*leave out/)
    expect(() => averagePrecision([4, 5, 4], [5, 6])).toThrow(/^4 occurs twice in a ranked list.* at rank 3: list/)
  })
})

test('mAP is the mean over queries', () => {
  expect(
    meanAveragePrecision(
      [
        [1, 2],
        [5, 6],
        [3, 9, 8],
      ],
      [[1], [6], [8, 9]],
    ),
  ).toBeCloseTo((1 + 1 / 2 + (1 / 2 + 2 / 3) / 2) / 3, 12)
})

test('N-S score: how many of the first four', () => {
  expect(() => nsScore([[1, 2, 1]], [[1]])).toThrow(/^1 occurs twice in a ranked list.* at rank 3/)
  expect(nsScore([[1, 2, 9, 3, 4]], [[1, 2, 3, 4]])).toBe(3)
  expect(nsScore([[1, 2, 3, 4]], [[4, 3, 2, 1]])).toBe(4)
  expect(
    nsScore(
      [[1, 8, 9, 7, 2], [5], []],
      [
        [1, 2],
        [5, 6, 7, 8],
        [3, 4],
      ],
    ),
  ).toBeCloseTo(2 / 3, 12)
})

test.each([
  ['mAP', meanAveragePrecision],
  ['N-S', nsScore],
])('%s needs as many lists as truths, and one at least', (_, metric) => {
  expect(() => metric([], [])).toThrow('There are no ranked lists: give at least one.')
  expect(() => metric([[1]], [[1], [2]])).toThrow('There are 1 ranked lists and 2 sets')
})

describe('rankings of images in groups', () => {
  const groups = new Map([
    [0, 7],
    [1, 7],
    [2, 8],
    [3, 8],
    [4, 9],
  ])

  test('the query itself counts for the N-S score only', () => {
    const rankings = [
      { query: 0, images: [0, 2, 1] },
      { query: 2, images: [3] },
      { query: 4, images: [1, 4] },
    ]
    expect(judgeRankings(rankings, groups)).toEqual({ queries: 3, alone: 1, map: (1 / 2 + 1) / 2, nsScore: 4 / 3 })
  })

  test('refuses what has no answer', () => {
    expect(() => judgeRankings([{ query: 5, images: [] }], groups)).toThrow(/Query image 5 has no group/)
    expect(() => judgeRankings([{ query: 4, images: [] }], groups)).toThrow(/1 query images is the only one/)
    expect(() => judgeRankings([], groups)).toThrow('There are no ranked lists')
  })
})

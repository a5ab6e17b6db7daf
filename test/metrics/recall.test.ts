import { expect, test } from 'vitest'
import { recallAt } from '../../src/metrics/recall.ts'

const found = { rows: 4, cols: 3, data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 1, 1] }
const truth = { rows: 4, cols: 2, data: [1, 0, 6, 0, 0, 7, 5, 1] }

test('counts the queries whose nearest is among the first R', () => {
  expect(recallAt(found, truth, 1)).toBe(0.25)
  expect(recallAt(found, truth, 2)).toBe(0.25)
  expect(recallAt(found, truth, 3)).toBe(0.5)
  expect(recallAt(found, truth, 100)).toBe(0.5)
})

test('lists for other queries are refused', () => {
  expect(() => recallAt({ rows: 3, cols: 1, data: [1, 2, 3] }, truth, 1)).toThrow(
    /result lists for 3 queries and true lists for 4/,
  )
})

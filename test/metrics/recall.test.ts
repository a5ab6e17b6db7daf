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
  expect(() => recallAt({ ...found, rows: 3 }, truth, 1)).toThrow(/lists for 3 queries and the truth about 4/)
})

test.each([
  [{ rows: 1, cols: 2, data: [1] }, { rows: 1, cols: 1, data: [1] }, 1, /1 numbers in the lists found for 1 x 2/],
  [{ rows: 1, cols: 1, data: [1] }, { rows: 1, cols: 0, data: [] }, 1, /in the truth for 1 x 0/],
  [{ rows: 1, cols: 1, data: [1] }, { rows: 1, cols: 1, data: [1] }, Number.NaN, /r is NaN/],
])('%o against %o at %s is refused', (found, truth, r, message) => {
  expect(() => recallAt(found, truth, r)).toThrow(message)
})

/** The sentence a race ends with, from curves that are known. */
import { expect, test } from 'vitest'
import { verdict } from '../../demos/race/verdict.ts'

const lloyd = {
  name: 'lloyd',
  points: [
    [1, 9],
    [4, 5],
    [8, 4],
  ],
} as const

test.each([
  [
    'one that passes',
    [
      [1, 6],
      [2, 3.9],
    ],
    "closures-sharp reached Lloyd's result 4.0 times sooner.",
    4,
  ],
  ['one that is far sooner', [[0.5, 4]], "closures-sharp reached Lloyd's result 16 times sooner.", 16],
  ['one as fast', [[8, 4]], "closures-sharp reached Lloyd's result in the same time.", 1],
  ['one that is slower', [[16, 4]], 'Lloyd was first: closures-sharp took 2.0 times as long to its result.', 0.5],
  [
    'one that does not reach it',
    [[1, 5]],
    "No other method reached Lloyd's result of 8.0 s within this race.",
    undefined,
  ],
] as const)('%s', (_name, points, sentence, times) => {
  expect(verdict([lloyd, { name: 'closures-sharp', points }])).toEqual({ sentence, times })
})

test('the soonest of several is named, and there is none without Lloyd or without others', () => {
  const slow = { name: 'slow', points: [[4, 4]] } as const
  const fast = { name: 'fast', points: [[2, 4]] } as const
  expect(verdict([slow, lloyd, fast])?.sentence).toBe("fast reached Lloyd's result 4.0 times sooner.")
  expect(verdict([slow, fast])).toBeUndefined()
  expect(verdict([lloyd])).toBeUndefined()
})

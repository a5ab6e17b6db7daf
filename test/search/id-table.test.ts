import { expect, test } from 'vitest'
import { IdTable } from '../../src/search/id-table.ts'
import { fc } from '../properties.ts'

test('does what a Map does', () => {
  // Few ids, and some that share a home, so that entries are pushed away and move back.
  const id = fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.integer({ min: 0, max: 40 }).map((value) => value * 2 ** 24),
  )
  const step = fc.tuple(fc.boolean(), id, fc.integer({ min: 0, max: 2 ** 32 - 1 }))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const table = new IdTable()
      const map = new Map<number, number>()
      for (const [put, key, place] of steps) {
        if (put) {
          table.set(key, place)
          map.set(key, place)
        } else {
          table.delete(key)
          map.delete(key)
        }
        expect(table.size).toBe(map.size)
      }
      for (const [, key] of steps) expect(table.get(key)).toBe(map.get(key))
    }),
    { numRuns: 200 },
  )
})

test('what marks a free entry is no id', () => {
  const table = new IdTable()
  table.set(0, 5)
  expect(table.get(0xffffffff)).toBeUndefined()
  table.delete(0xffffffff)
  expect(table.size).toBe(1)
})

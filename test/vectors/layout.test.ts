import { describe, expect, test } from 'vitest'
import { cutRows } from '../../src/device/plan.ts'
import { layOutRows, partsOf } from '../../src/vectors/layout.ts'
import { fc } from '../properties.ts'

/** Row numbers of some ranges, one after the other. */
const rowsOf = (ranges: readonly { first: number; count: number }[]): number[] =>
  ranges.flatMap(({ first, count }) => Array.from({ length: count }, (_, i) => first + i))
const upTo = (rows: number): number[] => Array.from({ length: rows }, (_, i) => i)

describe('how rows are cut', () => {
  test('without a choice every domain is one shard', () => {
    const { shards, domains, chosen } = layOutRows(10, cutRows(10, 4))
    expect(shards).toEqual([
      { first: 0, count: 4 },
      { first: 4, count: 4 },
      { first: 8, count: 2 },
    ])
    expect(domains.map(({ shards }) => shards)).toEqual([1, 1, 1])
    expect(chosen).toBe(false)
  })

  test('a shard that reaches over the end of a domain is two, an empty one is none', () => {
    const { shards, domains } = layOutRows(10, cutRows(10, 6), [3, 0, 5, 2])
    expect(shards.map(({ count }) => count)).toEqual([3, 3, 2, 2])
    expect(domains.map(({ shards }) => shards)).toEqual([2, 2])
  })

  test('sizes have to add up to the rows', () => {
    expect(() => layOutRows(10, cutRows(10, 10), [4, 4])).toThrow(/8 rows in all.*10 vectors/)
  })

  test('shards, domains and parts hold every row once, whatever the cut and the number of devices', () => {
    const sizes = fc.array(fc.nat(20), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 9 }), (counts, most, owners) => {
        const rows = counts.reduce((sum, count) => sum + count, 0)
        fc.pre(rows > 0)
        const layout = layOutRows(rows, cutRows(rows, most), counts)
        expect(rowsOf(layout.domains)).toEqual(upTo(rows))
        expect(rowsOf(layout.shards)).toEqual(upTo(rows))
        const parts = partsOf(layout, owners)
        expect(rowsOf(parts)).toEqual(upTo(rows))
        const used = new Set<number>()
        for (const { owner, first, count, domain, shards } of parts) {
          expect(owner).toBeLessThan(owners)
          used.add(owner)
          expect(first >= domain.first && first + count <= domain.first + domain.count).toBe(true)
          expect(rowsOf(shards.map(({ from, count: own }) => ({ first: first + from, count: own })))).toEqual(
            rowsOf([{ first, count }]),
          )
        }
        expect([...used]).toEqual(upTo(used.size))
        // A device has one part of a domain, so that its rows there lie side by side.
        const places = parts.map(({ owner, domain }) => `${owner} ${domain.index}`)
        expect(new Set(places).size).toBe(places.length)
        expect(parts.flatMap(({ shards }) => shards.map(({ index }) => index))).toEqual(upTo(layout.shards.length))
      }),
    )
  })

  test('devices own about as many rows each', () => {
    const parts = partsOf(layOutRows(1000, cutRows(1000, 1000), 16), 4)
    expect(parts.map(({ count }) => count)).toEqual([250, 250, 250, 250])
  })
})

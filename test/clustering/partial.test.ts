import { describe, expect, test } from 'vitest'
import { mergeRounds, mergeSums, type PartialSums, sumOf } from '../../src/clustering/partial.ts'
import { summedTogether } from '../../src/clustering/updates/sums.ts'
import { exactExponent, exactFromFloats } from '../../src/kernels/exact-sums.ts'
import { fc } from '../properties.ts'

const exponent = exactExponent(1e9)
const floats = fc.array(fc.float({ min: Math.fround(-1e6), max: Math.fround(1e6), noNaN: true }), {
  minLength: 3,
  maxLength: 3,
})

/** What one shard contributes. */
const partial = fc.tuple(
  floats,
  fc.array(fc.nat(1000), { minLength: 3, maxLength: 3 }),
  fc.double({ noNaN: true, min: 0, max: 1e9 }),
)

function values(parts: readonly (readonly [number[], number[], number])[]): PartialSums[] {
  return parts.map(([sums, counts, value], shard) => ({
    exact: [exactFromFloats(Float32Array.from(sums), exponent)],
    counts: [Uint32Array.from(counts)],
    values: [{ shard, value }],
  }))
}

const bits = ({ exact, counts, values: each }: PartialSums): object => ({ exact, counts, sum: sumOf(each) })

describe('partial results', () => {
  test('merge to the same bits in any order and any grouping', () => {
    fc.assert(
      fc.property(fc.array(partial, { minLength: 3, maxLength: 8 }), fc.integer(), (parts, seed) => {
        const all = values(parts)
        const inOrder = all.reduce(mergeSums)
        const shuffled = [...all].sort(
          (a, b) => ((a.values[0].shard * 7919 + seed) % 13) - ((b.values[0].shard * 7919 + seed) % 13),
        )
        expect(bits(shuffled.reduce(mergeSums))).toEqual(bits(inOrder))
        const half = Math.floor(all.length / 2)
        const grouped = mergeSums(all.slice(half).reduce(mergeSums), all.slice(0, half).reduce(mergeSums))
        expect(bits(grouped)).toEqual(bits(inOrder))
      }),
    )
  })

  test('merging changes nothing that is merged', () => {
    const [a, b] = values([
      [[1, 2, 3], [1, 1, 1], 0.5],
      [[4, 5, 6], [2, 0, 1], 0.25],
    ])
    const before = structuredClone(a)
    expect(mergeSums(a, b).counts).toEqual([Uint32Array.of(3, 1, 2)])
    expect(a).toEqual(before)
  })

  test('rounds add up', () => {
    const merged = mergeRounds(
      { squares: [{ shard: 1, value: 2 }], moved: 3, evaluated: 10 },
      { squares: [{ shard: 0, value: 1 }], moved: 4, evaluated: 20 },
    )
    expect(sumOf(merged.squares)).toBe(3)
    expect(merged).toMatchObject({ moved: 7, evaluated: 30 })
  })

  test('small shards are summed together where that changes no bit, large ones by themselves', () => {
    const sizes = [3, 4, 10, 2, 2, 9, 1]
    let from = 0
    const shards = sizes.map((count, index) => {
      from += count
      return { index, from: from - count, count }
    })
    expect(summedTogether(shards, 8).map(({ count }) => count)).toEqual([7, 10, 4, 9, 1])
    expect(summedTogether(shards, 0).map(({ count }) => count)).toEqual(sizes)
  })
})

import { describe, expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import { treeSeed } from '../../src/trees/partition-tree.ts'

const TWO_32 = 2 ** 32

describe('seeds', () => {
  test('below 2^32 keep their streams, forks included', () => {
    const firsts = (seed: number): number[] => {
      const random = createRandom(seed)
      return [
        random.next(),
        random.next(),
        createRandom(seed).fork(3).next(),
        createRandom(seed).fork(0x57e90001).next(),
      ]
    }
    expect(firsts(0)).toEqual([1789933344, 44971166, 604290561, 1728092219])
    expect(firsts(5)).toEqual([890109699, 87178612, 3869336335, 3187420983])
    expect(firsts(TWO_32 - 1)).toEqual([4104197751, 1825856343, 4203763396, 2908527443])
  })

  test('of more than 32 bits give streams of their own, forks included', () => {
    const seeds = [4, 5, 1, TWO_32, TWO_32 + 1, TWO_32 + 4, TWO_32 + 5, 5 * TWO_32, 5 * TWO_32 + 1, 2 ** 53 - 1]
    const streams = (of: (seed: number) => { next(): number }): Set<string> =>
      new Set(
        seeds.map((seed) => {
          const random = of(seed)
          return Array.from({ length: 4 }, () => random.next()).join()
        }),
      )
    expect(streams(createRandom).size).toBe(seeds.length)
    // Many places draw a single number from a fork.
    expect(new Set(seeds.map((seed) => createRandom(seed).fork(2).next())).size).toBe(seeds.length)
    expect(streams((seed) => createRandom(seed).fork(2)).size).toBe(seeds.length)
    expect(streams((seed) => createRandom(seed).fork(2).fork(7)).size).toBe(seeds.length)
    expect(new Set(seeds.map((seed) => treeSeed(seed, 3))).size).toBe(seeds.length)
  })

  test('of trees are those of the first release for seeds below 2^32', () => {
    expect(treeSeed(0, 0)).toBe(1)
    expect(treeSeed(5, 2)).toBe(5 * 1009 + 3)
    // 10^9 * 1009 + 1 = 234 * 2^32 + 3977652737
    expect(treeSeed(1e9, 0)).toBe((3977652737 ^ 234) >>> 0)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5'])('%s is refused', (seed) => {
    expect(() => createRandom(seed as number)).toThrow(/The seed is .*: give a whole number/)
  })
})

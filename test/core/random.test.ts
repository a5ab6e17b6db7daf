import { describe, expect, test } from 'vitest'
import { createRandom, sampleDistinct, shuffle } from '../../src/core/random.ts'
import { type Streams, stream, streamSeed } from '../../src/core/streams.ts'

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
    expect(streams((seed) => stream(seed, 'trees', 3)).size).toBe(seeds.length)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '5'])('%s is refused', (seed) => {
    expect(() => createRandom(seed as number)).toThrow(/The seed is .*: give a whole number/)
  })
})

describe('streams', () => {
  const NAMES: Record<keyof Streams, number> = {
    'sample start': 1,
    seeding: 1,
    trees: 1,
    search: 1,
    given: 2,
    tuning: 0,
    groups: 2,
    moves: 2,
    steps: 1,
    relocation: 1,
    canopies: 0,
    extension: 1,
    spread: 0,
    'spread within': 0,
    components: 0,
    certainty: 0,
    directions: 0,
    samples: 0,
    codewords: 0,
    'sample of shards': 0,
    refill: 0,
  }
  /** Streams of all names, seeds and numbers from 0 on. */
  const some = (seeds: readonly number[], numbers: number) =>
    seeds.flatMap((seed) =>
      (Object.keys(NAMES) as (keyof Streams)[]).flatMap((name) =>
        Array.from({ length: NAMES[name] === 0 ? 1 : numbers ** NAMES[name] }, (_, i) => {
          const given = NAMES[name] === 2 ? [Math.floor(i / numbers), i % numbers] : [i]
          return stream(seed, name, ...(given.slice(0, NAMES[name]) as [never, never]))
        }),
      ),
    )

  test('of different names, numbers and seeds differ from their first number on', () => {
    const streams = some([0, 1, 2, TWO_32, 2 ** 53 - 1], 24)
    expect(streams.length).toBeGreaterThan(5000)
    expect(new Set(streams.map((random) => random.next())).size).toBe(streams.length)
    expect(new Set(streams.map((random) => random.uniform())).size).toBe(streams.length)
  })

  test('never follow each other: no number of one comes again in another', () => {
    const draws = some([0, 1], 3).map((random) => Array.from({ length: 50 }, () => random.uniform()))
    expect(new Set(draws.flat()).size).toBe(draws.length * 50)
  })

  test('are the same for the same name, numbers and seed, and uniform', () => {
    expect(stream(7, 'moves', 3, 1).next()).toBe(stream(7, 'moves', 3, 1).next())
    expect(stream(7, 'moves', 3, 1).fork(2).next()).toBe(stream(7, 'moves', 3, 1).fork(2).next())
    expect(stream(7, 'moves', 31, 1).next()).not.toBe(stream(7, 'moves', 3, 11).next())
    const firsts = Array.from({ length: 4000 }, (_, round) => stream(0, 'steps', round).uniform())
    const mean = firsts.reduce((sum, value) => sum + value, 0) / firsts.length
    // The standard error of the mean is 0.0046.
    expect(Math.abs(mean - 0.5)).toBeLessThan(0.02)
  })

  test('give seeds that createRandom takes', () => {
    for (let tree = 0; tree < 1000; tree++) {
      const seed = streamSeed(5, 'trees', tree)
      expect(Number.isSafeInteger(seed) && seed >= 0).toBe(true)
    }
  })
})

describe('numbers without repetition', () => {
  /** Robert Floyd's algorithm with a plain set. */
  function plain(seed: number, bound: number, count: number): Uint32Array {
    const random = createRandom(seed)
    const chosen = new Set<number>()
    for (let j = bound - count; j < bound; j++) {
      const candidate = random.below(j + 1)
      chosen.add(chosen.has(candidate) ? j : candidate)
    }
    const result = Uint32Array.from(chosen)
    shuffle(random, result)
    return result
  }

  // Few of many are kept in a set, many of few in bits.
  test.each([
    [1, 1],
    [33, 33],
    [1000, 7],
    [5000, 1],
    [70_000, 3],
    [4096, 4000],
  ])('below %i, %i of them are the same whatever remembers them', (bound, count) => {
    for (const seed of [1, 2, 3]) {
      const found = sampleDistinct(createRandom(seed), bound, count)
      expect(found).toEqual(plain(seed, bound, count))
      expect(new Set(found).size).toBe(count)
      expect(Math.max(...found)).toBeLessThan(bound)
    }
  })
})

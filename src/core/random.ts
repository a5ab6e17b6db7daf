/**
 * Seeded random numbers: xoshiro128**, seeded through splitmix32, so that the same seed gives the
 * same run on every machine. Not for secrets.
 */

import { whole } from './arguments.ts'
import { badArgument } from './errors.ts'

/** Random numbers that are the same on every machine for the same seed. Not for secrets. */
export interface Random {
  /** A whole number from 0 to 2^32 - 1. */
  next(): number
  /** A real number in [0, 1), with 53 random bits. */
  uniform(): number
  /** A whole number from 0 to bound - 1, without bias. */
  below(bound: number): number
  /** A normally distributed number, mean 0, standard deviation 1. */
  normal(): number
  /** An independent stream for a named part of the work: adding a draw in one part leaves the others alone. */
  fork(stream: number): Random
}

const WORD = 0x100000000

/**
 * Seeded random numbers: the same seed gives the same numbers on every machine. A seed is a whole number from 0 to
 * 2^53 - 1; different seeds give different streams.
 *
 * @example
 * ```ts
 * import { createRandom } from 'centroidal'
 *
 * const random = createRandom(7)
 * random.below(6) + 1 // a die
 * random.normal() // mean 0, standard deviation 1
 * createRandom(7).next() === createRandom(7).next() // => true
 * ```
 */
export function createRandom(seed: number): Random {
  whole(0)(seed, 'the seed')
  const low = seed >>> 0
  const high = Math.floor(seed / WORD)
  let mixer = low
  const mix = (): number => {
    mixer = (mixer + 0x9e3779b9) | 0
    let z = mixer ^ (mixer >>> 16)
    z = Math.imul(z, 0x21f0aaad)
    z ^= z >>> 15
    z = Math.imul(z, 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
  const a = mix()
  let b = mix()
  let c = mix()
  let d = mix()
  if (high > 0) {
    // The low word alone decides a, and the mixer never maps two high words to the same number: no two seeds
    // share a state. Seeds below 2^32 skip this step.
    mixer = high
    b ^= mix()
    c ^= mix()
    d ^= mix()
  }
  return generator([a, b, c, d], (stream) => {
    whole(0)(stream, 'the stream')
    return createRandom(high * WORD + ((low + Math.imul(stream + 1, 0x85ebca6b)) >>> 0))
  })
}

/** xoshiro128** from a state of four words, not all of them 0. */
export function generator(state: readonly [number, number, number, number], fork: Random['fork']): Random {
  let [a, b, c, d] = state
  const next = (): number => {
    const scrambled = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = rotateLeft(d, 11)
    return scrambled
  }
  const uniform = (): number => ((next() >>> 5) * 0x4000000 + (next() >>> 6)) / 0x20000000000000
  let spare: number | undefined
  return {
    next,
    uniform,
    below(bound) {
      // Written out: this is called for every row of a shuffle.
      if (!(Number.isSafeInteger(bound) && bound >= 1)) {
        throw badArgument('the bound', bound, 'give a whole number, 1 or more.')
      }
      if (bound > 0xffffffff) return Math.floor(uniform() * bound)
      // Numbers at the top that would favour small results are drawn again.
      const limit = 0x100000000 - (0x100000000 % bound)
      let value = next()
      while (value >= limit) value = next()
      return value % bound
    },
    normal() {
      if (spare !== undefined) {
        const value = spare
        spare = undefined
        return value
      }
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()))
      const angle = 2 * Math.PI * uniform()
      spare = radius * Math.sin(angle)
      return radius * Math.cos(angle)
    },
    fork,
  }
}

function rotateLeft(x: number, bits: number): number {
  return (x << bits) | (x >>> (32 - bits))
}

/** What a number takes in a Set, about. */
const BYTES_IN_SET = 32

/** `count` different whole numbers from 0 to bound - 1, in random order (Floyd's method, then shuffled). */
export function sampleDistinct(random: Random, bound: number, count: number): Uint32Array {
  const chosen = numberSet(bound, count)
  const result = new Uint32Array(count)
  let filled = 0
  for (let j = bound - count; j < bound; j++) {
    const candidate = random.below(j + 1)
    const value = chosen.has(candidate) ? j : candidate
    chosen.add(value)
    result[filled++] = value
  }
  shuffle(random, result)
  return result
}

interface NumberSet {
  has(value: number): boolean
  add(value: number): unknown
}

/** For up to `count` numbers below `bound`: a bit each, where that takes less memory than a Set. */
function numberSet(bound: number, count: number): NumberSet {
  if (bound / 8 > count * BYTES_IN_SET) return new Set<number>()
  const bits = new Uint32Array(Math.ceil(bound / 32))
  return {
    has: (value) => (bits[value >>> 5] & (1 << (value & 31))) !== 0,
    add: (value) => (bits[value >>> 5] |= 1 << (value & 31)),
  }
}

export function shuffle(random: Random, values: Uint32Array): void {
  for (let i = values.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    const value = values[i]
    values[i] = values[j]
    values[j] = value
  }
}

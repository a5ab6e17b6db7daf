/** Oracles of exact sums in whole numbers without limit, and floats to sum. */
import { createRandom } from '../../src/core/random.ts'
import { exactPlane, mergeExact } from '../../src/kernels/exact-sums.ts'

const word = new Uint32Array(1)
const float = new Float32Array(word.buffer)

/** A float in units of 2^-149, of which each is a whole number. Infinity counts as 2^128, where it would be next. */
function smallestUnits(value: number): bigint {
  if (!Number.isFinite(value)) return BigInt(Math.sign(value)) << 277n
  float[0] = value
  const power = (word[0] >>> 23) & 255
  const mantissa = BigInt(word[0] & 0x7fffff) + (power > 0 ? 0x800000n : 0n)
  const size = mantissa << BigInt(Math.max(power, 1) - 1)
  return value < 0 ? -size : size
}

/** A float in units of 2^exponent, cut toward zero. */
export function unitsIn(value: number, exponent: number): bigint {
  return smallestUnits(value) / (1n << BigInt(exponent + 149))
}

/** The float nearest to a number of units: of those around it the one at the least distance, the even one of two. */
export function floatOf(units: bigint, exponent: number): number {
  if (units === 0n) return 0
  const exact = units << BigInt(exponent + 149)
  float[0] = Number(units) * 2 ** exponent
  const guess = word[0]
  let best = guess
  let least: bigint | undefined
  for (const candidate of [guess - 1, guess, guess + 1]) {
    // One step from zero leads across the sign, one from infinity to no number.
    if (candidate < 0 || (candidate & 0x7fffffff) > 0x7f800000) continue
    word[0] = candidate
    const gap = exact - smallestUnits(float[0])
    const distance = gap < 0n ? -gap : gap
    if (least !== undefined && (distance > least || (distance === least && candidate % 2 === 1))) continue
    least = distance
    best = candidate
  }
  word[0] = best
  return float[0]
}

/** Numbers as three planes of words. */
export function wordsOf(numbers: readonly bigint[]): Uint32Array {
  const plane = exactPlane(numbers.length)
  const words = new Uint32Array(3 * plane)
  numbers.forEach((number, i) => {
    for (const part of [0, 1, 2]) words[part * plane + i] = Number(BigInt.asUintN(32, number >> BigInt(32 * part)))
  })
  return words
}

/** Floats of both signs with exponents from 0 to `orders`; some are zero, some repeat. */
export function spreadFloats(count: number, orders: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: count }, () => {
    const choice = random.below(12)
    if (choice === 0) return 0
    const sign = choice % 2 === 0 ? 1 : -1
    return sign * (choice === 1 ? 1 : 1 + random.uniform()) * 2 ** (random.below(orders) - 1)
  })
}

export function shuffled<T>(items: readonly T[], seed: number): T[] {
  const random = createRandom(seed)
  const result = [...items]
  for (let i = result.length - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[result[i], result[j]] = [result[j], result[i]]
  }
  return result
}

/** Merges two at a time, taken at random, until one is left. */
export function mergedInGroups(parts: readonly Uint32Array[], seed: number): Uint32Array {
  let left = shuffled(parts, seed)
  for (let turn = seed; left.length > 1; turn++) {
    const [first, second, ...rest] = left
    left = shuffled([...rest, mergeExact(first, second)], turn)
  }
  return left[0]
}

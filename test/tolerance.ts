/**
 * How far a kernel may be from the oracle: every tolerance of the tests, with its reason.
 *
 * Kernels work in 32-bit floats, oracles in 64-bit ones. u = 2^-24 is the largest relative error of
 * one rounded operation. The bounds are the textbook worst cases (Higham, Accuracy and Stability,
 * ch. 3), which hold for every order of summation, fused or not; u^2 terms are covered by rounding
 * the counts up. Whole numbers are compared exactly, and so is everything computed from small whole
 * numbers, where 32 bits lose nothing.
 */
import { expect } from 'vitest'

/** u: half a unit in the last place of 1. */
export const UNIT = 2 ** -24
/** Below this GPUs may round a number to zero. */
export const SMALLEST = 2 ** -126

/**
 * A sum of `terms` products whose absolute values add up to `magnitude`:
 * |error| <= (terms + 2) u magnitude.
 * One u for each addition, one for the product, one to spare; each term may also vanish.
 */
export function sumBound(terms: number, magnitude: number): number {
  return (terms + 2) * UNIT * magnitude + terms * SMALLEST
}

/**
 * Additions on the way to the sum of a cluster of `count` points: pieces of 256 are summed on their
 * own and then added up, so errors grow with count / 256, not with count. `parts` counts calls with add.
 */
export function clusterTerms(count: number, parts = 1): number {
  return Math.min(count, 256) + Math.ceil(count / 256) + parts
}

/**
 * A squared distance taken by differences over d columns:
 * |error| <= (d + 4) u distance.
 * Two u for a squared difference, one for the square, d for the additions; no cancellation.
 */
export function distanceBound(d: number, squared: number): number {
  return (d + 4) * UNIT * squared + d * SMALLEST
}

/**
 * A squared distance of a sparse row: what a centre has where the row is zero is |c|^2 less other
 * squares, each wrong by up to d u |c|^2, and a GPU takes less than 1e-6 |c|^2 for nothing.
 */
export function sparseDistanceBound(d: number, pointLength: number, centerLength: number): number {
  return 1e-6 * centerLength ** 2 + 2 * (d + 4) * UNIT * (pointLength + centerLength) ** 2 + d * SMALLEST
}

/**
 * What a sparse row of length |x| and weight w pays for a cluster, from the sum D of its points:
 * D.x and |D|^2 are sums of d products each and change with every one of `moves`, so each is wrong by
 * (d + moves + 16) u of its magnitude, and the cost by a few times that. `magnitude`: for squared
 * distances w (|x| + |c|)^2 times W / (W - w); for unit vectors w |x|, of which costs are never more,
 * and more than that where sums nearly cancel: w |x| (L + w |x|)^2 / (L' (L' + L)), L and L' the lengths before and after.
 */
export function movePriceBound(d: number, moves: number, magnitude: number): number {
  return 8 * (d + moves + 16) * UNIT * magnitude + d * SMALLEST
}

/**
 * By how much a centre chosen by scores x . c - |c|^2 / 2 may be farther than the nearest:
 * a score is wrong by at most (d + 4) u (|x| |c| + |c|^2), a squared distance holds the score
 * twice, and two scores are compared: 4 (d + 4) u (|x| |c| + |c|^2) with the longer |c|.
 */
export function scoreBound(d: number, pointLength: number, centerLength: number): number {
  return 4 * (d + 4) * UNIT * (pointLength * centerLength + centerLength ** 2) + 4 * d * SMALLEST
}

/**
 * A mean sum / total: WGSL lets a division be wrong by 2.5 units in the last place, 5 u; with
 * `unit` the length adds d u and its inverse root 4 u.
 */
export function meanBound(d: number, unit: boolean, length: number): number {
  return (unit ? d + 16 : 6) * UNIT * length + SMALLEST
}

/**
 * The gain total (|mean - old|^2 - |mean - new|^2): both squares over d columns, and mean and new
 * themselves wrong by (d + 24) u of their lengths, which moves a square s by 2 sqrt(s) times that.
 */
export function gainBound(d: number, total: number, before: number, after: number, lengths: number): number {
  const shift = (d + 24) * UNIT * lengths
  const squares = (d + 8) * UNIT * (before + after)
  return total * (squares + 2 * shift * (Math.sqrt(before) + Math.sqrt(after)) + 2 * shift ** 2 + d * SMALLEST)
}

/** The distance of a place without a label: infinity on the CPU, the largest float WGSL writes easily on a GPU. */
export function isAbsent(distance: number): boolean {
  return distance >= Math.fround(3.4e38)
}

/** Numbers within a bound of what they should be; not-a-number never is. */
export function expectClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  bound: (index: number) => number,
): void {
  expect(actual.length).toBe(expected.length)
  const wrong: string[] = []
  for (let i = 0; i < expected.length && wrong.length < 5; i++) {
    const allowed = bound(i)
    const fits = actual[i] === expected[i] || Math.abs(actual[i] - expected[i]) <= allowed
    if (!fits) wrong.push(`[${i}] is ${actual[i]}, should be ${expected[i]}, may differ by ${allowed}`)
  }
  expect(wrong).toEqual([])
}

/** The same numbers exactly; says where they are not. */
export function expectSame(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  expectClose(actual, expected, () => 0)
}

/** The same bits, so that -0 and 0 differ and NaN equals itself. */
export function expectSameBits(actual: Float32Array, expected: Float32Array): void {
  expectSame(
    new Uint32Array(actual.buffer, actual.byteOffset, actual.length),
    new Uint32Array(expected.buffer, expected.byteOffset, expected.length),
  )
}

/** What a point was given, and what it could have had. */
export interface Choice {
  readonly label: number
  /** True squared distance of the chosen label; undefined if it was not to be had. */
  readonly chosen: number | undefined
  /** True squared distance of the best label. */
  readonly best: number
  /** How much farther than the best the chosen may be. */
  readonly slack: number
}

/** A label other than the best passes only if it is as good within the bound. */
export function expectChoices(choices: readonly Choice[]): void {
  const wrong: string[] = []
  choices.forEach(({ label, chosen, best, slack }, i) => {
    if (wrong.length >= 5) return
    if (chosen === undefined) wrong.push(`[${i}] has label ${label}, which was no candidate`)
    else if (!(chosen <= best + slack))
      wrong.push(`[${i}] has label ${label} at ${chosen}, the best is at ${best}, slack ${slack}`)
  })
  expect(wrong).toEqual([])
}

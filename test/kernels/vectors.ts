/** Vectors for the kernel tests: awkward shapes, and values of several flavours. */

import type { VectorData } from '../../src/core/matrix.ts'
import { createRandom, type Random } from '../../src/core/random.ts'
import { fc } from '../properties.ts'

/** Around every width that matters: 4 columns, panels of 8, tiles of 64, pieces and blocks of 256. */
export const SIZES = [1, 2, 3, 4, 5, 17, 127, 129, 511, 513] as const

/**
 * `whole` and `wholeBytes` are small whole numbers: every product and sum of them is exact in 32 bits
 * whatever the order, ties are many, and results must equal the oracle's.
 */
export const EXACT = ['whole', 'wholeBytes'] as const
export const ROUGH = ['unit', 'offset', 'huge', 'tiny', 'repeated', 'bytes'] as const
export type ExactFlavour = (typeof EXACT)[number]
export type RoughFlavour = (typeof ROUGH)[number]
export type Flavour = ExactFlavour | RoughFlavour

const floats: Record<Exclude<Flavour, 'repeated'>, (random: Random) => number> = {
  whole: (random) => random.below(7) - 3,
  wholeBytes: (random) => random.below(7),
  unit: (random) => random.normal(),
  offset: (random) => 1000 + random.normal(),
  huge: (random) => random.normal() * 1e15,
  tiny: (random) => random.normal() * 1e-15,
  bytes: (random) => random.uniform() * 255,
}

export function isBytes(flavour: Flavour): boolean {
  return flavour === 'bytes' || flavour === 'wholeBytes'
}

/** Points: bytes for the flavours that are. */
export function points(flavour: Flavour, rows: number, cols: number, seed: number): VectorData {
  const data = centers(flavour, rows, cols, seed)
  return isBytes(flavour) ? Uint8Array.from(data, (value) => Math.floor(value)) : data
}

/** Centres, directions, matrices: always floats. */
export function centers(flavour: Flavour, rows: number, cols: number, seed: number): Float32Array {
  const random = createRandom(seed)
  if (flavour !== 'repeated') return Float32Array.from({ length: rows * cols }, () => floats[flavour](random))
  const different = Math.ceil(Math.sqrt(rows))
  const pool = centers('unit', different, cols, seed + 1)
  const data = new Float32Array(rows * cols)
  for (let i = 0; i < rows; i++) {
    const from = random.below(different)
    data.set(pool.subarray(from * cols, (from + 1) * cols), i * cols)
  }
  return data
}

export function wholeNumbers(count: number, bound: number, seed: number): Uint32Array {
  const random = createRandom(seed)
  return Uint32Array.from({ length: count }, () => random.below(bound))
}

/** Weights as users give them: positive, some zero. */
export function weights(count: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: count }, () => (random.below(8) === 0 ? 0 : random.uniform() * 3))
}

/** A size up to `most`: an awkward one or any. */
export function size(most: number): fc.Arbitrary<number> {
  return fc.oneof(fc.constantFrom(...SIZES.filter((value) => value <= most)), fc.integer({ min: 1, max: most }))
}

export const anySeed = fc.integer({ min: 0, max: 2 ** 31 })
export const exactFlavour = fc.constantFrom(...EXACT)
export const roughFlavour = fc.constantFrom(...ROUGH)
export const anyFlavour = fc.constantFrom<Flavour>(...EXACT, ...ROUGH)

/** Checks a property on one device. */
export function checkProperty<T>(
  runs: number,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
): Promise<void> {
  return fc.assert(fc.asyncProperty(arbitrary, holds), { numRuns: runs })
}

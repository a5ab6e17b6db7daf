/** What the tests of several methods share: points to cluster, and how much of a rise is rounding. */
import { createRandom, type Matrix, matrix } from '../../src/index.ts'

/** The objective is summed in 32-bit blocks: a rise of this share of it is rounding. */
export const ROUNDING = 2e-6

/** Normally distributed points. */
export function normal(rows: number, cols: number, seed: number): Matrix {
  const random = createRandom(seed)
  return matrix(
    Float32Array.from({ length: rows * cols }, () => random.normal()),
    rows,
    cols,
  )
}

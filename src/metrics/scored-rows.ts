/**
 * Rows as the scores of a clustering read them: in 64 bits, in blocks that fit a cache, brought to length one for
 * cosine. Dense and sparse rows answer the same questions.
 */
import { badData } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import type { Pace } from './pace.ts'

export interface ScoredRows {
  readonly rows: number
  readonly cols: number
  /** Numbers that a pass reads: what one costs. */
  readonly numbers: number
  /** All rows from front to back. A block is overwritten by the next one. */
  blocks(): AsyncGenerator<RowBlock>
  /** All rows as one block: place i of it holds row order[i]. */
  gather(order: Uint32Array, pace: Pace): Promise<RowBlock>
}

export interface RowBlock {
  /** The first row, and how many there are. */
  readonly first: number
  readonly count: number
  /** Numbers in the block. */
  readonly numbers: number
  /** Adds every row to the sum of its cluster; `clusters` is for all rows of the set. */
  addTo(sums: Float64Array, clusters: Uint32Array): void
  /** Squared distance of every row to the mean of its own cluster. */
  ownSquares(means: Means, clusters: Uint32Array, out: Float64Array): void
  /** Squared distances to means `from` to `to`: count x (to - from). */
  meanSquares(means: Means, from: number, to: number, out: Float64Array): void
  /** Squared distances within the block, between places a0 to a1 and places b0 to b1: (a1 - a0) x (b1 - b0). */
  pairSquares(a0: number, a1: number, b0: number, b1: number, out: Float64Array): void
}

/** Means of clusters, k x cols; for cosine their directions. */
export interface Means {
  readonly k: number
  readonly cols: number
  readonly data: Float64Array
  /** Squared lengths. */
  readonly squares: Float64Array
}

export function noDirection(row: number, name: string): CentroidalError {
  return badData(
    `Row ${row} of ${name} is all zeros and has no cosine distance: remove the row, or use metric euclidean.`,
  )
}

export function numbersFor(rows: number, cols: number, what: string): Float64Array {
  try {
    return new Float64Array(rows * cols)
  } catch (cause) {
    throw new CentroidalError(
      'out-of-memory',
      `${rows} ${what} of ${cols} columns need ${rows * cols * 8} bytes, more than can be allocated: score fewer rows or clusters.`,
      { cause },
    )
  }
}

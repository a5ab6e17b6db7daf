/** How good lists of neighbours are. */
import { badOption, CentroidalError } from '../core/errors.ts'

/** Lists of row numbers, best first: rows x cols. */
export interface NeighborLists {
  /** Lists, one for each query. */
  readonly rows: number
  /** Numbers in a list. */
  readonly cols: number
  /** rows x cols, row-major. */
  readonly data: ArrayLike<number>
}

/**
 * Recall at R: the share of queries whose true nearest neighbour is among the first R found.
 *
 * @example
 * ```ts
 * import { recallAt } from 'centroidal'
 *
 * const found = { rows: 2, cols: 2, data: [4, 7, 1, 9] }
 * const truth = { rows: 2, cols: 1, data: [4, 9] }
 * recallAt(found, truth, 1) // => 0.5
 * recallAt(found, truth, 2) // => 1
 * ```
 */
export function recallAt(found: NeighborLists, truth: NeighborLists, r: number): number {
  if (found.rows !== truth.rows || found.rows === 0) {
    throw new CentroidalError(
      'bad-data',
      `There are lists for ${found.rows} queries and the truth about ${truth.rows}: give both for the same queries.`,
    )
  }
  requireLists(found, 'the lists found')
  requireLists(truth, 'the truth')
  if (!Number.isInteger(r) || r < 1) throw badOption('r', r, 'give a whole number, 1 or more.')
  let hits = 0
  for (let i = 0; i < found.rows; i++) {
    const nearest = truth.data[i * truth.cols]
    for (let j = 0; j < Math.min(r, found.cols); j++) {
      if (found.data[i * found.cols + j] === nearest) {
        hits++
        break
      }
    }
  }
  return hits / found.rows
}

function requireLists({ rows, cols, data }: NeighborLists, what: string): void {
  if (Number.isInteger(cols) && cols >= 1 && data.length === rows * cols) return
  throw new CentroidalError(
    'bad-data',
    `There are ${data.length} numbers in ${what} for ${rows} x ${cols}: give at least one number for each query, ${rows} x ${cols} in all.`,
  )
}

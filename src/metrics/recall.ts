/** How good lists of neighbours are. */
import { badData, numberList, whole } from '../core/arguments.ts'
import { CentroidalError, capital, show } from '../core/errors.ts'

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
  const foundData = checkedLists(found, 'the lists found')
  const truthData = checkedLists(truth, 'the true lists')
  whole(1)(r, 'r')
  if (found.rows !== truth.rows || found.rows === 0) {
    throw new CentroidalError(
      'bad-data',
      `There are lists for ${found.rows} queries and the truth about ${truth.rows}: give both for the same queries.`,
    )
  }
  let hits = 0
  for (let i = 0; i < found.rows; i++) {
    const nearest = truthData[i * truth.cols]
    for (let j = 0; j < Math.min(r, found.cols); j++) {
      if (foundData[i * found.cols + j] === nearest) {
        hits++
        break
      }
    }
  }
  return hits / found.rows
}

function checkedLists(lists: NeighborLists, thing: string): ArrayLike<number> {
  if (typeof lists !== 'object' || lists === null) {
    throw badData(`${capital(thing)} are ${show(lists)}: give an object with rows, cols and data.`)
  }
  const rows = whole(0)(lists.rows, `rows of ${thing}`)
  const cols = whole(1)(lists.cols, `cols of ${thing}`)
  const data = numberList(lists.data, `data of ${thing}`)
  if (data.length === rows * cols) return data
  throw badData(`Data of ${thing} has ${data.length} numbers: give ${rows} x ${cols}.`)
}

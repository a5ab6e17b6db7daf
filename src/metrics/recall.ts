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

/** What a search returned: the lists of all queries, one after the other. */
export interface FoundLists {
  /** Numbers in a list. */
  readonly m: number
  /** queries x m numbers, best first. */
  readonly labels: ArrayLike<number>
}

/**
 * Recall at R: the share of queries whose true nearest neighbour is among the first R found.
 *
 * @example
 * ```ts
 * import { nearest, recallAt } from 'centroidal'
 *
 * const found = { rows: 2, cols: 2, data: [4, 7, 1, 9] }
 * const truth = { rows: 2, cols: 1, data: [4, 9] }
 * recallAt(found, truth, 1) // => 0.5
 * recallAt(found, truth, 2) // => 1
 *
 * // Results of searches, of files (readIntegers), or both.
 * const vectors = [[0, 0], [0, 1], [5, 5]]
 * recallAt(await nearest(vectors, vectors, { m: 2 }), await nearest(vectors, vectors), 1) // => 1
 * ```
 */
export function recallAt(given: NeighborLists | FoundLists, known: NeighborLists | FoundLists, r: number): number {
  const { found, truth, foundData, truthData } = checkedPair(given, known)
  whole(1)(r, 'r')
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

/**
 * n-recall\@n: the share of the n true nearest neighbours that are among the first n found, over all queries. Benchmarks of
 * approximate search call it recall too; {@link recallAt} looks for the nearest one only.
 *
 * @example
 * ```ts
 * import { overlapAt } from 'centroidal'
 *
 * const found = { rows: 1, cols: 3, data: [4, 7, 1] }
 * const truth = { rows: 1, cols: 3, data: [7, 4, 9] }
 * overlapAt(found, truth, 2) // => 1
 * overlapAt(found, truth, 3) // => 0.667
 * ```
 */
export function overlapAt(given: NeighborLists | FoundLists, known: NeighborLists | FoundLists, n: number): number {
  const { found, truth, foundData, truthData } = checkedPair(given, known)
  whole(1)(n, 'n')
  if (n > truth.cols) {
    throw badData(
      `Argument n is ${n}, but the true lists have ${truth.cols} neighbours each: give at most ${truth.cols}.`,
    )
  }
  let hits = 0
  for (let i = 0; i < found.rows; i++) {
    const wanted = new Set<number>()
    for (let j = 0; j < n; j++) wanted.add(truthData[i * truth.cols + j])
    // A number that was found twice counts once.
    for (let j = 0; j < Math.min(n, found.cols); j++) if (wanted.delete(foundData[i * found.cols + j])) hits++
  }
  return hits / (found.rows * n)
}

interface Pair {
  readonly found: NeighborLists
  readonly truth: NeighborLists
  readonly foundData: ArrayLike<number>
  readonly truthData: ArrayLike<number>
}

function checkedPair(given: NeighborLists | FoundLists, known: NeighborLists | FoundLists): Pair {
  const found = asLists(given, 'the lists found')
  const truth = asLists(known, 'the true lists')
  const foundData = checkedLists(found, 'the lists found')
  const truthData = checkedLists(truth, 'the true lists')
  if (found.rows === truth.rows && found.rows > 0) return { found, truth, foundData, truthData }
  throw new CentroidalError(
    'bad-data',
    `There are result lists for ${found.rows} queries and true lists for ${truth.rows}: give both for the same queries.`,
  )
}

function asLists(given: NeighborLists | FoundLists, thing: string): NeighborLists {
  if (typeof given !== 'object' || given === null) {
    throw badData(
      `${capital(thing)} are ${show(given)}: give the result of a search, or an object with rows, cols and data.`,
    )
  }
  if (!('labels' in given)) return given
  const cols = whole(1)(given.m, `m of ${thing}`)
  const data = numberList(given.labels, `labels of ${thing}`)
  return { rows: Math.ceil(data.length / cols), cols, data }
}

function checkedLists(lists: NeighborLists, thing: string): ArrayLike<number> {
  const rows = whole(0)(lists.rows, `rows of ${thing}`)
  const cols = whole(1)(lists.cols, `cols of ${thing}`)
  const data = numberList(lists.data, `data of ${thing}`)
  if (data.length === rows * cols) return data
  throw badData(`Data of ${thing} has ${data.length} numbers: give ${rows} x ${cols}.`)
}

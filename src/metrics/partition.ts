/** How well two labelings of the same rows agree. Which number a label has never matters, only who shares it. */
import { numberList, WHOLE_NUMBER } from '../core/arguments.ts'
import { CentroidalError, show } from '../core/errors.ts'

/** A label for each row: whole numbers or strings. Only equality of labels matters. */
export type Labels = ArrayLike<number> | readonly string[]

/** How often label i of one labeling met label j of the other; only pairs that occur. */
export interface Contingency {
  readonly total: number
  /** Rows per distinct label, in order of appearance. */
  readonly firstCounts: Float64Array
  readonly secondCounts: Float64Array
  /** The pairs that occur: index into firstCounts, index into secondCounts, how often. */
  readonly first: Uint32Array
  readonly second: Uint32Array
  readonly counts: Float64Array
}

/** Up to this many cells a plain table is faster than a Map, at 32 MB at most. */
const LARGEST_TABLE = 1 << 22

export function contingency(a: Labels, b: Labels): Contingency {
  labelList(a, 'the first labeling')
  labelList(b, 'the second labeling')
  if (a.length !== b.length) {
    throw new CentroidalError(
      'bad-data',
      `The labelings have ${a.length} and ${b.length} labels: give labels of the same rows.`,
    )
  }
  if (a.length === 0) throw new CentroidalError('bad-data', 'The labelings are empty: give at least one label.')
  const dense = { first: renumber(a), second: renumber(b) }
  const width = dense.second.counts.length
  const cells = countPairs(dense.first.indices, dense.second.indices, dense.first.counts.length, width)
  return {
    total: a.length,
    firstCounts: dense.first.counts,
    secondCounts: dense.second.counts,
    first: Uint32Array.from(cells, ([key]) => Math.floor(key / width)),
    second: Uint32Array.from(cells, ([key]) => key % width),
    counts: Float64Array.from(cells, ([, count]) => count),
  }
}

/** Whole numbers or strings; a mixture of both is refused. */
export function labelList(labels: unknown, thing: string): Labels {
  if (!Array.isArray(labels) || typeof labels[0] !== 'string') return numberList(labels, thing, WHOLE_NUMBER)
  const at = labels.findIndex((label) => typeof label !== 'string')
  if (at < 0) return labels
  throw new CentroidalError(
    'bad-data',
    `Entry ${at} of ${thing} is ${show(labels[at])}: give strings or whole numbers.`,
  )
}

/** Labels as 0, 1, 2... in order of appearance. */
export function renumber(labels: Labels): { indices: Uint32Array; counts: Float64Array } {
  if (labels instanceof Uint32Array) {
    const most = labels.reduce((largest, label) => Math.max(largest, label), 0)
    if (most < labels.length) return renumberSmall(labels, most)
  }
  const known = new Map<number | string, number>()
  const counts: number[] = []
  const indices = new Uint32Array(labels.length)
  for (let i = 0; i < labels.length; i++) {
    let index = known.get(labels[i])
    if (index === undefined) {
      index = counts.length
      known.set(labels[i], index)
      counts.push(0)
    }
    counts[index]++
    indices[i] = index
  }
  return { indices, counts: Float64Array.from(counts) }
}

/** The same with a table of the labels, which is faster than a Map. */
function renumberSmall(labels: Uint32Array, most: number): { indices: Uint32Array; counts: Float64Array } {
  // One more than the index; 0 for labels that have not appeared.
  const known = new Uint32Array(most + 1)
  const counts: number[] = []
  const indices = new Uint32Array(labels.length)
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i]
    if (known[label] === 0) known[label] = counts.push(0)
    const index = known[label] - 1
    counts[index]++
    indices[i] = index
  }
  return { indices, counts: Float64Array.from(counts) }
}

/** Pairs that occur, as [first * width + second, how often]. */
function countPairs(first: Uint32Array, second: Uint32Array, height: number, width: number): [number, number][] {
  if (height * width <= LARGEST_TABLE) {
    const table = new Float64Array(height * width)
    for (let i = 0; i < first.length; i++) table[first[i] * width + second[i]]++
    const cells: [number, number][] = []
    for (let key = 0; key < table.length; key++) if (table[key] > 0) cells.push([key, table[key]])
    return cells
  }
  const sparse = new Map<number, number>()
  for (let i = 0; i < first.length; i++) {
    const key = first[i] * width + second[i]
    sparse.set(key, (sparse.get(key) ?? 0) + 1)
  }
  return [...sparse]
}

/**
 * Mutual information over the geometric mean of the entropies: 1 for the same partition, about 0 for independent ones.
 * An entropy is 0 when all rows share one label: then 1 if both are so, 0 if only one is.
 *
 * @example
 * ```ts
 * import { normalizedMutualInformation } from 'centroidal'
 *
 * normalizedMutualInformation([0, 0, 1, 1], [5, 5, 3, 3]) // => 1
 * normalizedMutualInformation([0, 0, 1, 1], [0, 1, 0, 1]) // => 0
 * ```
 */
export function normalizedMutualInformation(a: Labels, b: Labels): number {
  const table = contingency(a, b)
  const { total, first, second, counts, firstCounts, secondCounts } = table
  if (firstCounts.length === 1 || secondCounts.length === 1) return firstCounts.length === secondCounts.length ? 1 : 0
  let information = 0
  counts.forEach((count, i) => {
    information += (count / total) * Math.log((count * total) / (firstCounts[first[i]] * secondCounts[second[i]]))
  })
  const normalized = information / Math.sqrt(shannon(firstCounts, total) * shannon(secondCounts, total))
  // Rounding can leave the last digit outside.
  return Math.min(1, Math.max(0, normalized))
}

function shannon(counts: Float64Array, total: number): number {
  return -counts.reduce((sum, count) => sum + (count / total) * Math.log(count / total), 0)
}

/**
 * The adjusted Rand index: agreement of pairs of rows, corrected for chance. 1 for the same partition, about 0 or below for
 * random ones.
 *
 * @example
 * ```ts
 * import { adjustedRandIndex } from 'centroidal'
 *
 * adjustedRandIndex([0, 0, 1, 1], ['cat', 'cat', 'dog', 'dog']) // => 1
 * adjustedRandIndex([0, 0, 1, 1], [0, 0, 1, 2]) // => 0.571
 * ```
 */
export function adjustedRandIndex(a: Labels, b: Labels): number {
  const { total, counts, firstCounts, secondCounts } = contingency(a, b)
  const together = pairs(counts)
  const firstPairs = pairs(firstCounts)
  const secondPairs = pairs(secondCounts)
  const allPairs = (total * (total - 1)) / 2
  const expected = allPairs === 0 ? 0 : (firstPairs * secondPairs) / allPairs
  const largest = (firstPairs + secondPairs) / 2
  // Equal only if both have a single cluster, or both only clusters of one row: the same partition.
  return largest === expected ? 1 : (together - expected) / (largest - expected)
}

function pairs(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + (count * (count - 1)) / 2, 0)
}

/**
 * Purity: the fraction of rows that belong to the most frequent class of their cluster.
 *
 * @example
 * ```ts
 * import { purity } from 'centroidal'
 *
 * purity([0, 0, 0, 1], [7, 7, 8, 8]) // => 0.75
 * ```
 */
export function purity(labels: Labels, truth: Labels): number {
  const { total, first, counts, firstCounts } = contingency(labels, truth)
  const largest = new Float64Array(firstCounts.length)
  counts.forEach((count, i) => {
    largest[first[i]] = Math.max(largest[first[i]], count)
  })
  return largest.reduce((sum, count) => sum + count, 0) / total
}

/**
 * Mean entropy of the classes within the clusters, weighted by cluster size and divided by the maximum, the logarithm of
 * the number of classes. 0 is pure, 1 is evenly mixed; 0 with a single class.
 *
 * @example
 * ```ts
 * import { entropy } from 'centroidal'
 *
 * entropy([0, 0, 1, 1], [7, 7, 8, 8]) // => 0
 * entropy([0, 0, 1, 1], [7, 8, 7, 8]) // => 1
 * ```
 */
export function entropy(labels: Labels, truth: Labels): number {
  const { total, first, counts, firstCounts, secondCounts } = contingency(labels, truth)
  if (secondCounts.length === 1) return 0
  let mixed = 0
  counts.forEach((count, i) => {
    mixed += (count / total) * Math.log(firstCounts[first[i]] / count)
  })
  return mixed / Math.log(secondCounts.length)
}

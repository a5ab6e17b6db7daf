/**
 * What shards contribute to a round, as values. Merging is exact and associative: sums are whole numbers of many bits
 * (kernels/exact-sums.ts), counts are whole numbers, and what is a single number for each shard is kept apart until all
 * are there and then added in the order of the shards. So the result has the same bits for any number of devices, whatever
 * order their answers come in.
 */
import type { ShardValue } from '../core/shard-values.ts'
import { mergeExact } from '../kernels/exact-sums.ts'

export { type ShardValue, sumOf } from '../core/shard-values.ts'

export interface PartialSums {
  /** Words of exact sums. */
  readonly exact: readonly Uint32Array[]
  readonly counts: readonly Uint32Array[]
  readonly values: readonly ShardValue[]
}

export interface PartialRound {
  /** Of each shard: sum of weighted squared distances to the centres the points chose among. */
  readonly squares: readonly ShardValue[]
  /** Points whose label changed. */
  readonly moved: number
  /** Pairs of a point and a centre that were compared. */
  readonly evaluated: number
}

export function mergeSums(a: PartialSums, b: PartialSums): PartialSums {
  return {
    exact: a.exact.map((words, i) => mergeExact(words, b.exact[i])),
    counts: a.counts.map((counts, i) => counts.map((count, j) => count + b.counts[i][j])),
    values: [...a.values, ...b.values],
  }
}

export function mergeRounds(a: PartialRound, b: PartialRound): PartialRound {
  return { squares: [...a.squares, ...b.squares], moved: a.moved + b.moved, evaluated: a.evaluated + b.evaluated }
}

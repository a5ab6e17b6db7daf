/** Means of the clusters of labelled vectors, and how far the vectors lie from them. */
import { badData } from '../core/arguments.ts'
import { toSource, type VectorInput } from '../core/matrix.ts'
import { betweenMeans } from './cluster-scores.ts'
import { type LabelledRows, meansOf, scoredRows } from './labelled-rows.ts'
import { Pace } from './pace.ts'
import { type Labels, labelList, renumber } from './partition.ts'
import type { Means } from './scored-rows.ts'
import type { ScoreOptions } from './silhouette.ts'

/** What the vectors of each cluster come to, as 64-bit sums. No cluster is empty. */
export interface ScatterSums {
  readonly rows: number
  readonly cols: number
  /** The cluster of each row, numbered from 0 without gaps. */
  readonly clusters: Uint32Array
  readonly sizes: Float64Array
  readonly means: Means
  /** Distances to the mean, summed by cluster, and their squares. */
  readonly distances: Float64Array
  readonly squares: Float64Array
  /** Squared distances of the means to the mean of all vectors, summed over the vectors. */
  readonly between: number
}

/** Two passes over the vectors. Any number of clusters will do, one or as many as vectors. */
export async function scatterSums(
  vectors: VectorInput,
  labels: Labels,
  watch: ScoreOptions = {},
): Promise<ScatterSums> {
  const source = toSource(vectors, 'the vectors')
  labelList(labels, 'the labels')
  if (labels.length !== source.rows) {
    throw badData(`There are ${source.rows} vectors and ${labels.length} labels: give one label for each vector.`)
  }
  if (source.rows === 0) throw badData('There are no vectors: give at least one.')
  const { indices: clusters, counts: sizes } = renumber(labels)
  const labelled: LabelledRows = { source, clusters, sizes }
  const rows = scoredRows(source, false)
  const pace = new Pace(2 * rows.numbers, watch)
  const means = await meansOf(rows, labelled, false, pace)
  const distances = new Float64Array(sizes.length)
  const squares = new Float64Array(sizes.length)
  let own = new Float64Array(0)
  for await (const block of rows.blocks()) {
    if (own.length < block.count) own = new Float64Array(block.count)
    block.ownSquares(means, clusters, own)
    for (let i = 0; i < block.count; i++) {
      const cluster = clusters[block.first + i]
      distances[cluster] += Math.sqrt(own[i])
      squares[cluster] += own[i]
    }
    if (pace.count(block.numbers)) await pace.rest()
  }
  pace.finish()
  const between = betweenMeans(means, labelled)
  return { rows: source.rows, cols: source.cols, clusters, sizes, means, distances, squares, between }
}

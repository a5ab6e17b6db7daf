/** Vectors and the cluster of each, checked, as every score of a clustering needs them; and the means of the clusters. */
import { badData } from '../core/arguments.ts'
import { toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import type { Pace } from './pace.ts'
import { type Labels, labelList, renumber } from './partition.ts'
import { DenseRows } from './scored-dense.ts'
import { type Means, numbersFor, type ScoredRows } from './scored-rows.ts'
import { sparseRows } from './scored-sparse.ts'

export interface LabelledRows {
  readonly source: VectorSource
  /** The cluster of each row, from 0 without gaps, whatever numbers the labels are. */
  readonly clusters: Uint32Array
  /** Rows in each cluster: none is empty. */
  readonly sizes: Float64Array
}

/** Refuses labels that no score is defined for: a single cluster, or a cluster for every row. */
export function labelledRows(vectors: VectorInput, labels: Labels): LabelledRows {
  const source = toSource(vectors, 'the vectors')
  labelList(labels, 'the labels')
  if (labels.length !== source.rows) {
    throw badData(`There are ${source.rows} vectors and ${labels.length} labels: give one label for each vector.`)
  }
  const { indices, counts } = renumber(labels)
  const k = counts.length
  if (k < 2 || k >= source.rows) {
    throw badData(
      `The labels name ${k} ${k === 1 ? 'cluster' : 'clusters'} for ${source.rows} vectors: scores are defined for at least 2 clusters and fewer clusters than vectors.`,
    )
  }
  return { source, clusters: indices, sizes: counts }
}

/** The rows in 64 bits. `unit`: brought to length one. */
export function scoredRows(source: VectorSource, unit: boolean): ScoredRows {
  return source.sparse ? sparseRows(source.sparse, unit, source.name) : new DenseRows(source, unit)
}

/** One pass over the rows. `unit`: means are brought to length one; one that is all zeros stays so. */
export async function meansOf(
  rows: ScoredRows,
  { clusters, sizes }: LabelledRows,
  unit: boolean,
  pace: Pace,
): Promise<Means> {
  const { cols } = rows
  const k = sizes.length
  const data = numbersFor(k, cols, 'means')
  for await (const block of rows.blocks()) {
    block.addTo(data, clusters)
    if (pace.count(block.numbers)) await pace.rest()
  }
  const squares = new Float64Array(k)
  for (let mean = 0; mean < k; mean++) {
    const from = mean * cols
    for (let j = 0; j < cols; j++) data[from + j] /= sizes[mean]
    squares[mean] = squaredLength(data, from, cols)
    if (!unit || squares[mean] === 0) continue
    const factor = 1 / Math.sqrt(squares[mean])
    for (let j = 0; j < cols; j++) data[from + j] *= factor
    squares[mean] = squaredLength(data, from, cols)
  }
  return { k, cols, data, squares }
}

function squaredLength(data: Float64Array, from: number, cols: number): number {
  let sum = 0
  for (let j = from; j < from + cols; j++) sum += data[j] * data[j]
  return sum
}

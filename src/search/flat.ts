/** Exact search: the m nearest of a set of vectors, by looking at all of them. */

import { choice, type OptionChecks, optionsOf, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix, readAll, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { withDevice } from '../vectors/device-choice.ts'
import { chunks, inspectFrame, LARGEST_FLOAT } from '../vectors/frame.ts'
import { exactNearest, type NearestResult } from '../vectors/nearest.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'

/** The metric; see {@link NeighborOptions}. */
export type SearchMetric = 'euclidean' | 'cosine' | 'inner-product'

/** Options of an exact search. */
export interface NeighborOptions extends WorkOptions {
  /** Number of results per vector, at most 256. Default 1. */
  readonly m?: number | undefined
  /**
   * The metric. Default `euclidean`, with squared distances. `cosine`: distances are 1 - cosine similarity, from 0 (the
   * same direction) to 2. `inner-product`: the largest inner products come first, and distances are their negatives.
   */
  readonly metric?: SearchMetric | undefined
}

/** All values, for programs that offer a choice. */
export const SEARCH_METRICS: readonly SearchMetric[] = ['euclidean', 'cosine', 'inner-product']

const CHECKS: OptionChecks<NeighborOptions> = {
  m: whole(1, MOST_NEAREST),
  metric: choice(SEARCH_METRICS),
  ...WORK_CHECKS,
}

/** The nearest of each vector. */
export interface Neighbors {
  /** Number of results per query. */
  readonly m: number
  /** n x m, best first; 0xffffffff where there are fewer than m. Ties go to the lowest number. */
  readonly labels: Uint32Array
  /** n x m distances, by the metric: squared where it is `euclidean`. */
  readonly distances: Float32Array
}

/**
 * Exact search: the m nearest rows of `among` for each vector, by comparing with all of them.
 *
 * @example
 * ```ts
 * import { matrix, nearest } from 'centroidal'
 *
 * const among = matrix(Float32Array.of(0, 0, 1, 1, 5, 5), 3, 2)
 * const { labels, distances } = await nearest([[4, 4]], among, { m: 2 })
 * labels // => [2, 1]
 * distances // => [2, 18]
 *
 * // Embeddings are compared by their direction.
 * const alike = await nearest([[4, 0]], [[1, 1], [9, 1]], { metric: 'cosine' })
 * alike.labels // => [1]
 * ```
 */
export async function nearest(
  vectors: VectorInput,
  among: VectorInput,
  options: NeighborOptions = {},
): Promise<Neighbors> {
  const { m = 1, metric = 'euclidean', device: choice, ...rest } = optionsOf('nearest', options, CHECKS)
  const source = toSource(vectors)
  const searched = toSource(among, 'the vectors to search')
  if (source.cols !== searched.cols) {
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the vectors to search ${searched.cols}: give the same number.`,
    )
  }
  if (metric === 'inner-product') return largestProducts(source, searched, { ...rest, m, device: choice })
  const frame = await inspectFrame(source, metric)
  await inspectFrame(searched, metric)
  const rows = await readAll(searched)
  const found = await withDevice(choice, [source, rows], (device) => exactNearest(device, source, rows, frame, m, rest))
  // Between vectors of length one, half the squared distance is 1 - cosine.
  if (metric === 'cosine') for (let i = 0; i < found.distances.length; i++) found.distances[i] /= 2
  return { m, ...found }
}

/**
 * The largest inner products, as nearest neighbours: with a further column that brings all rows of `among` to the same
 * length, and is 0 in queries, the squared distance is a constant of the query minus twice the inner product. Products of
 * what was found are computed again without that column, and decide the order.
 */
async function largestProducts(
  source: VectorSource,
  among: VectorSource,
  { m, device: choice, ...control }: NeighborOptions & { readonly m: number },
): Promise<Neighbors> {
  const { cols } = source
  await inspectFrame(source, 'euclidean')
  await inspectFrame(among, 'euclidean')
  const rows = await readAll(among)
  const lengthened = withColumn(rows.data, cols, lengtheners(rows))
  const wide = matrix(lengthened, rows.rows, cols + 1)
  const queries: VectorSource = {
    rows: source.rows,
    cols: cols + 1,
    type: 'f32',
    name: source.name,
    read: async (start, end) => withColumn(await source.read(start, end), cols),
  }
  const found = await withDevice(choice, [queries, wide], async (device) => {
    // A shift would change inner products.
    const frame = { ...(await inspectFrame(queries, 'euclidean')), shift: undefined }
    return exactNearest(device, queries, wide, frame, m, control)
  })
  await orderByProducts(found, source, rows, m)
  return { m, ...found }
}

/** What each row lacks in squared length to the longest one, as a number to add in a further column. */
function lengtheners({ rows, cols, data }: Matrix): Float32Array {
  const squares = new Float64Array(rows)
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < cols; j++) squares[row] += data[row * cols + j] ** 2
  }
  const most = squares.reduce((largest, square) => Math.max(largest, square), 0)
  return Float32Array.from(squares, (square) => Math.sqrt(most - square))
}

function withColumn(data: ArrayLike<number>, cols: number, last?: Float32Array): Float32Array<ArrayBuffer> {
  const rows = data.length / cols
  const out = new Float32Array(rows * (cols + 1))
  for (let row = 0; row < rows; row++) {
    for (let j = 0; j < cols; j++) out[row * (cols + 1) + j] = data[row * cols + j]
    if (last) out[row * (cols + 1) + cols] = last[row]
  }
  return out
}

async function orderByProducts(found: NearestResult, source: VectorSource, among: Matrix, m: number): Promise<void> {
  const { labels, distances } = found
  const { cols } = among
  for await (const { first, data } of chunks(source)) {
    for (let row = 0; row * cols < data.length; row++) {
      const at = (first + row) * m
      const products = Array.from(labels.subarray(at, at + m), (label) => {
        let sum = 0
        if (label !== NO_LABEL)
          for (let j = 0; j < cols; j++) sum += data[row * cols + j] * among.data[label * cols + j]
        return { label, distance: label === NO_LABEL ? Number.POSITIVE_INFINITY : -sum }
      })
      products.sort((a, b) => a.distance - b.distance || a.label - b.label)
      products.forEach(({ label, distance }, i) => {
        labels[at + i] = label
        distances[at + i] = Math.max(-LARGEST_FLOAT, Math.min(LARGEST_FLOAT, distance))
      })
    }
  }
}

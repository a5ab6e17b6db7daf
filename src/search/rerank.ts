/** Exact distances for a few candidates of each query, from the vectors themselves. */

import { badData, uint32Array, whole } from '../core/arguments.ts'
import { CentroidalError, show } from '../core/errors.ts'
import { readAll, toSource, type VectorInput } from '../core/matrix.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { checkResults, MOST_RESULTS, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'

/**
 * The nearest `nearest` of the candidates of each query, by their distance to the original vectors, row
 * i of which has number i. Files are read once, forwards, and only where candidates lie: rows between two that are far apart
 * are skipped.
 *
 * @example
 * ```ts
 * import { blobs, rerank, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const quantizer = await trainQuantizer(vectors, { type: 'pq', m: 4, codewords: 16 })
 * const rough = await quantizer.search(await quantizer.encode(vectors), vectors, { nearest: 50 })
 * const { labels, distances } = await rerank(rough, vectors, vectors, 1)
 * labels[0] // => 0
 * distances[0] // => 0
 * ```
 */
export async function rerank(
  candidates: RankedCodes,
  queries: VectorInput,
  vectors: VectorInput,
  nearest?: number,
): Promise<RankedCodes> {
  const { m, labels } = checkedCandidates(candidates)
  const wanted = nearest === undefined ? m : whole(1, MOST_RESULTS)(nearest, 'the number of results')
  const asked = await readAll(toSource(queries, 'the queries'))
  const source = toSource(vectors, 'the vectors')
  const { cols } = asked
  if (source.cols !== cols) {
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the queries ${cols}: give the vectors that were encoded.`,
    )
  }
  if (asked.rows * m !== labels.length) {
    throw badData(`There are ${labels.length} candidates for ${asked.rows} queries: give ${m} for each.`)
  }
  checkResults(asked.rows, wanted)
  const distances = new Float64Array(labels.length).fill(Number.POSITIVE_INFINITY)
  // Places in the order of the rows they name.
  const places = new Uint32Array(labels.length)
  for (let i = 0; i < places.length; i++) places[i] = i
  places.sort((a, b) => labels[a] - labels[b])
  const known = places.findIndex((place) => labels[place] >= source.rows)
  const end = known < 0 ? places.length : known
  if (end < places.length && labels[places[end]] !== NO_LABEL) {
    throw new CentroidalError(
      'bad-data',
      `A candidate has number ${labels[places[end]]} and ${source.name} only ${source.rows} rows: give the vectors that were encoded.`,
    )
  }
  for (let next = 0; next < end; ) {
    const first = labels[places[next]]
    const last = lastOfRun(labels, places, next, end, Math.max(1, Math.floor(READ_NUMBERS / cols)))
    const data = await source.read(first, last + 1)
    for (; next < end && labels[places[next]] <= last; next++) {
      const place = places[next]
      const row = (labels[place] - first) * cols
      const query = Math.floor(place / m) * cols
      let sum = 0
      for (let j = 0; j < cols; j++) sum += (data[row + j] - asked.data[query + j]) ** 2
      distances[place] = sum
    }
  }
  return sorted({ m, labels }, distances, asked.rows, wanted)
}

/** Numbers read in one go. */
const READ_NUMBERS = 4_000_000
/** Rows further apart than this are read apart: reading what lies between them would take longer than another read. */
const FAR_ROWS = 64

/** The last row to read together with the one at `next`. */
function lastOfRun(labels: Uint32Array, places: Uint32Array, next: number, end: number, mostRows: number): number {
  const first = labels[places[next]]
  let last = first
  for (let i = next + 1; i < end; i++) {
    const row = labels[places[i]]
    if (row - last > FAR_ROWS || row - first >= mostRows) break
    last = row
  }
  return last
}

function sorted(
  { m, labels }: Pick<RankedCodes, 'm' | 'labels'>,
  distances: Float64Array,
  queries: number,
  nearest: number,
): RankedCodes {
  const out = rankedBuffer(queries, nearest)
  for (let query = 0; query < queries; query++) {
    const order = Array.from({ length: m }, (_, i) => query * m + i)
      .filter((place) => labels[place] !== NO_LABEL)
      .sort((a, b) => distances[a] - distances[b] || labels[a] - labels[b])
    order.slice(0, nearest).forEach((place, i) => {
      out.labels[query * nearest + i] = labels[place]
      out.distances[query * nearest + i] = distances[place]
    })
  }
  return out
}

function checkedCandidates(candidates: RankedCodes): Pick<RankedCodes, 'm' | 'labels'> {
  if (typeof candidates !== 'object' || candidates === null) {
    throw badData(`The candidates are ${show(candidates)}: give the result of a search.`)
  }
  const m = whole(1, MOST_RESULTS)(candidates.m, 'm of the candidates')
  return { m, labels: uint32Array(candidates.labels, 'the list of candidates') }
}

/** Exact distances for a few candidates of each query, from the vectors themselves. */

import { badData, uint32Array, whole } from '../core/arguments.ts'
import { CentroidalError, show } from '../core/errors.ts'
import { heldNumbers, readAll, toSource, type VectorData, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { checkResults, MOST_RESULTS, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import type { SearchMetric } from './flat.ts'
import { Turns } from './turns.ts'

/** Rows closer together than this are read with one request. */
const NEAR = 16
/** Most rows that are read at once. */
const MOST_AT_ONCE = 256
/** Reads of a call that are under way at the same time. */
const READS = 32

/**
 * The nearest `nearest` of the candidates of each query, by their exact distances; row i of the original vectors has id i.
 * From files, only the rows of candidates are read.
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
  const checked = checkedCandidates(candidates)
  const wanted = nearest === undefined ? checked.m : whole(1, MOST_RESULTS)(nearest, 'the number of results')
  return rerankBy('euclidean', checked, toSource(queries, 'the queries'), vectors, wanted)
}

/** Rows by their number; false where there is none of that number any more. */
export interface KeptRows {
  readonly cols: number
  read(id: number, out: Float32Array): boolean
}

/** The same for any metric. Calls that share `turns` read a few at a time. */
export async function rerankBy(
  metric: SearchMetric,
  { m, labels }: Pick<RankedCodes, 'm' | 'labels'>,
  queries: VectorSource,
  vectors: VectorInput,
  nearest: number,
  turns = new Turns(),
): Promise<RankedCodes> {
  const asked = await readAll(queries)
  const numbers = asked.data instanceof Float32Array ? asked.data : new Float32Array(asked.data)
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
  checkResults(asked.rows, nearest)
  requireRowsOf(labels, source)
  const distances = new Float64Array(labels.length).fill(Number.POSITIVE_INFINITY)
  const measure = measureBy(metric)
  const measurePlace = (place: number, data: VectorData, row: number): void => {
    distances[place] = measure(data, row * cols, numbers, Math.floor(place / m) * cols, cols)
  }
  const data = heldNumbers(source)
  if (data !== undefined) {
    for (let place = 0; place < labels.length; place++) {
      if (labels[place] !== NO_LABEL) measurePlace(place, data, labels[place])
    }
  } else await turns.take(() => readCandidates(source, labels, measurePlace))
  return sorted({ m, labels }, distances, asked.rows, nearest)
}

/** By what an inverted file keeps of the vectors. */
export async function rerankKept(
  metric: SearchMetric,
  { m, labels }: Pick<RankedCodes, 'm' | 'labels'>,
  queries: VectorSource,
  kept: KeptRows,
  nearest: number,
): Promise<RankedCodes> {
  const { cols } = kept
  const asked = await readAll(queries)
  const numbers = new Float32Array(asked.data)
  const measure = measureBy(metric)
  const row = new Float32Array(cols)
  const distances = new Float64Array(labels.length)
  const there = labels.slice()
  for (let place = 0; place < labels.length; place++) {
    if (labels[place] === NO_LABEL) continue
    if (kept.read(labels[place], row)) {
      distances[place] = measure(row, 0, numbers, Math.floor(place / m) * cols, cols)
    } else there[place] = NO_LABEL
  }
  return sorted({ m, labels: there }, distances, asked.rows, nearest)
}

/** Calls `each` for every place that names a row, with the row's place in what was read. */
async function readCandidates(
  source: VectorSource,
  labels: Uint32Array,
  each: (place: number, data: VectorData, row: number) => void,
): Promise<void> {
  // Places in the order of the rows they name.
  const places = Uint32Array.from({ length: labels.length }, (_, i) => i).sort((a, b) => labels[a] - labels[b])
  let end = places.length
  while (end > 0 && labels[places[end - 1]] === NO_LABEL) end--
  const runs: [number, number][] = []
  for (let next = 0; next < end; ) {
    let last = next + 1
    const first = labels[places[next]]
    while (last < end) {
      const row = labels[places[last]]
      if (row - labels[places[last - 1]] > NEAR || row - first >= MOST_AT_ONCE) break
      last++
    }
    runs.push([next, last])
    next = last
  }
  for (let at = 0; at < runs.length; at += READS) {
    const reads = runs.slice(at, at + READS).map(async ([from, to]) => {
      const first = labels[places[from]]
      const data = await source.read(first, labels[places[to - 1]] + 1)
      for (let i = from; i < to; i++) each(places[i], data, labels[places[i]] - first)
    })
    await Promise.all(reads)
  }
}

function requireRowsOf(labels: Uint32Array, { rows, name }: VectorSource): void {
  for (const label of labels) {
    if (label < rows || label === NO_LABEL) continue
    throw new CentroidalError(
      'bad-data',
      `A candidate has number ${label}, but ${name} has only ${rows} rows: give the vectors that were encoded.`,
    )
  }
}

export type Measure = (data: VectorData, at: number, query: Float32Array, from: number, cols: number) => number

/** Distances between rows of arrays. */
export function measureBy(metric: SearchMetric): Measure {
  if (metric === 'euclidean') return squaredDistance
  return metric === 'inner-product' ? (...args) => -product(...args) : cosineDistance
}

/** Four sums at a time: one would wait for itself in every step. */
function squaredDistance(data: VectorData, at: number, query: Float32Array, from: number, cols: number): number {
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  let j = 0
  for (; j + 3 < cols; j += 4) {
    const p = data[at + j] - query[from + j]
    const q = data[at + j + 1] - query[from + j + 1]
    const r = data[at + j + 2] - query[from + j + 2]
    const s = data[at + j + 3] - query[from + j + 3]
    a += p * p
    b += q * q
    c += r * r
    d += s * s
  }
  for (; j < cols; j++) a += (data[at + j] - query[from + j]) ** 2
  return a + b + (c + d)
}

function product(data: VectorData, at: number, query: Float32Array, from: number, cols: number): number {
  let sum = 0
  for (let j = 0; j < cols; j++) sum += data[at + j] * query[from + j]
  return sum
}

function cosineDistance(data: VectorData, at: number, query: Float32Array, from: number, cols: number): number {
  let sum = 0
  let left = 0
  let right = 0
  for (let j = 0; j < cols; j++) {
    const a = data[at + j]
    const b = query[from + j]
    sum += a * b
    left += a * a
    right += b * b
  }
  return Math.max(0, 1 - sum / Math.sqrt(left * right))
}

/** By insertion: a list is short, and most candidates do not come into it. */
function sorted(
  { m, labels }: Pick<RankedCodes, 'm' | 'labels'>,
  distances: Float64Array,
  queries: number,
  nearest: number,
): RankedCodes {
  const out = rankedBuffer(queries, nearest)
  if (nearest > 256) return sortedLong({ m, labels }, distances, out)
  const kept = new Float64Array(nearest)
  for (let query = 0; query < queries; query++) {
    const to = query * nearest
    let size = 0
    for (let place = query * m; place < (query + 1) * m; place++) {
      const distance = distances[place]
      const label = labels[place]
      if (label === NO_LABEL || (size === nearest && distance > kept[size - 1])) continue
      let at = size < nearest ? size++ : size
      while (at > 0 && (kept[at - 1] > distance || (kept[at - 1] === distance && out.labels[to + at - 1] > label))) {
        if (at < nearest) {
          kept[at] = kept[at - 1]
          out.labels[to + at] = out.labels[to + at - 1]
        }
        at--
      }
      if (at === nearest) continue
      kept[at] = distance
      out.labels[to + at] = label
    }
    out.distances.set(kept.subarray(0, size), to)
  }
  return out
}

function sortedLong(
  { m, labels }: Pick<RankedCodes, 'm' | 'labels'>,
  distances: Float64Array,
  out: RankedCodes,
): RankedCodes {
  for (let query = 0; query * m < labels.length; query++) {
    const order = Array.from({ length: m }, (_, i) => query * m + i)
      .filter((place) => labels[place] !== NO_LABEL)
      .sort((a, b) => distances[a] - distances[b] || labels[a] - labels[b])
    order.slice(0, out.m).forEach((place, i) => {
      out.labels[query * out.m + i] = labels[place]
      out.distances[query * out.m + i] = distances[place]
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

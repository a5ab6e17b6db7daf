/** Lists of the nearest codes: how long they may be, merged part by part, finished into distances. */
import { badOption } from '../core/errors.ts'
import { NO_QUERY } from '../kernels/scan-codes.ts'

/** The nearest codes of each query. */
export interface RankedCodes {
  /** Number of results per query. */
  readonly m: number
  /** queries x m, nearest first; 0xffffffff where there are fewer. Ties go to the lowest number. */
  readonly labels: Uint32Array
  /** queries x m squared distances, or bits that differ. */
  readonly distances: Float32Array
}

/** Lists of results for one query are at most this long. */
export const MOST_RESULTS = 2 ** 20
/** And all lists together hold at most this many. */
const MOST_NUMBERS = 2 ** 28

/** Results are a list of `nearest` for each query: refused where all of them are more than an array can hold. */
export function checkResults(queries: number, nearest: number): void {
  if (queries * nearest <= MOST_NUMBERS) return
  throw badOption(
    'nearest',
    nearest,
    `${nearest} results for each of ${queries} queries are too many; give at most ${Math.floor(MOST_NUMBERS / queries)}, or fewer queries at a time.`,
  )
}

/** The same lists with room for `nearest`: the rest is empty. */
export function padded(found: RankedCodes, nearest: number): RankedCodes {
  const { m, labels, distances } = found
  if (m === nearest) return found
  const out = rankedBuffer(labels.length / m, nearest)
  for (let query = 0; query * m < labels.length; query++) {
    out.labels.set(labels.subarray(query * m, (query + 1) * m), query * nearest)
    out.distances.set(distances.subarray(query * m, (query + 1) * m), query * nearest)
  }
  return out
}

export function rankedBuffer(queries: number, nearest: number): RankedCodes {
  return {
    m: nearest,
    labels: new Uint32Array(queries * nearest).fill(NO_QUERY),
    distances: new Float32Array(queries * nearest).fill(Number.POSITIVE_INFINITY),
  }
}

/** Adds sorted lists to what the lists of these queries hold; `shift` is the number of the first code. */
export function takeRanked(
  out: RankedCodes,
  found: { labels: Uint32Array; distances: Float32Array },
  first: number,
  count: number,
  shift: number,
): void {
  const { m } = out
  for (let query = 0; query < count; query++) {
    const to = (first + query) * m
    const old = { labels: out.labels.slice(to, to + m), distances: out.distances.slice(to, to + m) }
    let left = 0
    let right = query * m
    for (let place = to; place < to + m; place++) {
      const none = right === (query + 1) * m || found.labels[right] === NO_QUERY
      // Earlier parts have lower numbers: they win ties.
      const takeOld = none || (old.labels[left] !== NO_QUERY && old.distances[left] <= found.distances[right])
      out.labels[place] = takeOld ? old.labels[left] : found.labels[right] + shift
      out.distances[place] = takeOld ? old.distances[left] : found.distances[right]
      if (takeOld) left++
      else right++
    }
  }
}

/** Back to the input's units, with what no direction sees; places without a code are infinitely far. */
export function finishDistances(out: RankedCodes, rest: Float64Array | undefined, scale: number): void {
  const { m, labels, distances } = out
  for (let i = 0; i < distances.length; i++) {
    if (labels[i] === NO_QUERY) distances[i] = Number.POSITIVE_INFINITY
    else distances[i] = (distances[i] + (rest ? rest[Math.floor(i / m)] : 0)) / (scale * scale)
  }
}

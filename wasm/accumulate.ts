/**
 * Segmented sums by label, reproducible bit for bit: a stable counting sort groups the points by cluster, in rising order, and
 * each cluster is summed in that order, in pieces of SUM_PIECE points. Threads share the pieces of large clusters; the result
 * does not depend on which thread sums which piece. Labels of k or more belong to no cluster.
 */
import { SortByLabelArgs, SUM_PIECE, SumClustersArgs, SumPiecesArgs } from './build/assembly/arguments'
import { BYTES, Rows, SPARSE } from './rows'
import { loadFour, madd, squaredDistance } from './simd'
import { AHEAD, touchRow } from './touch'

/**
 * One item. Sorts n labels, beginning with label `from`. order: the numbers of the points, counted from point 0.
 * offsets[k + 1]: where the points of each cluster begin in `order`. pieces[k + 1]: where the partial sums of each cluster with
 * more than SUM_PIECE points begin.
 */
export function sortByLabel(_start: u32, _end: u32, _scratch: usize, args: SortByLabelArgs): void {
  const labels = args.labels
  const from = args.from
  const n = args.n
  const k = args.k
  const offsets = args.offsets
  const pieces = args.pieces
  const order = args.order
  memory.fill(offsets, 0, (<usize>k + 1) << 2)
  for (let i = from; i < from + n; i++) {
    const label = load<u32>(labels + ((<usize>i) << 2))
    if (label >= k) continue
    const at = offsets + ((<usize>label + 1) << 2)
    store<u32>(at, load<u32>(at) + 1)
  }
  let piece: u32 = 0
  for (let j: usize = 0; j < <usize>k; j++) {
    const count = load<u32>(offsets + ((j + 1) << 2))
    store<u32>(pieces + (j << 2), piece)
    if (count > SUM_PIECE) piece += (count + SUM_PIECE - 1) / SUM_PIECE
    store<u32>(offsets + ((j + 1) << 2), load<u32>(offsets + (j << 2)) + count)
  }
  store<u32>(pieces + ((<usize>k) << 2), piece)
  // Scattering moves each start to the next cluster's start; shifting back by one restores them.
  for (let i = from; i < from + n; i++) {
    const label = load<u32>(labels + ((<usize>i) << 2))
    if (label >= k) continue
    const at = offsets + ((<usize>label) << 2)
    const place = load<u32>(at)
    store<u32>(order + ((<usize>place) << 2), i)
    store<u32>(at, place + 1)
  }
  for (let j = k; j > 0; j--) {
    store<u32>(offsets + ((<usize>j) << 2), load<u32>(offsets + ((<usize>j) << 2) - 4))
  }
  store<u32>(offsets, 0)
}

/**
 * Adds rows of bytes, at most SUM_PIECE of them, to out. Sums of so few bytes fit 16 bits, and sums of whole numbers do not
 * depend on the order.
 */
function sumBytes(points: Rows, order: usize, from: u32, to: u32, out: usize, words: usize): void {
  const x = points.data
  const bytes = <usize>points.stride
  memory.fill(words, 0, (bytes << 1) + 8)
  let touched: u32 = 0
  for (let at = from; at < to; at++) {
    if (((at - from) & (AHEAD - 1)) === 0) {
      const stop = min(to, at + 2 * AHEAD)
      for (let next = at + AHEAD; next < stop; next++) {
        touched += touchRow(x + <usize>load<u32>(order + ((<usize>next) << 2)) * bytes, bytes)
      }
    }
    const row = x + <usize>load<u32>(order + ((<usize>at) << 2)) * bytes
    let column: usize = 0
    for (; column + 16 <= bytes; column += 16) {
      const values = v128.load(row + column)
      const place = words + (column << 1)
      v128.store(place, i16x8.add(v128.load(place), i16x8.extend_low_i8x16_u(values)))
      v128.store(place, i16x8.add(v128.load(place, 16), i16x8.extend_high_i8x16_u(values)), 16)
    }
    for (; column < bytes; column += 4) {
      const place = words + (column << 1)
      v128.store(place, i16x8.add(v128.load(place), i16x8.extend_low_i8x16_u(v128.load32_zero(row + column))))
    }
  }
  for (let column: usize = 0; column < bytes; column += 4) {
    const place = out + (column << 2)
    const sum = f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(v128.load64_zero(words + (column << 1))))
    v128.store(place, f32x4.add(v128.load(place), sum))
  }
  store<u32>(words, touched)
}

/** Adds rows of floats order[from..to) to out. */
function sumFloats(points: Rows, order: usize, from: u32, to: u32, out: usize): void {
  const bytes = points.bytes
  for (let at = from; at < to; at++) {
    const row = points.at(load<u32>(order + ((<usize>at) << 2)))
    for (let column: usize = 0; column < bytes; column += 16) {
      v128.store(out + column, f32x4.add(v128.load(out + column), v128.load(row + column)))
    }
  }
}

/** Adds rows order[from..to), at most SUM_PIECE, to out; returns the sum of their weights. */
function sumRows(points: Rows, weights: usize, order: usize, from: u32, to: u32, out: usize, byteSums: usize): f64 {
  const kind = points.kind
  if (!weights) {
    if (kind === BYTES) sumBytes(points, order, from, to, out, byteSums)
    else sumFloats(points, order, from, to, out)
    return <f64>(to - from)
  }
  const stride = points.stride
  let total: f64 = 0
  for (let at = from; at < to; at++) {
    const point = load<u32>(order + ((<usize>at) << 2))
    const row = points.at(point)
    const weight = load<f32>(weights + ((<usize>point) << 2))
    const factor = f32x4.splat(weight)
    for (let column: u32 = 0; column < stride; column += 4) {
      const place = out + ((<usize>column) << 2)
      v128.store(place, madd(loadFour(row, kind, column), factor, v128.load(place)))
    }
    total += <f64>weight
  }
  return total
}

/** Squared distances of rows order[from..to) to a centre, while the rows are still in the cache. */
function measureRows(points: Rows, order: usize, from: u32, to: u32, center: usize, distances: usize): void {
  for (let at = from; at < to; at++) {
    const point = load<u32>(order + ((<usize>at) << 2))
    const distance = squaredDistance(points.at(point), points.kind, center, points.stride)
    store<f32>(distances + ((<usize>point) << 2), distance)
  }
}

/** Items are pieces of large clusters; those beyond the last piece do nothing. */
export function sumPieces(start: u32, end: u32, scratch: usize, args: SumPiecesArgs): void {
  const points = args.points
  const stride = points.stride
  const weights = args.weights
  const k = args.k
  const offsets = args.offsets
  const pieces = args.pieces
  const order = args.order
  const byteSums = scratch + args.byteSumsAt
  const count = load<u32>(pieces + ((<usize>k) << 2))
  for (let piece = start; piece < min(end, count); piece++) {
    const cluster = clusterOfPiece(pieces, k, piece)
    const first = load<u32>(offsets + ((<usize>cluster) << 2))
    const last = load<u32>(offsets + ((<usize>cluster) << 2), 4)
    const from = first + (piece - load<u32>(pieces + ((<usize>cluster) << 2))) * SUM_PIECE
    const out = args.partials + ((<usize>piece * stride) << 2)
    memory.fill(out, 0, (<usize>stride) << 2)
    const to = min(from + SUM_PIECE, last)
    const total = sumRows(points, weights, order, from, to, out, byteSums)
    if (args.centers)
      measureRows(points, order, from, to, args.centers + ((<usize>cluster * stride) << 2), args.distances)
    store<f32>(args.partialTotals + ((<usize>piece) << 2), <f32>total)
  }
}

/** The cluster whose pieces include `piece`: the last one that starts at or before it. */
export function clusterOfPiece(pieces: usize, k: u32, piece: u32): u32 {
  let low: u32 = 0
  let high = k
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (load<u32>(pieces + ((<usize>middle) << 2)) <= piece) low = middle
    else high = middle
  }
  return low
}

/** The first of the entries from..to whose column is at least `column`. */
function firstFrom(columns: usize, from: u32, to: u32, column: u32): u32 {
  while (from < to) {
    const middle = (from + to) >> 1
    if (load<u32>(columns + ((<usize>middle) << 2)) < column) from = middle + 1
    else to = middle
  }
  return from
}

/**
 * Columns low to high of sparse rows order[first..last) into out; with `add`, on top of what is there. Each row's first entry is
 * found by binary search. Returns the sum of their weights.
 */
function sumEntries(
  points: Rows,
  weights: usize,
  order: usize,
  first: u32,
  last: u32,
  low: u32,
  high: u32,
  add: u32,
  out: usize,
  columnSums: usize,
): f64 {
  const values = points.data
  const offsets = points.offsets
  const columns = points.columns
  const width = <usize>(high - low)
  if (add) for (let i: usize = 0; i < width; i++) store<f64>(columnSums + (i << 3), <f64>load<f32>(out + (i << 2)))
  else memory.fill(columnSums, 0, width << 3)
  let total: f64 = 0
  for (let place = first; place < last; place++) {
    const row = load<u32>(order + ((<usize>place) << 2))
    const weight: f64 = weights ? <f64>load<f32>(weights + ((<usize>row) << 2)) : 1
    total += weight
    let from = load<u32>(offsets + ((<usize>row) << 2))
    const to = load<u32>(offsets + ((<usize>row) << 2), 4)
    if (low > 0) from = firstFrom(columns, from, to, low)
    for (let entry = <usize>from; entry < <usize>to; entry++) {
      const column = load<u32>(columns + (entry << 2))
      if (column >= high) break
      const sum = columnSums + ((<usize>(column - low)) << 3)
      store<f64>(sum, load<f64>(sum) + weight * <f64>load<f32>(values + (entry << 2)))
    }
  }
  for (let i: usize = 0; i < width; i++) store<f32>(out + (i << 2), <f32>load<f64>(columnSums + (i << 3)))
  return total
}

/**
 * Items are ranges of the columns of clusters. Sparse rows are summed in 64 bits. Of dense rows there is one range: small
 * clusters are summed here, large ones from their pieces. With `add`, on top of what is there. With `keepEmpty` the sums of
 * clusters without points are not written.
 */
export function sumClusters(start: u32, end: u32, scratch: usize, args: SumClustersArgs): void {
  const points = args.points
  const stride = points.stride
  const weights = args.weights
  const offsets = args.offsets
  const pieces = args.pieces
  const order = args.order
  const sums = args.sums
  const totals = args.totals
  const counts = args.counts
  const add = args.add
  const ranges = args.ranges
  const byteSums = scratch + args.byteSumsAt
  for (let item = start; item < end; item++) {
    const cluster = item / ranges
    const range = item % ranges
    const at = (<usize>cluster) << 2
    const out = sums + at * stride
    const from = load<u32>(offsets + at)
    const to = load<u32>(offsets + at, 4)
    const empty = from === to
    let total: f64 = add && range === 0 ? <f64>load<f32>(totals + at) : 0
    if (add || !empty || !args.keepEmpty) {
      if (points.kind === SPARSE) {
        const low = min(range * args.rangeColumns, stride)
        const high = min(low + args.rangeColumns, stride)
        const place = out + ((<usize>low) << 2)
        total += sumEntries(points, weights, order, from, to, low, high, add, place, scratch + args.columnSumsAt)
      } else {
        if (!add) memory.fill(out, 0, (<usize>stride) << 2)
        if (to - from <= SUM_PIECE) {
          total += sumRows(points, weights, order, from, to, out, byteSums)
          if (args.centers) measureRows(points, order, from, to, args.centers + at * stride, args.distances)
        } else {
          for (let piece = load<u32>(pieces + at); piece < load<u32>(pieces + at, 4); piece++) {
            total += <f64>load<f32>(args.partialTotals + ((<usize>piece) << 2))
            const source = args.partials + ((<usize>piece * stride) << 2)
            for (let column: usize = 0; column < (<usize>stride) << 2; column += 16) {
              v128.store(out + column, f32x4.add(v128.load(out + column), v128.load(source + column)))
            }
          }
        }
      }
    }
    if (range === 0) {
      store<f32>(totals + at, <f32>total)
      store<u32>(counts + at, to - from + (add ? load<u32>(counts + at) : 0))
    }
  }
}

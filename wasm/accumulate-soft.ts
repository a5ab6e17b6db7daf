/**
 * Sums by component over pairs of a point and a component, each with a share. Pairs were sorted by component (sortByLabel).
 * The differences to the component's mean are summed, which are precise also for data far from the origin. A pair is inner if
 * the component is the point's label, else outer.
 *
 * A block of sums: [stride + 4]: sums of share * difference by column, then sums of share * |difference|^2 inner and outer, and
 * of shares inner and outer. Components of more than SUM_PIECE pairs are summed in pieces as in accumulate.ts.
 */
import { clusterOfPiece } from './accumulate'
import { SoftClustersArgs, SoftPiecesArgs, SUM_PIECE } from './build/assembly/arguments'
import { Rows } from './rows'
import { loadFour, madd, sumLanes } from './simd'
import { AHEAD, touchRow } from './touch'

/** Adds share * difference of a row to the columns of `out`; writes |difference|^2. */
function addPair(row: usize, kind: u32, stride: u32, center: usize, share: f32, out: usize, square: usize): void {
  const factor = f32x4.splat(share)
  let squares = f32x4.splat(0)
  for (let column: u32 = 0; column < stride; column += 4) {
    const at = (<usize>column) << 2
    const gap = f32x4.sub(loadFour(row, kind, column), v128.load(center + at))
    v128.store(out + at, madd(gap, factor, v128.load(out + at)))
    squares = madd(gap, gap, squares)
  }
  store<f32>(square, sumLanes(squares))
}

/** The same for two rows, first a, then b: the same bits for fewer loads and stores. */
function addTwo(
  a: usize,
  b: usize,
  kind: u32,
  stride: u32,
  center: usize,
  shareA: f32,
  shareB: f32,
  out: usize,
  square: usize,
): void {
  const factorA = f32x4.splat(shareA)
  const factorB = f32x4.splat(shareB)
  let squaresA = f32x4.splat(0)
  let squaresB = f32x4.splat(0)
  for (let column: u32 = 0; column < stride; column += 4) {
    const at = (<usize>column) << 2
    const mean = v128.load(center + at)
    const gapA = f32x4.sub(loadFour(a, kind, column), mean)
    const gapB = f32x4.sub(loadFour(b, kind, column), mean)
    v128.store(out + at, madd(gapB, factorB, madd(gapA, factorA, v128.load(out + at))))
    squaresA = madd(gapA, gapA, squaresA)
    squaresB = madd(gapB, gapB, squaresB)
  }
  store<f32>(square, sumLanes(squaresA))
  store<f32>(square, sumLanes(squaresB), 4)
}

/** Adds the pairs order[from..to) of a component to a block of sums. */
function sumPairs(
  points: Rows,
  center: usize,
  component: u32,
  m: u32,
  shares: usize,
  labels: usize,
  order: usize,
  from: u32,
  to: u32,
  out: usize,
  touchedAt: usize,
  squares: usize,
): void {
  const x = points.data
  const kind = points.kind
  const stride = points.stride
  if (from === to) return
  const bytes = points.bytes
  let innerSquares: f64 = 0
  let outerSquares: f64 = 0
  let innerTotal: f64 = 0
  let outerTotal: f64 = 0
  let touched: u32 = 0
  let at = from
  let asked = from + AHEAD
  while (at < to) {
    if (at + AHEAD >= asked) {
      const stop = min(to, at + 2 * AHEAD)
      for (; asked < stop; asked++) {
        const pair = load<u32>(order + ((<usize>asked) << 2))
        if (load<f32>(shares + ((<usize>pair) << 2)) !== 0) touched += touchRow(x + <usize>(pair / m) * bytes, bytes)
      }
    }
    // Up to two pairs that have a share.
    let held: u32 = 0
    let first: u32 = 0
    let second: u32 = 0
    for (; at < to && held < 2; at++) {
      const pair = load<u32>(order + ((<usize>at) << 2))
      if (load<f32>(shares + ((<usize>pair) << 2)) === 0) continue
      if (held === 0) first = pair
      else second = pair
      held++
    }
    if (held === 0) break
    const share = load<f32>(shares + ((<usize>first) << 2))
    const row = x + <usize>(first / m) * bytes
    if (held === 1) {
      addPair(row, kind, stride, center, share, out, squares)
    } else {
      const other = load<f32>(shares + ((<usize>second) << 2))
      addTwo(row, x + <usize>(second / m) * bytes, kind, stride, center, share, other, out, squares)
    }
    for (let place: u32 = 0; place < held; place++) {
      const pair = place === 0 ? first : second
      const part = <f64>load<f32>(shares + ((<usize>pair) << 2))
      const weighted = part * <f64>load<f32>(squares + ((<usize>place) << 2))
      if (load<u32>(labels + ((<usize>(pair / m)) << 2)) === component) {
        innerSquares += weighted
        innerTotal += part
      } else {
        outerSquares += weighted
        outerTotal += part
      }
    }
  }
  store<u32>(touchedAt, touched)
  const totals = out + ((<usize>stride) << 2)
  store<f32>(totals, <f32>(<f64>load<f32>(totals) + innerSquares))
  store<f32>(totals, <f32>(<f64>load<f32>(totals, 4) + outerSquares), 4)
  store<f32>(totals, <f32>(<f64>load<f32>(totals, 8) + innerTotal), 8)
  store<f32>(totals, <f32>(<f64>load<f32>(totals, 12) + outerTotal), 12)
}

/** Items are pieces of large components; those beyond the last piece do nothing. */
export function softPieces(start: u32, end: u32, scratch: usize, args: SoftPiecesArgs): void {
  const points = args.points
  const stride = points.stride
  const centers = args.centers
  const k = args.k
  const m = args.m
  const shares = args.shares
  const labels = args.labels
  const offsets = args.offsets
  const pieces = args.pieces
  const order = args.order
  const partials = args.partials
  const touched = scratch + args.touchedAt
  const squares = scratch + args.squaresAt
  const bytes = (<usize>stride + 4) << 2
  const count = load<u32>(pieces + ((<usize>k) << 2))
  for (let piece = start; piece < min(end, count); piece++) {
    const component = clusterOfPiece(pieces, k, piece)
    const at = (<usize>component) << 2
    const from = load<u32>(offsets + at) + (piece - load<u32>(pieces + at)) * SUM_PIECE
    const out = partials + <usize>piece * bytes
    memory.fill(out, 0, bytes)
    const to = min(from + SUM_PIECE, load<u32>(offsets + at, 4))
    sumPairs(points, centers + at * stride, component, m, shares, labels, order, from, to, out, touched, squares)
  }
}

/** Items are components: small ones are summed here, large ones from their pieces. With `add`, on top of what is there. */
export function softClusters(start: u32, end: u32, scratch: usize, args: SoftClustersArgs): void {
  const points = args.points
  const stride = points.stride
  const centers = args.centers
  const m = args.m
  const shares = args.shares
  const labels = args.labels
  const offsets = args.offsets
  const pieces = args.pieces
  const order = args.order
  const partials = args.partials
  const sums = args.sums
  const add = args.add
  const touched = scratch + args.touchedAt
  const squares = scratch + args.squaresAt
  const bytes = (<usize>stride + 4) << 2
  for (let component = start; component < end; component++) {
    const at = (<usize>component) << 2
    const out = sums + <usize>component * bytes
    const from = load<u32>(offsets + at)
    const to = load<u32>(offsets + at, 4)
    if (!add) memory.fill(out, 0, bytes)
    if (to - from <= SUM_PIECE) {
      sumPairs(points, centers + at * stride, component, m, shares, labels, order, from, to, out, touched, squares)
      continue
    }
    for (let piece = load<u32>(pieces + at); piece < load<u32>(pieces + at, 4); piece++) {
      const source = partials + <usize>piece * bytes
      for (let word: usize = 0; word < bytes; word += 16) {
        v128.store(out + word, f32x4.add(v128.load(out + word), v128.load(source + word)))
      }
    }
  }
}

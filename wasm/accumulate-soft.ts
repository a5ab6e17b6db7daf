/**
 * Sums by component over pairs of a point and a component, each with a share. Pairs were sorted by
 * component (sortByLabel); what is summed is the difference to the component's mean, which keeps its
 * digits wherever the data lies. A pair is inner if the component is the point's label, else outer.
 *
 * A block of sums: [stride / 4][12]: inner and outer sums of share * difference (4 columns each), then
 * sum of share * |difference|^2 inner and outer, and sum of shares inner and outer. The last four
 * stand in the first 12 alone; the GPU has some in each. Pieces of more than PIECE pairs as in accumulate.ts.
 */
import { clusterOfPiece, PIECE } from './accumulate'
import { loadFour, madd, rowBytes, sumLanes } from './simd'

function sumPairs(
  x: usize,
  kind: u32,
  stride: u32,
  center: usize,
  component: u32,
  m: u32,
  shares: usize,
  labels: usize,
  order: usize,
  from: u32,
  to: u32,
  out: usize,
): void {
  const bytes = rowBytes(stride, kind)
  let innerSquares: f64 = 0
  let outerSquares: f64 = 0
  let innerTotal: f64 = 0
  let outerTotal: f64 = 0
  for (let at = from; at < to; at++) {
    const pair = load<u32>(order + ((<usize>at) << 2))
    const share = load<f32>(shares + ((<usize>pair) << 2))
    if (share === 0) continue
    const point = pair / m
    const inner = load<u32>(labels + ((<usize>point) << 2)) === component
    const row = x + <usize>point * bytes
    const factor = f32x4.splat(share)
    let place = out + (inner ? 0 : 16)
    let squares = f32x4.splat(0)
    for (let column: u32 = 0; column < stride; column += 4) {
      const gap = f32x4.sub(loadFour(row, kind, column), v128.load(center + ((<usize>column) << 2)))
      v128.store(place, madd(gap, factor, v128.load(place)))
      squares = madd(gap, gap, squares)
      place += 48
    }
    const weighted = <f64>share * <f64>sumLanes(squares)
    if (inner) {
      innerSquares += weighted
      innerTotal += <f64>share
    } else {
      outerSquares += weighted
      outerTotal += <f64>share
    }
  }
  store<f32>(out, <f32>(<f64>load<f32>(out, 32) + innerSquares), 32)
  store<f32>(out, <f32>(<f64>load<f32>(out, 36) + outerSquares), 36)
  store<f32>(out, <f32>(<f64>load<f32>(out, 40) + innerTotal), 40)
  store<f32>(out, <f32>(<f64>load<f32>(out, 44) + outerTotal), 44)
}

/** Items are pieces of large components; those beyond the last piece do nothing. */
export function softPieces(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  k: u32,
  m: u32,
  shares: usize,
  labels: usize,
  offsets: usize,
  pieces: usize,
  order: usize,
  partials: usize,
): void {
  const count = load<u32>(pieces + ((<usize>k) << 2))
  for (let piece = start; piece < min(end, count); piece++) {
    const component = clusterOfPiece(pieces, k, piece)
    const at = (<usize>component) << 2
    const from = load<u32>(offsets + at) + (piece - load<u32>(pieces + at)) * PIECE
    const out = partials + <usize>piece * stride * 12
    memory.fill(out, 0, <usize>stride * 12)
    const to = min(from + PIECE, load<u32>(offsets + at, 4))
    sumPairs(x, kind, stride, centers + at * stride, component, m, shares, labels, order, from, to, out)
  }
}

/** Items are components: small ones are summed here, large ones from their pieces. With `add`, on top of what is there. */
export function softClusters(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  m: u32,
  shares: usize,
  labels: usize,
  offsets: usize,
  pieces: usize,
  order: usize,
  partials: usize,
  sums: usize,
  add: u32,
): void {
  const bytes = <usize>stride * 12
  for (let component = start; component < end; component++) {
    const at = (<usize>component) << 2
    const out = sums + <usize>component * bytes
    const from = load<u32>(offsets + at)
    const to = load<u32>(offsets + at, 4)
    if (!add) memory.fill(out, 0, bytes)
    if (to - from <= PIECE) {
      sumPairs(x, kind, stride, centers + at * stride, component, m, shares, labels, order, from, to, out)
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

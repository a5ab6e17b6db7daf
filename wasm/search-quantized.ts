/**
 * The search of search-tree.ts over one k-means tree, with scores of 16-bit integers: nodes are ranked by scores alone, and
 * centres that may be the nearest of those looked at are measured exactly, so that distances, and the label among the centres
 * looked at, have the bits of measuring all of them. Items are points, or places of `order`.
 *
 * With a `width` all centres looked at are listed with their exact distances, in the order found, and a full list ends the
 * search. Centres are not needed as integers then, and the header is that of the nodes.
 */
import { DiscountNodesArgs, SEARCH_LEAF as LEAF, NO_LABEL, SearchQuantizedArgs } from './build/assembly/arguments'
import { dotsOneByFour, quantizePoint, scaleOf, wideStride } from './quantized-rows'
import { Rows } from './rows'
import { measureFew, squaredDistance, unpackRow } from './simd'

/**
 * Nodes that wait are a list without order: ranks in one area, numbers in the other. Adding four takes two stores, and the
 * few searches for the least go through four at a time; a heap would guess a branch wrong for most nodes it is given.
 */
export function searchQuantized(start: u32, end: u32, scratch: usize, args: SearchQuantizedArgs): void {
  const points = args.points
  const stride = points.stride
  const wide = wideStride(stride)
  const nodes = args.nodes
  const merge = args.merge
  const labels = args.labels
  const distances = args.distances
  const row = scratch + args.rowAt
  const ranks = scratch + args.ranksAt
  const numbers = scratch + args.numbersAt
  const nearest = scratch + args.nearestAt
  const floats = scratch + args.floatsAt
  const measures = scratch + args.measuresAt
  const width = args.width
  const longest = load<f32>(args.header, 4)
  const worst = load<f32>(args.header, 8)
  for (let item = start; item < end; item++) {
    const i = args.order ? load<u32>(args.order + ((<usize>item) << 2)) : item
    const scale = scaleOf(points.at(i), points.kind, stride, longest)
    const margin = quantizePoint(points.at(i), points.kind, stride, scale, worst, row)
    if (width) unpackRow(points.at(i), points.kind, stride, floats)
    store<f32>(nearest, <f32>Infinity)
    store<u32>(nearest, NO_LABEL, 4)
    store<i32>(nearest, i32.MIN_VALUE, 8)
    let size: usize = 0
    let waiting = true
    let node = nodes
    let checked: u32 = 0
    let measured: u32 = 0
    while (waiting && checked < args.checks) {
      let count = load<u32>(node, 4)
      while ((count & LEAF) === 0) {
        const first = load<u32>(node)
        const from = size
        for (let child: u32 = 0; child < count; child += 4) {
          scoreNodes(args, row, wide, first + child, count - child, scale, ranks + size)
          v128.store(numbers + size, i32x4.add(i32x4.splat(first + child), i32x4(0, 1, 2, 3)))
          size += 16
        }
        const place = leastOf(ranks, from, size)
        store<f32>(ranks + place, <f32>Infinity)
        measured += count
        node = nodes + ((<usize>load<u32>(numbers + place)) << 4)
        count = load<u32>(node, 4)
      }
      count &= ~LEAF
      if (width) {
        count = min(count, width - checked)
        listLeaf(args, i, floats, measures, load<u32>(node), count, checked)
      } else {
        scoreLeaf(args, i, row, wide, load<u32>(node), count, scale, margin, nearest)
      }
      checked += count
      const place = leastOf(ranks, 0, size)
      waiting = size > 0 && load<f32>(ranks + place) < Infinity
      if (!waiting) break
      store<f32>(ranks + place, <f32>Infinity)
      node = nodes + ((<usize>load<u32>(numbers + place)) << 4)
    }
    const at = (<usize>i) << 2
    store<f32>(args.looked + at, <f32>(measured + checked))
    if (width) {
      for (let place = (<usize>i * width + checked) << 2; place < (<usize>(i + 1) * width) << 2; place += 4) {
        store<u32>(labels + place, NO_LABEL)
        store<f32>(distances + place, <f32>Infinity)
      }
      continue
    }
    const best = load<f32>(nearest)
    const label = load<u32>(nearest, 4)
    if (merge && !(best < load<f32>(distances + at) && label !== load<u32>(labels + at))) continue
    store<u32>(labels + at, label)
    store<f32>(distances + at, best)
  }
}

/** Where the least rank stands among those at `from` to `to`, in bytes; the first of several. */
function leastOf(ranks: usize, from: usize, to: usize): usize {
  let least = f32x4.splat(<f32>Infinity)
  let places = i32x4.splat(<i32>from)
  for (let at = from; at < to; at += 16) {
    const some = v128.load(ranks + at)
    const lower = f32x4.lt(some, least)
    least = v128.bitselect(some, least, lower)
    places = v128.bitselect(i32x4.splat(<i32>at), places, lower)
  }
  let best = f32x4.extract_lane(least, 0)
  let place = i32x4.extract_lane(places, 0)
  for (let lane: i32 = 1; lane < 4; lane++) {
    const value =
      lane === 1
        ? f32x4.extract_lane(least, 1)
        : lane === 2
          ? f32x4.extract_lane(least, 2)
          : f32x4.extract_lane(least, 3)
    const group =
      lane === 1
        ? i32x4.extract_lane(places, 1)
        : lane === 2
          ? i32x4.extract_lane(places, 2)
          : i32x4.extract_lane(places, 3)
    const own = group + 4 * lane
    if (value < best || (value === best && value < Infinity && own < place)) {
      best = value
      place = own
    }
  }
  return <usize>place
}

/** The centres of a leaf. nearest: distance and label of the nearest centre so far, and the highest score. */
function scoreLeaf(
  args: SearchQuantizedArgs,
  point: u32,
  row: usize,
  wide: u32,
  first: u32,
  count: u32,
  scale: f32,
  margin: i32,
  nearest: usize,
): void {
  const rowSize = (<usize>wide) << 1
  let top = load<i32>(nearest, 8)
  for (let at: u32 = 0; at < count; at += 4) {
    const some = min<u32>(4, count - at)
    const place = first + at
    const dots = dotsOfFour(row, args.quantized, rowSize, place, some, wide)
    const starts = f32x4.mul(v128.load(args.starts + ((<usize>place) << 2)), f32x4.splat(scale))
    const scores = i32x4.add(dots, i32x4.trunc_sat_f32x4_s(starts))
    // Absent ones have any start: what they score counts for nothing.
    top = max(top, highestOf(scores, some))
    let lanes = i32x4.bitmask(i32x4.ge_s(scores, i32x4.splat(top - margin))) & ((1 << some) - 1)
    while (lanes) {
      const center = load<u32>(args.items + ((<usize>(place + ctz(lanes))) << 2))
      lanes &= lanes - 1
      const distance = exactDistance(args.points, point, args.centers, center)
      const best = load<f32>(nearest)
      if (distance < best || (distance === best && center < load<u32>(nearest, 4))) {
        store<f32>(nearest, distance)
        store<u32>(nearest, center, 4)
      }
    }
  }
  store<i32>(nearest, top, 8)
}

/** The centres of a leaf, with their distances, at place `checked` of the point's list and those after it. */
function listLeaf(
  args: SearchQuantizedArgs,
  point: u32,
  floats: usize,
  measures: usize,
  first: u32,
  count: u32,
  checked: u32,
): void {
  const slot = (<usize>point * args.width + checked) << 2
  const items = args.items + ((<usize>first) << 2)
  memory.copy(args.labels + slot, items, (<usize>count) << 2)
  for (let at: u32 = 0; at < count; at += 4) {
    const some = min<u32>(4, count - at)
    const offset = (<usize>at) << 2
    measureFew(floats, args.centers, args.points.stride, items + offset, some, measures)
    memory.copy(args.distances + slot + offset, measures, (<usize>some) << 2)
  }
}

/** Ranks of up to four nodes that follow one another, as floats: the nearer, the lower. Absent ones are infinitely far. */
function scoreNodes(
  args: SearchQuantizedArgs,
  row: usize,
  wide: u32,
  first: u32,
  count: u32,
  scale: f32,
  out: usize,
): void {
  const rowSize = (<usize>wide) << 1
  const dots = f32x4.convert_i32x4_s(dotsOfFour(row, args.quantizedNodes, rowSize, first, count, wide))
  const starts = v128.load(args.nodeStarts + ((<usize>first) << 2))
  const ranks = f32x4.neg(f32x4.add(dots, f32x4.mul(starts, f32x4.splat(scale))))
  const absent = i32x4.ge_s(i32x4(0, 1, 2, 3), i32x4.splat(<i32>count))
  v128.store(out, v128.bitselect(f32x4.splat(<f32>Infinity), ranks, absent))
}

/** The highest of the first `some` lanes. */
function highestOf(scores: v128, some: u32): i32 {
  const absent = i32x4.ge_s(i32x4(0, 1, 2, 3), i32x4.splat(<i32>some))
  const known = v128.bitselect(i32x4.splat(i32.MIN_VALUE), scores, absent)
  const low = max(i32x4.extract_lane(known, 0), i32x4.extract_lane(known, 1))
  const high = max(i32x4.extract_lane(known, 2), i32x4.extract_lane(known, 3))
  return max(low, high)
}

/** Scores of up to four rows that follow one another; absent ones repeat the last. */
function dotsOfFour(row: usize, rows: usize, rowSize: usize, first: u32, count: u32, wide: u32): v128 {
  const a = rows + <usize>first * rowSize
  const b = a + rowSize * <usize>min<u32>(1, count - 1)
  const c = a + rowSize * <usize>min<u32>(2, count - 1)
  const d = a + rowSize * <usize>min<u32>(3, count - 1)
  return dotsOneByFour(row, a, b, c, d, wide)
}

function exactDistance(points: Rows, point: u32, centers: usize, center: u32): f32 {
  const row = centers + ((<usize>center * points.stride) << 2)
  return squaredDistance(points.at(point), points.kind, row, points.stride)
}

/** Items are nodes: their starting values gain half their discount, so that they rank by squared distance less discount. */
export function discountNodes(start: u32, end: u32, _scratch: usize, args: DiscountNodesArgs): void {
  const half: f32 = <f32>0.5 * load<f32>(args.header)
  for (let node = start; node < end; node++) {
    const at = args.starts + ((<usize>node) << 2)
    store<f32>(at, load<f32>(at) + half * load<f32>(args.nodes + ((<usize>node) << 4), 12))
  }
}

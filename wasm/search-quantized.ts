/**
 * The search of search-tree.ts over one k-means tree, with scores of 16-bit integers: nodes are ranked by scores alone, and
 * centres that may be the nearest of those looked at are measured exactly, so that distances, and the label among the centres
 * looked at, have the bits of measuring all of them. Items are points, or places of `order`.
 *
 * With a `width` all centres looked at are listed with their exact distances, in the order found, and a full list ends the
 * search. Centres are not needed as integers then, and the header is that of the nodes.
 */
import {
  DiscountNodesArgs,
  SEARCH_LEAF as LEAF,
  NO_LABEL,
  SEARCH_DOUBTFUL,
  SEARCH_PLACES,
  SearchQuantizedArgs,
} from './build/assembly/arguments'
import { dotsOneByFour, quantizePoint, scaleOf, wideStride } from './quantized-rows'
import { Rows } from './rows'
import { measureFew, rowBytes, squaredDistance, unpackRow } from './simd'
import { AHEAD, touchRow } from './touch'

/**
 * Nodes that wait are a list without order, four to a vector: ranks in one area, the number of the first of four in another.
 * Sixteen ranks are a block, and a third area has the least of each block lane by lane, so that searches for the least read
 * few of them. Neither these searches nor the copying of leaves have branches, which would be guessed wrong for most nodes.
 *
 * The centres of leaves are gathered and scored together. Those that may be the nearest of all so far wait too: most are ruled
 * out by a later score and never measured.
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
  const least = scratch + args.leastAt
  const numbers = scratch + args.numbersAt
  const places = scratch + args.placesAt
  const nearest = scratch + args.nearestAt
  const floats = scratch + args.floatsAt
  const measures = scratch + args.measuresAt
  const width = args.width
  const bytes = rowBytes(stride, points.kind)
  const longest = load<f32>(args.header, 4)
  const worst = load<f32>(args.header, 8)
  let touched: u32 = 0
  for (let item = start; item < end; item++) {
    if ((item - start) % AHEAD === 0) {
      for (let next = item; next < min(item + AHEAD, end); next++) {
        touched += touchRow(points.at(args.order ? load<u32>(args.order + ((<usize>next) << 2)) : next), bytes)
      }
    }
    const i = args.order ? load<u32>(args.order + ((<usize>item) << 2)) : item
    const scale = scaleOf(points.at(i), points.kind, stride, longest)
    const margin = quantizePoint(points.at(i), points.kind, stride, scale, worst, row)
    if (width) unpackRow(points.at(i), points.kind, stride, floats)
    store<f32>(nearest, <f32>Infinity)
    store<u32>(nearest, NO_LABEL, 4)
    store<i32>(nearest, i32.MIN_VALUE, 8)
    store<u32>(nearest, 0, 12)
    let size: usize = 0
    let node = nodes
    let checked: u32 = 0
    let measured: u32 = 0
    let gathered: u32 = 0
    for (;;) {
      let count = load<u32>(node, 4)
      while ((count & LEAF) === 0) {
        const first = load<u32>(node)
        let near = f32x4.splat(<f32>Infinity)
        let at = i32x4.splat(<i32>size)
        for (let child: u32 = 0; child < count; child += 4) {
          if ((size & (BLOCK - 1)) === 0) openBlock(ranks + size, least + (size >> 2))
          const some = rankNodes(args, row, wide, first + child, count - child, scale)
          const ofBlock = least + ((size & ~(BLOCK - 1)) >> 2)
          v128.store(ranks + size, some)
          v128.store(ofBlock, f32x4.pmin(v128.load(ofBlock), some))
          store<u32>(numbers + (size >> 2), first + child)
          const nearer = f32x4.lt(some, near)
          near = f32x4.pmin(near, some)
          at = v128.bitselect(i32x4.splat(<i32>size), at, nearer)
          size += 16
        }
        measured += count
        const place = <usize>leastOf(near, i32x4.add(at, i32x4(0, 4, 8, 12)))
        node = nodes + ((<usize>takeNode(ranks, least, numbers, place)) << 4)
        count = load<u32>(node, 4)
      }
      count &= ~LEAF
      const first = load<u32>(node)
      if (width) {
        count = min(count, width - checked)
        listLeaf(args, i, floats, measures, first, count, checked)
      } else {
        for (let at: u32 = 0; at < count; at += 16) {
          if (gathered + 16 > SEARCH_PLACES) {
            scorePlaces(args, i, row, wide, places, gathered, scale, margin, nearest)
            gathered = 0
          }
          gatherPlaces(places + ((<usize>gathered) << 2), first + at)
          gathered += min<u32>(16, count - at)
        }
      }
      checked += count
      if (checked >= args.checks || size === 0) break
      const place = leastPlace(ranks, least, size)
      if (!(load<f32>(ranks + place) < Infinity)) break
      node = nodes + ((<usize>takeNode(ranks, least, numbers, place)) << 4)
    }
    const at = (<usize>i) << 2
    store<f32>(args.evaluated + at, <f32>(measured + checked))
    if (width) {
      for (let place = (<usize>i * width + checked) << 2; place < (<usize>(i + 1) * width) << 2; place += 4) {
        store<u32>(labels + place, NO_LABEL)
        store<f32>(distances + place, <f32>Infinity)
      }
      continue
    }
    scorePlaces(args, i, row, wide, places, gathered, scale, margin, nearest)
    measureDoubtful(args, i, margin, nearest)
    const best = load<f32>(nearest)
    const label = load<u32>(nearest, 4)
    if (merge && !(best < load<f32>(distances + at) && label !== load<u32>(labels + at))) continue
    store<u32>(labels + at, label)
    store<f32>(distances + at, best)
  }
  store<u32>(measures, touched)
}

/** Bytes of a block of ranks. */
const BLOCK: usize = 64

/** Nothing waits in a block that begins. */
function openBlock(ranks: usize, least: usize): void {
  const none = f32x4.splat(<f32>Infinity)
  v128.store(ranks, none)
  v128.store(ranks, none, 16)
  v128.store(ranks, none, 32)
  v128.store(ranks, none, 48)
  v128.store(least, none)
}

/** The number of the node at a place, which is free afterwards. */
function takeNode(ranks: usize, least: usize, numbers: usize, place: usize): u32 {
  store<f32>(ranks + place, <f32>Infinity)
  const block = place & ~(BLOCK - 1)
  const own = ranks + block
  const low = f32x4.pmin(v128.load(own), v128.load(own, 16))
  const high = f32x4.pmin(v128.load(own, 32), v128.load(own, 48))
  v128.store(least + (block >> 2), f32x4.pmin(low, high))
  return load<u32>(numbers + ((place >> 4) << 2)) + ((<u32>place >> 2) & 3)
}

/** Where the least rank of all stands, in bytes; the first of several, any place if nothing waits. */
function leastPlace(ranks: usize, least: usize, size: usize): usize {
  let near = f32x4.splat(<f32>Infinity)
  let at = i32x4.splat(0)
  for (let block: usize = 0; block < size; block += BLOCK) {
    const some = v128.load(least + (block >> 2))
    const nearer = f32x4.lt(some, near)
    near = f32x4.pmin(near, some)
    at = v128.bitselect(i32x4.splat(<i32>block), at, nearer)
  }
  const block = <usize>leastOf(near, at)
  const wanted = f32x4.splat(leastLane(near))
  const own = ranks + block
  const lanes =
    i32x4.bitmask(f32x4.eq(v128.load(own), wanted)) |
    (i32x4.bitmask(f32x4.eq(v128.load(own, 16), wanted)) << 4) |
    (i32x4.bitmask(f32x4.eq(v128.load(own, 32), wanted)) << 8) |
    (i32x4.bitmask(f32x4.eq(v128.load(own, 48), wanted)) << 12)
  return block + ((<usize>ctz(lanes)) << 2)
}

/** The least of the numbers in `at` whose lanes have the least value. */
function leastOf(values: v128, at: v128): i32 {
  const least = f32x4.eq(values, f32x4.splat(leastLane(values)))
  const own = v128.bitselect(at, i32x4.splat(i32.MAX_VALUE), least)
  const pairs = i32x4.min_s(own, i8x16.shuffle(own, own, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return min(i32x4.extract_lane(pairs, 0), i32x4.extract_lane(pairs, 1))
}

function leastLane(v: v128): f32 {
  const pairs = f32x4.pmin(v, i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return f32x4.extract_lane(
    f32x4.pmin(pairs, i8x16.shuffle(pairs, pairs, 4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15)),
    0,
  )
}

/** Sixteen places that follow one another; the first ones count. */
function gatherPlaces(out: usize, first: u32): void {
  const places = i32x4.add(i32x4.splat(<i32>first), i32x4(0, 1, 2, 3))
  v128.store(out, places)
  v128.store(out, i32x4.add(places, i32x4.splat(4)), 16)
  v128.store(out, i32x4.add(places, i32x4.splat(8)), 32)
  v128.store(out, i32x4.add(places, i32x4.splat(12)), 48)
}

// What `nearest` points to: distance and label of the nearest centre measured so far, the highest score, how many centres are
// in doubt; four scores; then scores and places of those in doubt.
const SCORES: usize = 16
const DOUBTFUL: usize = 32

/** Scores the centres at the places gathered, of which there is room for three more. */
function scorePlaces(
  args: SearchQuantizedArgs,
  point: u32,
  row: usize,
  wide: u32,
  places: usize,
  count: u32,
  scale: f32,
  margin: i32,
  nearest: usize,
): void {
  const rowSize = (<usize>wide) << 1
  const rows = args.quantized
  const starts = args.starts
  let top = load<i32>(nearest, 8)
  // Absent ones repeat the last.
  const end = places + ((<usize>count) << 2)
  if (count) v128.store(end, v128.load32_splat(end - 4))
  for (let at = places; at < end; at += 16) {
    const a: usize = load<u32>(at)
    const b: usize = load<u32>(at, 4)
    const c: usize = load<u32>(at, 8)
    const d: usize = load<u32>(at, 12)
    const dots = dotsOneByFour(
      row,
      rows + a * rowSize,
      rows + b * rowSize,
      rows + c * rowSize,
      rows + d * rowSize,
      wide,
    )
    let first = f32x4.splat(load<f32>(starts + (a << 2)))
    first = f32x4.replace_lane(first, 1, load<f32>(starts + (b << 2)))
    first = f32x4.replace_lane(first, 2, load<f32>(starts + (c << 2)))
    first = f32x4.replace_lane(first, 3, load<f32>(starts + (d << 2)))
    const scores = i32x4.add(dots, i32x4.trunc_sat_f32x4_s(f32x4.mul(first, f32x4.splat(scale))))
    top = max(top, highestLane(scores))
    let lanes = i32x4.bitmask(i32x4.ge_s(scores, i32x4.splat(top - margin)))
    if (!lanes) continue
    store<i32>(nearest, top, 8)
    if (load<u32>(nearest, 12) + 4 > SEARCH_DOUBTFUL) measureDoubtful(args, point, margin, nearest)
    v128.store(nearest, scores, SCORES)
    let doubtful = load<u32>(nearest, 12)
    while (lanes) {
      const lane = (<usize>ctz(lanes)) << 2
      lanes &= lanes - 1
      const entry = nearest + ((<usize>doubtful) << 3)
      store<i32>(entry, load<i32>(nearest + lane, SCORES), DOUBTFUL)
      store<u32>(entry, load<u32>(at + lane), DOUBTFUL + 4)
      doubtful++
    }
    store<u32>(nearest, doubtful, 12)
  }
}

/** Measures the centres in doubt, but for those that the highest score rules out by now. */
function measureDoubtful(args: SearchQuantizedArgs, point: u32, margin: i32, nearest: usize): void {
  const enough = load<i32>(nearest, 8) - margin
  const end = nearest + ((<usize>load<u32>(nearest, 12)) << 3)
  for (let entry = nearest; entry < end; entry += 8) {
    if (load<i32>(entry, DOUBTFUL) < enough) continue
    const center = load<u32>(args.items + ((<usize>load<u32>(entry, DOUBTFUL + 4)) << 2))
    const distance = exactDistance(args.points, point, args.centers, center)
    const best = load<f32>(nearest)
    if (distance < best || (distance === best && center < load<u32>(nearest, 4))) {
      store<f32>(nearest, distance)
      store<u32>(nearest, center, 4)
    }
  }
  store<u32>(nearest, 0, 12)
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

/** Ranks of up to four nodes that follow one another: the nearer, the lower. Absent ones are infinitely far. */
function rankNodes(args: SearchQuantizedArgs, row: usize, wide: u32, first: u32, count: u32, scale: f32): v128 {
  const rowSize = (<usize>wide) << 1
  const a = args.quantizedNodes + <usize>first * rowSize
  const b = a + rowSize * <usize>min<u32>(1, count - 1)
  const c = a + rowSize * <usize>min<u32>(2, count - 1)
  const d = a + rowSize * <usize>min<u32>(3, count - 1)
  const dots = f32x4.convert_i32x4_s(dotsOneByFour(row, a, b, c, d, wide))
  const starts = v128.load(args.nodeStarts + ((<usize>first) << 2))
  const ranks = f32x4.neg(f32x4.add(dots, f32x4.mul(starts, f32x4.splat(scale))))
  const absent = i32x4.ge_s(i32x4(0, 1, 2, 3), i32x4.splat(<i32>count))
  return v128.bitselect(f32x4.splat(<f32>Infinity), ranks, absent)
}

function highestLane(v: v128): i32 {
  const pairs = i32x4.max_s(v, i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return max(i32x4.extract_lane(pairs, 0), i32x4.extract_lane(pairs, 1))
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

/**
 * Nearest centre, and m nearest centres, of every point: the n x k scores are never stored.
 * A block of points is packed once and meets every panel of centres while it sits in the cache.
 * Cost: 2 n k d operations.
 */
import { AssignNearestArgs, AssignNearestManyArgs, NO_LABEL } from './build/assembly/arguments'
import { PANEL, panelBytes } from './panels'
import { Rows } from './rows'
import { scoreFourByEight } from './score-rows'
import { packFourRows, squaredDistance } from './simd'

/** Fewer centres than this are not worth packing points for. */
const FEW: u32 = 4

/** Packs up to `groups` groups of four rows from `first` on; the last row stands in for absent ones. */
function packBlock(points: Rows, first: u32, end: u32, groups: u32, out: usize): void {
  const stride = points.stride
  const last = end - 1
  for (let group: u32 = 0; group < groups; group++) {
    const i = first + (group << 2)
    const r0 = points.at(min(i, last))
    const r1 = points.at(min(i + 1, last))
    const r2 = points.at(min(i + 2, last))
    const r3 = points.at(min(i + 3, last))
    packFourRows(r0, r1, r2, r3, points.kind, stride, out + ((<usize>group * stride) << 4))
  }
}

/** The nearest. Items are points. With `merge` the labels and distances already there stay unless a centre is strictly nearer. */
export function assignNearest(start: u32, end: u32, scratch: usize, args: AssignNearestArgs): void {
  nearestByFloats(
    start,
    end,
    args.points,
    args.panels,
    args.centers,
    args.firstLabel,
    args.centerCount,
    args.labels,
    args.distances,
    args.merge,
    args.blockGroups,
    scratch + args.scoresAt,
    scratch + args.bestAt,
    scratch + args.blockAt,
  )
}

/** `scores`: one call of the micro-kernel. `best`: for each point of a block four scores and their centres. */
export function nearestByFloats(
  start: u32,
  end: u32,
  points: Rows,
  packed: usize,
  centers: usize,
  first: u32,
  count: u32,
  labels: usize,
  distances: usize,
  merge: u32,
  blockGroups: u32,
  scores: usize,
  best: usize,
  block: usize,
): void {
  if (count < FEW) {
    assignFew(start, end, points, centers, first, count, labels, distances, merge)
    return
  }
  const stride = points.stride
  const panels = (count + PANEL - 1) / PANEL
  const bytesOfPanel = panelBytes(stride)
  for (let at = start; at < end; at += blockGroups << 2) {
    const groups = min(blockGroups, (end - at + 3) >> 2)
    packBlock(points, at, end, groups, block)
    for (let slot: usize = 0; slot < (<usize>groups) << 2; slot++) {
      v128.store(best + (slot << 5), f32x4.splat(-Infinity))
      v128.store(best + (slot << 5), i32x4.splat(0), 16)
    }
    let panel = packed
    for (let p: u32 = 0; p < panels; p++) {
      const low = i32x4.add(i32x4.splat(<i32>(p << 3)), i32x4(0, 1, 2, 3))
      const high = i32x4.add(low, i32x4.splat(4))
      for (let group: u32 = 0; group < groups; group++) {
        scoreFourByEight(block + ((<usize>group * stride) << 4), panel, stride, scores)
        let slot = best + ((<usize>group) << 7)
        for (let row = scores; row < scores + 128; row += 32) {
          const left = v128.load(row)
          const right = v128.load(row, 16)
          let top = v128.load(slot)
          let index = v128.load(slot, 16)
          // Strictly greater: within a lane indices only rise, so a tie keeps the lowest.
          let better = f32x4.gt(left, top)
          top = v128.bitselect(left, top, better)
          index = v128.bitselect(low, index, better)
          better = f32x4.gt(right, top)
          v128.store(slot, v128.bitselect(right, top, better))
          v128.store(slot, v128.bitselect(high, index, better), 16)
          slot += 32
        }
      }
      panel += bytesOfPanel
    }
    const stop = min(at + (groups << 2), end)
    for (let i = at; i < stop; i++) {
      settleNearest(i, best + ((<usize>(i - at)) << 5), points, centers, first, labels, distances, merge)
    }
  }
}

/** A handful of centres: measured straight from the rows, at the speed of memory. */
function assignFew(
  start: u32,
  end: u32,
  points: Rows,
  centers: usize,
  first: u32,
  count: u32,
  labels: usize,
  distances: usize,
  merge: u32,
): void {
  const data = points.data
  const kind = points.kind
  const stride = points.stride
  const bytes = points.bytes
  for (let i = start; i < end; i++) {
    const row = data + <usize>i * bytes
    const at = (<usize>i) << 2
    let nearest: f32 = merge ? load<f32>(distances + at) : <f32>Infinity
    for (let j: u32 = 0; j < count; j++) {
      const distance = squaredDistance(row, kind, centers + ((<usize>j * stride) << 2), stride)
      if (distance < nearest) {
        nearest = distance
        store<u32>(labels + at, first + j)
      }
    }
    store<f32>(distances + at, nearest)
  }
}

/** The best of four lanes, lowest index on a tie; its distance is then taken by differences. */
function settleNearest(
  i: u32,
  slot: usize,
  points: Rows,
  centers: usize,
  first: u32,
  labels: usize,
  distances: usize,
  merge: u32,
): void {
  let top = load<f32>(slot)
  let index = load<u32>(slot, 16)
  for (let lane: usize = 4; lane < 16; lane += 4) {
    const score = load<f32>(slot + lane)
    const candidate = load<u32>(slot + lane, 16)
    if (score > top || (score === top && candidate < index)) {
      top = score
      index = candidate
    }
  }
  const stride = points.stride
  const distance = squaredDistance(points.at(i), points.kind, centers + ((<usize>index * stride) << 2), stride)
  const at = (<usize>i) << 2
  if (!merge || distance < load<f32>(distances + at)) {
    store<u32>(labels + at, first + index)
    store<f32>(distances + at, distance)
  }
}

/**
 * The m nearest, best first; places beyond the number of centres hold NO_LABEL and distance
 * infinity. Items are points. With `merge` the lists already there compete.
 */
export function assignNearestMany(start: u32, end: u32, scratch: usize, args: AssignNearestManyArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const first = args.firstLabel
  const count = args.centerCount
  const m = args.m
  const merge = args.merge
  const perBlock = args.blockGroups
  const scores = scratch + args.scoresAt
  const block = scratch + args.blockAt
  const lists = scratch + args.listsAt
  const listBytes = (<usize>m) << 3
  const panels = (count + PANEL - 1) / PANEL
  for (let at = start; at < end; at += perBlock << 2) {
    const groups = min(perBlock, (end - at + 3) >> 2)
    packBlock(points, at, end, groups, block)
    for (let slot: usize = 0; slot < ((<usize>groups) << 2) * m; slot++) {
      store<f32>(lists + (slot << 3), -Infinity)
      store<u32>(lists + (slot << 3), NO_LABEL, 4)
    }
    for (let p: u32 = 0; p < panels; p++) {
      const panel = args.panels + <usize>p * panelBytes(stride)
      const inPanel = min(PANEL, count - p * PANEL)
      for (let group: u32 = 0; group < groups; group++) {
        scoreFourByEight(block + ((<usize>group * stride) << 4), panel, stride, scores)
        for (let row: u32 = 0; row < 4; row++) {
          const list = lists + <usize>((group << 2) + row) * listBytes
          for (let lane: u32 = 0; lane < inPanel; lane++) {
            insertScore(list, m, load<f32>(scores + ((<usize>row) << 5) + ((<usize>lane) << 2)), p * PANEL + lane)
          }
        }
      }
    }
    const stop = min(at + (groups << 2), end)
    for (let i = at; i < stop; i++) {
      const list = lists + <usize>(i - at) * listBytes
      const row = points.at(i)
      const labels = args.labels + ((<usize>i * m) << 2)
      const distances = args.distances + ((<usize>i * m) << 2)
      if (!merge) fillAbsent(labels, distances, m)
      for (let place: u32 = 0; place < m; place++) {
        const index = load<u32>(list + ((<usize>place) << 3), 4)
        if (index === NO_LABEL) break
        const distance = squaredDistance(row, kind, centers + ((<usize>index * stride) << 2), stride)
        insertDistance(labels, distances, m, first + index, distance)
      }
    }
  }
}

export function fillAbsent(labels: usize, distances: usize, m: u32): void {
  for (let place: usize = 0; place < <usize>m; place++) {
    store<u32>(labels + (place << 2), NO_LABEL)
    store<f32>(distances + (place << 2), Infinity)
  }
}

/** Keeps a list of (score, index) sorted by falling score; a later equal goes behind. */
export function insertScore(list: usize, m: u32, score: f32, index: u32): void {
  let place = m
  while (place > 0 && load<f32>(list + ((<usize>place - 1) << 3)) < score) place--
  if (place === m) return
  for (let move = m - 1; move > place; move--) {
    store<u64>(list + ((<usize>move) << 3), load<u64>(list + ((<usize>move - 1) << 3)))
  }
  store<f32>(list + ((<usize>place) << 3), score)
  store<u32>(list + ((<usize>place) << 3), index, 4)
}

/** The same over two arrays by rising distance; a tie goes to the lower label. */
export function insertDistance(labels: usize, distances: usize, m: u32, label: u32, distance: f32): void {
  let place = m
  while (place > 0) {
    const before = (<usize>place - 1) << 2
    const other = load<f32>(distances + before)
    if (other < distance || (other === distance && load<u32>(labels + before) < label)) break
    place--
  }
  if (place === m) return
  for (let move = m - 1; move > place; move--) {
    const to = (<usize>move) << 2
    store<u32>(labels + to, load<u32>(labels + to - 4))
    store<f32>(distances + to, load<f32>(distances + to - 4))
  }
  store<u32>(labels + ((<usize>place) << 2), label)
  store<f32>(distances + ((<usize>place) << 2), distance)
}

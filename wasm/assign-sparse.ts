/**
 * Nearest centres of sparse rows. Apart from the dense kernel because scores are taken entry by entry instead of from packed
 * points: centres are packed in panels of 8 (see panels.ts) or 32, so that an entry meets that many centres at a time. Scores
 * only choose; the distance of the winner is that of rows.ts, in 64 bits.
 */
import { fillAbsent, insertDistance, insertScore } from './assign'
import { AssignSparseArgs, AssignSparseManyArgs, NO_LABEL, PackWideArgs, WIDE_PANEL } from './build/assembly/arguments'
import { PANEL } from './panels'
import { Rows, squareOf } from './rows'
import { madd, startScore, storeTransposed } from './simd'

/** Entries from..to against a panel: 8 scores. */
function scoreEight(values: usize, columns: usize, from: u32, to: u32, panel: usize, out: usize): void {
  let left = v128.load(panel)
  let right = v128.load(panel, 16)
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const value = v128.load32_splat(values + (entry << 2))
    const at = panel + 32 + ((<usize>load<u32>(columns + (entry << 2))) << 5)
    left = madd(value, v128.load(at), left)
    right = madd(value, v128.load(at, 16), right)
  }
  v128.store(out, left)
  v128.store(out, right, 16)
}

/** The same against a wide panel: 32 scores in 8 registers, from 128 bytes side by side. */
function scoreWide(values: usize, columns: usize, from: u32, to: u32, panel: usize, out: usize): void {
  let a = v128.load(panel)
  let b = v128.load(panel, 16)
  let c = v128.load(panel, 32)
  let d = v128.load(panel, 48)
  let e = v128.load(panel, 64)
  let f = v128.load(panel, 80)
  let g = v128.load(panel, 96)
  let h = v128.load(panel, 112)
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const value = v128.load32_splat(values + (entry << 2))
    const at = panel + 128 + ((<usize>load<u32>(columns + (entry << 2))) << 7)
    a = madd(value, v128.load(at), a)
    b = madd(value, v128.load(at, 16), b)
    c = madd(value, v128.load(at, 32), c)
    d = madd(value, v128.load(at, 48), d)
    e = madd(value, v128.load(at, 64), e)
    f = madd(value, v128.load(at, 80), f)
    g = madd(value, v128.load(at, 96), g)
    h = madd(value, v128.load(at, 112), h)
  }
  v128.store(out, a)
  v128.store(out, b, 16)
  v128.store(out, c, 32)
  v128.store(out, d, 48)
  v128.store(out, e, 64)
  v128.store(out, f, 80)
  v128.store(out, g, 96)
  v128.store(out, h, 112)
}

/** Panels of 32 centres, otherwise as in panels.ts: a column of many centres is then read in one go. Items are panels. */
export function packWide(start: u32, end: u32, _scratch: usize, args: PackWideArgs): void {
  const centers = args.centers
  const stride = args.stride
  const count = args.count
  const rowBytes = (<usize>stride) << 2
  const zero = f32x4.splat(0)
  for (let panel = start; panel < end; panel++) {
    const base = args.packed + ((<usize>panel * (<usize>stride + 1)) << 7)
    for (let lane: u32 = 0; lane < WIDE_PANEL; lane += 4) {
      const first = panel * WIDE_PANEL + lane
      const r0 = centers + <usize>first * rowBytes
      const r1 = r0 + rowBytes
      const r2 = r1 + rowBytes
      const r3 = r2 + rowBytes
      const out = base + ((<usize>lane) << 2)
      for (let i: u32 = 0; i < 4; i++) {
        const score: f32 = first + i < count ? startScore(r0 + <usize>i * rowBytes, stride, 1) : <f32>-Infinity
        store<f32>(out + ((<usize>i) << 2), score)
      }
      for (let at: usize = 0; at < rowBytes; at += 16) {
        storeTransposed(
          first < count ? v128.load(r0 + at) : zero,
          first + 1 < count ? v128.load(r1 + at) : zero,
          first + 2 < count ? v128.load(r2 + at) : zero,
          first + 3 < count ? v128.load(r3 + at) : zero,
          out + 128 + (at << 5),
          128,
        )
      }
    }
  }
}

/** The scores of a row against a panel of `lanes` centres. */
function scorePanel(points: Rows, row: u32, lanes: u32, panel: usize, out: usize): void {
  const from = points.first(row)
  const to = points.end(row)
  if (lanes === PANEL) scoreEight(points.data, points.columns, from, to, panel, out)
  else scoreWide(points.data, points.columns, from, to, panel, out)
}

/** The nearest. Items are rows. */
export function assignSparse(start: u32, end: u32, scratch: usize, args: AssignSparseArgs): void {
  const points = args.points
  const stride = points.stride
  const lanes = args.lanes
  const count = args.centerCount
  const scores = scratch + args.scoresAt
  const bests = scratch + args.bestsAt
  for (let row = start; row < end; row++) {
    const best = bests + ((<usize>(row - start)) << 3)
    store<f32>(best, -Infinity)
    store<u32>(best, 0, 4)
  }
  // Panel after panel, so that the columns the rows of a slice share are read while they are near.
  for (let first: u32 = 0; first < count; first += lanes) {
    const panel = args.packed + ((<usize>first * (<usize>stride + 1)) << 2)
    for (let row = start; row < end; row++) {
      scorePanel(points, row, lanes, panel, scores)
      const best = bests + ((<usize>(row - start)) << 3)
      for (let lane: u32 = 0; lane < lanes; lane += 4) {
        keepBest(v128.load(scores + ((<usize>lane) << 2)), first + lane, best)
      }
    }
  }
  for (let row = start; row < end; row++) {
    const winner = load<u32>(bests + ((<usize>(row - start)) << 3), 4)
    const center = args.centers + ((<usize>winner * stride) << 2)
    const distance = points.distance(row, center, squareOf(args.squares, winner))
    const at = (<usize>row) << 2
    if (args.merge && !(distance < load<f32>(args.distances + at))) continue
    store<u32>(args.labels + at, args.firstLabel + winner)
    store<f32>(args.distances + at, distance)
  }
}

/** The m nearest, as in assign.ts. Items are rows. */
export function assignSparseMany(start: u32, end: u32, scratch: usize, args: AssignSparseManyArgs): void {
  const points = args.points
  const stride = points.stride
  const lanes = args.lanes
  const count = args.centerCount
  const m = args.m
  const scores = scratch + args.scoresAt
  const lists = scratch + args.listsAt
  const listBytes = (<usize>m) << 3
  for (let slot: usize = 0; slot < <usize>(end - start) * m; slot++) {
    store<f32>(lists + (slot << 3), -Infinity)
    store<u32>(lists + (slot << 3), NO_LABEL, 4)
  }
  for (let first: u32 = 0; first < count; first += lanes) {
    const panel = args.packed + ((<usize>first * (<usize>stride + 1)) << 2)
    const inPanel = min(lanes, count - first)
    for (let row = start; row < end; row++) {
      scorePanel(points, row, lanes, panel, scores)
      const list = lists + <usize>(row - start) * listBytes
      for (let lane: u32 = 0; lane < inPanel; lane++) {
        insertScore(list, m, load<f32>(scores + ((<usize>lane) << 2)), first + lane)
      }
    }
  }
  for (let row = start; row < end; row++) {
    const list = lists + <usize>(row - start) * listBytes
    const labels = args.labels + ((<usize>row * m) << 2)
    const distances = args.distances + ((<usize>row * m) << 2)
    if (!args.merge) fillAbsent(labels, distances, m)
    for (let place: u32 = 0; place < m; place++) {
      const index = load<u32>(list + ((<usize>place) << 3), 4)
      if (index === NO_LABEL) break
      const center = args.centers + ((<usize>index * stride) << 2)
      const distance = points.distance(row, center, squareOf(args.squares, index))
      insertDistance(labels, distances, m, args.firstLabel + index, distance)
    }
  }
}

/** Strictly better only, in rising order: a tie keeps the lowest. */
function keepBest(scores: v128, first: u32, best: usize): void {
  const mask = i32x4.bitmask(f32x4.gt(scores, v128.load32_splat(best)))
  if (mask === 0) return
  keepLane(f32x4.extract_lane(scores, 0), first, best)
  keepLane(f32x4.extract_lane(scores, 1), first + 1, best)
  keepLane(f32x4.extract_lane(scores, 2), first + 2, best)
  keepLane(f32x4.extract_lane(scores, 3), first + 3, best)
}

function keepLane(score: f32, index: u32, best: usize): void {
  if (score > load<f32>(best)) {
    store<f32>(best, score)
    store<u32>(best, index, 4)
  }
}

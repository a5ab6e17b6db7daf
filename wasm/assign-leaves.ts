/**
 * Candidate-restricted assignment: the points of a leaf share one candidate set, the labels now
 * carried in that leaf. The best is kept across trees. Items are leaves.
 *
 * Members are rows of a domain of which this device may hold only some: `held` of them from row `domainFrom` on.
 * `domainLabels` has the labels of all of them; points, labels and distances begin with row `domainFrom`.
 *
 * Scores are taken in 16-bit integers and every candidate that may still be the nearest is measured
 * exactly (see assign-quantized.ts): points become integers once a leaf, centres once a round. Each
 * point has its own scale, so that nothing of its result depends on which others are here.
 */
import { AssignLeavesArgs } from './build/assembly/arguments'
import { ALL, collectLabels, listPlaces, placesInside, rowAt } from './group-labels'
import { dotsFourByTwo, quantizePoint, scaleOf, wideStride } from './quantized-rows'
import { Rows } from './rows'
import { squaredDistance } from './simd'
import { touchPoints } from './touch'

export function assignLeaves(start: u32, end: u32, scratch: usize, args: AssignLeavesArgs): void {
  const points = args.points
  const x = points.data
  const kind = points.kind
  const stride = points.stride
  const bytes = points.bytes
  const centers = args.centers
  const quantized = args.quantized
  const starts = args.starts
  const members = args.members
  const offsets = args.offsets
  const lent = args.domainLabels
  const near = args.domainFrom
  const held = args.held
  const labels = args.labels
  const distances = args.distances
  const wide = wideStride(stride)
  const rowSize = (<usize>wide) << 1
  const candidates = scratch + args.candidatesAt
  const places = scratch + args.placesAt
  const margins = scratch + args.marginsAt
  const scales = scratch + args.scalesAt
  const scores = scratch + args.scoresAt
  const dots = scratch + args.dotsAt
  const rows = scratch + args.rowsAt
  const longest = load<f32>(args.header, 4)
  const worst = load<f32>(args.header, 8)
  listPlaces(args.largest, places)
  let touched: u32 = 0
  for (let leaf = start; leaf < end; leaf++) {
    const from = load<u32>(offsets + ((<usize>leaf) << 2))
    const to = load<u32>(offsets + ((<usize>leaf) << 2), 4)
    if (leaf + 1 < end) {
      const next = load<u32>(offsets + ((<usize>leaf) << 2), 8)
      touched += touchPoints(x, bytes, members, to, next, lent, near, held)
    }
    const count = collectLabels(members, lent, from, to, candidates)
    const inside = placesInside(members, from, to, near, held, places)
    store<u32>(args.evaluated + ((<usize>leaf) << 2), count * inside)
    // All members have the same label, so none can change. Labels of the domain can be older than those of the points.
    if (count < 2 && held === ALL) continue
    for (let i: u32 = 0; i < inside; i++) {
      const slot = (<usize>i) << 2
      const row = x + <usize>rowAt(members, from, load<u32>(places + slot), near) * bytes
      const scale = scaleOf(row, kind, stride, longest)
      store<f32>(scales + slot, scale)
      store<i32>(margins + slot, quantizePoint(row, kind, stride, scale, worst, rows + <usize>i * rowSize))
    }
    for (let i: u32 = 0; i < inside; i += 4) {
      const present = min(<u32>4, inside - i)
      const r0 = rows + <usize>i * rowSize
      const scale = v128.load(scales + ((<usize>i) << 2))
      const r1 = present > 1 ? r0 + rowSize : r0
      const r2 = present > 2 ? r1 + rowSize : r0
      const r3 = present > 3 ? r2 + rowSize : r0
      let top = i32x4.splat(i32.MIN_VALUE)
      for (let j: u32 = 0; j < count; j += 2) {
        const one = <usize>load<u32>(candidates + ((<usize>j) << 2))
        const other = <usize>load<u32>(candidates + ((<usize>min(j + 1, count - 1)) << 2))
        dotsFourByTwo(r0, r1, r2, r3, quantized + one * rowSize, quantized + other * rowSize, wide, dots)
        const a = i32x4.add(v128.load(dots), startsOf(starts, one, scale))
        const b = i32x4.add(v128.load(dots, 16), startsOf(starts, other, scale))
        v128.store(scores + ((<usize>j) << 4), a)
        if (j + 1 < count) v128.store(scores + ((<usize>j) << 4), b, 16)
        top = i32x4.max_s(top, i32x4.max_s(a, b))
      }
      // Absent points repeat the first; their results are not used.
      const enough = i32x4.sub(top, v128.load(margins + ((<usize>i) << 2)))
      for (let j: u32 = 0; j < count; j++) {
        let lanes = i32x4.bitmask(i32x4.ge_s(v128.load(scores + ((<usize>j) << 4)), enough)) & ((1 << present) - 1)
        const label = load<u32>(candidates + ((<usize>j) << 2))
        while (lanes) {
          const place = load<u32>(places + ((<usize>(i + <u32>ctz(lanes))) << 2))
          const point = rowAt(members, from, place, near)
          lanes &= lanes - 1
          measure(points, point, label, centers, labels, distances)
        }
      }
    }
  }
  store<u32>(dots, touched)
}

/** What the scores of four points with a centre start from, each in its own scale. */
function startsOf(starts: usize, center: usize, scales: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.mul(v128.load32_splat(starts + (center << 2)), scales))
}

/** The exact distance to a centre against the best so far; a tie goes to the lower label. */
function measure(points: Rows, point: u32, label: u32, centers: usize, labels: usize, distances: usize): void {
  const at = (<usize>point) << 2
  const current = load<u32>(labels + at)
  if (label === current) return
  const distance = squaredDistance(
    points.at(point),
    points.kind,
    centers + ((<usize>label * points.stride) << 2),
    points.stride,
  )
  const best = load<f32>(distances + at)
  if (distance < best || (distance === best && label < current)) {
    store<u32>(labels + at, label)
    store<f32>(distances + at, distance)
  }
}

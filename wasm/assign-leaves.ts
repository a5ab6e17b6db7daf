/**
 * Candidate-restricted assignment: the points of a leaf share one candidate set, the labels now
 * carried in that leaf. The best is kept across trees. Items are leaves.
 *
 * Scores are taken in 16-bit integers and every candidate that may still be the nearest is measured
 * exactly (see assign-quantized.ts): points become integers once a leaf, centres once a round.
 *
 * Scratch: candidates (u32 a member of the largest leaf), margins (likewise), scores (16 bytes a
 * candidate), 32 bytes of dot products, rows (2 * wide bytes a member).
 */
import { collectLabels } from './group-labels'
import { commonScale, dotsFourByTwo, quantizePoint, wideStride } from './quantized-rows'
import { rowBytes, squaredDistance } from './simd'
import { touchPoints } from './touch'

export function assignLeaves(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  header: usize,
  quantized: usize,
  starts: usize,
  members: usize,
  offsets: usize,
  largest: u32,
  labels: usize,
  distances: usize,
  looked: usize,
): void {
  const wide = wideStride(stride)
  const rowSize = (<usize>wide) << 1
  const candidates = scratch
  const margins = candidates + ((<usize>largest) << 2)
  const scores = margins + ((<usize>largest) << 2)
  const dots = scores + ((<usize>largest) << 4)
  const rows = dots + 32
  const bytes = rowBytes(stride, kind)
  const longest = load<f32>(header, 4)
  const worst = load<f32>(header, 8)
  let touched: u32 = 0
  for (let leaf = start; leaf < end; leaf++) {
    const from = load<u32>(offsets + ((<usize>leaf) << 2))
    const to = load<u32>(offsets + ((<usize>leaf) << 2), 4)
    if (leaf + 1 < end) {
      touched += touchPoints(x, bytes, members, to, load<u32>(offsets + ((<usize>leaf) << 2), 8), labels)
    }
    const count = collectLabels(members, labels, from, to, candidates)
    store<u32>(looked + ((<usize>leaf) << 2), count * (to - from))
    // Nothing but the label everybody has: nobody can change.
    if (count < 2) continue
    const scale = commonScale(x, kind, stride, members, from, to, longest)
    if (scale === 0) {
      measureAll(x, bytes, kind, stride, centers, members, from, to, candidates, count, labels, distances)
      continue
    }
    for (let at = from; at < to; at++) {
      const slot = <usize>(at - from)
      const row = x + <usize>memberAt(members, at) * bytes
      store<i32>(margins + (slot << 2), quantizePoint(row, kind, stride, scale, worst, rows + slot * rowSize))
    }
    for (let at = from; at < to; at += 4) {
      const present = min(<u32>4, to - at)
      const r0 = rows + <usize>(at - from) * rowSize
      const r1 = present > 1 ? r0 + rowSize : r0
      const r2 = present > 2 ? r1 + rowSize : r0
      const r3 = present > 3 ? r2 + rowSize : r0
      let top = i32x4.splat(i32.MIN_VALUE)
      for (let j: u32 = 0; j < count; j += 2) {
        const one = <usize>load<u32>(candidates + ((<usize>j) << 2))
        const other = <usize>load<u32>(candidates + ((<usize>min(j + 1, count - 1)) << 2))
        dotsFourByTwo(r0, r1, r2, r3, quantized + one * rowSize, quantized + other * rowSize, wide, dots)
        const a = i32x4.add(v128.load(dots), i32x4.splat(<i32>(load<f32>(starts + (one << 2)) * scale)))
        const b = i32x4.add(v128.load(dots, 16), i32x4.splat(<i32>(load<f32>(starts + (other << 2)) * scale)))
        v128.store(scores + ((<usize>j) << 4), a)
        if (j + 1 < count) v128.store(scores + ((<usize>j) << 4), b, 16)
        top = i32x4.max_s(top, i32x4.max_s(a, b))
      }
      // Absent points repeat the first; nobody asks for theirs.
      const enough = i32x4.sub(top, v128.load(margins + ((<usize>(at - from)) << 2)))
      for (let j: u32 = 0; j < count; j++) {
        let lanes = i32x4.bitmask(i32x4.ge_s(v128.load(scores + ((<usize>j) << 4)), enough)) & ((1 << present) - 1)
        const label = load<u32>(candidates + ((<usize>j) << 2))
        while (lanes) {
          const point = memberAt(members, at + <u32>ctz(lanes))
          lanes &= lanes - 1
          measure(point, label, x + <usize>point * bytes, kind, stride, centers, labels, distances)
        }
      }
    }
  }
  store<u32>(dots, touched)
}

function memberAt(members: usize, slot: u32): u32 {
  return load<u32>(members + ((<usize>slot) << 2))
}

/** The exact distance to a centre against the best so far; a tie goes to the lower label. */
function measure(
  point: u32,
  label: u32,
  row: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  labels: usize,
  distances: usize,
): void {
  const at = (<usize>point) << 2
  const current = load<u32>(labels + at)
  if (label === current) return
  const distance = squaredDistance(row, kind, centers + ((<usize>label * stride) << 2), stride)
  const best = load<f32>(distances + at)
  if (distance < best || (distance === best && label < current)) {
    store<u32>(labels + at, label)
    store<f32>(distances + at, distance)
  }
}

/** Values too large or too small to scale: everything is measured. */
function measureAll(
  x: usize,
  bytes: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  members: usize,
  from: u32,
  to: u32,
  candidates: usize,
  count: u32,
  labels: usize,
  distances: usize,
): void {
  for (let at = from; at < to; at++) {
    const point = memberAt(members, at)
    for (let j: u32 = 0; j < count; j++) {
      measure(
        point,
        load<u32>(candidates + ((<usize>j) << 2)),
        x + <usize>point * bytes,
        kind,
        stride,
        centers,
        labels,
        distances,
      )
    }
  }
}

/**
 * Candidate-restricted assignment: the points of a leaf share one candidate set, the labels now
 * carried in that leaf. Centres are gathered once a leaf; the best is kept across leaves and trees.
 * Items are leaves.
 *
 * Scratch: candidates (u32 a member of the largest leaf), one panel, four packed rows, 32 row
 * addresses, 128 bytes of scores.
 */
import { PANEL, packPanel, panelBytes } from './panels'
import { packFourRows, rowBytes, scoreFourByEight, squaredDistance } from './simd'

export function assignLeaves(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  members: usize,
  offsets: usize,
  largest: u32,
  previous: usize,
  labels: usize,
  distances: usize,
): void {
  const scores = scratch
  const rows = scratch + 128
  const panel = rows + 32
  const packed = panel + panelBytes(stride)
  const candidates = packed + ((<usize>stride) << 4)
  const bytes = rowBytes(stride, kind)
  for (let leaf = start; leaf < end; leaf++) {
    const from = load<u32>(offsets + ((<usize>leaf) << 2))
    const to = load<u32>(offsets + ((<usize>leaf) << 2), 4)
    const count = collectLabels(members, previous, from, to, candidates)
    for (let base: u32 = 0; base < count; base += PANEL) {
      const inPanel = min(PANEL, count - base)
      for (let lane: u32 = 0; lane < PANEL; lane++) {
        const address =
          lane < inPanel ? centers + ((<usize>load<u32>(candidates + ((<usize>(base + lane)) << 2)) * stride) << 2) : 0
        store<u32>(rows + ((<usize>lane) << 2), <u32>address)
      }
      packPanel(rows, stride, 1, panel)
      for (let at = from; at < to; at += 4) {
        const p0 = load<u32>(members + ((<usize>at) << 2))
        const p1 = load<u32>(members + ((<usize>min(at + 1, to - 1)) << 2))
        const p2 = load<u32>(members + ((<usize>min(at + 2, to - 1)) << 2))
        const p3 = load<u32>(members + ((<usize>min(at + 3, to - 1)) << 2))
        packFourRows(
          x + <usize>p0 * bytes,
          x + <usize>p1 * bytes,
          x + <usize>p2 * bytes,
          x + <usize>p3 * bytes,
          kind,
          stride,
          packed,
        )
        scoreFourByEight(packed, panel, stride, scores)
        const present = min(<u32>4, to - at)
        for (let row: u32 = 0; row < present; row++) {
          const point = load<u32>(members + ((<usize>(at + row)) << 2))
          keepBest(
            scores + ((<usize>row) << 5),
            inPanel,
            rows,
            candidates + ((<usize>base) << 2),
            point,
            x,
            bytes,
            kind,
            stride,
            labels,
            distances,
          )
        }
      }
    }
  }
}

/** Different labels of the leaf's members, in order of appearance. */
function collectLabels(members: usize, previous: usize, from: u32, to: u32, candidates: usize): u32 {
  let count: u32 = 0
  for (let at = from; at < to; at++) {
    const label = load<u32>(previous + ((<usize>load<u32>(members + ((<usize>at) << 2))) << 2))
    let known = false
    for (let seen: u32 = 0; seen < count; seen++) {
      if (load<u32>(candidates + ((<usize>seen) << 2)) === label) {
        known = true
        break
      }
    }
    if (!known) {
      store<u32>(candidates + ((<usize>count) << 2), label)
      count++
    }
  }
  return count
}

/** The best score of a panel, measured by differences, against the best so far. */
function keepBest(
  scores: usize,
  inPanel: u32,
  rows: usize,
  candidates: usize,
  point: u32,
  x: usize,
  bytes: usize,
  kind: u32,
  stride: u32,
  labels: usize,
  distances: usize,
): void {
  let top = load<f32>(scores)
  let lane: u32 = 0
  for (let other: u32 = 1; other < inPanel; other++) {
    const score = load<f32>(scores + ((<usize>other) << 2))
    // Candidates come in order of appearance, so a tie has to look at the labels.
    const lower = load<u32>(candidates + ((<usize>other) << 2)) < load<u32>(candidates + ((<usize>lane) << 2))
    if (score > top || (score === top && lower)) {
      top = score
      lane = other
    }
  }
  const label = load<u32>(candidates + ((<usize>lane) << 2))
  const at = (<usize>point) << 2
  const current = load<u32>(labels + at)
  if (label === current) return
  const center = <usize>load<u32>(rows + ((<usize>lane) << 2))
  const distance = squaredDistance(x + <usize>point * bytes, kind, center, stride)
  const best = load<f32>(distances + at)
  if (distance < best || (distance === best && label < current)) {
    store<u32>(labels + at, label)
    store<f32>(distances + at, distance)
  }
}

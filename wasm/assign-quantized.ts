/**
 * Nearest centre of every point, exact, with most of the work in 16-bit integers.
 *
 *     points -> integers, 4 at a time        panels of 8 centres as integers
 *                       \                     /
 *              integer scores, chunk by chunk of panels
 *                               |
 *      centres within the margin of the best score so far
 *                               |
 *           squared distance by differences; the least wins
 *
 * The error of an integer score is bounded for each point; quantized.ts derives the bound. A centre whose score is farther
 * below the best than the margin cannot be the nearest. On ordinary data one or two centres are within the margin. Where the
 * rounding error is large against the differences between scores (data far from zero against its spread), many are, and the
 * remaining points are assigned in floats (`nearestByFloats`): that is decided by the number of exact measurements.
 */
import { nearestByFloats } from './assign'
import {
  AssignQuantizedArgs,
  NO_LABEL,
  PackQuantizedArgs,
  QUANTIZED_CHUNK_PANELS,
  QUANTIZED_GROUPS,
} from './build/assembly/arguments'
import { PANEL } from './panels'
import { LENGTH, marginOf, quantizeFour, scoreQuantized } from './quantized'
import { BYTES, Rows } from './rows'
import { squaredDistance, squaredLength, startScore } from './simd'

/** Floats are faster if more than one pair in so many is measured exactly. */
const TOO_MANY: u32 = 24

/** Bytes of a quantized panel: 8 starting values, 32 bytes for the worst rounding error, columns. */
function quantizedPanelBytes(stride: u32): usize {
  return 64 + ((<usize>stride) << 4)
}

/** Items are panels. Behind the starting values a panel has the largest rounding error of its centres. */
export function packQuantized(start: u32, end: u32, scratch: usize, args: PackQuantizedArgs): void {
  const centers = args.centers
  const stride = args.stride
  const count = args.count
  const errors = scratch + args.errorsAt
  const scale = load<f32>(args.header)
  for (let panel = start; panel < end; panel++) {
    const out = args.quantized + <usize>panel * quantizedPanelBytes(stride)
    let worst: f32 = 0
    for (let half: u32 = 0; half < 2; half++) {
      const first = panel * PANEL + half * 4
      const r0 = rowOf(centers, stride, first, count)
      const r1 = rowOf(centers, stride, first + 1, count)
      const r2 = rowOf(centers, stride, first + 2, count)
      const r3 = rowOf(centers, stride, first + 3, count)
      quantizeFour(r0, r1, r2, r3, 0, stride, scale, out + 64 + ((<usize>half) << 4), 32, errors)
      for (let lane: usize = 0; lane < 16; lane += 4) worst = max(worst, load<f32>(errors + lane))
      const starts = out + ((<usize>half) << 4)
      store<f32>(starts, startOf(r0, stride, scale))
      store<f32>(starts, startOf(r1, stride, scale), 4)
      store<f32>(starts, startOf(r2, stride, scale), 8)
      store<f32>(starts, startOf(r3, stride, scale), 12)
    }
    store<f32>(out, worst, 32)
  }
}

function rowOf(centers: usize, stride: u32, index: u32, count: u32): usize {
  return index < count ? centers + ((<usize>index * stride) << 2) : 0
}

/** -|c|^2 / 2 in the centres' scale. Absent centres get a value so low that they never win. */
function startOf(row: usize, stride: u32, scale: f32): f32 {
  return row ? startScore(row, stride, scale) : <f32>-3e38
}

/** Items are points. Blocks for which integers do not pay go to `nearestByFloats`. */
export function assignQuantized(start: u32, end: u32, scratch: usize, args: AssignQuantizedArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const quantized = args.quantized
  const centers = args.centers
  const first = args.firstLabel
  const count = args.centerCount
  const labels = args.labels
  const distances = args.distances
  const merge = args.merge
  const panels = (count + PANEL - 1) / PANEL
  const panelBytes = quantizedPanelBytes(stride)
  const scale = load<f32>(args.header)
  const longest = load<f32>(args.header, 4)
  let worst: f32 = 0
  for (let p: u32 = 0; p < panels; p++) worst = max(worst, load<f32>(quantized + <usize>p * panelBytes, 32))

  const errors = scratch + args.errorsAt
  const scales = scratch + args.scalesAt
  const margins = scratch + args.marginsAt
  const running = scratch + args.runningAt
  const bestDistance = scratch + args.bestDistanceAt
  const bestIndex = scratch + args.bestIndexAt
  const rows = scratch + args.rowsAt
  const scores = scratch + args.chunkScoresAt
  const row = (<usize>QUANTIZED_CHUNK_PANELS) << 4

  // Values too large or too small to be scaled need floats.
  let floats = !(scale > 0 && scale < 1e38 && longest < 1e18)
  for (let at = start; at < end; at += QUANTIZED_GROUPS << 2) {
    const stop = min(at + (QUANTIZED_GROUPS << 2), end)
    const groups = (stop - at + 3) >> 2
    let usable = !floats
    if (usable) {
      for (let group: u32 = 0; group < groups; group++) {
        usable =
          packGroup(
            points,
            at + (group << 2),
            stop,
            longest,
            worst,
            rows + ((<usize>group * stride) << 3),
            errors,
            scales + ((<usize>group) << 2),
            margins + ((<usize>group) << 4),
          ) && usable
      }
    }
    if (!usable) {
      nearestByFloats(
        at,
        stop,
        points,
        args.panels,
        centers,
        first,
        count,
        labels,
        distances,
        merge,
        args.blockGroups,
        scratch + args.scoresAt,
        scratch + args.bestAt,
        scratch + args.blockAt,
      )
      continue
    }
    for (let slot: usize = 0; slot < (<usize>groups) << 2; slot++) {
      v128.store(running + (slot << 4), i32x4.splat(i32.MIN_VALUE))
      store<f32>(bestDistance + (slot << 2), Infinity)
      store<u32>(bestIndex + (slot << 2), NO_LABEL)
    }
    let measured: u32 = 0
    for (let chunk: u32 = 0; chunk < panels; chunk += QUANTIZED_CHUNK_PANELS) {
      const inChunk = min(QUANTIZED_CHUNK_PANELS, panels - chunk)
      for (let p: u32 = 0; p < inChunk; p++) {
        const panel = quantized + <usize>(chunk + p) * panelBytes
        for (let group: u32 = 0; group < groups; group++) {
          const out = scores + ((<usize>group) << 2) * row + ((<usize>p) << 4)
          scoreQuantized(
            rows + ((<usize>group * stride) << 3),
            panel,
            stride,
            load<f32>(scales + ((<usize>group) << 2)),
            out,
            row,
          )
        }
      }
      for (let i = at; i < stop; i++) {
        const slot = <usize>(i - at)
        measured += measureClose(
          scores + slot * row,
          inChunk,
          chunk * PANEL,
          running + (slot << 4),
          load<i32>(margins + (slot << 2)),
          points.at(i),
          kind,
          stride,
          centers,
          count,
          bestDistance + (slot << 2),
          bestIndex + (slot << 2),
        )
      }
    }
    for (let i = at; i < stop; i++) {
      const slot = (<usize>(i - at)) << 2
      const place = (<usize>i) << 2
      const distance = load<f32>(bestDistance + slot)
      if (!merge || distance < load<f32>(distances + place)) {
        store<u32>(labels + place, first + load<u32>(bestIndex + slot))
        store<f32>(distances + place, distance)
      }
    }
    if (<u64>measured * TOO_MANY > <u64>count * (stop - at)) floats = true
  }
}

/**
 * Quantizes four points with one scale and stores the margin of each. Bytes are integers already and are never scaled up.
 * False if the values are too large or too small to be scaled.
 */
function packGroup(
  points: Rows,
  from: u32,
  stop: u32,
  longest: f32,
  worst: f32,
  out: usize,
  errors: usize,
  scaleOut: usize,
  marginsOut: usize,
): bool {
  const kind = points.kind
  const stride = points.stride
  const last = stop - 1
  const r0 = points.at(from)
  const r1 = points.at(min(from + 1, last))
  const r2 = points.at(min(from + 2, last))
  const r3 = points.at(min(from + 3, last))
  const squares = max(
    max(squaredLength(r0, kind, stride), squaredLength(r1, kind, stride)),
    max(squaredLength(r2, kind, stride), squaredLength(r3, kind, stride)),
  )
  const length = max(Mathf.sqrt(squares), longest)
  let scale: f32 = length > 0 ? LENGTH / length : 1
  if (kind === BYTES) scale = min(scale, <f32>1)
  if (!(scale > 0 && scale < 1e38)) return false
  quantizeFour(r0, r1, r2, r3, kind, stride, scale, out, 16, errors)
  store<f32>(scaleOut, scale)
  // The longest of the four serves as the length of each.
  const reach = Mathf.sqrt(squares) * scale
  for (let lane: usize = 0; lane < 16; lane += 4) {
    store<i32>(marginsOut + lane, marginOf(reach, load<f32>(errors + lane), worst))
  }
  return true
}

/** Measures every centre of a chunk that may still be the nearest; returns how many it measured. */
function measureClose(
  scores: usize,
  inChunk: u32,
  firstIndex: u32,
  running: usize,
  margin: i32,
  row: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  count: u32,
  bestDistance: usize,
  bestIndex: usize,
): u32 {
  let top = v128.load(running)
  const stop = scores + ((<usize>inChunk) << 4)
  for (let at = scores; at < stop; at += 16) top = i32x4.max_s(top, v128.load(at))
  v128.store(running, top)
  const highest = max(
    max(i32x4.extract_lane(top, 0), i32x4.extract_lane(top, 1)),
    max(i32x4.extract_lane(top, 2), i32x4.extract_lane(top, 3)),
  )
  const enough = i32x4.splat(highest - margin)
  let measured: u32 = 0
  let nearest = load<f32>(bestDistance)
  let winner = load<u32>(bestIndex)
  for (let at = scores; at < stop; at += 16) {
    const close = i32x4.ge_s(v128.load(at), enough)
    if (!v128.any_true(close)) continue
    let lanes = i32x4.bitmask(close)
    const base = firstIndex + (<u32>(at - scores) >> 1)
    while (lanes) {
      const lane = <u32>ctz(lanes)
      lanes &= lanes - 1
      for (let index = base + lane; index < min(base + PANEL, count); index += 4) {
        const distance = squaredDistance(row, kind, centers + ((<usize>index * stride) << 2), stride)
        measured++
        if (distance < nearest || (distance === nearest && index < winner)) {
          nearest = distance
          winner = index
        }
      }
    }
  }
  store<f32>(bestDistance, nearest)
  store<u32>(bestIndex, winner)
  return measured
}

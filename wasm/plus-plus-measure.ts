/** The measuring of candidates in greedy k-means++: see plus-plus.ts. */
import { sparseDistance } from './assign-sparse'
import { BLOCK, CANDIDATES, FAR, lanesOf, NONE, panelOf, SPARSE, SQUARES } from './plus-plus'
import { scoreRowsByEight, scoreRowsByFour } from './score-rows'
import { loadFour, rowBytes, squaredDistance, squaredLength } from './simd'

/** Four times 2^-24: errors of scores are within this, times columns, times the squared lengths of row and candidate. */
const ROUNDING: f32 = 2.5e-7

/**
 * Items are blocks of the part. Takes the last centre over, then measures the candidates: distances, and the potential of
 * the block with each of them. Without candidates it gives the potential as it is, and takes the lengths of dense rows.
 * Scratch: 128 bytes, and for bytes 16 more a column.
 */
export function measurePlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  places: usize,
  columnsAt: u32,
  partBlock: u32,
  allBlocks: u32,
  rows: u32,
  weights: usize,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
  trials: u32,
  panels: usize,
  lengths: usize,
  potentials: usize,
): void {
  for (let block = start; block < end; block++) {
    const first = block * BLOCK
    const stop = min(first + BLOCK, rows)
    takeBest(load<u32>(state), first, stop, rows, nearest, trial)
    const out = potentials + ((<usize>(partBlock + block)) << 2)
    const before = potentialOf(first, stop, weights, nearest, 0)
    if (trials === 0) {
      store<f32>(out, before)
      if (kind !== SPARSE) takeLengths(x, kind, stride, first, stop, lengths)
      continue
    }
    for (let t: u32 = 0; t < trials; t++) fillFar(trial + ((<usize>t * rows + first) << 2), stop - first)
    // One bit for each candidate that is nearer to a point than its nearest centre.
    const nearer =
      kind === SPARSE
        ? measureSparse(x, places, columnsAt, stride, first, stop, rows, nearest, trial, candidates, state, trials)
        : measureDense(
            x,
            kind,
            stride,
            first,
            stop,
            rows,
            nearest,
            trial,
            candidates,
            state,
            trials,
            panels,
            lengths,
            scratch,
          )
    for (let t: u32 = 0; t < trials; t++) {
      const own = trial + ((<usize>t * rows) << 2)
      const sum = (nearer >> t) & 1 ? potentialOf(first, stop, weights, nearest, own) : before
      store<f32>(out + ((<usize>t * allBlocks) << 2), sum)
    }
  }
}

/** The candidate that became a centre is the nearest one of some points. */
function takeBest(best: u32, first: u32, stop: u32, rows: u32, nearest: usize, trial: usize): void {
  if (best === NONE) return
  const own = trial + ((<usize>best * rows) << 2)
  let at = (<usize>first) << 2
  const end = (<usize>stop) << 2
  for (; at + 16 <= end; at += 16) {
    v128.store(nearest + at, f32x4.min(v128.load(nearest + at), v128.load(own + at)))
  }
  for (; at < end; at += 4) store<f32>(nearest + at, min(load<f32>(nearest + at), load<f32>(own + at)))
}

/** With the distances of a candidate, or without. Always in the same order: four sums, then the last few rows. */
function potentialOf(first: u32, stop: u32, weights: usize, nearest: usize, trial: usize): f32 {
  let even = f64x2.splat(0)
  let odd = f64x2.splat(0)
  let at = (<usize>first) << 2
  const end = (<usize>stop) << 2
  for (; at + 16 <= end; at += 16) {
    let values = v128.load(nearest + at)
    if (trial) values = f32x4.min(values, v128.load(trial + at))
    let low = f64x2.promote_low_f32x4(values)
    let high = f64x2.promote_low_f32x4(upperHalf(values))
    if (weights) {
      const factors = v128.load(weights + at)
      low = f64x2.mul(low, f64x2.promote_low_f32x4(factors))
      high = f64x2.mul(high, f64x2.promote_low_f32x4(upperHalf(factors)))
    }
    even = f64x2.add(even, low)
    odd = f64x2.add(odd, high)
  }
  const sums = f64x2.add(even, odd)
  let sum = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1)
  for (; at < end; at += 4) {
    let value = load<f32>(nearest + at)
    if (trial) value = min(value, load<f32>(trial + at))
    sum += weights ? <f64>value * <f64>load<f32>(weights + at) : <f64>value
  }
  return <f32>sum
}

function upperHalf(values: v128): v128 {
  return i8x16.shuffle(values, values, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15)
}

function takeLengths(x: usize, kind: u32, stride: u32, first: u32, stop: u32, lengths: usize): void {
  for (let row = first; row < stop; row++) {
    const length = squaredLength(x + <usize>row * rowBytes(stride, kind), kind, stride)
    store<f32>(lengths + ((<usize>row) << 2), length)
  }
}

function fillFar(at: usize, count: u32): void {
  const end = at + ((<usize>count) << 2)
  for (; at + 16 <= end; at += 16) v128.store(at, f32x4.splat(FAR))
  for (; at < end; at += 4) store<f32>(at, FAR)
}

function measureSparse(
  values: usize,
  places: usize,
  columnsAt: u32,
  stride: u32,
  first: u32,
  stop: u32,
  rows: u32,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
  trials: u32,
): u32 {
  const columns = places + ((<usize>columnsAt) << 2)
  let nearer: u32 = 0
  for (let row = first; row < stop; row++) {
    const at = (<usize>row) << 2
    const near = load<f32>(nearest + at)
    const from = load<u32>(places + at)
    const to = load<u32>(places + at, 4)
    for (let t: u32 = 0; t < trials; t++) {
      if (load<u32>(state + CANDIDATES + ((<usize>t) << 2)) === NONE) continue
      const square = load<f64>(state + SQUARES + ((<usize>t) << 3))
      const distance = sparseDistance(values, columns, from, to, candidates + ((<usize>t * stride) << 2), square)
      if (!(distance < near)) continue
      store<f32>(trial + ((<usize>t * rows + row) << 2), distance)
      nearer |= 1 << t
    }
  }
  return nearer
}

/** Four rows at a time. Absent rows repeat the last. */
function measureDense(
  x: usize,
  kind: u32,
  stride: u32,
  first: u32,
  stop: u32,
  rows: u32,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
  trials: u32,
  panels: usize,
  lengths: usize,
  scratch: usize,
): u32 {
  const longest = longestCandidate(state, trials, stride, panels)
  const margin = ROUNDING * <f32>(stride + 8)
  const floatBytes = (<usize>stride) << 2
  const floats = scratch + 128
  let nearer: u32 = 0
  for (let row = first; row < stop; row += 4) {
    const r0 = asFloats(x, kind, row, stride, floats)
    const r1 = asFloats(x, kind, min(row + 1, stop - 1), stride, floats + floatBytes)
    const r2 = asFloats(x, kind, min(row + 2, stop - 1), stride, floats + 2 * floatBytes)
    const r3 = asFloats(x, kind, min(row + 3, stop - 1), stride, floats + 3 * floatBytes)
    for (let t: u32 = 0; t < trials; ) {
      const lanes = lanesOf(t, trials)
      const panel = panelOf(t, lanes, stride, panels)
      if (lanes === 8) scoreRowsByEight(r0, r1, r2, r3, panel, stride, scratch)
      else scoreRowsByFour(r0, r1, r2, r3, panel, stride, scratch)
      for (let i: u32 = 0; i < min<u32>(4, stop - row); i++) {
        const at = (<usize>(row + i)) << 2
        const near = load<f32>(nearest + at)
        const length = load<f32>(lengths + at)
        // |x|^2 - 2 score is the squared distance; above this score it may be below `near`.
        const least = f32x4.splat((length - near - margin * (length + longest)) * 0.5)
        const scores = scratch + ((<usize>(i * lanes)) << 2)
        let doubt = <u32>i32x4.bitmask(f32x4.gt(v128.load(scores), least))
        if (lanes === 8) doubt |= (<u32>i32x4.bitmask(f32x4.gt(v128.load(scores, 16), least))) << 4
        if (doubt === 0) continue
        const own = i === 0 ? r0 : i === 1 ? r1 : i === 2 ? r2 : r3
        for (let lane: u32 = 0; lane < min(lanes, trials - t); lane++) {
          if (!((doubt >> lane) & 1)) continue
          if (load<u32>(state + CANDIDATES + ((<usize>(t + lane)) << 2)) === NONE) continue
          const distance = squaredDistance(own, 0, candidates + <usize>(t + lane) * floatBytes, stride)
          if (!(distance < near)) continue
          store<f32>(trial + ((<usize>(t + lane) * rows) << 2) + at, distance)
          nearer |= 1 << (t + lane)
        }
      }
      t += lanes
    }
  }
  return nearer
}

/** The largest squared length of the candidates, which errors of scores grow with. */
function longestCandidate(state: usize, trials: u32, stride: u32, panels: usize): f32 {
  let longest: f32 = 0
  for (let t: u32 = 0; t < trials; t++) {
    if (load<u32>(state + CANDIDATES + ((<usize>t) << 2)) === NONE) continue
    const lanes = lanesOf(t, trials)
    const start = panelOf(t, lanes, stride, panels) + ((<usize>(t & (lanes - 1))) << 2)
    longest = max(longest, load<f32>(start) * -2)
  }
  return longest
}

/** Bytes are made floats once, and then compared with every candidate. */
function asFloats(x: usize, kind: u32, row: u32, stride: u32, floats: usize): usize {
  const from = x + <usize>row * rowBytes(stride, kind)
  if (kind === 0) return from
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    const eight = v128.load8x8_u(from + <usize>column)
    const out = floats + ((<usize>column) << 2)
    v128.store(out, f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(eight)))
    v128.store(out, f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(eight)), 16)
  }
  if (column < stride) v128.store(floats + ((<usize>column) << 2), loadFour(from, kind, column))
  return floats
}

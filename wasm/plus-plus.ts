/**
 * Greedy k-means++: see src/kernels/plus-plus.ts. Points are taken in blocks of BLOCK, whose chances are sums of
 * weight * squared distance to the nearest centre. `kind` is 2 for sparse rows, whose values are at `x`.
 *
 * Most candidates are farther from a point than its nearest centre, and then their distance does not matter. Scores
 * x . c - |c|^2 / 2, which take half as many operations as differences, show that; only where they leave a doubt is the
 * distance taken by differences. So rounding of scores never shows in the result.
 *
 * Candidates are kept twice: in full, and packed for scores in panels of 8 and, for the last four or fewer, 4. A panel has its
 * starting values, then [column][lane].
 */
import { sparseDistance } from './assign-sparse'
import { loadFour, madd, rowBytes, squaredDistance, squaredLength } from './simd'

const BLOCK: u32 = 64
const NONE: u32 = 0xffffffff
const FAR: f32 = 3.4e38
const SPARSE: u32 = 2

/** Where things are in the state, in bytes: as in shaders/plus-plus.ts. */
const CANDIDATES: usize = 16
const BLOCKS: usize = 80
const SKIPS: usize = 144
const SQUARES: usize = 208

/** 2^-24 times a margin: see `doubt`. */
const ROUNDING: f32 = 2.5e-7

/** One item: keeps the candidate that leaves the lowest potential, and draws the blocks of the next ones. */
export function choosePlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  potentials: usize,
  blocks: u32,
  considered: u32,
  trials: u32,
  step: u32,
  uniforms: usize,
  state: usize,
  chosen: usize,
): void {
  let best: u32 = 0
  let lowest: f64 = Infinity
  for (let t: u32 = 0; t < considered; t++) {
    let total: f64 = 0
    for (let block: u32 = 0; block < blocks; block++) {
      total += <f64>load<f32>(potentials + ((<usize>t * blocks + block) << 2))
    }
    if (total < lowest) {
      lowest = total
      best = t
    }
  }
  if (step === 0) store<u32>(state, NONE)
  else {
    store<u32>(state, best)
    store<u32>(chosen + ((<usize>(step - 1)) << 2), load<u32>(state + CANDIDATES + ((<usize>best) << 2)))
  }
  for (let t: u32 = 0; t < trials; t++) {
    const at = (<usize>t) << 2
    // Rounding can leave a rest at the end: the last block with a chance takes it.
    let rest = <f64>load<f32>(uniforms + ((<usize>step * trials + t) << 2)) * lowest
    let found = NONE
    let skip = FAR
    for (let block: u32 = 0; block < blocks; block++) {
      const sum = <f64>load<f32>(potentials + ((<usize>best * blocks + block) << 2))
      if (!(sum > 0)) continue
      found = block
      if (rest < sum) {
        skip = <f32>rest
        break
      }
      rest -= sum
    }
    store<u32>(state + CANDIDATES + at, NONE)
    store<u32>(state + BLOCKS + at, found)
    store<f32>(state + SKIPS + at, skip)
  }
}

/** Items are candidates: draws a point of the block, if that is one of this part, and copies its row. */
export function drawPlusPlus(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  places: usize,
  columnsAt: u32,
  firstBlock: u32,
  firstRow: u32,
  rows: u32,
  weights: usize,
  nearest: usize,
  trial: usize,
  candidates: usize,
  state: usize,
  trials: u32,
  panels: usize,
): void {
  const best = load<u32>(state)
  const blocks = (rows + BLOCK - 1) / BLOCK
  for (let t = start; t < end; t++) {
    const place = (<usize>t) << 2
    const block = load<u32>(state + BLOCKS + place)
    if (block === NONE || block < firstBlock || block - firstBlock >= blocks) continue
    let rest = <f64>load<f32>(state + SKIPS + place)
    let found = NONE
    const first = (block - firstBlock) * BLOCK
    for (let row = first; row < min(first + BLOCK, rows); row++) {
      const at = (<usize>row) << 2
      let chance = load<f32>(nearest + at)
      if (best !== NONE) chance = min(chance, load<f32>(trial + ((<usize>best * rows + row) << 2)))
      const weighed = weights ? <f64>chance * <f64>load<f32>(weights + at) : <f64>chance
      if (!(weighed > 0)) continue
      found = row
      if (rest < weighed) break
      rest -= weighed
    }
    if (found === NONE) continue
    store<u32>(state + CANDIDATES + place, firstRow + found)
    const out = candidates + ((<usize>t * stride) << 2)
    if (kind === SPARSE) {
      store<f64>(state + SQUARES + (place << 1), expandRow(x, places, columnsAt, found, stride, out))
    } else {
      const row = x + <usize>found * rowBytes(stride, kind)
      for (let column: u32 = 0; column < stride; column += 4) {
        v128.store(out + ((<usize>column) << 2), loadFour(row, kind, column))
      }
      packCandidate(out, t, trials, stride, panels)
    }
  }
}

/** Lanes of the panel that candidate `t` is in. */
function lanesOf(t: u32, trials: u32): u32 {
  return trials - (t & ~7) > 4 ? 8 : 4
}

function panelOf(t: u32, lanes: u32, stride: u32, panels: usize): usize {
  return panels + ((<usize>(t & ~(lanes - 1)) * (stride + 1)) << 2)
}

function packCandidate(row: usize, t: u32, trials: u32, stride: u32, panels: usize): void {
  const lanes = lanesOf(t, trials)
  const step = (<usize>lanes) << 2
  let out = panelOf(t, lanes, stride, panels) + ((<usize>(t & (lanes - 1))) << 2)
  store<f32>(out, squaredLength(row, 0, stride) * -0.5)
  for (let column: u32 = 0; column < stride; column++) {
    out += step
    store<f32>(out, load<f32>(row + ((<usize>column) << 2)))
  }
}

/** A sparse row in full; returns its squared length. */
function expandRow(values: usize, places: usize, columnsAt: u32, row: u32, stride: u32, out: usize): f64 {
  for (let at: usize = 0; at < (<usize>stride) << 2; at += 16) v128.store(out + at, f32x4.splat(0))
  const to = <usize>load<u32>(places + ((<usize>row) << 2), 4)
  let square: f64 = 0
  for (let entry = <usize>load<u32>(places + ((<usize>row) << 2)); entry < to; entry++) {
    const value = load<f32>(values + (entry << 2))
    store<f32>(out + ((<usize>load<u32>(places + ((<usize>columnsAt + entry) << 2))) << 2), value)
    square += <f64>value * <f64>value
  }
  return square
}

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

/** Scores of 4 rows against a panel of 8: out[4][8]. As scoreFourByEight, for rows that are not packed. */
export function scoreRowsByEight(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  panel: usize,
  stride: u32,
  out: usize,
): void {
  let a0 = v128.load(panel)
  let a1 = v128.load(panel, 16)
  let b0 = a0
  let b1 = a1
  let c0 = a0
  let c1 = a1
  let d0 = a0
  let d1 = a1
  const end = r0 + ((<usize>stride) << 2)
  while (r0 < end) {
    panel += 32
    const left = v128.load(panel)
    const right = v128.load(panel, 16)
    let value = v128.load32_splat(r0)
    a0 = madd(value, left, a0)
    a1 = madd(value, right, a1)
    value = v128.load32_splat(r1)
    b0 = madd(value, left, b0)
    b1 = madd(value, right, b1)
    value = v128.load32_splat(r2)
    c0 = madd(value, left, c0)
    c1 = madd(value, right, c1)
    value = v128.load32_splat(r3)
    d0 = madd(value, left, d0)
    d1 = madd(value, right, d1)
    r0 += 4
    r1 += 4
    r2 += 4
    r3 += 4
  }
  v128.store(out, a0)
  v128.store(out, a1, 16)
  v128.store(out, b0, 32)
  v128.store(out, b1, 48)
  v128.store(out, c0, 64)
  v128.store(out, c1, 80)
  v128.store(out, d0, 96)
  v128.store(out, d1, 112)
}

/** The same against a panel of 4: out[4][4]. */
export function scoreRowsByFour(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  panel: usize,
  stride: u32,
  out: usize,
): void {
  let a = v128.load(panel)
  let b = a
  let c = a
  let d = a
  const end = r0 + ((<usize>stride) << 2)
  while (r0 < end) {
    panel += 16
    const column = v128.load(panel)
    a = madd(v128.load32_splat(r0), column, a)
    b = madd(v128.load32_splat(r1), column, b)
    c = madd(v128.load32_splat(r2), column, c)
    d = madd(v128.load32_splat(r3), column, d)
    r0 += 4
    r1 += 4
    r2 += 4
    r3 += 4
  }
  v128.store(out, a)
  v128.store(out, b, 16)
  v128.store(out, c, 32)
  v128.store(out, d, 48)
}

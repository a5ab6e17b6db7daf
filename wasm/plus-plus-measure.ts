/** The measuring of candidates in greedy k-means++: see plus-plus.ts. */

import { BLOCK, CANDIDATES, fillFar, isMarked, NONE, SLOT, SPARSE, SQUARES } from './plus-plus'
import { listDoubtful, measureDense } from './plus-plus-dense'
import { sparseDistance } from './rows'
import { rowBytes, squaredLength } from './simd'

/**
 * Items are blocks of the part. Takes the last centre over, then measures the candidates: distances where they are nearer
 * than the nearest centre, and the potential of the block with each of them. `marks` has one bit for each candidate that is
 * nearer to a point of the block; only there are its distances written. `before` is the potential without candidates.
 * Without candidates it gives the potential as it is, and takes the lengths of dense rows.
 * Scratch: 640 bytes, and for bytes 16 more a column.
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
  marks: usize,
  before: usize,
  slots: usize,
  spacing: usize,
): void {
  const best = load<u32>(state)
  for (let block = start; block < end; block++) {
    const first = block * BLOCK
    const stop = min(first + BLOCK, rows)
    const place = (<usize>block) << 2
    const out = potentials + ((<usize>(partBlock + block)) << 2)
    if (trials === 0) {
      const sum = potentialOf(first, stop, weights, nearest, 0)
      store<f32>(before + place, sum)
      store<f32>(out, sum)
      store<u32>(marks + place, 0)
      if (kind !== SPARSE) takeLengths(x, kind, stride, first, stop, lengths)
      continue
    }
    if (isMarked(marks, block, best)) {
      takeBest(trial + ((<usize>best * rows) << 2), load<u32>(state + SLOT), first, stop, nearest, slots)
      store<f32>(before + place, potentialOf(first, stop, weights, nearest, 0))
    }
    let nearer: u32 = 0
    if (kind === SPARSE) {
      nearer = measureSparse(x, places, columnsAt, stride, first, stop, rows, nearest, trial, candidates, state, trials)
    } else {
      const doubtful = listDoubtful(first, stop, nearest, slots, spacing, trials, scratch)
      if (doubtful > 0) {
        nearer = measureDense(
          x,
          kind,
          stride,
          doubtful,
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
      }
    }
    store<u32>(marks + place, nearer)
    const unchanged = load<f32>(before + place)
    for (let t: u32 = 0; t < trials; t++) {
      const own = trial + ((<usize>t * rows) << 2)
      const sum = (nearer >> t) & 1 ? potentialOf(first, stop, weights, nearest, own) : unchanged
      store<f32>(out + ((<usize>t * allBlocks) << 2), sum)
    }
  }
}

/** The candidate that became a centre is the nearest one of some points. Sparse rows have no slots. */
function takeBest(trial: usize, slot: u32, first: u32, stop: u32, nearest: usize, slots: usize): void {
  const end = (<usize>stop) << 2
  for (let at = (<usize>first) << 2; at < end; at += 4) {
    const distance = load<f32>(trial + at)
    if (!(distance < load<f32>(nearest + at))) continue
    store<f32>(nearest + at, distance)
    if (slots) store<u32>(slots + at, slot)
  }
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
      if (!((nearer >> t) & 1)) fillFar(trial + ((<usize>t * rows + first) << 2), stop - first)
      store<f32>(trial + ((<usize>t * rows + row) << 2), distance)
      nearer |= 1 << t
    }
  }
  return nearer
}

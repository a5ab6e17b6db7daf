/** The measuring of candidates in greedy k-means++: see plus-plus.ts. */
import {
  NO_LABEL,
  PLUS_BEST,
  PLUS_BLOCK,
  PLUS_CANDIDATES,
  PLUS_SLOT,
  PLUS_SQUARES,
  PlusPlusArgs,
} from './build/assembly/arguments'
import { listDoubtful, measureDense } from './plus-plus-dense'
import { fillFar, isMarked } from './plus-plus-draw'
import { SPARSE, sparseDistance } from './rows'
import { squaredLength } from './simd'

/** Blocks of the part before there are candidates: their potentials, and the squared lengths of dense rows. */
export function begin(start: u32, end: u32, args: PlusPlusArgs): void {
  const points = args.points
  for (let block = start; block < end; block++) {
    const first = block * PLUS_BLOCK
    const stop = min(first + PLUS_BLOCK, args.rows)
    const place = (<usize>block) << 2
    const sum = potentialOf(first, stop, args.weights, args.nearest, 0)
    store<f32>(args.before + place, sum)
    store<f32>(args.potentials + ((<usize>(args.firstBlock + block)) << 2), sum)
    store<u32>(args.marks + place, 0)
    if (points.kind === SPARSE) continue
    for (let row = first; row < stop; row++) {
      const length = squaredLength(points.at(row), points.kind, points.stride)
      store<f32>(args.lengths + ((<usize>row) << 2), length)
    }
  }
}

/**
 * Blocks of the part. Takes the last centre over, then measures the candidates: distances where they are nearer than the
 * nearest centre, and the potential of the block with each of them. `marks` has one bit for each candidate that is nearer to
 * a point of the block; only there are its distances written. `before` is the potential without candidates.
 */
export function measure(start: u32, end: u32, scratch: usize, args: PlusPlusArgs): void {
  const rows = args.rows
  const trials = args.trials
  const allBlocks = args.allBlocks
  const weights = args.weights
  const nearest = args.nearest
  const trial = args.trial
  const marks = args.marks
  const before = args.before
  const state = args.state
  const sparse = args.points.kind === SPARSE
  const best = load<u32>(state + PLUS_BEST)
  for (let block = start; block < end; block++) {
    const first = block * PLUS_BLOCK
    const stop = min(first + PLUS_BLOCK, rows)
    const place = (<usize>block) << 2
    const out = args.potentials + ((<usize>(args.firstBlock + block)) << 2)
    if (isMarked(marks, block, best)) {
      takeBest(trial + ((<usize>best * rows) << 2), load<u32>(state + PLUS_SLOT), first, stop, nearest, args.slots)
      store<f32>(before + place, potentialOf(first, stop, weights, nearest, 0))
    }
    let nearer: u32 = 0
    if (sparse) nearer = measureSparse(args, first, stop)
    else {
      const doubtful = listDoubtful(args, first, stop, scratch)
      if (doubtful > 0) nearer = measureDense(args, doubtful, first, stop, scratch)
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

function measureSparse(args: PlusPlusArgs, first: u32, stop: u32): u32 {
  const points = args.points
  // Rows are short, so that looking them up for every candidate would take a fifth of the time.
  const values = points.data
  const columns = points.columns
  const candidateBytes = (<usize>points.stride) << 2
  const rows = args.rows
  const nearest = args.nearest
  const trial = args.trial
  const candidates = args.candidates
  const state = args.state
  const trials = args.trials
  let nearer: u32 = 0
  for (let row = first; row < stop; row++) {
    const near = load<f32>(nearest + ((<usize>row) << 2))
    const from = points.first(row)
    const to = points.end(row)
    for (let t: u32 = 0; t < trials; t++) {
      if (load<u32>(state + PLUS_CANDIDATES + ((<usize>t) << 2)) === NO_LABEL) continue
      const square = load<f64>(state + PLUS_SQUARES + ((<usize>t) << 3))
      const distance = sparseDistance(values, columns, from, to, candidates + <usize>t * candidateBytes, square)
      if (!(distance < near)) continue
      if (!((nearer >> t) & 1)) fillFar(trial + ((<usize>t * rows + first) << 2), stop - first)
      store<f32>(trial + ((<usize>t * rows + row) << 2), distance)
      nearer |= 1 << t
    }
  }
  return nearer
}

/**
 * Greedy k-means++: see src/kernels/plus-plus.ts. Points are taken in blocks of BLOCK, whose chances are sums of
 * weight * squared distance to the nearest centre. `kind` is 2 for sparse rows, whose values are at `x`.
 *
 * Most candidates are farther from a point than its nearest centre, and then their distance does not matter. Scores
 * x . c - |c|^2 / 2, which take half as many operations as differences, show that; only where they leave a doubt is the
 * distance taken by differences. So rounding of scores never shows in the result.
 *
 * Of dense rows most need no score either: a point is not nearer to a candidate than to its centre if the two are at least
 * twice as far from each other as the point is from its centre (Elkan 2003; Raff 2021 for k-means++). Each point has the slot
 * of its nearest centre: 0 for the centres there were before, of which nothing is known, then 1, 2, ... in the order of
 * choice. On separated data almost all points are passed over, and a step costs a comparison for each of them.
 *
 * Candidates are kept twice: in full, and packed for scores in panels of 8 and, for the last four or fewer, 4. A panel has its
 * starting values, then [column][lane].
 */
import { loadFour, rowBytes, squaredDistance, squaredLength } from './simd'

export const BLOCK: u32 = 64
export const NONE: u32 = 0xffffffff
export const FAR: f32 = 3.4e38
export const SPARSE: u32 = 2
/** Four times 2^-24: errors of scores are within this, times columns, times the squared lengths of row and candidate. */
export const ROUNDING: f32 = 2.5e-7

/** Where things are in the state, in bytes: as in shaders/plus-plus.ts. */
export const SLOT: usize = 4
export const CANDIDATES: usize = 16
const BLOCKS: usize = 80
const SKIPS: usize = 144
export const SQUARES: usize = 208

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
  candidates: usize,
  stride: u32,
  centers: usize,
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
    if (centers) copyRow(candidates, best, centers, step - 1, stride)
  }
  store<u32>(state + SLOT, step)
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

function copyRow(from: usize, row: u32, to: usize, place: u32, stride: u32): void {
  from += (<usize>row * stride) << 2
  to += (<usize>place * stride) << 2
  for (let at: usize = 0; at < (<usize>stride) << 2; at += 16) v128.store(to + at, v128.load(from + at))
}

/**
 * Items are candidates: draws a point of the block, if that is one of this part, copies its row and measures how far it is
 * from the centres chosen so far.
 */
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
  marks: usize,
  centers: usize,
  spacing: usize,
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
    const nearer = isMarked(marks, block - firstBlock, best)
    for (let row = first; row < min(first + BLOCK, rows); row++) {
      const at = (<usize>row) << 2
      let chance = load<f32>(nearest + at)
      if (nearer) chance = min(chance, load<f32>(trial + ((<usize>best * rows + row) << 2)))
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
      measureSpacing(out, t, trials, stride, load<u32>(state + SLOT), centers, spacing)
    }
  }
}

/** Whether the candidate is the nearest centre of a point of the block. Its distances count only there. */
export function isMarked(marks: usize, block: u32, candidate: u32): bool {
  return candidate !== NONE && ((load<u32>(marks + ((<usize>block) << 2)) >> candidate) & 1) !== 0
}

export function fillFar(at: usize, count: u32): void {
  const end = at + ((<usize>count) << 2)
  for (; at + 16 <= end; at += 16) v128.store(at, f32x4.splat(FAR))
  for (; at < end; at += 4) store<f32>(at, FAR)
}

/** Places for each slot in the list of spacings: whole vectors of four. */
export function spacingLanes(trials: u32): u32 {
  return (trials + 3) & ~3
}

/**
 * A quarter of the squared distance between the candidate and each centre, slots 1 and up, less what rounding may add. By the
 * triangle inequality no point whose squared distance to that centre is at most this is nearer to the candidate.
 */
function measureSpacing(
  row: usize,
  t: u32,
  trials: u32,
  stride: u32,
  slots: u32,
  centers: usize,
  spacing: usize,
): void {
  const step = (<usize>spacingLanes(trials)) << 2
  const share = <f32>0.25 * (<f32>1 - ROUNDING * <f32>(stride + 8))
  let out = spacing + ((<usize>t) << 2)
  for (let slot: u32 = 0; slot < slots; slot++) {
    out += step
    const apart = squaredDistance(row, 0, centers, stride)
    // Below that, rounding is no longer in proportion.
    store<f32>(out, apart < <f32>1e-30 ? 0 : apart * share)
    centers += (<usize>stride) << 2
  }
}

/** Lanes of the panel that candidate `t` is in. */
export function lanesOf(t: u32, trials: u32): u32 {
  return trials - (t & ~7) > 4 ? 8 : 4
}

export function panelOf(t: u32, lanes: u32, stride: u32, panels: usize): usize {
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

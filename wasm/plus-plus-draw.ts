/** Choosing and drawing the candidates of greedy k-means++: see plus-plus.ts. */
import {
  FAR,
  NO_LABEL,
  PLUS_BEST,
  PLUS_BLOCK,
  PLUS_BLOCKS,
  PLUS_CANDIDATES,
  PLUS_SKIPS,
  PLUS_SLOT,
  PLUS_SQUARES,
  PlusPlusArgs,
} from './build/assembly/arguments'
import { Rows, SPARSE } from './rows'
import { loadFour, squaredDistance, squaredLength } from './simd'

/** Four times 2^-24: errors of scores are within this, times columns, times the squared lengths of row and candidate. */
export const ROUNDING: f32 = 2.5e-7

/** Keeps the candidate that leaves the lowest potential, and draws the blocks of the next ones unless this is the last step. */
export function choose(args: PlusPlusArgs, step: u32): void {
  const potentials = args.potentials
  const blocks = args.allBlocks
  const state = args.state
  // Before the first centre there are no candidates, and one potential.
  const considered: u32 = step === 0 ? 1 : args.trials
  const trials: u32 = step < args.to ? args.trials : 0
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
  if (step === 0) store<u32>(state + PLUS_BEST, NO_LABEL)
  else {
    store<u32>(state + PLUS_BEST, best)
    store<u32>(args.chosen + ((<usize>(step - 1)) << 2), load<u32>(state + PLUS_CANDIDATES + ((<usize>best) << 2)))
    if (args.centers) copyRow(args.candidates, best, args.centers, step - 1, args.points.stride)
  }
  store<u32>(state + PLUS_SLOT, step)
  for (let t: u32 = 0; t < trials; t++) {
    const at = (<usize>t) << 2
    // Rounding can leave a rest at the end: the last block with a chance takes it.
    let rest = <f64>load<f32>(args.uniforms + ((<usize>step * trials + t) << 2)) * lowest
    let found = NO_LABEL
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
    store<u32>(state + PLUS_CANDIDATES + at, NO_LABEL)
    store<u32>(state + PLUS_BLOCKS + at, found)
    store<f32>(state + PLUS_SKIPS + at, skip)
  }
}

function copyRow(from: usize, row: u32, to: usize, place: u32, stride: u32): void {
  from += (<usize>row * stride) << 2
  to += (<usize>place * stride) << 2
  for (let at: usize = 0; at < (<usize>stride) << 2; at += 16) v128.store(to + at, v128.load(from + at))
}

/**
 * Candidates `start` to `end`: draws a point of the block, if that is one of this part, copies its row and measures how far
 * it is from the centres chosen so far.
 */
export function draw(start: u32, end: u32, args: PlusPlusArgs): void {
  const points = args.points
  const stride = points.stride
  const kind = points.kind
  const rows = args.rows
  const firstBlock = args.firstBlock
  const weights = args.weights
  const nearest = args.nearest
  const trial = args.trial
  const state = args.state
  const trials = args.trials
  const best = load<u32>(state + PLUS_BEST)
  const blocks = (rows + PLUS_BLOCK - 1) / PLUS_BLOCK
  for (let t = start; t < end; t++) {
    const place = (<usize>t) << 2
    const block = load<u32>(state + PLUS_BLOCKS + place)
    if (block === NO_LABEL || block < firstBlock || block - firstBlock >= blocks) continue
    let rest = <f64>load<f32>(state + PLUS_SKIPS + place)
    let found = NO_LABEL
    const first = (block - firstBlock) * PLUS_BLOCK
    const nearer = isMarked(args.marks, block - firstBlock, best)
    for (let row = first; row < min(first + PLUS_BLOCK, rows); row++) {
      const at = (<usize>row) << 2
      let chance = load<f32>(nearest + at)
      if (nearer) chance = min(chance, load<f32>(trial + ((<usize>best * rows + row) << 2)))
      const weighed = weights ? <f64>chance * <f64>load<f32>(weights + at) : <f64>chance
      if (!(weighed > 0)) continue
      found = row
      if (rest < weighed) break
      rest -= weighed
    }
    if (found === NO_LABEL) continue
    store<u32>(state + PLUS_CANDIDATES + place, args.firstRow + found)
    const out = args.candidates + ((<usize>t * stride) << 2)
    if (kind === SPARSE) {
      store<f64>(state + PLUS_SQUARES + (place << 1), expandRow(points, found, out))
    } else {
      const row = points.at(found)
      for (let column: u32 = 0; column < stride; column += 4) {
        v128.store(out + ((<usize>column) << 2), loadFour(row, kind, column))
      }
      packCandidate(out, t, trials, stride, args.panels)
      measureSpacing(out, t, trials, stride, load<u32>(state + PLUS_SLOT), args.centers, args.spacing)
    }
  }
}

/** Whether the candidate is the nearest centre of a point of the block. Its distances count only there. */
export function isMarked(marks: usize, block: u32, candidate: u32): bool {
  return candidate !== NO_LABEL && ((load<u32>(marks + ((<usize>block) << 2)) >> candidate) & 1) !== 0
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
function expandRow(points: Rows, row: u32, out: usize): f64 {
  const columns = points.columns
  const values = points.data
  memory.fill(out, 0, (<usize>points.stride) << 2)
  const to = <usize>points.end(row)
  let square: f64 = 0
  for (let entry = <usize>points.first(row); entry < to; entry++) {
    const value = load<f32>(values + (entry << 2))
    store<f32>(out + ((<usize>load<u32>(columns + (entry << 2))) << 2), value)
    square += <f64>value * <f64>value
  }
  return square
}

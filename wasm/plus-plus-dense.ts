/** The measuring of candidates in greedy k-means++ where rows are dense: see plus-plus.ts. */
import { NO_LABEL, PLUS_CANDIDATES, PlusPlusArgs } from './build/assembly/arguments'
import { fillFar, lanesOf, panelOf, ROUNDING, spacingLanes } from './plus-plus-draw'
import { FLOATS, Rows } from './rows'
import { scoreRowsByEight, scoreRowsByFour } from './score-rows'
import { loadFour, squaredDistance } from './simd'

/** With no more candidates in doubt than this, distances cost less than scores of all candidates. */
const FEW: u32 = 3

/**
 * Rows of the block that the spacing of centres and candidates leaves in doubt, with one bit for each candidate they may be
 * nearer to. Returns how many there are.
 */
export function listDoubtful(args: PlusPlusArgs, first: u32, stop: u32, scratch: usize): u32 {
  const nearest = args.nearest
  const slots = args.slots
  const spacing = args.spacing
  const trials = args.trials
  const list = scratch + args.doubtfulAt
  const doubts = scratch + args.doubtsAt
  const all: u32 = (1 << trials) - 1
  const lanes = spacingLanes(trials)
  let count: u32 = 0
  for (let row = first; row < stop; row++) {
    const at = (<usize>row) << 2
    const near = v128.load32_splat(nearest + at)
    const own = spacing + ((<usize>load<u32>(slots + at) * lanes) << 2)
    let doubt = <u32>i32x4.bitmask(f32x4.lt(v128.load(own), near))
    for (let lane: u32 = 4; lane < lanes; lane += 4) {
      doubt |= (<u32>i32x4.bitmask(f32x4.lt(v128.load(own + ((<usize>lane) << 2)), near))) << lane
    }
    doubt &= all
    // Written in any case, and kept only if it counts: no branch to guess.
    store<u32>(list + ((<usize>count) << 2), row)
    store<u32>(doubts + ((<usize>count) << 2), doubt)
    count += u32(doubt !== 0)
  }
  return count
}

/** The rows that `listDoubtful` listed, four at a time. Absent rows repeat the last. */
export function measureDense(args: PlusPlusArgs, doubtful: u32, first: u32, stop: u32, scratch: usize): u32 {
  const points = args.points
  const stride = points.stride
  const rows = args.rows
  const nearest = args.nearest
  const trial = args.trial
  const candidates = args.candidates
  const state = args.state
  const trials = args.trials
  const panels = args.panels
  const lengths = args.lengths
  const results = scratch + args.scoresAt
  const list = scratch + args.doubtfulAt
  const doubts = scratch + args.doubtsAt
  const floats = scratch + args.floatsAt
  const longest = longestCandidate(state, trials, stride, panels)
  const margin = ROUNDING * <f32>(stride + 8)
  const floatBytes = (<usize>stride) << 2
  let nearer: u32 = 0
  for (let i: u32 = 0; i < doubtful; i += 4) {
    const count = min<u32>(4, doubtful - i)
    const r0 = asFloats(points, listed(list, i), floats)
    const r1 = asFloats(points, listed(list, i + min<u32>(1, count - 1)), floats + floatBytes)
    const r2 = asFloats(points, listed(list, i + min<u32>(2, count - 1)), floats + 2 * floatBytes)
    const r3 = asFloats(points, listed(list, i + count - 1), floats + 3 * floatBytes)
    for (let t: u32 = 0; t < trials; ) {
      const lanes = lanesOf(t, trials)
      const panel = panelOf(t, lanes, stride, panels)
      const scored = doubtsOf(doubts, i, count, t, lanes) > FEW * count
      if (scored) {
        if (lanes === 8) scoreRowsByEight(r0, r1, r2, r3, panel, stride, results)
        else scoreRowsByFour(r0, r1, r2, r3, panel, stride, results)
      }
      for (let j: u32 = 0; j < count; j++) {
        const row = listed(list, i + j)
        const at = (<usize>row) << 2
        const near = load<f32>(nearest + at)
        let doubt = listed(doubts, i + j) >> t
        if (scored) {
          const length = load<f32>(lengths + at)
          // |x|^2 - 2 score is the squared distance; above this score it may be below `near`.
          const least = f32x4.splat((length - near - margin * (length + longest)) * 0.5)
          const scores = results + ((<usize>(j * lanes)) << 2)
          let close = <u32>i32x4.bitmask(f32x4.gt(v128.load(scores), least))
          if (lanes === 8) close |= (<u32>i32x4.bitmask(f32x4.gt(v128.load(scores, 16), least))) << 4
          doubt &= close
        }
        if (doubt === 0) continue
        const own = j === 0 ? r0 : j === 1 ? r1 : j === 2 ? r2 : r3
        for (let lane: u32 = 0; lane < min(lanes, trials - t); lane++) {
          if (!((doubt >> lane) & 1)) continue
          const candidate = t + lane
          if (load<u32>(state + PLUS_CANDIDATES + ((<usize>candidate) << 2)) === NO_LABEL) continue
          const distance = squaredDistance(own, 0, candidates + <usize>candidate * floatBytes, stride)
          if (!(distance < near)) continue
          const out = trial + ((<usize>candidate * rows) << 2)
          if (!((nearer >> candidate) & 1)) fillFar(out + ((<usize>first) << 2), stop - first)
          store<f32>(out + at, distance)
          nearer |= 1 << candidate
        }
      }
      t += lanes
    }
  }
  return nearer
}

function listed(list: usize, place: u32): u32 {
  return load<u32>(list + ((<usize>place) << 2))
}

/** Distances of `count` listed rows to the candidates of a panel that are in doubt. */
function doubtsOf(doubts: usize, from: u32, count: u32, t: u32, lanes: u32): u32 {
  const mask: u32 = (1 << lanes) - 1
  let sum: u32 = 0
  for (let i = from; i < from + count; i++) sum += popcnt((listed(doubts, i) >> t) & mask)
  return sum
}

/** The largest squared length of the candidates, which errors of scores grow with. */
function longestCandidate(state: usize, trials: u32, stride: u32, panels: usize): f32 {
  let longest: f32 = 0
  for (let t: u32 = 0; t < trials; t++) {
    if (load<u32>(state + PLUS_CANDIDATES + ((<usize>t) << 2)) === NO_LABEL) continue
    const lanes = lanesOf(t, trials)
    const start = panelOf(t, lanes, stride, panels) + ((<usize>(t & (lanes - 1))) << 2)
    longest = max(longest, load<f32>(start) * -2)
  }
  return longest
}

/** Bytes are made floats once, and then compared with every candidate. */
function asFloats(points: Rows, row: u32, floats: usize): usize {
  const from = points.at(row)
  const kind = points.kind
  const stride = points.stride
  if (kind === FLOATS) return from
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

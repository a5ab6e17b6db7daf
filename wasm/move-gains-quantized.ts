/**
 * The best move of each point, for dense rows. As in assign-leaves.ts, distances are first computed in 16-bit integers, for four
 * points at a time, and every candidate that can still be the best is measured exactly. Most points need no exact distance.
 *
 * ## The slack
 *
 * A point x has the scale s, centres the scale t, and |s x| and |t c| are at most L = LENGTH. From the integer score T(c) of
 * quantized.ts, the distance is computed as
 *
 *     d'(c) = |x|^2 - back T(c),   back = 2 / (s t)
 *
 * so an error e of the score is an error back e of the distance. In units of scores the errors are, with u = 2^-24:
 *
 * - rounding to integers: B = (|s x| + error) worst + error (L + worst), by the Cauchy-Schwarz inequality as in quantized.ts;
 *   `worst` = sqrt(stride) / 2 bounds the rounding error of any centre, and the header has L + worst.
 * - rounding in floats, as multiples of R = u |t c| |s x|, which is at most u L^2 for floats and u L^2 s / t for bytes, whose
 *   scale s is 1: start(c) 1 R, and 1 for its truncation; s x and t c 2 R; |x|^2, summed in four lanes, (stride / 8 + 2) R; the
 *   conversion of T(c) 1.5 R, its product with `back` 4.5 R, and the subtraction 2 R. Together 1 + (13 + stride / 8) R.
 *
 * So |d'(c) - d(c)| <= back (1.001 B + 1 + (13 + stride / 8) R) = `slack`; the factor 1.001 covers the lengths, which are computed
 * in floats.
 *
 * ## What the slack decides
 *
 * Joining a cluster of mass W costs w W / (W + w) d, less than w d, so a cost computed from d' is wrong by at most
 * `missing` = w slack. Staying costs w W / (W - w) d, which is at most the cost of d' + slack. With `best` the lowest cost in
 * integers:
 *
 *     cost to stay at d'(own) + slack <= best - missing    no candidate is cheaper: the point stays
 *     cost of a candidate > best + 2 missing               the candidate of the lowest cost is cheaper
 *     cost of a candidate > lowest exact cost + missing   the candidate measured so far is cheaper
 *
 * All other candidates are measured exactly.
 */
import { MoveGainsArgs, NO_LABEL, TURN_FACTOR } from './build/assembly/arguments'
import { candidateAt, rowAt } from './group-labels'
import { costsToJoin, costToStay, joinRows, massOf, mayLeave, weightOf } from './move-costs'
import { LENGTH } from './quantized'
import { dotsFourByTwo, dotWide, quantizeRow, widenBytes, wideStride } from './quantized-rows'
import { BYTES, Rows } from './rows'
import { squaredLength } from './simd'

/** Values of four points, one per lane: byte offsets. */
const SQUARES: usize = 0
const SLACK: usize = 16
const WEIGHT: usize = 32
const OWN: usize = 48
const POINT: usize = 64
/** The cost to stay, if it is computed before the candidates. */
const STAY: usize = 80

/** The moves of the points of a group whose members begin at `from`. `inside`: the number of positions in `places`. */
export function proposeInFours(
  args: MoveGainsArgs,
  scratch: usize,
  from: u32,
  inside: u32,
  list: usize,
  count: u32,
  out: usize,
): void {
  const points = args.points
  const centers = args.centers
  const clusters = args.clusters
  const header = args.header
  const quantized = args.quantized
  const starts = args.starts
  const members = args.members
  const domainFrom = args.domainFrom
  const unit = args.unit
  const first = args.firstGain
  const weights = args.weights
  const labels = args.labels
  const rows = scratch + args.rowsAt
  const dots = scratch + args.dotsAt
  const lanes = scratch + args.lanesAt
  const costs = scratch + args.costsAt
  const places = scratch + args.placesAt
  const stride = points.stride
  const wide = wideStride(stride)
  const rowSize = (<usize>wide) << 1
  const pointScale = load<f32>(header, 4)
  const back = f32x4.splat(<f32>2 / (load<f32>(header) * pointScale))
  let present: u32 = 0
  for (let i: u32 = 0; i < inside; i += present) {
    const four = places + ((<usize>i) << 2)
    present = min(<u32>4, inside - i)
    // Only positions within the same four start with the same candidate.
    if (first) while (load<u32>(four + ((<usize>(present - 1)) << 2)) >> 2 !== load<u32>(four) >> 2) present--
    for (let lane: u32 = 0; lane < present; lane++) {
      const point = rowAt(members, from, load<u32>(four + ((<usize>lane) << 2)), domainFrom)
      const own = load<u32>(labels + ((<usize>point) << 2))
      const weight = weightOf(weights, point)
      const slot = lanes + ((<usize>lane) << 2)
      store<u32>(slot, point, POINT)
      store<u32>(slot, own, OWN)
      store<f32>(slot, weight, WEIGHT)
      loadPoint(points, point, header, rows + <usize>lane * rowSize, slot)
      let stay: f32 = -Infinity
      if (mayLeave(clusters, own, weight, unit)) {
        const distance = first ? points.distance(point, centers + ((<usize>own * stride) << 2), 0) : <f32>Infinity
        stay = first ? costToStay(distance, load<f32>(slot), massOf(clusters, own), weight, unit) : <f32>Infinity
      }
      store<f32>(slot, stay, STAY)
    }
    const r1 = present > 1 ? rows + rowSize : rows
    const r2 = present > 2 ? r1 + rowSize : rows
    const r3 = present > 3 ? r2 + rowSize : rows
    const xx = v128.load(lanes)
    const slack = f32x4.mul(v128.load(lanes, SLACK), back)
    v128.store(lanes, slack, SLACK)
    const weight = v128.load(lanes, WEIGHT)
    const own = v128.load(lanes, OWN)
    // If unit vectors nearly cancel, the error of a cost exceeds that of the distance, so costs are lower bounds instead.
    const lowered = unit ? slack : f32x4.splat(0)
    const missing = unit ? f32x4.splat(0) : f32x4.mul(slack, weight)
    const below = f32x4.add(v128.load(lanes, STAY), missing)
    let undecided: u32 = (1 << present) - 1
    let best = f32x4.splat(Infinity)
    // Infinite if the current cluster is not a candidate; its distance is then measured exactly.
    let ownDistance = best
    const turn: u32 = first ? ((from + (load<u32>(four) & ~3)) * TURN_FACTOR) % count : 0
    for (let j: u32 = 0; j < count; j += 2) {
      const one = candidateAt(list, j, turn, count)
      const other = candidateAt(list, min(j + 1, count - 1), turn, count)
      dotsFourByTwo(rows, r1, r2, r3, quantized + <usize>one * rowSize, quantized + <usize>other * rowSize, wide, dots)
      for (let half: u32 = 0; half < min<u32>(2, count - j); half++) {
        const label = half ? other : one
        const begin = <i32>(load<f32>(starts + ((<usize>label) << 2)) * pointScale)
        const score = i32x4.add(v128.load(dots + ((<usize>half) << 4)), i32x4.splat(begin))
        const distance = f32x4.max(f32x4.sub(xx, f32x4.mul(f32x4.convert_i32x4_s(score), back)), f32x4.splat(0))
        const mine = i32x4.eq(own, i32x4.splat(<i32>label))
        const least = f32x4.max(f32x4.sub(distance, lowered), f32x4.splat(0))
        const asked = costsToJoin(least, xx, massOf(clusters, label), weight, unit)
        const cost = v128.bitselect(f32x4.splat(Infinity), asked, mine)
        ownDistance = v128.bitselect(distance, ownDistance, mine)
        best = f32x4.min(best, cost)
        v128.store(costs + ((<usize>(j + half)) << 4), cost)
        if (!first) continue
        let maybe = <u32>i32x4.bitmask(f32x4.lt(cost, below)) & undecided
        while (maybe) {
          const lane = <u32>ctz(maybe)
          maybe &= maybe - 1
          const slot = lanes + ((<usize>lane) << 2)
          if (
            !(
              joinRows(points, centers, clusters, unit, label, load<u32>(slot, POINT), load<f32>(slot, WEIGHT)) <
              load<f32>(slot, STAY)
            )
          )
            continue
          store<u32>(out + ((<usize>load<u32>(four + ((<usize>lane) << 2))) << 2), label)
          undecided &= ~(1 << lane)
        }
      }
      if (undecided === 0) break
    }
    if (!first) {
      v128.store(dots, best)
      v128.store(dots, ownDistance, 16)
      for (let lane: u32 = 0; lane < present; lane++) {
        const slot = lanes + ((<usize>lane) << 2)
        const place = (<usize>lane) << 2
        const label = settle(
          points,
          centers,
          clusters,
          unit,
          slot,
          load<f32>(dots + place),
          load<f32>(dots + place, 16),
          list,
          count,
          costs + place,
        )
        store<u32>(out + ((<usize>load<u32>(four + place)) << 2), label)
      }
    }
  }
}

/** Float rounding in units of scores: 1 + (13 + stride / 8) R, derived above. */
function floatError(stride: u32, header: usize): f32 {
  const unit: f32 = (LENGTH * LENGTH * <f32>5.9604645e-8 * load<f32>(header, 4)) / load<f32>(header)
  return 1 + (13 + <f32>stride * 0.125) * unit
}

/** Writes the point as integers, its squared length, and the slack in units of scores. */
function loadPoint(points: Rows, point: u32, header: usize, out: usize, slot: usize): void {
  const row = points.at(point)
  const kind = points.kind
  const stride = points.stride
  const scale = load<f32>(header, 4)
  const worst = load<f32>(header, 8)
  if (kind === BYTES && scale === 1) {
    widenBytes(row, stride, out)
    const squares = <f32>dotWide(out, out, wideStride(stride))
    store<f32>(slot, squares, SQUARES)
    store<f32>(slot, Mathf.sqrt(squares) * worst * <f32>1.001 + floatError(stride, header), SLACK)
    return
  }
  const error = quantizeRow(row, kind, stride, scale, out)
  const squares = squaredLength(row, kind, stride)
  store<f32>(slot, squares, SQUARES)
  store<f32>(
    slot,
    ((Mathf.sqrt(squares) * scale + error) * worst + error * load<f32>(header, 12)) * <f32>1.001 +
      floatError(stride, header),
    SLACK,
  )
}

/** The exact best move, or NO_LABEL. `best`: the lowest cost in integers; `distance`: to the current centre, in integers. */
function settle(
  points: Rows,
  centers: usize,
  clusters: usize,
  unit: u32,
  slot: usize,
  best: f32,
  distance: f32,
  list: usize,
  count: u32,
  costs: usize,
): u32 {
  if (load<f32>(slot, STAY) < 0) return NO_LABEL
  const own = load<u32>(slot, OWN)
  const weight = load<f32>(slot, WEIGHT)
  const slack = load<f32>(slot, SLACK)
  const squares = load<f32>(slot, SQUARES)
  const mass = massOf(clusters, own)
  // Unit vectors: costs are already lower bounds, and only an exact cost is an upper bound.
  const missing: f32 = unit ? 0 : slack * weight
  // No candidate can be cheaper: the point stays, and nothing is measured.
  if (distance < Infinity && costToStay(distance + slack, squares, mass, weight, unit) <= best - missing)
    return NO_LABEL
  const point = load<u32>(slot, POINT)
  const exact = points.distance(point, centers + ((<usize>own * points.stride) << 2), 0)
  let lowest = costToStay(exact, squares, mass, weight, unit)
  let label = NO_LABEL
  const most: f32 = unit ? Infinity : best + 2 * missing
  for (let j: u32 = 0; j < count; j++) {
    if (!(load<f32>(costs + ((<usize>j) << 4)) <= min(most, lowest + missing))) continue
    const candidate = candidateAt(list, j, 0, count)
    if (candidate === own) continue
    const cost = joinRows(points, centers, clusters, unit, candidate, point, weight)
    if (cost < lowest || (cost === lowest && label !== NO_LABEL && candidate < label)) {
      lowest = cost
      label = candidate
    }
  }
  return label
}

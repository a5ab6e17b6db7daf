/**
 * Moves that were proposed for a batch, one after the other: each is measured again against sums and
 * sizes as they now stand, and dropped unless it still pays. Members that this device does not hold have no proposals;
 * points, weights and labels begin with member `domainFrom`.
 *
 * Small batches are one item. Moves of large ones are shared by threads, with the bits of applying them in order: each move
 * has a turn at both of its clusters, and waits until the moves before it there are done.
 */
import {
  ApplyMovesArgs,
  ApplyScheduledArgs,
  LEAST_GAIN,
  MOVE_WORDS,
  NO_LABEL,
  PrepareMovesArgs,
  RefreshCentersArgs,
  ScheduleMovesArgs,
} from './build/assembly/arguments'
import { massOf, mayLeave, priceToJoin, priceToStay, setCluster, weightOf } from './prices'
import { quantizeCenter } from './quantized-rows'
import { Rows } from './rows'
import { loadFour, madd, squaredDistance, squaredLength } from './simd'
import { touchRow } from './touch'
import { passTurn, waitForTurn } from './turns'

/** One item: order matters. */
export function applyMoves(_start: u32, _end: u32, _scratch: usize, args: ApplyMovesArgs): void {
  const points = args.points
  const stride = points.stride
  const centers = args.centers
  const clusters = args.clusters
  const members = args.members
  const offsets = args.offsets
  const largest = args.largest
  const labels = args.labels
  const scale = load<f32>(args.header)
  for (let g: u32 = 0; g < args.groups; g++) {
    const group = load<u32>(args.order + ((<usize>g) << 2))
    const from = load<u32>(offsets + ((<usize>group) << 2))
    const to = load<u32>(offsets + ((<usize>group) << 2), 4)
    for (let at = from; at < to; at++) {
      const wanted = load<u32>(args.proposals + ((<usize>(g * largest + at - from)) << 2))
      if (wanted === NO_LABEL) continue
      const point = load<u32>(members + ((<usize>at) << 2)) - args.domainFrom
      const own = load<u32>(labels + ((<usize>point) << 2))
      const weight = weightOf(args.weights, point)
      if (!applyOne(points, point, own, wanted, weight, centers, clusters, args.unit)) continue
      quantizeCenter(centers + ((<usize>own * stride) << 2), stride, scale, args.quantized, args.starts, own)
      quantizeCenter(centers + ((<usize>wanted * stride) << 2), stride, scale, args.quantized, args.starts, wanted)
      store<u32>(labels + ((<usize>point) << 2), wanted)
    }
  }
}

/**
 * One item: the moves of a batch in order, with their turns. moves: [count, touched clusters, 0, 0], then MOVE_WORDS words a
 * move: point, both clusters, and the turns at these. turns: [k][2], turns given out and turns over; both are equal
 * between batches. touched: the clusters of the moves, each once.
 */
export function scheduleMoves(_start: u32, _end: u32, _scratch: usize, args: ScheduleMovesArgs): void {
  const members = args.members
  const offsets = args.offsets
  const largest = args.largest
  const labels = args.labels
  const turns = args.turns
  const touched = args.touched
  let out = args.moves + 16
  let count: u32 = 0
  let clusters: u32 = 0
  for (let g: u32 = 0; g < args.groups; g++) {
    const group = load<u32>(args.order + ((<usize>g) << 2))
    const from = load<u32>(offsets + ((<usize>group) << 2))
    const to = load<u32>(offsets + ((<usize>group) << 2), 4)
    for (let at = from; at < to; at++) {
      const wanted = load<u32>(args.proposals + ((<usize>(g * largest + at - from)) << 2))
      if (wanted === NO_LABEL) continue
      const point = load<u32>(members + ((<usize>at) << 2)) - args.domainFrom
      const own = load<u32>(labels + ((<usize>point) << 2))
      if (wanted === own) continue
      store<u32>(out, point)
      for (let side: u32 = 0; side < 2; side++) {
        const cluster = side ? wanted : own
        const turn = turns + ((<usize>cluster) << 3)
        const given = load<u32>(turn)
        if (given === load<u32>(turn, 4)) {
          store<u32>(touched + ((<usize>clusters) << 2), cluster)
          clusters++
        }
        const place = out + ((<usize>side) << 2)
        store<u32>(place, cluster, 4)
        store<u32>(place, given, 12)
        store<u32>(turn, given + 1)
      }
      out += MOVE_WORDS << 2
      count++
    }
  }
  store<u32>(args.moves, count)
  store<u32>(args.moves, clusters, 4)
}

/** Items are moves, taken in order; those beyond the last do nothing. */
export function applyScheduled(start: u32, end: u32, scratch: usize, args: ApplyScheduledArgs): void {
  const points = args.points
  const turns = args.turns
  const last = min(end, load<u32>(args.moves))
  const width = (<usize>points.stride) << 2
  let touched: u32 = 0
  for (let i = start; i < last; i++) {
    const move = moveAt(args.moves, i)
    touched += touchRow(points.at(load<u32>(move)), points.bytes)
    touched += touchRow(args.centers + <usize>load<u32>(move, 4) * width, width)
    touched += touchRow(args.centers + <usize>load<u32>(move, 8) * width, width)
  }
  store<u32>(scratch + args.touchedAt, touched)
  for (let i = start; i < last; i++) {
    const move = moveAt(args.moves, i)
    const point = load<u32>(move)
    const own = load<u32>(move, 4)
    const wanted = load<u32>(move, 8)
    const here = turns + ((<usize>own) << 3) + 4
    const there = turns + ((<usize>wanted) << 3) + 4
    waitForTurn(here, load<u32>(move, 12))
    waitForTurn(there, load<u32>(move, 16))
    const weight = weightOf(args.weights, point)
    if (applyOne(points, point, own, wanted, weight, args.centers, args.clusters, args.unit))
      store<u32>(args.labels + ((<usize>point) << 2), wanted)
    passTurn(here, load<u32>(move, 12) + 1)
    passTurn(there, load<u32>(move, 16) + 1)
  }
}

function moveAt(moves: usize, i: u32): usize {
  return moves + 16 + ((<usize>i * MOVE_WORDS) << 2)
}

/** Items are the clusters of the moves: their centres as integers. */
export function refreshCenters(start: u32, end: u32, _scratch: usize, args: RefreshCentersArgs): void {
  const stride = args.stride
  const scale = load<f32>(args.header)
  const last = min(end, load<u32>(args.moves, 4))
  for (let i = start; i < last; i++) {
    const cluster = load<u32>(args.touched + ((<usize>i) << 2))
    const center = args.centers + ((<usize>cluster * stride) << 2)
    quantizeCenter(center, stride, scale, args.quantized, args.starts, cluster)
  }
}

/** True if the move still pays: both clusters are then as after it. */
function applyOne(
  points: Rows,
  point: u32,
  own: u32,
  wanted: u32,
  weight: f32,
  centers: usize,
  clusters: usize,
  unit: u32,
): bool {
  if (wanted === own || !mayLeave(clusters, own, weight, unit)) return false
  const kind = points.kind
  const stride = points.stride
  const row = points.at(point)
  const squares = unit ? squaredLength(row, kind, stride) : 0
  const here = centers + ((<usize>own * stride) << 2)
  const there = centers + ((<usize>wanted * stride) << 2)
  const stay = priceToStay(squaredDistance(row, kind, here, stride), squares, massOf(clusters, own), weight, unit)
  const join = priceToJoin(squaredDistance(row, kind, there, stride), squares, massOf(clusters, wanted), weight, unit)
  // Prices of unit vectors are differences of lengths, wrong by shares of the weight.
  if (!(stay - join > <f32>LEAST_GAIN * (unit ? weight : stay))) return false
  shift(row, kind, stride, here, clusters, own, -weight, -1, unit)
  shift(row, kind, stride, there, clusters, wanted, weight, 1, unit)
  return true
}

/** Adds a weighted point to a cluster, or takes it away. */
function shift(
  row: usize,
  kind: u32,
  stride: u32,
  center: usize,
  clusters: usize,
  cluster: u32,
  weight: f32,
  more: f32,
  unit: u32,
): void {
  const mass = massOf(clusters, cluster)
  if (!unit) {
    const after = mass + weight
    const step = f32x4.splat(weight / after)
    for (let column: u32 = 0; column < stride; column += 4) {
      const place = center + ((<usize>column) << 2)
      const old = v128.load(place)
      v128.store(place, madd(f32x4.sub(loadFour(row, kind, column), old), step, old))
    }
    setCluster(clusters, cluster, after, more)
    return
  }
  const held = f32x4.splat(mass)
  const pull = f32x4.splat(weight)
  let squares: f64 = 0
  for (let column: u32 = 0; column < stride; column += 4) {
    const place = center + ((<usize>column) << 2)
    const sum = madd(loadFour(row, kind, column), pull, f32x4.mul(v128.load(place), held))
    v128.store(place, sum)
    const pairs = f64x2.promote_low_f32x4(sum)
    const others = f64x2.promote_low_f32x4(
      i8x16.shuffle(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7),
    )
    const total = f64x2.add(f64x2.mul(pairs, pairs), f64x2.mul(others, others))
    squares += f64x2.extract_lane(total, 0) + f64x2.extract_lane(total, 1)
  }
  const length = Math.sqrt(squares)
  const back = f32x4.splat(length > 0 ? <f32>(1 / length) : 0)
  for (let column: u32 = 0; column < stride; column += 4) {
    const place = center + ((<usize>column) << 2)
    v128.store(place, f32x4.mul(v128.load(place), back))
  }
  setCluster(clusters, cluster, <f32>length, more)
}

/** Items are clusters: mass and size from sums and weights as `accumulate` leaves them, centres as integers. */
export function prepareMoves(start: u32, end: u32, _scratch: usize, args: PrepareMovesArgs): void {
  const stride = args.stride
  const sums = args.sums
  const clusters = args.clusters
  const scale = load<f32>(args.header)
  for (let cluster = start; cluster < end; cluster++) {
    const at = (<usize>cluster) << 2
    let mass = load<f32>(args.totals + at)
    if (args.unit) {
      let squares: f64 = 0
      for (let column: usize = 0; column < (<usize>stride) << 2; column += 4) {
        const value = <f64>load<f32>(sums + at * stride + column)
        squares += value * value
      }
      mass = <f32>Math.sqrt(squares)
    }
    store<f32>(clusters + (at << 1), mass)
    store<f32>(clusters + (at << 1), <f32>load<u32>(args.counts + at), 4)
    quantizeCenter(args.centers + at * stride, stride, scale, args.quantized, args.starts, cluster)
  }
}

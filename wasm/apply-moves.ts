/**
 * Moves that were proposed for a batch, one after the other: each is measured again against sums and
 * sizes as they now stand, and dropped unless it still pays. Members that this device does not hold have no proposals;
 * points, weights and labels begin with member `domainFrom`. A place of the batch is the number of its group times the size of
 * the largest, plus its place in the group.
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
  RefreshCentersArgs,
  ScheduleMovesArgs,
} from './build/assembly/arguments'
import { weightOf } from './move-costs'
import { Clusters, describeClusters } from './moving-clusters'
import { quantizeCenter } from './quantized-rows'
import { Rows } from './rows'
import { touchRow } from './touch'
import { passTurn, waitForTurn } from './turns'

/** One item: order matters. */
export function applyMoves(_start: u32, _end: u32, scratch: usize, args: ApplyMovesArgs): void {
  const points = args.points
  const labels = args.labels
  const clusters = describeClusters(
    scratch + args.describedAt,
    args.clusters,
    args.centers,
    args.sums,
    args.squares,
    args.sumStride,
    args.unit,
  )
  const places = args.groups * args.largest
  for (let place: u32 = 0; place < places; place++) {
    const wanted = load<u32>(args.proposals + ((<usize>place) << 2))
    if (wanted === NO_LABEL) continue
    const point = pointAt(args.members, args.offsets, args.order, args.largest, place, args.domainFrom)
    const own = load<u32>(labels + ((<usize>point) << 2))
    if (!applyOne(points, point, own, wanted, weightOf(args.weights, point), clusters)) continue
    store<u32>(labels + ((<usize>point) << 2), wanted)
    if (!args.quantized) continue
    refreshCenter(args.centers, points.stride, args.header, args.quantized, args.starts, own)
    refreshCenter(args.centers, points.stride, args.header, args.quantized, args.starts, wanted)
  }
}

/**
 * One item: the moves of a batch in order, with their turns. moves: [count, touched clusters, 0, 0], then MOVE_WORDS words a
 * move: point, both clusters, and the turns at these. turns: [k][2], turns given out and turns over; both are equal
 * between batches. touched: the clusters of the moves, each once.
 */
export function scheduleMoves(_start: u32, _end: u32, _scratch: usize, args: ScheduleMovesArgs): void {
  const labels = args.labels
  const turns = args.turns
  const touched = args.touched
  let out = args.moves + 16
  let count: u32 = 0
  let clusters: u32 = 0
  const places = args.groups * args.largest
  for (let place: u32 = 0; place < places; place++) {
    const wanted = load<u32>(args.proposals + ((<usize>place) << 2))
    if (wanted === NO_LABEL) continue
    const point = pointAt(args.members, args.offsets, args.order, args.largest, place, args.domainFrom)
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
  store<u32>(args.moves, count)
  store<u32>(args.moves, clusters, 4)
}

/** The row of the point at a place of the batch. */
function pointAt(members: usize, offsets: usize, order: usize, largest: u32, place: u32, domainFrom: u32): u32 {
  const group = load<u32>(order + ((<usize>(place / largest)) << 2))
  const member = load<u32>(offsets + ((<usize>group) << 2)) + (place % largest)
  return load<u32>(members + ((<usize>member) << 2)) - domainFrom
}

/** Items are moves, taken in order; those beyond the last do nothing. */
export function applyScheduled(start: u32, end: u32, scratch: usize, args: ApplyScheduledArgs): void {
  const points = args.points
  const turns = args.turns
  const clusters = describeClusters(scratch + args.describedAt, args.clusters, args.centers, 0, 0, 0, args.unit)
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
    if (applyOne(points, point, own, wanted, weight, clusters)) store<u32>(args.labels + ((<usize>point) << 2), wanted)
    passTurn(here, load<u32>(move, 12) + 1)
    passTurn(there, load<u32>(move, 16) + 1)
  }
}

function moveAt(moves: usize, i: u32): usize {
  return moves + 16 + ((<usize>i * MOVE_WORDS) << 2)
}

/** Items are the clusters of the moves: their centres as integers. */
export function refreshCenters(start: u32, end: u32, _scratch: usize, args: RefreshCentersArgs): void {
  const last = min(end, load<u32>(args.moves, 4))
  for (let i = start; i < last; i++) {
    const cluster = load<u32>(args.touched + ((<usize>i) << 2))
    refreshCenter(args.centers, args.stride, args.header, args.quantized, args.starts, cluster)
  }
}

function refreshCenter(
  centers: usize,
  stride: u32,
  header: usize,
  quantized: usize,
  starts: usize,
  cluster: u32,
): void {
  const center = centers + ((<usize>cluster * stride) << 2)
  quantizeCenter(center, stride, load<f32>(header), quantized, starts, cluster)
}

/** True if the move still pays: both clusters are then as after it. */
function applyOne(points: Rows, point: u32, own: u32, wanted: u32, weight: f32, clusters: Clusters): bool {
  if (wanted === own || !clusters.mayLeave(own, weight)) return false
  const length = clusters.length(points, point)
  const here = clusters.measure(points, point, own)
  const there = clusters.measure(points, point, wanted)
  const stay = clusters.toStay(here, length, own, weight)
  const join = clusters.toJoin(there, length, wanted, weight)
  // Costs of unit vectors are differences of lengths, wrong by shares of the weight.
  if (!(stay - join > LEAST_GAIN * (clusters.unit ? <f64>weight : stay))) return false
  clusters.shift(points, point, own, here, length, weight, -1)
  clusters.shift(points, point, wanted, there, length, weight, 1)
  return true
}

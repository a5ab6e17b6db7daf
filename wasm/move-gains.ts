/**
 * k-means#: for every point of a batch, the cluster to which moving it lowers the objective most, given the current sums.
 *
 *     cost of staying    w W / (W - w) d^2     in the current cluster
 *     cost of joining    w W / (W + w) d^2     in each candidate
 *
 * move-costs.ts derives these costs. The best move goes to the candidate of the lowest cost, if that is below the cost of staying. The
 * factor of joining is below 1 and that of staying above 1, so points also move to clusters whose centre is slightly farther away.
 * Dense rows are compared in integers first; move-gains-quantized.ts derives the error bound.
 *
 * Points are in groups that share their candidates. Items are the groups of the batch. Members are rows of a domain, of which this
 * device can hold only some, as in assign-leaves.ts; others are skipped. The result of a point does not depend on other points.
 */
import {
  ALL_HELD,
  AMONG_ALL,
  AMONG_LABELS,
  MOVE_BLOCK,
  MoveGainsArgs,
  NO_LABEL,
  TURN_FACTOR,
} from './build/assembly/arguments'
import { candidateAt, collectLabels, listPlaces, placesInside, rowAt } from './group-labels'
import { massOf, weightOf } from './move-costs'
import { proposeInFours } from './move-gains-quantized'
import { costToJoinSum, describeClusters } from './moving-clusters'
import { SPARSE } from './rows'
import { touchPoints } from './touch'

export function moveGains(start: u32, end: u32, scratch: usize, args: MoveGainsArgs): void {
  const points = args.points
  const members = args.members
  const offsets = args.offsets
  const order = args.order
  const largest = args.largest
  const among = args.among
  const width = args.width
  const domainFrom = args.domainFrom
  const held = args.held
  const found = scratch + args.foundAt
  const places = scratch + args.placesAt
  const sparse = points.kind === SPARSE
  listPlaces(largest, places)
  let touched: u32 = 0
  for (let g = start; g < end; g++) {
    const group = load<u32>(order + ((<usize>g) << 2))
    if (g + 1 < end && !sparse) {
      const next = offsets + ((<usize>load<u32>(order + ((<usize>g) << 2), 4)) << 2)
      touched += touchPoints(
        points.data,
        points.bytes,
        members,
        load<u32>(next),
        load<u32>(next, 4),
        args.domainLabels,
        domainFrom,
        held,
      )
    }
    const from = load<u32>(offsets + ((<usize>group) << 2))
    const to = load<u32>(offsets + ((<usize>group) << 2), 4)
    const out = args.proposals + ((<usize>g * largest) << 2)
    memory.fill(out, 0xff, (<usize>largest) << 2)
    let count = width
    let list: usize = 0
    if (among === AMONG_LABELS) {
      list = found
      count = collectLabels(members, args.domainLabels, from, to, found)
    } else if (among > AMONG_ALL) list = args.lists + ((<usize>group * width) << 2)
    const inside = placesInside(members, from, to, domainFrom, held, places)
    store<u32>(args.evaluated + ((<usize>group) << 2), count * inside)
    // All points have the same label, so none can move. Labels of the domain can be older than those of the points.
    if (among === AMONG_LABELS && count < 2 && held === ALL_HELD) continue
    if (sparse) proposeSparse(args, scratch, from, inside, list, count, out)
    else proposeInFours(args, scratch, from, inside, list, count, out)
  }
  store<u32>(scratch + args.dotsAt, touched)
}

/** The moves of the points of a group, as in move-gains-quantized.ts, for sparse rows. */
function proposeSparse(
  args: MoveGainsArgs,
  scratch: usize,
  from: u32,
  inside: u32,
  list: usize,
  count: u32,
  out: usize,
): void {
  const points = args.points
  const first = args.firstGain
  const masses = args.clusters
  const squares = args.squares
  const unit = args.unit
  const dots = scratch + args.dotsAt
  const places = scratch + args.placesAt
  const clusters = describeClusters(
    scratch + args.describedAt,
    args.clusters,
    args.centers,
    args.sums,
    args.squares,
    args.sumStride,
    args.unit,
  )
  for (let i: u32 = 0; i < inside; i++) {
    const at = load<u32>(places + ((<usize>i) << 2))
    const point = rowAt(args.members, from, at, args.domainFrom)
    const own = load<u32>(args.labels + ((<usize>point) << 2))
    const weight = weightOf(args.weights, point)
    if (!clusters.mayLeave(own, weight)) continue
    let label = NO_LABEL
    const length = clusters.length(points, point)
    let lowest = clusters.toStay(clusters.measure(points, point, own), length, own, weight)
    let block = NO_LABEL
    const turn: u32 = first ? ((from + (at & ~3)) * TURN_FACTOR) % max<u32>(count, 1) : 0
    for (let j: u32 = 0; j < count; j++) {
      const candidate = candidateAt(list, j, turn, count)
      if (candidate === own) continue
      let dot: f64
      if (list) dot = clusters.measure(points, point, candidate)
      else {
        if (candidate / MOVE_BLOCK !== block) {
          block = candidate / MOVE_BLOCK
          clusters.dotBlock(points, point, block * MOVE_BLOCK, dots)
        }
        dot = <f64>load<f32>(dots + ((<usize>(candidate % MOVE_BLOCK)) << 2))
      }
      const mass = massOf(masses, candidate)
      const cost = costToJoinSum(dot, length, squares, candidate, mass, weight, unit)
      if (cost < lowest || (cost === lowest && label !== NO_LABEL && candidate < label)) {
        lowest = cost
        label = candidate
        if (first) break
      }
    }
    store<u32>(out + ((<usize>at) << 2), label)
  }
}

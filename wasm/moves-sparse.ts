/**
 * k-means# over sparse rows: moves that pay for the points of a batch, and doing them. A cluster is the
 * sum D of its points, so that a move changes only the row's own columns: with the dot product D.x,
 * |D + w x|^2 = |D|^2 + 2 w D.x + w^2 |x|^2, and |x - D / W|^2 = |x|^2 - 2 D.x / W + |D|^2 / W^2.
 *
 * Sums lie column by column, [column][lanes], lanes being k rounded up to 4: an entry then meets many
 * clusters side by side. Squares: |D|^2, f64 [k].
 */
import {
  AMONG_ALL,
  AMONG_LABELS,
  ApplyMovesSparseArgs,
  LEAST_GAIN,
  LEAST_LEFT,
  MOVE_BLOCK,
  MoveGainsSparseArgs,
  NO_LABEL,
  PrepareMovesSparseArgs,
  TURN_FACTOR,
} from './build/assembly/arguments'
import { collectLabels, listPlaces, placesInside, rowAt } from './group-labels'
import { massOf, mayLeave, setCluster, weightOf } from './prices'
import { madd, storeTransposed } from './simd'

/** Items are four clusters each: masses, sizes and sums as `accumulate` leaves them, brought into columns. */
export function prepareMovesSparse(start: u32, end: u32, _scratch: usize, args: PrepareMovesSparseArgs): void {
  const given = args.given
  const k = args.k
  const stride = args.stride
  const lanes = args.lanes
  const rowBytes = (<usize>stride) << 2
  const step = (<usize>lanes) << 2
  const zero = f32x4.splat(0)
  for (let item = start; item < end; item++) {
    const first = item << 2
    const r0 = given + <usize>first * rowBytes
    const r1 = r0 + rowBytes
    const r2 = r1 + rowBytes
    const r3 = r2 + rowBytes
    let out = args.sums + ((<usize>first) << 2)
    for (let at: usize = 0; at < rowBytes; at += 16) {
      storeTransposed(
        v128.load(r0 + at),
        first + 1 < k ? v128.load(r1 + at) : zero,
        first + 2 < k ? v128.load(r2 + at) : zero,
        first + 3 < k ? v128.load(r3 + at) : zero,
        out,
        step,
      )
      out += step << 2
    }
    for (let cluster = first; cluster < min(first + 4, k); cluster++) {
      const row = given + <usize>cluster * rowBytes
      let sum: f64 = 0
      for (let at: usize = 0; at < rowBytes; at += 4) {
        const value = <f64>load<f32>(row + at)
        sum += value * value
      }
      store<f64>(args.squares + ((<usize>cluster) << 3), sum)
      const at = args.clusters + ((<usize>cluster) << 3)
      store<f32>(at, args.unit ? <f32>Math.sqrt(sum) : load<f32>(args.totals + ((<usize>cluster) << 2)))
      store<f32>(at, <f32>load<u32>(args.counts + ((<usize>cluster) << 2)), 4)
    }
  }
}

/** Items are the batch's groups, as in move-gains.ts. */
export function moveGainsSparse(start: u32, end: u32, scratch: usize, args: MoveGainsSparseArgs): void {
  const points = args.points
  const values = points.data
  const columns = points.columns
  const clusters = args.clusters
  const sums = args.sums
  const squares = args.squares
  const lanes = args.lanes
  const members = args.members
  const offsets = args.offsets
  const largest = args.largest
  const among = args.among
  const width = args.width
  const unit = args.unit
  const first = args.first
  const domainLabels = args.domainLabels
  const domainFrom = args.domainFrom
  const held = args.held
  const dots = scratch + args.dotsAt
  const found = scratch + args.foundAt
  const inside = scratch + args.placesAt
  listPlaces(largest, inside)
  for (let g = start; g < end; g++) {
    const group = load<u32>(args.order + ((<usize>g) << 2))
    const from = load<u32>(offsets + ((<usize>group) << 2))
    const to = load<u32>(offsets + ((<usize>group) << 2), 4)
    let count = width
    let list: usize = 0
    if (among === AMONG_LABELS) {
      list = found
      count = collectLabels(members, domainLabels, from, to, found)
    } else if (among !== AMONG_ALL) list = args.lists + ((<usize>group * width) << 2)
    const out = args.proposals + ((<usize>g * largest) << 2)
    memory.fill(out, 0xff, (<usize>(to - from)) << 2)
    const present = placesInside(members, from, to, domainFrom, held, inside)
    store<u32>(args.looked + ((<usize>group) << 2), count * present)
    for (let i: u32 = 0; i < present; i++) {
      const at = load<u32>(inside + ((<usize>i) << 2))
      const point = rowAt(members, from, at, domainFrom)
      const entry = points.first(point)
      const last = points.end(point)
      const own = load<u32>(args.labels + ((<usize>point) << 2))
      const weight = <f64>weightOf(args.weights, point)
      let label = NO_LABEL
      if (mayLeave(clusters, own, <f32>weight, unit)) {
        const length = squareSum(values, entry, last)
        const ownDot = dotOne(values, columns, entry, last, sums, lanes, own)
        let lowest = toStay(ownDot, length, clusters, squares, own, weight, unit)
        let block = NO_LABEL
        const turn: u32 = first ? ((from + (at & ~3)) * TURN_FACTOR) % max<u32>(count, 1) : 0
        for (let j: u32 = 0; j < count; j++) {
          const place = j + turn < count ? j + turn : j + turn - count
          const candidate = list ? load<u32>(list + ((<usize>place) << 2)) : place
          if (candidate === own) continue
          let dot: f64
          if (list) dot = dotOne(values, columns, entry, last, sums, lanes, candidate)
          else {
            if (candidate / MOVE_BLOCK !== block) {
              block = candidate / MOVE_BLOCK
              dotBlock(values, columns, entry, last, sums, lanes, block * MOVE_BLOCK, dots)
            }
            dot = <f64>load<f32>(dots + ((<usize>(candidate % MOVE_BLOCK)) << 2))
          }
          const price = toJoin(dot, length, clusters, squares, candidate, weight, unit)
          if (price < lowest || (price === lowest && label !== NO_LABEL && candidate < label)) {
            lowest = price
            label = candidate
            if (first) break
          }
        }
      }
      store<u32>(out + ((<usize>at) << 2), label)
    }
  }
}

/** One item: order matters. */
export function applyMovesSparse(_start: u32, _end: u32, _scratch: usize, args: ApplyMovesSparseArgs): void {
  const points = args.points
  const values = points.data
  const columns = points.columns
  const clusters = args.clusters
  const sums = args.sums
  const squares = args.squares
  const lanes = args.lanes
  const members = args.members
  const offsets = args.offsets
  const largest = args.largest
  const unit = args.unit
  const labels = args.labels
  const proposals = args.proposals
  const groups = args.groups
  for (let g: u32 = 0; g < groups; g++) {
    const group = load<u32>(args.order + ((<usize>g) << 2))
    const from = load<u32>(offsets + ((<usize>group) << 2))
    const to = load<u32>(offsets + ((<usize>group) << 2), 4)
    for (let at = from; at < to; at++) {
      const wanted = load<u32>(proposals + ((<usize>(g * largest + at - from)) << 2))
      if (wanted === NO_LABEL) continue
      const point = load<u32>(members + ((<usize>at) << 2)) - args.domainFrom
      const own = load<u32>(labels + ((<usize>point) << 2))
      const weight = <f64>weightOf(args.weights, point)
      if (wanted === own || !mayLeave(clusters, own, <f32>weight, unit)) continue
      const entry = points.first(point)
      const last = points.end(point)
      const length = squareSum(values, entry, last)
      const here = dotOne(values, columns, entry, last, sums, lanes, own)
      const there = dotOne(values, columns, entry, last, sums, lanes, wanted)
      const stay = toStay(here, length, clusters, squares, own, weight, unit)
      const join = toJoin(there, length, clusters, squares, wanted, weight, unit)
      // Prices of unit vectors are differences of lengths, wrong by shares of the weight.
      if (!(stay - join > LEAST_GAIN * (unit ? weight : stay))) continue
      shift(values, columns, entry, last, sums, lanes, clusters, squares, own, here, length, -weight, unit)
      shift(values, columns, entry, last, sums, lanes, clusters, squares, wanted, there, length, weight, unit)
      store<u32>(labels + ((<usize>point) << 2), wanted)
    }
  }
}

/** Adds a weighted row to a cluster, or takes it away. `dot`: with the cluster's sum as it was. */
function shift(
  values: usize,
  columns: usize,
  from: u32,
  to: u32,
  sums: usize,
  lanes: u32,
  clusters: usize,
  squares: usize,
  cluster: u32,
  dot: f64,
  length: f64,
  weight: f64,
  unit: u32,
): void {
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const at = sums + ((<usize>load<u32>(columns + (entry << 2)) * lanes + cluster) << 2)
    store<f32>(at, <f32>(<f64>load<f32>(at) + weight * <f64>load<f32>(values + (entry << 2))))
  }
  const at = squares + ((<usize>cluster) << 3)
  const square = max<f64>(0, load<f64>(at) + 2 * weight * dot + weight * weight * length)
  store<f64>(at, square)
  const mass = unit ? Math.sqrt(square) : <f64>massOf(clusters, cluster) + weight
  setCluster(clusters, cluster, <f32>mass, weight < 0 ? -1 : 1)
}

/** The prices of prices.ts, from dot products with sums. `length`: |x|^2. */
function toJoin(dot: f64, length: f64, clusters: usize, squares: usize, cluster: u32, weight: f64, unit: u32): f64 {
  const square = load<f64>(squares + ((<usize>cluster) << 3))
  if (!unit) {
    const mass = <f64>massOf(clusters, cluster)
    return mass > 0 ? ((distance(dot, length, square, mass) * mass) / (mass + weight)) * weight : 0
  }
  const more = weight * (2 * dot + weight * length)
  return -more / max<f64>(Math.sqrt(max<f64>(square + more, 0)) + Math.sqrt(square), 1e-30)
}

function toStay(dot: f64, length: f64, clusters: usize, squares: usize, cluster: u32, weight: f64, unit: u32): f64 {
  const square = load<f64>(squares + ((<usize>cluster) << 3))
  if (!unit) {
    const mass = <f64>massOf(clusters, cluster)
    return ((distance(dot, length, square, mass) * mass) / (mass - weight)) * weight
  }
  const less = weight * (2 * dot - weight * length)
  // What stays behind would have no direction worth the name.
  if (!(square - less > LEAST_LEFT * weight * weight)) return -Infinity
  return -less / max<f64>(Math.sqrt(square - less) + Math.sqrt(square), 1e-30)
}

function distance(dot: f64, length: f64, square: f64, mass: f64): f64 {
  return max<f64>(0, length + (square / mass - 2 * dot) / mass)
}

function squareSum(values: usize, from: u32, to: u32): f64 {
  let sum: f64 = 0
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const value = <f64>load<f32>(values + (entry << 2))
    sum += value * value
  }
  return sum
}

function dotOne(values: usize, columns: usize, from: u32, to: u32, sums: usize, lanes: u32, cluster: u32): f64 {
  let dot: f64 = 0
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const at = sums + ((<usize>load<u32>(columns + (entry << 2)) * lanes + cluster) << 2)
    dot += <f64>load<f32>(values + (entry << 2)) * <f64>load<f32>(at)
  }
  return dot
}

/** Dot products with up to MOVE_BLOCK clusters from `first` on, in 32 bits: they only propose. */
function dotBlock(
  values: usize,
  columns: usize,
  from: u32,
  to: u32,
  sums: usize,
  lanes: u32,
  first: u32,
  out: usize,
): void {
  const base = sums + ((<usize>first) << 2)
  const present = min(MOVE_BLOCK, lanes - first)
  let done: u32 = 0
  for (; done + 16 <= present; done += 16) {
    const start = base + ((<usize>done) << 2)
    let a = f32x4.splat(0)
    let b = a
    let c = a
    let d = a
    for (let entry = <usize>from; entry < <usize>to; entry++) {
      const value = v128.load32_splat(values + (entry << 2))
      const at = start + ((<usize>load<u32>(columns + (entry << 2)) * lanes) << 2)
      a = madd(value, v128.load(at), a)
      b = madd(value, v128.load(at, 16), b)
      c = madd(value, v128.load(at, 32), c)
      d = madd(value, v128.load(at, 48), d)
    }
    const to4 = out + ((<usize>done) << 2)
    v128.store(to4, a)
    v128.store(to4, b, 16)
    v128.store(to4, c, 32)
    v128.store(to4, d, 48)
  }
  for (; done < present; done += 4) {
    const start = base + ((<usize>done) << 2)
    let a = f32x4.splat(0)
    for (let entry = <usize>from; entry < <usize>to; entry++) {
      const at = start + ((<usize>load<u32>(columns + (entry << 2)) * lanes) << 2)
      a = madd(v128.load32_splat(values + (entry << 2)), v128.load(at), a)
    }
    v128.store(out + ((<usize>done) << 2), a)
  }
}

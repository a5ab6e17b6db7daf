/**
 * Moves that were proposed for a batch, one after the other: each is measured again against sums and
 * sizes as they now stand, and dropped unless it still pays. One item: order matters. Members that
 * this device does not hold have no proposals; points, weights and labels begin with member `domainFrom`.
 */
import { ApplyMovesArgs, LEAST_GAIN, NO_LABEL, PrepareMovesArgs } from './build/assembly/arguments'
import { massOf, mayLeave, priceToJoin, priceToStay, setCluster, weightOf } from './prices'
import { quantizeCenter } from './quantized-rows'
import { loadFour, madd, squaredDistance, squaredLength } from './simd'

export function applyMoves(_start: u32, _end: u32, _scratch: usize, args: ApplyMovesArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const clusters = args.clusters
  const header = args.header
  const quantized = args.quantized
  const starts = args.starts
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
      const weight = weightOf(args.weights, point)
      if (wanted === own || !mayLeave(clusters, own, weight, unit)) continue
      const row = points.at(point)
      const squares = unit ? squaredLength(row, kind, stride) : 0
      const here = centers + ((<usize>own * stride) << 2)
      const there = centers + ((<usize>wanted * stride) << 2)
      const stay = priceToStay(squaredDistance(row, kind, here, stride), squares, massOf(clusters, own), weight, unit)
      const join = priceToJoin(
        squaredDistance(row, kind, there, stride),
        squares,
        massOf(clusters, wanted),
        weight,
        unit,
      )
      // Prices of unit vectors are differences of lengths, wrong by shares of the weight.
      if (!(stay - join > <f32>LEAST_GAIN * (unit ? weight : stay))) continue
      shift(row, kind, stride, here, clusters, own, -weight, -1, unit)
      shift(row, kind, stride, there, clusters, wanted, weight, 1, unit)
      quantizeCenter(here, stride, load<f32>(header), quantized, starts, own)
      quantizeCenter(there, stride, load<f32>(header), quantized, starts, wanted)
      store<u32>(labels + ((<usize>point) << 2), wanted)
    }
  }
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

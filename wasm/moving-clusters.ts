/**
 * Clusters while points move among them, for rows of any kind.
 *
 * Dense rows: centres, f32 [k][stride], with masses and sizes. Sparse rows: a cluster is the sum D of its points, so that a
 * move changes only the row's own columns: with the dot product D.x, |D + w x|^2 = |D|^2 + 2 w D.x + w^2 |x|^2, and
 * |x - D / W|^2 = |x|^2 - 2 D.x / W + |D|^2 / W^2. Sums lie column by column, [column][sumStride], sumStride being k rounded up
 * to 4: an entry then meets many clusters side by side. Squares: |D|^2, f64 [k].
 */
import { LEAST_LEFT, MOVE_BLOCK, PrepareMovesArgs, SumColumnsArgs } from './build/assembly/arguments'
import { costToJoin, costToStay, massOf, mayLeave, setCluster } from './move-costs'
import { quantizeCenter } from './quantized-rows'
import { Rows } from './rows'
import { loadFour, madd, squaredDistance, squaredLength, storeTransposed } from './simd'

@unmanaged
export class Clusters {
  /** f32 [k][2]: mass and number of points. */
  masses: usize
  centers: usize
  /** 0 for dense rows. */
  sums: usize
  squares: usize
  sumStride: u32
  /** Vectors and centres have length one. */
  unit: u32

  mayLeave(cluster: u32, weight: f32): bool {
    return mayLeave(this.masses, cluster, weight, this.unit)
  }

  /** Squared length of a row, where costs take it. */
  length(points: Rows, row: u32): f64 {
    if (this.sums) return squareSum(points.data, points.first(row), points.end(row))
    return this.unit ? <f64>squaredLength(points.at(row), points.kind, points.stride) : 0
  }

  /** What costs are made of: the squared distance to the centre, or of sparse rows the dot product with the sum. */
  measure(points: Rows, row: u32, cluster: u32): f64 {
    if (this.sums) return this.dot(points.data, points.columns, points.first(row), points.end(row), cluster)
    const stride = points.stride
    return <f64>squaredDistance(points.at(row), points.kind, this.centers + ((<usize>cluster * stride) << 2), stride)
  }

  /** The costs of move-costs.ts. */
  toStay(measured: f64, length: f64, cluster: u32, weight: f32): f64 {
    const mass = massOf(this.masses, cluster)
    if (!this.sums) return <f64>costToStay(<f32>measured, <f32>length, mass, weight, this.unit)
    const square = load<f64>(this.squares + ((<usize>cluster) << 3))
    const w = <f64>weight
    if (!this.unit) return ((distance(measured, length, square, <f64>mass) * <f64>mass) / (<f64>mass - w)) * w
    const less = w * (2 * measured - w * length)
    // The direction of the remaining sum would be only rounding error.
    if (!(square - less > LEAST_LEFT * w * w)) return -Infinity
    return -less / max<f64>(Math.sqrt(square - less) + Math.sqrt(square), 1e-30)
  }

  toJoin(measured: f64, length: f64, cluster: u32, weight: f32): f64 {
    const mass = massOf(this.masses, cluster)
    if (!this.sums) return <f64>costToJoin(<f32>measured, <f32>length, mass, weight, this.unit)
    return costToJoinSum(measured, length, this.squares, cluster, mass, weight, this.unit)
  }

  /** Adds a weighted row to a cluster (side 1), or takes it away (side -1). Measures as the cluster was. */
  shift(points: Rows, row: u32, cluster: u32, measured: f64, length: f64, weight: f32, side: f32): void {
    if (this.sums) this.shiftSum(points, row, cluster, measured, length, <f64>(weight * side), side)
    else this.shiftCenter(points, row, cluster, weight * side, side)
  }

  private shiftCenter(points: Rows, row: u32, cluster: u32, weight: f32, side: f32): void {
    const kind = points.kind
    const stride = points.stride
    const point = points.at(row)
    const center = this.centers + ((<usize>cluster * stride) << 2)
    const mass = massOf(this.masses, cluster)
    if (!this.unit) {
      const after = mass + weight
      const step = f32x4.splat(weight / after)
      for (let column: u32 = 0; column < stride; column += 4) {
        const place = center + ((<usize>column) << 2)
        const old = v128.load(place)
        v128.store(place, madd(f32x4.sub(loadFour(point, kind, column), old), step, old))
      }
      setCluster(this.masses, cluster, after, side)
      return
    }
    const held = f32x4.splat(mass)
    const pull = f32x4.splat(weight)
    let squares: f64 = 0
    for (let column: u32 = 0; column < stride; column += 4) {
      const place = center + ((<usize>column) << 2)
      const sum = madd(loadFour(point, kind, column), pull, f32x4.mul(v128.load(place), held))
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
    setCluster(this.masses, cluster, <f32>length, side)
  }

  private shiftSum(points: Rows, row: u32, cluster: u32, dot: f64, length: f64, weight: f64, side: f32): void {
    const values = points.data
    const columns = points.columns
    const sums = this.sums
    const to = <usize>points.end(row)
    for (let entry = <usize>points.first(row); entry < to; entry++) {
      const at = sums + ((<usize>load<u32>(columns + (entry << 2)) * this.sumStride + cluster) << 2)
      store<f32>(at, <f32>(<f64>load<f32>(at) + weight * <f64>load<f32>(values + (entry << 2))))
    }
    const at = this.squares + ((<usize>cluster) << 3)
    const square = max<f64>(0, load<f64>(at) + 2 * weight * dot + weight * weight * length)
    store<f64>(at, square)
    const mass = this.unit ? Math.sqrt(square) : <f64>massOf(this.masses, cluster) + weight
    setCluster(this.masses, cluster, <f32>mass, side)
  }

  /** Of the entries from..to of a sparse row with the sum of a cluster. */
  private dot(values: usize, columns: usize, from: u32, to: u32, cluster: u32): f64 {
    const sums = this.sums
    const sumStride = <usize>this.sumStride
    let dot: f64 = 0
    for (let entry = <usize>from; entry < <usize>to; entry++) {
      const at = sums + ((<usize>load<u32>(columns + (entry << 2)) * sumStride + cluster) << 2)
      dot += <f64>load<f32>(values + (entry << 2)) * <f64>load<f32>(at)
    }
    return dot
  }

  /** Dot products of a sparse row with up to MOVE_BLOCK clusters from `first` on, in 32 bits: they only propose. */
  dotBlock(points: Rows, row: u32, first: u32, out: usize): void {
    const values = points.data
    const columns = points.columns
    const from = <usize>points.first(row)
    const to = <usize>points.end(row)
    const sumStride = <usize>this.sumStride
    const base = this.sums + ((<usize>first) << 2)
    const present = min(MOVE_BLOCK, this.sumStride - first)
    let done: u32 = 0
    for (; done + 16 <= present; done += 16) {
      const start = base + ((<usize>done) << 2)
      let a = f32x4.splat(0)
      let b = a
      let c = a
      let d = a
      for (let entry = from; entry < to; entry++) {
        const value = v128.load32_splat(values + (entry << 2))
        const at = start + ((<usize>load<u32>(columns + (entry << 2)) * sumStride) << 2)
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
      for (let entry = from; entry < to; entry++) {
        const at = start + ((<usize>load<u32>(columns + (entry << 2)) * sumStride) << 2)
        a = madd(v128.load32_splat(values + (entry << 2)), v128.load(at), a)
      }
      v128.store(out + ((<usize>done) << 2), a)
    }
  }
}

/** Describes clusters in other memory; the description takes the bytes of a Clusters at `at`. */
export function describeClusters(
  at: usize,
  masses: usize,
  centers: usize,
  sums: usize,
  squares: usize,
  sumStride: u32,
  unit: u32,
): Clusters {
  const clusters = changetype<Clusters>(at)
  clusters.masses = masses
  clusters.centers = centers
  clusters.sums = sums
  clusters.squares = squares
  clusters.sumStride = sumStride
  clusters.unit = unit
  return clusters
}

function distance(dot: f64, length: f64, square: f64, mass: f64): f64 {
  return max<f64>(0, length + (square / mass - 2 * dot) / mass)
}

/** Of a sparse row, from its dot product with the sum of a cluster. */
export function costToJoinSum(
  dot: f64,
  length: f64,
  squares: usize,
  cluster: u32,
  mass: f64,
  weight: f64,
  unit: u32,
): f64 {
  const square = load<f64>(squares + ((<usize>cluster) << 3))
  if (!unit) return mass > 0 ? ((distance(dot, length, square, mass) * mass) / (mass + weight)) * weight : 0
  const more = weight * (2 * dot + weight * length)
  return -more / max<f64>(Math.sqrt(max<f64>(square + more, 0)) + Math.sqrt(square), 1e-30)
}

/** Of the numbers from..to. */
function squareSum(values: usize, from: u32, to: u32): f64 {
  let sum: f64 = 0
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const value = <f64>load<f32>(values + (entry << 2))
    sum += value * value
  }
  return sum
}

/**
 * Items are clusters: mass and size from sums and weights as `accumulate` leaves them; of dense rows the centres as integers,
 * of sparse rows the squared length of the sum.
 */
export function prepareMoves(start: u32, end: u32, _scratch: usize, args: PrepareMovesArgs): void {
  const stride = args.stride
  const clusters = args.clusters
  const scale: f32 = args.quantized ? load<f32>(args.header) : 0
  for (let cluster = start; cluster < end; cluster++) {
    const at = (<usize>cluster) << 2
    const square = args.unit || args.squares ? squareSum(args.given + at * stride, 0, stride) : 0
    const mass = args.unit ? <f32>Math.sqrt(square) : load<f32>(args.totals + at)
    store<f32>(clusters + (at << 1), mass)
    store<f32>(clusters + (at << 1), <f32>load<u32>(args.counts + at), 4)
    if (args.squares) store<f64>(args.squares + (at << 1), square)
    if (!args.quantized) continue
    quantizeCenter(args.centers + at * stride, stride, scale, args.quantized, args.starts, cluster)
  }
}

/** Items are four clusters each: their sums, brought into columns. */
export function sumColumns(start: u32, end: u32, _scratch: usize, args: SumColumnsArgs): void {
  const k = args.k
  const step = (<usize>args.sumStride) << 2
  const rowBytes = (<usize>args.stride) << 2
  const zero = f32x4.splat(0)
  for (let item = start; item < end; item++) {
    const first = item << 2
    const r0 = args.given + <usize>first * rowBytes
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
  }
}

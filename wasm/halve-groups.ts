/**
 * A round of many 2-means at once: the points of a group, listed one after the other, go to the nearer of its two centres and
 * are summed there. The centres stay in the nearest cache, and each row is read once. Items are groups; the centres, sums and
 * labels of group g are 2 g and 2 g + 1.
 */
import { HalveGroupsArgs, MeasureHalvesArgs, QUANTIZED_LENGTH } from './build/assembly/arguments'
import { dotBytes, quantizeRow, wideStride } from './quantized-rows'
import { Rows } from './rows'
import { loadFour, madd, squaredDistance, sumLanes } from './simd'
import { AHEAD, touchRow } from './touch'
import { isRoutedInIntegers } from './tree-top'

/** Rows that are summed by themselves before they are added to the rest: sums of so few bytes fit 16 bits. */
const PIECE: u32 = 256

/** offsets: u32 [groups + 1], into `order`. Sums are on top of what is there. */
export function halveGroups(start: u32, end: u32, scratch: usize, args: HalveGroupsArgs): void {
  const points = args.points
  const stride = points.stride
  const width = (<usize>stride) << 2
  const weights = args.weights
  const asIntegers = isRoutedInIntegers(points)
  const partial = scratch + args.partialAt
  const plane = scratch + args.planeAt
  // Rows of the next groups are asked for as well.
  const all = load<u32>(args.offsets + ((<usize>end) << 2))
  let touched: u32 = 0
  for (let group = start; group < end; group++) {
    const from = load<u32>(args.offsets + ((<usize>group) << 2))
    const to = load<u32>(args.offsets + ((<usize>group) << 2), 4)
    const first = args.centers + 2 * <usize>group * width
    const sums = args.sums + 2 * <usize>group * width
    const totals = args.totals + ((<usize>group) << 3)
    const threshold: f32 = asIntegers && to > from ? planeBetween(first, stride, plane) : 0
    for (let piece = from; piece < to; piece += PIECE) {
      const last = min(to, piece + PIECE)
      touched += asIntegers
        ? chooseByPlane(args, group, piece, last, all, plane, threshold)
        : chooseByDistance(args, group, piece, last, all, first)
      memory.fill(partial, 0, 2 * width)
      if (asIntegers && !weights) sumBytes(args, piece, last, partial)
      else sumWeighted(args, piece, last, partial)
      let whole: f64 = 0
      let far: f64 = 0
      for (let at = piece; at < last; at++) {
        const point = (<usize>load<u32>(args.order + ((<usize>at) << 2))) << 2
        const weight = <f64>(weights ? load<f32>(weights + point) : <f32>1)
        whole += weight
        far += weight * <f64>(load<u32>(args.labels + point) & 1)
      }
      if (asIntegers && !weights) {
        for (let column: usize = 0; column < 2 * <usize>stride; column += 4) {
          const sum = f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(v128.load64_zero(partial + (column << 1))))
          v128.store(sums + (column << 2), f32x4.add(v128.load(sums + (column << 2)), sum))
        }
      } else {
        for (let place: usize = 0; place < 2 * width; place += 16) {
          v128.store(sums + place, f32x4.add(v128.load(sums + place), v128.load(partial + place)))
        }
      }
      store<f32>(totals, <f32>(<f64>load<f32>(totals) + (whole - far)))
      store<f32>(totals, <f32>(<f64>load<f32>(totals, 4) + far), 4)
    }
  }
  store<u32>(plane, touched)
}

/**
 * The plane halfway between two centres, with a direction of integers; returns where it lies along that. Rounding moves the
 * plane by a few ten thousandths of the distance between the centres.
 */
function planeBetween(first: usize, stride: u32, plane: usize): f32 {
  const second = first + ((<usize>stride) << 2)
  const difference = plane + <usize>wideStride(stride) * 2
  let squares: f64 = 0
  for (let column: usize = 0; column < (<usize>stride) << 2; column += 4) {
    const gap = load<f32>(second + column) - load<f32>(first + column)
    store<f32>(difference + column, gap)
    squares += <f64>gap * <f64>gap
  }
  const scale: f64 = squares > 0 ? <f64>QUANTIZED_LENGTH / sqrt<f64>(squares) : 0
  quantizeRow(difference, 0, stride, <f32>scale, plane)
  // Taken with the rounded direction, so that a point halfway lies on the plane.
  let along: f64 = 0
  for (let column: usize = 0; column < <usize>stride; column++) {
    const middle = (<f64>load<f32>(first + (column << 2)) + <f64>load<f32>(second + (column << 2))) * 0.5
    along += middle * <f64>load<i16>(plane + (column << 1))
  }
  return <f32>along
}

function chooseByPlane(
  args: HalveGroupsArgs,
  group: u32,
  from: u32,
  to: u32,
  end: u32,
  plane: usize,
  threshold: f32,
): u32 {
  const points = args.points
  const order = args.order
  let touched: u32 = 0
  for (let at = from; at < to; at++) {
    if (((at - from) & (AHEAD - 1)) === 0) touched += touchAhead(points, order, at, end)
    const point = load<u32>(order + ((<usize>at) << 2))
    const second = u32(<f32>dotBytes(points.at(point), plane, points.stride) > threshold)
    store<u32>(args.labels + ((<usize>point) << 2), 2 * group + second)
  }
  return touched
}

function chooseByDistance(args: HalveGroupsArgs, group: u32, from: u32, to: u32, end: u32, first: usize): u32 {
  const points = args.points
  const order = args.order
  let touched: u32 = 0
  for (let at = from; at < to; at++) {
    if (((at - from) & (AHEAD - 1)) === 0) touched += touchAhead(points, order, at, end)
    const point = load<u32>(order + ((<usize>at) << 2))
    const second = isNearerToSecond(points.at(point), points.kind, first, points.stride)
    store<u32>(args.labels + ((<usize>point) << 2), 2 * group + second)
  }
  return touched
}

/** Sums of both halves in 16 bits. */
function sumBytes(args: HalveGroupsArgs, from: u32, to: u32, words: usize): void {
  const points = args.points
  const bytes = <usize>points.stride
  for (let at = from; at < to; at++) {
    const point = load<u32>(args.order + ((<usize>at) << 2))
    const row = points.at(point)
    const out = words + ((<usize>(load<u32>(args.labels + ((<usize>point) << 2)) & 1) * bytes) << 1)
    let column: usize = 0
    for (; column + 8 <= bytes; column += 8) {
      const place = out + (column << 1)
      v128.store(place, i16x8.add(v128.load(place), v128.load8x8_u(row + column)))
    }
    for (; column < bytes; column++) {
      const place = out + (column << 1)
      store<u16>(place, load<u16>(place) + <u16>load<u8>(row + column))
    }
  }
}

function sumWeighted(args: HalveGroupsArgs, from: u32, to: u32, sums: usize): void {
  const points = args.points
  const stride = points.stride
  for (let at = from; at < to; at++) {
    const point = load<u32>(args.order + ((<usize>at) << 2))
    const row = points.at(point)
    const out = sums + ((<usize>(load<u32>(args.labels + ((<usize>point) << 2)) & 1) * stride) << 2)
    const factor = f32x4.splat(args.weights ? load<f32>(args.weights + ((<usize>point) << 2)) : 1)
    for (let column: u32 = 0; column < stride; column += 4) {
      const place = out + ((<usize>column) << 2)
      v128.store(place, madd(loadFour(row, points.kind, column), factor, v128.load(place)))
    }
  }
}

/** Squared distances of the points to the centre of their half. */
export function measureHalves(start: u32, end: u32, scratch: usize, args: MeasureHalvesArgs): void {
  const points = args.points
  const stride = points.stride
  const width = (<usize>stride) << 2
  const order = args.order
  const first = load<u32>(args.offsets + ((<usize>start) << 2))
  // All groups together: their points follow one another.
  const all = load<u32>(args.offsets + ((<usize>end) << 2))
  let touched: u32 = 0
  for (let at = first; at < all; at++) {
    if (((at - first) & (AHEAD - 1)) === 0) touched += touchAhead(points, order, at, all)
    const point = load<u32>(order + ((<usize>at) << 2))
    const center = args.centers + <usize>load<u32>(args.labels + ((<usize>point) << 2)) * width
    const distance = squaredDistance(points.at(point), points.kind, center, stride)
    store<f32>(args.distances + ((<usize>point) << 2), distance)
  }
  store<u32>(scratch + args.touchedAt, touched)
}

function touchAhead(points: Rows, order: usize, at: u32, to: u32): u32 {
  const stop = min(to, at + 2 * AHEAD)
  let touched: u32 = 0
  for (let next = at + AHEAD; next < stop; next++) {
    touched += touchRow(points.at(load<u32>(order + ((<usize>next) << 2))), points.bytes)
  }
  return touched
}

/** Of two centres that lie one after the other; the first where both are equally near. The bits are those of squaredDistance. */
function isNearerToSecond(row: usize, kind: u32, first: usize, stride: u32): u32 {
  const width = (<usize>stride) << 2
  let evenA = f32x4.splat(0)
  let oddA = evenA
  let evenB = evenA
  let oddB = evenA
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    const low = loadFour(row, kind, column)
    const high = loadFour(row, kind, column + 4)
    const at = first + ((<usize>column) << 2)
    let gap = f32x4.sub(low, v128.load(at))
    evenA = madd(gap, gap, evenA)
    gap = f32x4.sub(high, v128.load(at, 16))
    oddA = madd(gap, gap, oddA)
    gap = f32x4.sub(low, v128.load(at + width))
    evenB = madd(gap, gap, evenB)
    gap = f32x4.sub(high, v128.load(at + width, 16))
    oddB = madd(gap, gap, oddB)
  }
  if (column < stride) {
    const low = loadFour(row, kind, column)
    const at = first + ((<usize>column) << 2)
    let gap = f32x4.sub(low, v128.load(at))
    evenA = madd(gap, gap, evenA)
    gap = f32x4.sub(low, v128.load(at + width))
    evenB = madd(gap, gap, evenB)
  }
  return u32(sumLanes(f32x4.add(evenB, oddB)) < sumLanes(f32x4.add(evenA, oddA)))
}

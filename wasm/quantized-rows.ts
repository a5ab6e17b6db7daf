/**
 * Rows as 16-bit integers, stored one after the other and padded to a multiple of 8 columns (`wideStride`). They are not
 * packed into panels, so kernels whose candidates differ from block to block can read any of them directly.
 */
import { BYTES, MeasureCentersArgs, QuantizeCentersArgs, WorstErrorArgs } from './build/assembly/arguments'
import { LENGTH, marginOf } from './quantized'
import { dotProduct, loadFour, madd, squaredLength, startScore, sumLanes } from './simd'

export function wideStride(stride: u32): u32 {
  return (stride + 7) & ~7
}

/** Writes a scaled, rounded row; returns the length of the rounding error. */
export function quantizeRow(row: usize, kind: u32, stride: u32, scale: f32, out: usize): f32 {
  const factor = f32x4.splat(scale)
  const zero = f32x4.splat(0)
  let error = zero
  for (let column: u32 = 0; column < stride; column += 8) {
    const low = f32x4.mul(loadFour(row, kind, column), factor)
    const high = column + 4 < stride ? f32x4.mul(loadFour(row, kind, column + 4), factor) : zero
    const a = f32x4.nearest(low)
    const b = f32x4.nearest(high)
    const da = f32x4.sub(low, a)
    const db = f32x4.sub(high, b)
    error = madd(da, da, madd(db, db, error))
    v128.store(out, i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b)))
    out += 16
  }
  return Mathf.sqrt(sumLanes(error))
}

/** Bytes are whole numbers already. */
export function widenBytes(row: usize, stride: u32, out: usize): void {
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    v128.store(out, v128.load8x8_u(row + <usize>column))
    out += 16
  }
  if (column < stride) {
    const bytes = v128.load32_zero(row + <usize>column)
    v128.store(out, i16x8.extend_low_i8x16_u(bytes))
  }
}

/** Writes one centre as integers and its starting value; returns the length of the rounding error. */
export function quantizeCenter(row: usize, stride: u32, scale: f32, rows: usize, starts: usize, j: u32): f32 {
  store<f32>(starts + ((<usize>j) << 2), startScore(row, stride, scale))
  return quantizeRow(row, 0, stride, scale, rows + ((<usize>j * wideStride(stride)) << 1))
}

/** Items are centres: quantized i16 [k][wide], starts [k] = -|c|^2 / 2 in the scale of the centres, errors [k]. */
export function quantizeCenters(start: u32, end: u32, _scratch: usize, args: QuantizeCentersArgs): void {
  const stride = args.stride
  const scale = load<f32>(args.header)
  for (let j = start; j < end; j++) {
    const center = args.order ? load<u32>(args.order + ((<usize>j) << 2)) : j
    const row = args.centers + ((<usize>center * stride) << 2)
    const error = quantizeCenter(row, stride, scale, args.quantized, args.starts, j)
    store<f32>(args.errors + ((<usize>j) << 2), error)
  }
}

/** One item: the header gets the scale of the centres and the length of the longest. */
export function measureCenters(_start: u32, _end: u32, _scratch: usize, args: MeasureCentersArgs): void {
  const stride = args.stride
  const count = args.count
  let longest: f32 = 0
  for (let j: u32 = 0; j < count; j++) {
    const row = args.centers + ((<usize>j * stride) << 2)
    longest = max(longest, dotProduct(row, 0, row, stride))
  }
  longest = Mathf.sqrt(longest)
  store<f32>(args.header, longest > 0 ? LENGTH / longest : 1)
  store<f32>(args.header, longest, 4)
}

/** One item: the header gets the worst error of the centres, behind scale and length. */
export function worstError(_start: u32, _end: u32, _scratch: usize, args: WorstErrorArgs): void {
  let worst: f32 = 0
  for (let j: usize = 0; j < <usize>args.count; j++) worst = max(worst, load<f32>(args.errors + (j << 2)))
  store<f32>(args.header, worst, 8)
}

/** Sums of the lanes of four vectors, side by side. */
function sumsOfFour(a: v128, b: v128, c: v128, d: v128): v128 {
  const ab = i32x4.add(
    i8x16.shuffle(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
    i8x16.shuffle(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31),
  )
  const cd = i32x4.add(
    i8x16.shuffle(c, d, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23),
    i8x16.shuffle(c, d, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31),
  )
  return i32x4.add(
    i8x16.shuffle(ab, cd, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
    i8x16.shuffle(ab, cd, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31),
  )
}

/** Four rows against two: writes the four dot products with the first, then those with the second. */
export function dotsFourByTwo(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  c0: usize,
  c1: usize,
  wide: u32,
  out: usize,
): void {
  let a0 = i32x4.splat(0)
  let b0 = a0
  let d0 = a0
  let e0 = a0
  let a1 = a0
  let b1 = a0
  let d1 = a0
  let e1 = a0
  const end = r0 + ((<usize>wide) << 1)
  while (r0 < end) {
    const left = v128.load(c0)
    const right = v128.load(c1)
    let row = v128.load(r0)
    a0 = i32x4.add(a0, i32x4.dot_i16x8_s(row, left))
    a1 = i32x4.add(a1, i32x4.dot_i16x8_s(row, right))
    row = v128.load(r1)
    b0 = i32x4.add(b0, i32x4.dot_i16x8_s(row, left))
    b1 = i32x4.add(b1, i32x4.dot_i16x8_s(row, right))
    row = v128.load(r2)
    d0 = i32x4.add(d0, i32x4.dot_i16x8_s(row, left))
    d1 = i32x4.add(d1, i32x4.dot_i16x8_s(row, right))
    row = v128.load(r3)
    e0 = i32x4.add(e0, i32x4.dot_i16x8_s(row, left))
    e1 = i32x4.add(e1, i32x4.dot_i16x8_s(row, right))
    r0 += 16
    r1 += 16
    r2 += 16
    r3 += 16
    c0 += 16
    c1 += 16
  }
  v128.store(out, sumsOfFour(a0, b0, d0, e0))
  v128.store(out, sumsOfFour(a1, b1, d1, e1), 16)
}

/** Dot product of two rows of integers. */
export function dotWide(a: usize, b: usize, wide: u32): i32 {
  let sum = i32x4.splat(0)
  const end = a + ((<usize>wide) << 1)
  while (a < end) {
    sum = i32x4.add(sum, i32x4.dot_i16x8_s(v128.load(a), v128.load(b)))
    a += 16
    b += 16
  }
  const pairs = i32x4.add(sum, i8x16.shuffle(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return i32x4.extract_lane(pairs, 0) + i32x4.extract_lane(pairs, 1)
}

/** Dot product of a row of bytes with a row of integers. */
export function dotBytes(row: usize, other: usize, stride: u32): i32 {
  let sum = i32x4.splat(0)
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    sum = i32x4.add(sum, i32x4.dot_i16x8_s(v128.load8x8_u(row + <usize>column), v128.load(other)))
    other += 16
  }
  if (column < stride) {
    const bytes = i16x8.extend_low_i8x16_u(v128.load32_zero(row + <usize>column))
    sum = i32x4.add(sum, i32x4.dot_i16x8_s(bytes, v128.load(other)))
  }
  const pairs = i32x4.add(sum, i8x16.shuffle(sum, sum, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return i32x4.extract_lane(pairs, 0) + i32x4.extract_lane(pairs, 1)
}

/** One row against four others. Two vectors of each in a step, as counting takes a good part of the time of one. */
export function dotsOneByFour(row: usize, r0: usize, r1: usize, r2: usize, r3: usize, wide: u32): v128 {
  let a = i32x4.splat(0)
  let b = a
  let c = a
  let d = a
  const end = row + ((<usize>wide & ~15) << 1)
  while (row < end) {
    const even = v128.load(row)
    const odd = v128.load(row, 16)
    a = i32x4.add(a, i32x4.dot_i16x8_s(even, v128.load(r0)))
    b = i32x4.add(b, i32x4.dot_i16x8_s(even, v128.load(r1)))
    c = i32x4.add(c, i32x4.dot_i16x8_s(even, v128.load(r2)))
    d = i32x4.add(d, i32x4.dot_i16x8_s(even, v128.load(r3)))
    a = i32x4.add(a, i32x4.dot_i16x8_s(odd, v128.load(r0, 16)))
    b = i32x4.add(b, i32x4.dot_i16x8_s(odd, v128.load(r1, 16)))
    c = i32x4.add(c, i32x4.dot_i16x8_s(odd, v128.load(r2, 16)))
    d = i32x4.add(d, i32x4.dot_i16x8_s(odd, v128.load(r3, 16)))
    row += 32
    r0 += 32
    r1 += 32
    r2 += 32
    r3 += 32
  }
  if (wide & 8) {
    const rest = v128.load(row)
    a = i32x4.add(a, i32x4.dot_i16x8_s(rest, v128.load(r0)))
    b = i32x4.add(b, i32x4.dot_i16x8_s(rest, v128.load(r1)))
    c = i32x4.add(c, i32x4.dot_i16x8_s(rest, v128.load(r2)))
    d = i32x4.add(d, i32x4.dot_i16x8_s(rest, v128.load(r3)))
  }
  return sumsOfFour(a, b, c, d)
}

/** Dot products of four rows of bytes with a row of integers. */
export function dotFourBytes(r0: usize, r1: usize, r2: usize, r3: usize, other: usize, stride: u32): v128 {
  let a = i32x4.splat(0)
  let b = a
  let c = a
  let d = a
  let column: usize = 0
  for (; column + 8 <= <usize>stride; column += 8) {
    const integers = v128.load(other)
    a = i32x4.add(a, i32x4.dot_i16x8_s(v128.load8x8_u(r0 + column), integers))
    b = i32x4.add(b, i32x4.dot_i16x8_s(v128.load8x8_u(r1 + column), integers))
    c = i32x4.add(c, i32x4.dot_i16x8_s(v128.load8x8_u(r2 + column), integers))
    d = i32x4.add(d, i32x4.dot_i16x8_s(v128.load8x8_u(r3 + column), integers))
    other += 16
  }
  if (column < <usize>stride) {
    const integers = v128.load(other)
    a = i32x4.add(a, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(v128.load32_zero(r0 + column)), integers))
    b = i32x4.add(b, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(v128.load32_zero(r1 + column)), integers))
    c = i32x4.add(c, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(v128.load32_zero(r2 + column)), integers))
    d = i32x4.add(d, i32x4.dot_i16x8_s(i16x8.extend_low_i8x16_u(v128.load32_zero(r3 + column)), integers))
  }
  return sumsOfFour(a, b, c, d)
}

/** The scale in which no sum of a point with any centre can overflow 32 bits, or 0 where there is none. */
export function scaleOf(row: usize, kind: u32, stride: u32, longest: f32): f32 {
  // The length of a row of bytes is at most 255 * sqrt(stride), which is below LENGTH up to 13,840 columns.
  if (kind === BYTES && longest < LENGTH && stride < 13000) return 1
  const length = max(Mathf.sqrt(squaredLength(row, kind, stride)), longest)
  const scale: f32 = length > 0 ? LENGTH / length : 1
  return scale > 0 && scale < 1e38 ? scale : 0
}

/** Writes a point's row as integers in the given scale; returns the margin of its scores (quantized.ts). */
export function quantizePoint(row: usize, kind: u32, stride: u32, scale: f32, worst: f32, out: usize): i32 {
  if (scale === 0) {
    // Every score is then the same, and every candidate is measured exactly.
    memory.fill(out, 0, (<usize>wideStride(stride)) << 1)
    return 0
  }
  if (kind === BYTES && scale === 1) {
    widenBytes(row, stride, out)
    return marginOf(Mathf.sqrt(<f32>dotWide(out, out, wideStride(stride))), 0, worst)
  }
  const error = quantizeRow(row, kind, stride, scale, out)
  const reach = Mathf.sqrt(squaredLength(row, kind, stride)) * scale
  return marginOf(reach, error, worst)
}

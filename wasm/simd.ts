/**
 * The inner loops everything else is made of.
 *
 * Rows on the device are padded with zeros to a multiple of 4 columns ("stride"), so loops run over
 * whole vectors of four. `kind` is FLOATS or BYTES.
 */
import { FLOATS } from './build/assembly/constants'

/** a * b + c, fused where the engine has relaxed SIMD. */
export function madd(a: v128, b: v128, c: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return f32x4.relaxed_madd(a, b, c)
  return f32x4.add(f32x4.mul(a, b), c)
}

export function sumLanes(v: v128): f32 {
  const pairs = f32x4.add(v, i8x16.shuffle(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  return f32x4.extract_lane(pairs, 0) + f32x4.extract_lane(pairs, 1)
}

/** Four columns of a row, as floats. `column` is a multiple of 4. */
export function loadFour(row: usize, kind: u32, column: u32): v128 {
  if (kind === FLOATS) return v128.load(row + ((<usize>column) << 2))
  const bytes = v128.load32_zero(row + <usize>column)
  return f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes)))
}

export function rowBytes(stride: u32, kind: u32): usize {
  return kind === FLOATS ? (<usize>stride) << 2 : <usize>stride
}

/** Squared distance by differences: no cancellation, whatever the offset of the data. */
export function squaredDistance(row: usize, kind: u32, center: usize, stride: u32): f32 {
  let even = f32x4.splat(0)
  let odd = f32x4.splat(0)
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    const a = f32x4.sub(loadFour(row, kind, column), v128.load(center))
    const b = f32x4.sub(loadFour(row, kind, column + 4), v128.load(center, 16))
    even = madd(a, a, even)
    odd = madd(b, b, odd)
    center += 32
  }
  if (column < stride) {
    const a = f32x4.sub(loadFour(row, kind, column), v128.load(center))
    even = madd(a, a, even)
  }
  return sumLanes(f32x4.add(even, odd))
}

/**
 * Squared distances of a row of floats to four others, written to `out`: the same bits as squaredDistance, for fewer
 * loads of the row.
 */
export function fourDistances(row: usize, a: usize, b: usize, c: usize, d: usize, stride: u32, out: usize): void {
  let evenA = f32x4.splat(0)
  let evenB = f32x4.splat(0)
  let evenC = f32x4.splat(0)
  let evenD = f32x4.splat(0)
  let oddA = f32x4.splat(0)
  let oddB = f32x4.splat(0)
  let oddC = f32x4.splat(0)
  let oddD = f32x4.splat(0)
  let at: usize = 0
  const end = (<usize>stride) << 2
  for (; at + 32 <= end; at += 32) {
    const even = v128.load(row + at)
    let gap = f32x4.sub(even, v128.load(a + at))
    evenA = madd(gap, gap, evenA)
    gap = f32x4.sub(even, v128.load(b + at))
    evenB = madd(gap, gap, evenB)
    gap = f32x4.sub(even, v128.load(c + at))
    evenC = madd(gap, gap, evenC)
    gap = f32x4.sub(even, v128.load(d + at))
    evenD = madd(gap, gap, evenD)
    const odd = v128.load(row + at, 16)
    gap = f32x4.sub(odd, v128.load(a + at, 16))
    oddA = madd(gap, gap, oddA)
    gap = f32x4.sub(odd, v128.load(b + at, 16))
    oddB = madd(gap, gap, oddB)
    gap = f32x4.sub(odd, v128.load(c + at, 16))
    oddC = madd(gap, gap, oddC)
    gap = f32x4.sub(odd, v128.load(d + at, 16))
    oddD = madd(gap, gap, oddD)
  }
  if (at < end) {
    const even = v128.load(row + at)
    let gap = f32x4.sub(even, v128.load(a + at))
    evenA = madd(gap, gap, evenA)
    gap = f32x4.sub(even, v128.load(b + at))
    evenB = madd(gap, gap, evenB)
    gap = f32x4.sub(even, v128.load(c + at))
    evenC = madd(gap, gap, evenC)
    gap = f32x4.sub(even, v128.load(d + at))
    evenD = madd(gap, gap, evenD)
  }
  store<f32>(out, sumLanes(f32x4.add(evenA, oddA)))
  store<f32>(out, sumLanes(f32x4.add(evenB, oddB)), 4)
  store<f32>(out, sumLanes(f32x4.add(evenC, oddC)), 8)
  store<f32>(out, sumLanes(f32x4.add(evenD, oddD)), 12)
}

/**
 * Squared distances of a row of floats to the first `count` (1 to 4) of the rows whose numbers stand in `group`. Room for
 * four numbers and four distances is needed: a group that is not full measures its last row again.
 */
export function measureFew(row: usize, rows: usize, stride: u32, group: usize, count: u32, out: usize): void {
  const bytes = (<usize>stride) << 2
  const a = rows + <usize>load<u32>(group) * bytes
  if (count === 1) {
    store<f32>(out, squaredDistance(row, 0, a, stride))
    return
  }
  const b = rows + <usize>load<u32>(group, 4) * bytes
  const c = count > 2 ? rows + <usize>load<u32>(group, 8) * bytes : b
  const d = count > 3 ? rows + <usize>load<u32>(group, 12) * bytes : c
  fourDistances(row, a, b, c, d, stride, out)
}

/** A row of any kind as floats. */
export function unpackRow(from: usize, kind: u32, stride: u32, to: usize): void {
  for (let column: u32 = 0; column < stride; column += 4) {
    v128.store(to + ((<usize>column) << 2), loadFour(from, kind, column))
  }
}

export function dotProduct(row: usize, kind: u32, other: usize, stride: u32): f32 {
  let even = f32x4.splat(0)
  let odd = f32x4.splat(0)
  let column: u32 = 0
  for (; column + 8 <= stride; column += 8) {
    even = madd(loadFour(row, kind, column), v128.load(other), even)
    odd = madd(loadFour(row, kind, column + 4), v128.load(other, 16), odd)
    other += 32
  }
  if (column < stride) even = madd(loadFour(row, kind, column), v128.load(other), even)
  return sumLanes(f32x4.add(even, odd))
}

export function squaredLength(row: usize, kind: u32, stride: u32): f32 {
  let sum = f32x4.splat(0)
  for (let column: u32 = 0; column < stride; column += 4) {
    const value = loadFour(row, kind, column)
    sum = madd(value, value, sum)
  }
  return sumLanes(sum)
}

/** -|c|^2 / 2 times a scale, summed in 64 bits: what the score of a centre starts from. */
export function startScore(row: usize, stride: u32, scale: f32): f32 {
  let low = f64x2.splat(0)
  let high = low
  for (let column: usize = 0; column < (<usize>stride) << 2; column += 16) {
    const values = v128.load(row + column)
    const a = f64x2.promote_low_f32x4(values)
    const b = f64x2.promote_low_f32x4(
      i8x16.shuffle(values, values, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7),
    )
    low = f64x2.add(low, f64x2.mul(a, a))
    high = f64x2.add(high, f64x2.mul(b, b))
  }
  const sums = f64x2.add(low, high)
  const squares = f64x2.extract_lane(sums, 0) + f64x2.extract_lane(sums, 1)
  return <f32>(squares * -0.5 * <f64>scale)
}

/** Writes a 4 x 4 block transposed: output k at out + k * step holds lane k of a, b, c, d. */
export function storeTransposed(a: v128, b: v128, c: v128, d: v128, out: usize, step: usize): void {
  const ab01 = i8x16.shuffle(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
  const ab23 = i8x16.shuffle(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)
  const cd01 = i8x16.shuffle(c, d, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
  const cd23 = i8x16.shuffle(c, d, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)
  v128.store(out, i8x16.shuffle(ab01, cd01, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23))
  v128.store(out + step, i8x16.shuffle(ab01, cd01, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
  v128.store(out + 2 * step, i8x16.shuffle(ab23, cd23, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23))
  v128.store(out + 3 * step, i8x16.shuffle(ab23, cd23, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
}

/**
 * Packs four rows column by column: out[column][4]. Absent rows repeat the first, so that what is
 * computed for them is harmless and can be thrown away.
 */
export function packFourRows(r0: usize, r1: usize, r2: usize, r3: usize, kind: u32, stride: u32, out: usize): void {
  for (let column: u32 = 0; column < stride; column += 4) {
    storeTransposed(
      loadFour(r0, kind, column),
      loadFour(r1, kind, column),
      loadFour(r2, kind, column),
      loadFour(r3, kind, column),
      out,
      16,
    )
    out += 64
  }
}

/** Bytes of a table of 16 by indices below 16. */
export function lookUp(table: v128, indices: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) return i8x16.relaxed_swizzle(table, indices)
  return i8x16.swizzle(table, indices)
}

/**
 * Vectors as 16-bit integers, for scores that are cheap and have a known error bound.
 *
 * One integer multiply-add takes two columns where the float one takes one, so integer scores run about 1.5 times as fast.
 * Vectors are scaled so that no sum can leave 32 bits: lengths stay below L = LENGTH, products of two vectors below L^2, and
 * starting values below L^2 / 2, together 1.35e9.
 *
 * ## The margin
 *
 * A point x has the scale s, centres the scale t; S(c) = s t (x.c - |c|^2 / 2) is the true score of a centre, and the nearest
 * centre has the highest. With the rounded vectors X = s x - p and C = t c - q the kernel computes
 *
 *     T(c) = X.C + start(c),   start(c) = trunc(s * (-t |c|^2 / 2))
 *
 * and by the Cauchy-Schwarz inequality
 *
 *     |s x . t c - X.C| = |s x . q + p . C| <= |s x| |q| + |p| |C|
 *
 * The lengths |p| (`error`) and |q| (at most `worst`) of what rounding took away are measured, |s x| is `reach`, and
 * |C| <= L + |q|. So B = (reach + error) worst + error L bounds the error of X.C. Three more errors are of the size of the
 * resolution of 32-bit floats, u = 2^-24:
 *
 * - start(c): |c|^2 is summed in 64 bits; the store and the product with s are rounded to floats, at most u L^2 / 2 each, and
 *   truncation takes less than 1: 2 * 26.9 + 1 < 55.
 * - s x and t c are themselves rounded to floats in each column, by at most u relative, which changes their product by at most
 *   2 u L^2 < 108.
 * - `reach`, `error`, `worst` and the length that t is computed from are square roots of sums in floats: at most
 *   (stride / 4 + 4) u / 2 relative, which is below 0.0005 up to 65,536 columns. B has products of two of them.
 *
 * So |S(c) - T(c)| <= 1.001 B + 163. If c is nearest and b has the best integer score, S(c) >= S(b) gives
 * T(c) >= T(b) - 2 (1.001 B + 163): every centre that can be the nearest is within `marginOf` of the best integer score.
 */
import { QUANTIZED_LENGTH } from './build/assembly/arguments'
import { loadFour, madd, sumLanes } from './simd'

export { QUANTIZED_LENGTH as LENGTH } from './build/assembly/arguments'

/** How far the integer score of the nearest centre can be below the best one; derived above. */
export function marginOf(reach: f32, error: f32, worst: f32): i32 {
  return <i32>(((reach + error) * worst + error * QUANTIZED_LENGTH) * 2.0021 + 330)
}

/** Rounded values of four rows (0: absent), pairs of columns side by side: out[pair][4 rows][2]; a pair every `step` bytes. */
export function quantizeFour(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  kind: u32,
  stride: u32,
  scale: f32,
  out: usize,
  step: usize,
  errors: usize,
): void {
  const factor = f32x4.splat(scale)
  const zero = f32x4.splat(0)
  let e0 = zero
  let e1 = zero
  let e2 = zero
  let e3 = zero
  for (let column: u32 = 0; column < stride; column += 4) {
    const x0 = r0 ? f32x4.mul(loadFour(r0, kind, column), factor) : zero
    const x1 = r1 ? f32x4.mul(loadFour(r1, kind, column), factor) : zero
    const x2 = r2 ? f32x4.mul(loadFour(r2, kind, column), factor) : zero
    const x3 = r3 ? f32x4.mul(loadFour(r3, kind, column), factor) : zero
    const q0 = f32x4.nearest(x0)
    const q1 = f32x4.nearest(x1)
    const q2 = f32x4.nearest(x2)
    const q3 = f32x4.nearest(x3)
    const d0 = f32x4.sub(x0, q0)
    const d1 = f32x4.sub(x1, q1)
    const d2 = f32x4.sub(x2, q2)
    const d3 = f32x4.sub(x3, q3)
    e0 = madd(d0, d0, e0)
    e1 = madd(d1, d1, e1)
    e2 = madd(d2, d2, e2)
    e3 = madd(d3, d3, e3)
    const a = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(q0), i32x4.trunc_sat_f32x4_s(q1))
    const b = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(q2), i32x4.trunc_sat_f32x4_s(q3))
    v128.store(out, i8x16.shuffle(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27))
    v128.store(out + step, i8x16.shuffle(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31))
    out += 2 * step
  }
  // What rounding took away, as lengths.
  store<f32>(errors, Mathf.sqrt(sumLanes(e0)))
  store<f32>(errors, Mathf.sqrt(sumLanes(e1)), 4)
  store<f32>(errors, Mathf.sqrt(sumLanes(e2)), 8)
  store<f32>(errors, Mathf.sqrt(sumLanes(e3)), 12)
}

/**
 * Four quantized points against a panel of eight quantized centres. points: [stride / 2][4][2] i16;
 * panel: starting values as floats [8], 32 bytes of notes, then [stride / 2][8][2] i16. For each point
 * the four larger ones of scores j and j + 4 go to out + point * outStep.
 */
export function scoreQuantized(points: usize, panel: usize, stride: u32, scale: f32, out: usize, outStep: usize): void {
  const factor = f32x4.splat(scale)
  const low = i32x4.trunc_sat_f32x4_s(f32x4.mul(v128.load(panel), factor))
  const high = i32x4.trunc_sat_f32x4_s(f32x4.mul(v128.load(panel, 16), factor))
  let a0 = low
  let a1 = high
  let b0 = low
  let b1 = high
  let c0 = low
  let c1 = high
  let d0 = low
  let d1 = high
  panel += 64
  const end = points + ((<usize>stride) << 3)
  while (points < end) {
    const left = v128.load(panel)
    const right = v128.load(panel, 16)
    let pair = v128.load32_splat(points)
    a0 = i32x4.add(a0, i32x4.dot_i16x8_s(pair, left))
    a1 = i32x4.add(a1, i32x4.dot_i16x8_s(pair, right))
    pair = v128.load32_splat(points, 4)
    b0 = i32x4.add(b0, i32x4.dot_i16x8_s(pair, left))
    b1 = i32x4.add(b1, i32x4.dot_i16x8_s(pair, right))
    pair = v128.load32_splat(points, 8)
    c0 = i32x4.add(c0, i32x4.dot_i16x8_s(pair, left))
    c1 = i32x4.add(c1, i32x4.dot_i16x8_s(pair, right))
    pair = v128.load32_splat(points, 12)
    d0 = i32x4.add(d0, i32x4.dot_i16x8_s(pair, left))
    d1 = i32x4.add(d1, i32x4.dot_i16x8_s(pair, right))
    panel += 32
    points += 16
  }
  v128.store(out, i32x4.max_s(a0, a1))
  v128.store(out + outStep, i32x4.max_s(b0, b1))
  v128.store(out + 2 * outStep, i32x4.max_s(c0, c1))
  v128.store(out + 3 * outStep, i32x4.max_s(d0, d1))
}

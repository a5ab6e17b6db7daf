/**
 * Scores x . c - |c|^2 / 2 of 4 rows against panels of centres: a panel is 8 starting values, then [stride][8].
 *
 * Functions for rows that are not packed are exported by the module, so that they are not inlined: in a large function their
 * loops run out of registers.
 */
import { madd } from './simd'

/**
 * The micro-kernel: 32 sums in 8 registers, out[4 rows][8 centres]. T is what lies at a step of `r0`: v128, the same column of
 * four packed rows, [stride][4]; or f32, a column of the first of four rows that lie apart. Each of the two has one caller, so
 * that the compiler inlines it.
 *
 * Of the shapes that fit 16 registers, 4 x 8 without unrolling measured fastest under V8 (43 GFLOP/s on one core against 30 to
 * 35 for 4 x 12, 6 x 8 and every unrolled form).
 */
function scoreTile<T>(r0: usize, r1: usize, r2: usize, r3: usize, panel: usize, stride: u32, out: usize): void {
  let a0 = v128.load(panel)
  let a1 = v128.load(panel, 16)
  let b0 = a0
  let b1 = a1
  let c0 = a0
  let c1 = a1
  let d0 = a0
  let d1 = a1
  const end = r0 + <usize>stride * sizeof<T>()
  while (r0 < end) {
    panel += 32
    const left = v128.load(panel)
    const right = v128.load(panel, 16)
    let value = v128.load32_splat(r0)
    a0 = madd(value, left, a0)
    a1 = madd(value, right, a1)
    value = isVector<T>() ? v128.load32_splat(r0, 4) : v128.load32_splat(r1)
    b0 = madd(value, left, b0)
    b1 = madd(value, right, b1)
    value = isVector<T>() ? v128.load32_splat(r0, 8) : v128.load32_splat(r2)
    c0 = madd(value, left, c0)
    c1 = madd(value, right, c1)
    value = isVector<T>() ? v128.load32_splat(r0, 12) : v128.load32_splat(r3)
    d0 = madd(value, left, d0)
    d1 = madd(value, right, d1)
    r0 += sizeof<T>()
    if (!isVector<T>()) {
      r1 += sizeof<T>()
      r2 += sizeof<T>()
      r3 += sizeof<T>()
    }
  }
  v128.store(out, a0)
  v128.store(out, a1, 16)
  v128.store(out, b0, 32)
  v128.store(out, b1, 48)
  v128.store(out, c0, 64)
  v128.store(out, c1, 80)
  v128.store(out, d0, 96)
  v128.store(out, d1, 112)
}

/** Scores of 4 packed rows against a panel of 8. */
export function scoreFourByEight(points: usize, panel: usize, stride: u32, out: usize): void {
  scoreTile<v128>(points, points, points, points, panel, stride, out)
}

/** The same for rows that lie apart. */
export function scoreRowsByEight(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  panel: usize,
  stride: u32,
  out: usize,
): void {
  scoreTile<f32>(r0, r1, r2, r3, panel, stride, out)
}

/** The same against a panel of 4: out[4][4]. */
export function scoreRowsByFour(
  r0: usize,
  r1: usize,
  r2: usize,
  r3: usize,
  panel: usize,
  stride: u32,
  out: usize,
): void {
  let a = v128.load(panel)
  let b = a
  let c = a
  let d = a
  const end = r0 + ((<usize>stride) << 2)
  while (r0 < end) {
    panel += 16
    const column = v128.load(panel)
    a = madd(v128.load32_splat(r0), column, a)
    b = madd(v128.load32_splat(r1), column, b)
    c = madd(v128.load32_splat(r2), column, c)
    d = madd(v128.load32_splat(r3), column, d)
    r0 += 4
    r1 += 4
    r2 += 4
    r3 += 4
  }
  v128.store(out, a)
  v128.store(out, b, 16)
  v128.store(out, c, 32)
  v128.store(out, d, 48)
}

/** Scores of one row against four panels of 8, `panelBytes` apart: out[32]. Each is the same sum as in scoreRowsByEight. */
export function scoreRowByPanels(row: usize, panel: usize, panelBytes: usize, stride: u32, out: usize): void {
  let second = panel + panelBytes
  let third = second + panelBytes
  let fourth = third + panelBytes
  let a0 = v128.load(panel)
  let a1 = v128.load(panel, 16)
  let b0 = v128.load(second)
  let b1 = v128.load(second, 16)
  let c0 = v128.load(third)
  let c1 = v128.load(third, 16)
  let d0 = v128.load(fourth)
  let d1 = v128.load(fourth, 16)
  const end = row + ((<usize>stride) << 2)
  while (row < end) {
    panel += 32
    second += 32
    third += 32
    fourth += 32
    const value = v128.load32_splat(row)
    a0 = madd(value, v128.load(panel), a0)
    a1 = madd(value, v128.load(panel, 16), a1)
    b0 = madd(value, v128.load(second), b0)
    b1 = madd(value, v128.load(second, 16), b1)
    c0 = madd(value, v128.load(third), c0)
    c1 = madd(value, v128.load(third, 16), c1)
    d0 = madd(value, v128.load(fourth), d0)
    d1 = madd(value, v128.load(fourth, 16), d1)
    row += 4
  }
  v128.store(out, a0)
  v128.store(out, a1, 16)
  v128.store(out, b0, 32)
  v128.store(out, b1, 48)
  v128.store(out, c0, 64)
  v128.store(out, c1, 80)
  v128.store(out, d0, 96)
  v128.store(out, d1, 112)
}

/**
 * Rows along a few directions, as bytes: x . direction + shift, rounded and cut off at 0 and 255. Items are rows.
 * Directions come packed in panels. Scratch: 128 bytes, the shifts padded to whole panels, then four packed rows.
 */
import { PANEL, panelBytes } from './panels'
import { packFourRows, rowBytes, scoreFourByEight } from './simd'

export function sketchRows(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  packed: usize,
  count: u32,
  shifts: usize,
  out: usize,
  outStride: u32,
): void {
  const paddedShifts = scratch + 128
  const shiftBytes = (<usize>((count + PANEL - 1) / PANEL)) << 5
  memory.fill(paddedShifts, 0, shiftBytes)
  memory.copy(paddedShifts, shifts, (<usize>count) << 2)
  const rows = paddedShifts + shiftBytes
  const bytes = rowBytes(stride, kind)
  const last = end - 1
  for (let i = start; i < end; i += 4) {
    packFourRows(
      x + <usize>i * bytes,
      x + <usize>min(i + 1, last) * bytes,
      x + <usize>min(i + 2, last) * bytes,
      x + <usize>min(i + 3, last) * bytes,
      kind,
      stride,
      rows,
    )
    const present = min(<u32>4, end - i)
    for (let base: u32 = 0; base < count; base += PANEL) {
      scoreFourByEight(rows, packed + <usize>(base / PANEL) * panelBytes(stride), stride, scratch)
      const shift = paddedShifts + ((<usize>base) << 2)
      for (let row: u32 = 0; row < present; row++) {
        const to = out + <usize>(i + row) * outStride + base
        const sums = scratch + ((<usize>row) << 5)
        const steps = eightBytes(sums, shift)
        if (base + PANEL <= count) store<u64>(to, steps)
        else {
          // The sums are not needed any more.
          store<u64>(sums, steps)
          memory.copy(to, sums, count - base)
        }
      }
    }
    for (let row: u32 = 0; row < present; row++) {
      memory.fill(out + <usize>(i + row) * outStride + count, 0, outStride - count)
    }
  }
}

/** Eight sums of floats, rounded and cut off. */
function eightBytes(sums: usize, shifts: usize): u64 {
  const left = f32x4.nearest(f32x4.add(v128.load(sums), v128.load(shifts)))
  const right = f32x4.nearest(f32x4.add(v128.load(sums, 16), v128.load(shifts, 16)))
  // Each of the three steps keeps what is too large or too small at the end of its range.
  const words = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(left), i32x4.trunc_sat_f32x4_s(right))
  return <u64>i64x2.extract_lane(i8x16.narrow_i16x8_u(words, words), 0)
}

/**
 * Rows projected on a few directions, as bytes: x . direction + shift, rounded and clamped to 0 to 255. Items are rows.
 * Directions are packed in panels.
 */
import { SketchRowsArgs } from './build/assembly/arguments'
import { PANEL, panelBytes } from './panels'
import { scoreFourByEight } from './score-rows'
import { packFourRows } from './simd'

export function sketchRows(start: u32, end: u32, scratch: usize, args: SketchRowsArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const packed = args.packed
  const count = args.count
  const out = args.out
  const outStride = args.outStride
  const sums = scratch + args.sumsAt
  const paddedShifts = scratch + args.paddedShiftsAt
  const rows = scratch + args.rowsAt
  const shiftBytes = (<usize>((count + PANEL - 1) / PANEL)) << 5
  memory.fill(paddedShifts, 0, shiftBytes)
  memory.copy(paddedShifts, args.shifts, (<usize>count) << 2)
  const last = end - 1
  for (let i = start; i < end; i += 4) {
    packFourRows(
      points.at(i),
      points.at(min(i + 1, last)),
      points.at(min(i + 2, last)),
      points.at(min(i + 3, last)),
      kind,
      stride,
      rows,
    )
    const present = min(<u32>4, end - i)
    for (let base: u32 = 0; base < count; base += PANEL) {
      scoreFourByEight(rows, packed + <usize>(base / PANEL) * panelBytes(stride), stride, sums)
      const shift = paddedShifts + ((<usize>base) << 2)
      for (let row: u32 = 0; row < present; row++) {
        const to = out + <usize>(i + row) * outStride + base
        const own = sums + ((<usize>row) << 5)
        const steps = eightBytes(own, shift)
        if (base + PANEL <= count) store<u64>(to, steps)
        else {
          // The sums are not needed any more.
          store<u64>(own, steps)
          memory.copy(to, own, count - base)
        }
      }
    }
    for (let row: u32 = 0; row < present; row++) {
      memory.fill(out + <usize>(i + row) * outStride + count, 0, outStride - count)
    }
  }
}

/** Eight sums of floats, rounded and clamped. */
function eightBytes(sums: usize, shifts: usize): u64 {
  const left = f32x4.nearest(f32x4.add(v128.load(sums), v128.load(shifts)))
  const right = f32x4.nearest(f32x4.add(v128.load(sums, 16), v128.load(shifts, 16)))
  // Each of the three steps saturates.
  const words = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(left), i32x4.trunc_sat_f32x4_s(right))
  return <u64>i64x2.extract_lane(i8x16.narrow_i16x8_u(words, words), 0)
}

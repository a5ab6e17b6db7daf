/**
 * Centres in the order the micro-kernel reads them: panels of 8, each 8 starting values followed by
 * [stride][8] floats. The starting value of centre c is -|c|^2 / 2, so that the largest score
 * x . c - |c|^2 / 2 belongs to the nearest centre; places without a centre start at minus infinity
 * and never win.
 */
import { PANEL, PackCentersArgs } from './build/assembly/arguments'
import { startScore, storeTransposed } from './simd'

export { PANEL } from './build/assembly/arguments'

export function panelBytes(stride: u32): usize {
  return (<usize>stride + 1) << 5
}

/** One panel from 8 row addresses at `rows` (0: no centre), starting from 0 or from -|c|^2 / 2. */
export function packPanel(rows: usize, stride: u32, withNorms: u32, out: usize): void {
  for (let lane: usize = 0; lane < 8; lane++) {
    const row = <usize>load<u32>(rows + (lane << 2))
    store<f32>(out + (lane << 2), row === 0 ? -Infinity : withNorms ? startScore(row, stride, 1) : 0)
  }
  packColumns(rows, stride, out + 32)
}

/** The columns of a panel: [stride][8]. */
export function packColumns(rows: usize, stride: u32, out: usize): void {
  for (let half: usize = 0; half < 2; half++) {
    const r0 = <usize>load<u32>(rows + (half << 4))
    const r1 = <usize>load<u32>(rows + (half << 4), 4)
    const r2 = <usize>load<u32>(rows + (half << 4), 8)
    const r3 = <usize>load<u32>(rows + (half << 4), 12)
    const zero = f32x4.splat(0)
    for (let column: u32 = 0; column < stride; column += 4) {
      const at = (<usize>column) << 2
      storeTransposed(
        r0 ? v128.load(r0 + at) : zero,
        r1 ? v128.load(r1 + at) : zero,
        r2 ? v128.load(r2 + at) : zero,
        r3 ? v128.load(r3 + at) : zero,
        out + ((<usize>column) << 5) + (half << 4),
        32,
      )
    }
  }
}

/** Panels of all centres. Items are panels. */
export function packCenters(start: u32, end: u32, scratch: usize, args: PackCentersArgs): void {
  const centers = args.centers
  const stride = args.stride
  const count = args.count
  const rows = scratch + args.rowsAt
  for (let panel = start; panel < end; panel++) {
    for (let lane: u32 = 0; lane < PANEL; lane++) {
      const index = panel * PANEL + lane
      const row = index < count ? centers + ((<usize>index * stride) << 2) : 0
      store<u32>(rows + ((<usize>lane) << 2), <u32>row)
    }
    packPanel(rows, stride, args.norms, args.packed + <usize>panel * panelBytes(stride))
  }
}

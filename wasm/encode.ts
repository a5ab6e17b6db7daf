/**
 * Product quantization: in each of m subspaces (ranges of columns) the nearest of h codewords.
 * Codebooks come packed in panels, one book after the other, rows of `bookStride` floats. Codes are
 * bytes while h <= 256, 32-bit words above; a row of codes takes `codeStride` of them.
 * Items are points. Scratch: 128 bytes, then bookStride * 16.
 */
import { PANEL, panelBytes } from './panels'
import { scoreFourByEight } from './simd'

export function encode(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  ranges: usize,
  m: u32,
  packed: usize,
  h: u32,
  bookStride: u32,
  codes: usize,
  codeStride: u32,
): void {
  const rows = scratch + 128
  const panels = (h + PANEL - 1) / PANEL
  const bookBytes = <usize>panels * panelBytes(bookStride)
  for (let i = start; i < end; i += 4) {
    const present = min(<u32>4, end - i)
    for (let s: u32 = 0; s < m; s++) {
      const first = load<u32>(ranges + ((<usize>s) << 2))
      const last = load<u32>(ranges + ((<usize>s) << 2), 4)
      packRange(x, kind, stride, i, present, first, last, bookStride, rows)
      let top = f32x4.splat(-Infinity)
      let best = i32x4.splat(0)
      for (let p: u32 = 0; p < panels; p++) {
        scoreFourByEight(rows, packed + <usize>s * bookBytes + <usize>p * panelBytes(bookStride), bookStride, scratch)
        for (let lane: u32 = 0; lane < PANEL; lane++) {
          // One lane a point: the column of scores for this codeword.
          const at = scratch + ((<usize>lane) << 2)
          const score = f32x4(load<f32>(at), load<f32>(at, 32), load<f32>(at, 64), load<f32>(at, 96))
          const better = f32x4.gt(score, top)
          top = v128.bitselect(score, top, better)
          best = v128.bitselect(i32x4.splat(<i32>(p * PANEL + lane)), best, better)
        }
      }
      v128.store(scratch, best)
      for (let row: u32 = 0; row < present; row++) {
        const code = load<u32>(scratch + ((<usize>row) << 2))
        const place = <usize>(i + row) * codeStride + s
        if (h <= 256) store<u8>(codes + place, <u8>code)
        else store<u32>(codes + (place << 2), code)
      }
    }
  }
}

/** Columns first to last of four rows, column by column, padded with zeros. */
function packRange(
  x: usize,
  kind: u32,
  stride: u32,
  i: u32,
  present: u32,
  first: u32,
  last: u32,
  bookStride: u32,
  out: usize,
): void {
  memory.fill(out, 0, (<usize>bookStride) << 4)
  for (let row: u32 = 0; row < present; row++) {
    const base = <usize>(i + row) * stride
    for (let column = first; column < last; column++) {
      const value: f32 = kind === 0 ? load<f32>(x + ((base + column) << 2)) : <f32>load<u8>(x + base + column)
      store<f32>(out + ((<usize>(column - first)) << 4) + ((<usize>row) << 2), value)
    }
  }
}

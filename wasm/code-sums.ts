/**
 * Sums of points by codeword, for every subspace: sums[m][h][stride] and counts[m][h]. Whole rows are
 * summed, not only the columns of the subspace: that is what a rotation is found from.
 *
 * An item is a subspace and BLOCK columns, so that the table it adds to stays near the core, and no
 * two items share a place: results do not depend on the threads. PIECE points are summed on their own
 * before they are added to the rest, which keeps the rounding of large sums small.
 * Scratch: h * BLOCK floats (0 bytes where `direct`: with many codewords each gets few points anyway).
 */
import { loadFour, rowBytes } from './simd'

const BLOCK: u32 = 32
const PIECE: u32 = 8192

export function codeSums(
  start: u32,
  end: u32,
  scratch: usize,
  n: u32,
  x: usize,
  kind: u32,
  stride: u32,
  codes: usize,
  codeStride: u32,
  h: u32,
  sums: usize,
  counts: usize,
  direct: u32,
): void {
  const blocks = (stride + BLOCK - 1) / BLOCK
  for (let item = start; item < end; item++) {
    const s = item / blocks
    const first = (item % blocks) * BLOCK
    const width = min(BLOCK, stride - first)
    const book = sums + ((<usize>s * h * stride + first) << 2)
    const count = first === 0 ? counts + ((<usize>s * h) << 2) : 0
    if (direct) {
      sumPiece(0, n, x, kind, stride, codes, codeStride, h, s, first, width, book, (<usize>stride) << 2, count)
      continue
    }
    for (let from: u32 = 0; from < n; from += PIECE) {
      memory.fill(scratch, 0, (<usize>h * width) << 2)
      const to = min(from + PIECE, n)
      sumPiece(from, to, x, kind, stride, codes, codeStride, h, s, first, width, scratch, (<usize>width) << 2, count)
      for (let j: usize = 0; j < <usize>h; j++) {
        const place = book + ((j * stride) << 2)
        const part = scratch + ((j * width) << 2)
        for (let column: usize = 0; column < (<usize>width) << 2; column += 16) {
          v128.store(place + column, f32x4.add(v128.load(place + column), v128.load(part + column)))
        }
      }
    }
  }
}

/** Adds columns first to first + width of rows from..to to a table with a row every `step` bytes. */
function sumPiece(
  from: u32,
  to: u32,
  x: usize,
  kind: u32,
  stride: u32,
  codes: usize,
  codeStride: u32,
  h: u32,
  s: u32,
  first: u32,
  width: u32,
  table: usize,
  step: usize,
  counts: usize,
): void {
  const bytes = rowBytes(stride, kind)
  for (let i = from; i < to; i++) {
    const at = <usize>i * codeStride + s
    const code: usize = h <= 256 ? <usize>load<u8>(codes + at) : <usize>load<u32>(codes + (at << 2))
    const row = x + <usize>i * bytes
    let place = table + code * step
    for (let column = first; column < first + width; column += 4) {
      v128.store(place, f32x4.add(v128.load(place), loadFour(row, kind, column)))
      place += 16
    }
    if (counts) store<u32>(counts + (code << 2), load<u32>(counts + (code << 2)) + 1)
  }
}

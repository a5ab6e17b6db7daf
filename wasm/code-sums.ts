/**
 * Sums of points by codeword, for each subspace: sums[m][h][stride] and counts[m][h]. Whole rows are summed, not only the
 * columns of the subspace: training a rotation needs them.
 *
 * An item is a subspace and CODE_SUM_COLUMNS columns, so that its table stays in the cache, and no two items share a place:
 * results do not depend on the threads. PIECE points are summed on their own before they are added to the rest, which keeps
 * the rounding of large sums small; with many codewords each has few points anyway, and `direct` adds them one by one.
 */
import { CODE_SUM_COLUMNS, CodeSumsArgs } from './build/assembly/arguments'
import { Rows } from './rows'
import { loadFour } from './simd'

const PIECE: u32 = 8192

export function codeSums(start: u32, end: u32, scratch: usize, args: CodeSumsArgs): void {
  const n = args.n
  const points = args.points
  const stride = points.stride
  const codes = args.codes
  const codeStride = args.codeStride
  const h = args.h
  const table = scratch + args.tableAt
  const blocks = (stride + CODE_SUM_COLUMNS - 1) / CODE_SUM_COLUMNS
  for (let item = start; item < end; item++) {
    const s = item / blocks
    const first = (item % blocks) * CODE_SUM_COLUMNS
    const width = min(CODE_SUM_COLUMNS, stride - first)
    const book = args.sums + ((<usize>s * h * stride + first) << 2)
    const count = first === 0 ? args.counts + ((<usize>s * h) << 2) : 0
    if (args.direct) {
      sumPiece(0, n, points, codes, codeStride, h, s, first, width, book, (<usize>stride) << 2, count)
      continue
    }
    for (let from: u32 = 0; from < n; from += PIECE) {
      memory.fill(table, 0, (<usize>h * width) << 2)
      const to = min(from + PIECE, n)
      sumPiece(from, to, points, codes, codeStride, h, s, first, width, table, (<usize>width) << 2, count)
      for (let j: usize = 0; j < <usize>h; j++) {
        const place = book + ((j * stride) << 2)
        const part = table + ((j * width) << 2)
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
  points: Rows,
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
  const x = points.data
  const kind = points.kind
  const bytes = points.bytes
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

/**
 * Product quantization: in each of m subspaces (ranges of columns) the nearest of h codewords. Codebooks are given twice: as
 * rows of `bookStride` floats, and packed in panels, one book after the other. Codes are bytes while h <= 256, 32-bit words
 * above; a row of codes takes `codeStride` of them.
 *
 * Four points meet a panel of eight codewords in registers. Scores of all codewords are stored and their maximum is kept; the
 * first codeword with the maximum is the code. That costs a tenth of the scores, where keeping the best index with every score
 * costs half. Items are points.
 */
import { EncodeArgs, FLOATS, PANEL } from './build/assembly/arguments'
import { panelBytes } from './panels'
import { Rows } from './rows'
import { loadFour, madd, storeTransposed } from './simd'

export function encode(start: u32, end: u32, scratch: usize, args: EncodeArgs): void {
  const points = args.points
  const ranges = args.ranges
  const m = args.m
  const books = args.books
  const packed = args.packed
  const h = args.h
  const bookStride = args.bookStride
  const codes = args.codes
  const codeStride = args.codeStride
  const errors = args.errors
  const rows = scratch + args.rowsAt
  const scores = scratch + args.scoresAt
  const maxima = scratch + args.maximaAt
  const panels = (h + PANEL - 1) / PANEL
  const step = (<usize>panels) << 5
  const bookBytes = <usize>panels * panelBytes(bookStride)
  for (let i = start; i < end; i += 4) {
    const present = min(<u32>4, end - i)
    if (errors) memory.fill(errors + <usize>i * codeStride, 0, <usize>present * codeStride)
    for (let s: u32 = 0; s < m; s++) {
      const first = load<u32>(ranges + ((<usize>s) << 2))
      const last = load<u32>(ranges + ((<usize>s) << 2), 4)
      packRange(points, i, present, first, last, bookStride, rows)
      scoreBook(rows, packed + <usize>s * bookBytes, panels, bookStride, scores, step, maxima)
      for (let row: u32 = 0; row < present; row++) {
        const code = firstLargest(scores + <usize>row * step, panels, maxima + ((<usize>row) << 4))
        const place = <usize>(i + row) * codeStride + s
        if (h <= 256) store<u8>(codes + place, <u8>code)
        else store<u32>(codes + (place << 2), code)
        if (errors) {
          const word = books + ((<usize>(s * h + code) * bookStride) << 2)
          const at = errors + (<usize>(i + row) * codeStride + ((<usize>(s >> 2)) << 2))
          store<f32>(at, load<f32>(at) + squaredGap(rows + ((<usize>row) << 2), word, last - first))
        }
      }
    }
  }
}

/** Scores of four packed points with a whole book: scores[4][step bytes], and the maxima in four lanes for each point. */
function scoreBook(
  rows: usize,
  panel: usize,
  panels: u32,
  bookStride: u32,
  scores: usize,
  step: usize,
  maxima: usize,
): void {
  let topA = f32x4.splat(-Infinity)
  let topB = topA
  let topC = topA
  let topD = topA
  const stop = rows + ((<usize>bookStride) << 4)
  let out = scores
  for (let p: u32 = 0; p < panels; p++) {
    let a0 = v128.load(panel)
    let a1 = v128.load(panel, 16)
    let b0 = a0
    let b1 = a1
    let c0 = a0
    let c1 = a1
    let d0 = a0
    let d1 = a1
    panel += 32
    for (let point = rows; point < stop; point += 16) {
      const left = v128.load(panel)
      const right = v128.load(panel, 16)
      let value = v128.load32_splat(point)
      a0 = madd(value, left, a0)
      a1 = madd(value, right, a1)
      value = v128.load32_splat(point, 4)
      b0 = madd(value, left, b0)
      b1 = madd(value, right, b1)
      value = v128.load32_splat(point, 8)
      c0 = madd(value, left, c0)
      c1 = madd(value, right, c1)
      value = v128.load32_splat(point, 12)
      d0 = madd(value, left, d0)
      d1 = madd(value, right, d1)
      panel += 32
    }
    v128.store(out, a0)
    v128.store(out, a1, 16)
    v128.store(out + step, b0)
    v128.store(out + step, b1, 16)
    v128.store(out + 2 * step, c0)
    v128.store(out + 2 * step, c1, 16)
    v128.store(out + 3 * step, d0)
    v128.store(out + 3 * step, d1, 16)
    topA = larger(topA, larger(a0, a1))
    topB = larger(topB, larger(b0, b1))
    topC = larger(topC, larger(c0, c1))
    topD = larger(topD, larger(d0, d1))
    out += 32
  }
  v128.store(maxima, topA)
  v128.store(maxima, topB, 16)
  v128.store(maxima, topC, 32)
  v128.store(maxima, topD, 48)
}

/** One machine instruction, where the maximum that orders NaN takes several. */
function larger(a: v128, b: v128): v128 {
  return f32x4.pmax(a, b)
}

/** The first of the scores that equals the largest of the four maxima. */
function firstLargest(scores: usize, panels: u32, maxima: usize): u32 {
  let top = v128.load(maxima)
  top = larger(top, i8x16.shuffle(top, top, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))
  top = larger(top, i8x16.shuffle(top, top, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11))
  for (let panel: u32 = 0; panel < panels; panel++) {
    const low = i32x4.bitmask(f32x4.eq(v128.load(scores), top))
    const high = i32x4.bitmask(f32x4.eq(v128.load(scores, 16), top))
    if (low | high) return panel * PANEL + <u32>ctz(low | (high << 4))
    scores += 32
  }
  return 0
}

/** Squared distance of a packed point to a codeword, by differences. */
function squaredGap(point: usize, word: usize, width: u32): f32 {
  let sum: f32 = 0
  for (let column: usize = 0; column < <usize>width; column++) {
    const gap = load<f32>(point + (column << 4)) - load<f32>(word + (column << 2))
    sum += gap * gap
  }
  return sum
}

/** Columns first to last of four rows, column by column, padded with zeros. */
function packRange(points: Rows, i: u32, present: u32, first: u32, last: u32, bookStride: u32, out: usize): void {
  const kind = points.kind
  if ((first & 3) === 0 && last - first === bookStride) {
    const bytes = points.bytes
    const r0 = points.at(i)
    const r1 = present > 1 ? r0 + bytes : r0
    const r2 = present > 2 ? r1 + bytes : r0
    const r3 = present > 3 ? r2 + bytes : r0
    for (let column = first; column < last; column += 4) {
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
    return
  }
  const x = points.data
  const stride = points.stride
  memory.fill(out, 0, (<usize>bookStride) << 4)
  for (let row: u32 = 0; row < present; row++) {
    const base = <usize>(i + row) * stride
    for (let column = first; column < last; column++) {
      const value: f32 = kind === FLOATS ? load<f32>(x + ((base + column) << 2)) : <f32>load<u8>(x + base + column)
      store<f32>(out + ((<usize>(column - first)) << 4) + ((<usize>row) << 2), value)
    }
  }
}

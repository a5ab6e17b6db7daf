/**
 * Two products: out = A B' (rows against rows: rotations) and out = A' B (columns against columns,
 * summed over the rows: Gram matrices). Cost: 2 n p q operations each.
 */
import { PANEL, panelBytes } from './panels'
import { loadFour, packFourRows, rowBytes, scoreFourByEight } from './simd'

/**
 * Items are rows of A; B comes packed in panels, each of which meets `groups` times four rows before
 * the next one is fetched. With `upper` only what lies on and above the diagonal is computed, for
 * products known to be symmetric. Scratch: 128 bytes, then groups * 4 packed rows.
 */
export function matmulRows(
  start: u32,
  end: u32,
  scratch: usize,
  a: usize,
  kind: u32,
  stride: u32,
  packed: usize,
  count: u32,
  out: usize,
  outStride: u32,
  groups: u32,
  upper: u32,
): void {
  const rows = scratch + 128
  const groupBytes = (<usize>stride) << 4
  const bytes = rowBytes(stride, kind)
  for (let first = start; first < end; first += groups * 4) {
    const stop = min(end, first + groups * 4)
    const last = stop - 1
    for (let i = first; i < stop; i += 4) {
      packFourRows(
        a + <usize>i * bytes,
        a + <usize>min(i + 1, last) * bytes,
        a + <usize>min(i + 2, last) * bytes,
        a + <usize>min(i + 3, last) * bytes,
        kind,
        stride,
        rows + <usize>((i - first) >> 2) * groupBytes,
      )
    }
    for (let base: u32 = upper ? first & ~7 : 0; base < count; base += PANEL) {
      const panel = packed + <usize>(base / PANEL) * panelBytes(stride)
      const inPanel = min(PANEL, count - base)
      for (let i = first; i < stop; i += 4) {
        if (upper && base + PANEL <= i) break
        scoreFourByEight(rows + <usize>((i - first) >> 2) * groupBytes, panel, stride, scratch)
        for (let row: u32 = 0; row < min(<u32>4, stop - i); row++) {
          const to = out + ((<usize>(i + row) * outStride + base) << 2)
          memory.copy(to, scratch + ((<usize>row) << 5), (<usize>inPanel) << 2)
          // Padding behind the last column becomes zero, whatever the memory held before.
          if (base + inPanel === count) {
            memory.fill(to + ((<usize>inPanel) << 2), 0, (<usize>(outStride - count)) << 2)
          }
        }
      }
    }
  }
}

/**
 * Items are slabs of `slabRows` rows, each with its own p x q partial (strides of A and B), times
 * blocks of COLUMNS columns of A; gramSum adds the slabs up in order, so the result does not depend on
 * the threads. With `upper` only what lies on and above the diagonal. Rows are taken ROWS at a time;
 * columns of A, four at a time, meet columns of B, eight at a time, in the micro-kernel.
 * Scratch: 128 bytes, ROWS * 4 floats, a panel of ROWS rows.
 */
const ROWS: u32 = 64
const COLUMNS: u32 = 64

export function gramSlabs(
  start: u32,
  end: u32,
  scratch: usize,
  n: u32,
  slabRows: u32,
  a: usize,
  kindA: u32,
  strideA: u32,
  b: usize,
  kindB: u32,
  strideB: u32,
  partials: usize,
  upper: u32,
): void {
  const packedA = scratch + 128
  const packedB = packedA + ((<usize>ROWS) << 4)
  const blocks = (strideA + COLUMNS - 1) / COLUMNS
  for (let item = start; item < end; item++) {
    const slab = item / blocks
    const first = (item % blocks) * COLUMNS
    const last = min(first + COLUMNS, strideA)
    const out = partials + ((<usize>slab * strideA * strideB) << 2)
    memory.fill(out + ((<usize>first * strideB) << 2), 0, (<usize>(last - first) * strideB) << 2)
    const stop = min((slab + 1) * slabRows, n)
    for (let from = slab * slabRows; from < stop; from += ROWS) {
      const rows = min(ROWS, stop - from)
      for (let q: u32 = 0; q < strideB; q += PANEL) {
        packColumnsOf(b, kindB, strideB, from, rows, q, packedB)
        for (let p = first; p < last; p += 4) {
          if (upper && q + PANEL <= p) break
          for (let row: u32 = 0; row < rows; row++) {
            const source = a + <usize>(from + row) * rowBytes(strideA, kindA)
            v128.store(packedA + ((<usize>row) << 4), loadFour(source, kindA, p))
          }
          scoreFourByEight(packedA, packedB, rows, scratch)
          for (let row: u32 = 0; row < 4; row++) {
            const to = out + ((<usize>(p + row) * strideB + q) << 2)
            const part = scratch + ((<usize>row) << 5)
            v128.store(to, f32x4.add(v128.load(to), v128.load(part)))
            if (q + 4 < strideB) v128.store(to, f32x4.add(v128.load(to, 16), v128.load(part, 16)), 16)
          }
        }
      }
    }
  }
}

/** Eight columns of B as a panel that starts from zero. */
function packColumnsOf(b: usize, kind: u32, stride: u32, from: u32, rows: u32, column: u32, out: usize): void {
  const zero = f32x4.splat(0)
  v128.store(out, zero)
  v128.store(out, zero, 16)
  out += 32
  for (let row: u32 = 0; row < rows; row++) {
    const source = b + <usize>(from + row) * rowBytes(stride, kind)
    v128.store(out, loadFour(source, kind, column))
    v128.store(out, column + 4 < stride ? loadFour(source, kind, column + 4) : zero, 16)
    out += 32
  }
}

/** Items are rows of the product: adds the slabs' partials in order. */
export function gramSum(
  start: u32,
  end: u32,
  scratch: usize,
  slabs: u32,
  strideA: u32,
  strideB: u32,
  partials: usize,
  out: usize,
): void {
  for (let row = start; row < end; row++) {
    for (let column: u32 = 0; column < strideB; column += 4) {
      const at = (<usize>row * strideB + column) << 2
      let sum = f32x4.splat(0)
      for (let slab: u32 = 0; slab < slabs; slab++) {
        sum = f32x4.add(sum, v128.load(partials + ((<usize>slab * strideA * strideB) << 2) + at))
      }
      v128.store(out + at, sum)
    }
  }
}

/**
 * Two products: out = A B' (rows against rows: rotations) and out = A' B (columns against columns,
 * summed over the rows: Gram matrices). Cost: 2 n p q operations each.
 */
import { GRAM_COLUMNS, GRAM_ROWS, GramSlabsArgs, GramSumArgs, MatmulRowsArgs, PANEL } from './build/assembly/arguments'
import { panelBytes } from './panels'
import { scoreFourByEight } from './score-rows'
import { loadFour, packFourRows, rowBytes } from './simd'

/**
 * Items are rows of A; B comes packed in panels, each of which meets `groups` times four rows before
 * the next one is fetched. With `upper` only what lies on and above the diagonal is computed, for
 * products known to be symmetric.
 */
export function matmulRows(start: u32, end: u32, scratch: usize, args: MatmulRowsArgs): void {
  const a = args.a.data
  const kind = args.a.kind
  const stride = args.a.stride
  const count = args.count
  const out = args.out
  const outStride = args.outStride
  const groups = args.groups
  const upper = args.upper
  const product = scratch + args.productAt
  const rows = scratch + args.rowsAt
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
      const panel = args.packed + <usize>(base / PANEL) * panelBytes(stride)
      const inPanel = min(PANEL, count - base)
      for (let i = first; i < stop; i += 4) {
        if (upper && base + PANEL <= i) break
        scoreFourByEight(rows + <usize>((i - first) >> 2) * groupBytes, panel, stride, product)
        for (let row: u32 = 0; row < min(<u32>4, stop - i); row++) {
          const to = out + ((<usize>(i + row) * outStride + base) << 2)
          memory.copy(to, product + ((<usize>row) << 5), (<usize>inPanel) << 2)
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
 * blocks of GRAM_COLUMNS columns of A; gramSum adds the slabs up in order, so the result does not depend on
 * the threads. With `upper` only what lies on and above the diagonal. Rows are taken GRAM_ROWS at a time;
 * columns of A, four at a time, meet columns of B, eight at a time, in the micro-kernel.
 */
export function gramSlabs(start: u32, end: u32, scratch: usize, args: GramSlabsArgs): void {
  const n = args.n
  const slabRows = args.slabRows
  const a = args.a.data
  const kindA = args.a.kind
  const strideA = args.a.stride
  const b = args.b.data
  const kindB = args.b.kind
  const strideB = args.b.stride
  const upper = args.upper
  const product = scratch + args.productAt
  const packedA = scratch + args.packedAAt
  const packedB = scratch + args.packedBAt
  const blocks = (strideA + GRAM_COLUMNS - 1) / GRAM_COLUMNS
  for (let item = start; item < end; item++) {
    const slab = item / blocks
    const first = (item % blocks) * GRAM_COLUMNS
    const last = min(first + GRAM_COLUMNS, strideA)
    const out = args.partials + ((<usize>slab * strideA * strideB) << 2)
    memory.fill(out + ((<usize>first * strideB) << 2), 0, (<usize>(last - first) * strideB) << 2)
    const stop = min((slab + 1) * slabRows, n)
    for (let from = slab * slabRows; from < stop; from += GRAM_ROWS) {
      const rows = min(GRAM_ROWS, stop - from)
      for (let q: u32 = 0; q < strideB; q += PANEL) {
        packColumnsOf(b, kindB, strideB, from, rows, q, packedB)
        for (let p = first; p < last; p += 4) {
          if (upper && q + PANEL <= p) break
          for (let row: u32 = 0; row < rows; row++) {
            const source = a + <usize>(from + row) * rowBytes(strideA, kindA)
            v128.store(packedA + ((<usize>row) << 4), loadFour(source, kindA, p))
          }
          scoreFourByEight(packedA, packedB, rows, product)
          for (let row: u32 = 0; row < 4; row++) {
            const to = out + ((<usize>(p + row) * strideB + q) << 2)
            const part = product + ((<usize>row) << 5)
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
export function gramSum(start: u32, end: u32, _scratch: usize, args: GramSumArgs): void {
  const slabs = args.slabs
  const strideA = args.strideA
  const strideB = args.strideB
  const partials = args.partials
  const out = args.out
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

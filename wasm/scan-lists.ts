/**
 * The nearest codes of a query in some lists of an inverted file, with one look-up table for all lists. Items are queries.
 *
 * A code stands for its centre C plus its codewords y, so that |q - C - y|^2 = |q - C|^2 + (|y|^2 + 2 C.y) - 2 q.y. The first
 * part is the base of the list, the second is stored with each vector (`terms`), and the third is what the table holds. Sums only
 * choose: the distances of the codes that are found are measured again by differences.
 *
 * Codes of 4 bits lie in blocks of 16 vectors, block[cell][16], and their tables are rounded down to 7 bits, so that 16 entries fit
 * a register: one instruction looks up 16 vectors. What the rounded sum cannot rule out is summed in floats. All others
 * lie row by row, in cells as in scan-codes.
 */
import { NO_QUERY, SCAN_BLOCK, ScanListsArgs } from './build/assembly/arguments'
import { CodeHeap } from './code-heap'
import { isAllowed, scanBlocks } from './scan-blocks'
import { dotProduct } from './simd'

export function scanLists(start: u32, end: u32, scratch: usize, args: ScanListsArgs): void {
  const table = scratch + args.tableAt
  const part = scratch + args.partAt
  const rounded = scratch + args.roundedAt
  const heap = changetype<CodeHeap>(scratch + args.heapAt)
  heap.ids = args.ids
  heap.most = args.most
  heap.within = args.within
  heap.owners = scratch + args.ownersAt
  for (let query = start; query < end; query++) {
    heap.slots = args.outIds + ((<usize>query * args.most) << 2)
    heap.distances = args.outDistances + ((<usize>query * args.most) << 2)
    heap.size = 0
    buildTable(query, args, part, rounded, table)
    for (let place: u32 = 0; place < args.probe; place++) {
      const at = (<usize>query * args.probe + place) << 2
      const list = load<u32>(args.lists + at)
      const first = load<u32>(args.extents + ((<usize>list) << 3))
      const last = first + load<u32>(args.extents + ((<usize>list) << 3), 4)
      if (first === last) continue
      const base = load<f32>(args.bases + at)
      heap.owner = place
      if (args.blocked) scanBlocks(args, heap, first, last, base, table, rounded)
      else if (args.bits === 32) scanWords(args, heap, first, last, base, table)
      else scanBytes(args, heap, first, last, base, table)
    }
    if (!args.inner) {
      for (let i: u32 = 0; i < heap.size; i++) measureAgain(query, i, args, heap)
    }
    heap.sort()
    finish(args, heap)
  }
}

/** Slots become ids; places without a code, or with one that is too far, are empty. */
function finish(args: ScanListsArgs, heap: CodeHeap): void {
  const slots = heap.slots
  const distances = heap.distances
  for (let place: usize = 0; place < <usize>args.most; place++) {
    const at = place << 2
    if (place < <usize>heap.size && load<f32>(distances + at) <= args.within) {
      store<u32>(slots + at, load<u32>(args.ids + ((<usize>load<u32>(slots + at)) << 2)))
    } else {
      store<u32>(slots + at, NO_QUERY)
      store<f32>(distances + at, Infinity)
    }
  }
}

/** -2 q.y (or -q.y) for every codeword; where a cell holds several codes, for every combination, except in blocks. */
function buildTable(query: u32, args: ScanListsArgs, part: usize, rounded: usize, table: usize): void {
  const h = args.h
  const bits = args.bits
  const perCell: u32 = bits >= 8 || args.blocked ? 1 : 8 / bits
  const rows: usize = args.blocked ? 16 : bits === 32 ? h : 256
  const factor: f32 = args.inner ? -1 : -2
  for (let s: u32 = 0; s < args.m; s++) {
    const first = load<u32>(args.ranges + ((<usize>s) << 2))
    const width = load<u32>(args.ranges + ((<usize>s) << 2), 4) - first
    memory.fill(part, 0, (<usize>args.bookStride) << 2)
    memory.copy(part, args.projected + ((<usize>query * args.width + first) << 2), (<usize>width) << 2)
    const inCell = s % perCell
    const cell = table + <usize>(s / perCell) * (rows << 2)
    const book = args.books + ((<usize>s * h * args.bookStride) << 2)
    if (perCell === 1) {
      for (let j: usize = 0; j < <usize>h; j++) {
        store<f32>(cell + (j << 2), factor * dotProduct(part, 0, book + ((j * args.bookStride) << 2), args.bookStride))
      }
      continue
    }
    // Entries with a higher code come later, and what is there of the lower codes is added to.
    const inner: usize = (<usize>1) << (inCell * bits)
    if (inCell === 0) store<f32>(cell, 0)
    for (let j: i32 = <i32>h - 1; j >= 0; j--) {
      const value = factor * dotProduct(part, 0, book + ((<usize>j * args.bookStride) << 2), args.bookStride)
      const to = cell + ((<usize>j * inner) << 2)
      for (let low: usize = 0; low < inner; low++) store<f32>(to + (low << 2), load<f32>(cell + (low << 2)) + value)
    }
  }
  if (args.blocked) roundTable(args, table, rounded)
}

/**
 * Entries in 7 bits, rounded down, with the step and the sum of the lowest entries in front: lowest + step * sum is never
 * above the sum of floats.
 */
function roundTable(args: ScanListsArgs, table: usize, rounded: usize): void {
  let widest: f32 = 0
  let lowest: f32 = 0
  const h = <usize>args.h
  for (let s: usize = 0; s < <usize>args.m; s++) {
    const row = table + (s << 6)
    let low = load<f32>(row)
    let high = low
    for (let j: usize = 1; j < h; j++) {
      const value = load<f32>(row + (j << 2))
      low = min(low, value)
      high = max(high, value)
    }
    widest = max(widest, high - low)
    lowest += low
  }
  const step: f32 = widest > 0 ? widest / 127 : 1
  store<f32>(rounded, step)
  store<f32>(rounded, lowest, 4)
  for (let s: usize = 0; s < <usize>((args.m + 1) & ~1); s++) {
    const row = table + (s << 6)
    const to = rounded + 16 + (s << 4)
    memory.fill(to, 0, 16)
    if (s >= <usize>args.m) {
      memory.fill(row, 0, 64)
      continue
    }
    let low = load<f32>(row)
    for (let j: usize = 1; j < h; j++) low = min(low, load<f32>(row + (j << 2)))
    for (let j: usize = 0; j < h; j++) {
      store<u8>(to + j, <u8>min<f32>(127, (load<f32>(row + (j << 2)) - low) / step))
    }
  }
}

function scanBytes(args: ScanListsArgs, heap: CodeHeap, first: u32, last: u32, base: f32, table: usize): void {
  const codeStride = <usize>args.codeStride
  const terms = args.terms
  const cells = <usize>((args.m * args.bits + 7) / 8)
  const fours = cells & ~3
  const allowed = args.allowed
  let limit = heap.limit
  let code = args.codes + <usize>first * codeStride
  for (let slot = first; slot < last; slot++, code += codeStride) {
    if (allowed !== 0 && !isAllowed(allowed, slot)) continue
    let sum = load<f32>(terms + ((<usize>slot) << 2))
    let other: f32 = 0
    let entries = table
    let cell: usize = 0
    for (; cell < fours; cell += 4) {
      const four = <usize>load<u32>(code + cell)
      sum += load<f32>(entries + ((four << 2) & 0x3fc))
      other += load<f32>(entries + ((four >> 6) & 0x3fc), 1024)
      sum += load<f32>(entries + ((four >> 14) & 0x3fc), 2048)
      other += load<f32>(entries + ((four >> 22) & 0x3fc), 3072)
      entries += 4096
    }
    for (; cell < cells; cell++) {
      sum += load<f32>(entries + ((<usize>load<u8>(code + cell)) << 2))
      entries += 1024
    }
    const total = base + (sum + other)
    if (!(total <= limit)) continue
    heap.insert(total, slot)
    limit = heap.limit
  }
}

function scanWords(args: ScanListsArgs, heap: CodeHeap, first: u32, last: u32, base: f32, table: usize): void {
  for (let slot = first; slot < last; slot++) {
    if (args.allowed !== 0 && !isAllowed(args.allowed, slot)) continue
    let sum = load<f32>(args.terms + ((<usize>slot) << 2))
    const code = args.codes + ((<usize>slot * args.codeStride) << 2)
    for (let s: usize = 0; s < <usize>args.m; s++) {
      sum += load<f32>(table + ((s * <usize>args.h + <usize>load<u32>(code + (s << 2))) << 2))
    }
    const total = base + sum
    if (total <= heap.limit) heap.insert(total, slot)
  }
}

/** The distance of a found code by differences, with what no direction of the quantizer sees. */
function measureAgain(query: u32, i: u32, args: ScanListsArgs, heap: CodeHeap): void {
  const at = (<usize>i) << 2
  const slot = load<u32>(heap.slots + at)
  const probed = (<usize>query * args.probe + load<u32>(heap.owners + at)) << 2
  const list = load<u32>(args.lists + probed)
  const point = args.projected + ((<usize>query * args.width) << 2)
  const center = args.centers + ((<usize>list * args.width) << 2)
  let sum: f32 = 0
  let seen: f32 = 0
  for (let s: u32 = 0; s < args.m; s++) {
    const first = load<u32>(args.ranges + ((<usize>s) << 2))
    const end = load<u32>(args.ranges + ((<usize>s) << 2), 4)
    const word = args.books + ((<usize>(s * args.h + codeOf(args, slot, s)) * args.bookStride) << 2)
    for (let t = first; t < end; t++) {
      const rest = load<f32>(point + ((<usize>t) << 2)) - load<f32>(center + ((<usize>t) << 2))
      const gap = rest - load<f32>(word + ((<usize>(t - first)) << 2))
      sum += gap * gap
      seen += rest * rest
    }
  }
  store<f32>(heap.distances + at, args.whole ? sum : sum + max<f32>(0, load<f32>(args.bases + probed) - seen))
}

function codeOf(args: ScanListsArgs, slot: u32, s: u32): u32 {
  const bits = args.bits
  if (bits === 32) return load<u32>(args.codes + ((<usize>slot * args.codeStride + s) << 2))
  const cell = <usize>((s * bits) >> 3)
  const at = args.blocked
    ? args.codes + ((<usize>(slot / SCAN_BLOCK) * args.codeStride + cell) << 4) + <usize>(slot % SCAN_BLOCK)
    : args.codes + <usize>slot * args.codeStride + cell
  return (<u32>load<u8>(at) >> ((s * bits) & 7)) & ((1 << bits) - 1)
}

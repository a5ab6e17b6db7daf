/**
 * Codes of 4 bits in blocks of 16 vectors, block[cell][16], where a byte holds two codes of one vector. Sums of rounded
 * entries rule most vectors out; the others are summed in floats.
 */
import { SCAN_BLOCK, ScanListsArgs } from './build/assembly/arguments'
import { CodeHeap } from './code-heap'
import { lookUp, madd } from './simd'

export function scanBlocks(
  args: ScanListsArgs,
  heap: CodeHeap,
  first: u32,
  last: u32,
  base: f32,
  table: usize,
  rounded: usize,
): void {
  const cells = <usize>args.codeStride
  const step = load<f32>(rounded)
  const lowest = load<f32>(rounded, 4)
  const steps = f32x4.splat(step)
  const entries = rounded + 16
  const low4 = i8x16.splat(15)
  // What sums of so many floats may be off by.
  const roundings: usize = cells + cells + 8
  const largest: usize = cells * 254
  const slack: f32 = <f32>roundings * 6e-8
  const reach: f32 = Mathf.abs(base) + Mathf.abs(lowest) + <f32>largest * step
  let limit = heap.limit
  let bound = f32x4.splat(limit - base - lowest + slack * (reach + Mathf.abs(limit)))
  let block = args.codes + ((<usize>(first / SCAN_BLOCK) * cells) << 4)
  let terms = args.terms + ((<usize>first) << 2)
  for (let slot = first; slot < last; slot += SCAN_BLOCK) {
    let even = i16x8.splat(0)
    let odd = i16x8.splat(0)
    let row = entries
    const end = block + (cells << 4)
    while (block < end) {
      const pair = v128.load(block)
      const sum = i8x16.add(
        lookUp(v128.load(row), v128.and(pair, low4)),
        lookUp(v128.load(row, 16), i8x16.shr_u(pair, 4)),
      )
      // Bytes of odd vectors are counted 256 times in `even`, and taken out at the end.
      even = i16x8.add(even, sum)
      odd = i16x8.add(odd, i16x8.shr_u(sum, 8))
      block += 16
      row += 32
    }
    even = i16x8.sub(even, i16x8.shl(odd, 8))
    const left = i8x16.shuffle(even, odd, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23)
    const right = i8x16.shuffle(even, odd, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31)
    const a = f32x4.le(madd(f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(left)), steps, v128.load(terms)), bound)
    const b = f32x4.le(madd(f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(left)), steps, v128.load(terms, 16)), bound)
    const c = f32x4.le(madd(f32x4.convert_i32x4_u(i32x4.extend_low_i16x8_u(right)), steps, v128.load(terms, 32)), bound)
    const d = f32x4.le(
      madd(f32x4.convert_i32x4_u(i32x4.extend_high_i16x8_u(right)), steps, v128.load(terms, 48)),
      bound,
    )
    terms += 64
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue
    const mask = i32x4.bitmask(a) | (i32x4.bitmask(b) << 4) | (i32x4.bitmask(c) << 8) | (i32x4.bitmask(d) << 12)
    let passing = <u32>mask
    while (passing !== 0) {
      const lane = <u32>ctz(passing)
      passing &= passing - 1
      const found = slot + lane
      if (found >= last) break
      if (args.allowed !== 0 && !isAllowed(args.allowed, found)) continue
      const total =
        base + sumOf(end - (cells << 4) + <usize>lane, cells, table, load<f32>(args.terms + ((<usize>found) << 2)))
      if (!(total <= limit)) continue
      heap.insert(total, found)
      limit = heap.limit
      bound = f32x4.splat(limit - base - lowest + slack * (reach + Mathf.abs(limit)))
    }
  }
}

/** `allowed` has a bit for each slot. */
export function isAllowed(allowed: usize, slot: u32): bool {
  return ((load<u8>(allowed + <usize>(slot >> 3)) >> <u8>(slot & 7)) & 1) !== 0
}

/** The sum of one vector in floats. */
function sumOf(code: usize, cells: usize, table: usize, term: f32): f32 {
  let sum = term
  let other: f32 = 0
  for (let cell: usize = 0; cell < cells; cell++) {
    const pair = <usize>load<u8>(code + (cell << 4))
    sum += load<f32>(table + ((pair & 15) << 2))
    other += load<f32>(table + ((pair >> 4) << 2), 64)
    table += 128
  }
  return sum + other
}

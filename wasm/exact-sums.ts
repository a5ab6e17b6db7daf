/**
 * Exact sums of floats. A sum is a 96-bit two's complement integer in units of a power of two, as three planes of words:
 * the lowest words of all numbers, then the middle ones, then the highest. `unit` is the exponent in the bits of a float
 * whose lowest bit is the unit. Items are rows of `width` numbers; with counts, rows whose count is 0 are skipped.
 */
import { AddExactArgs, ExactToFloatsArgs } from './build/assembly/arguments'

/** Up to this unit a float can be scaled in one step, see `addFour`. */
const MOST_SCALED: i32 = 212

export function addExact(start: u32, end: u32, _scratch: usize, args: AddExactArgs): void {
  const values = args.values
  const counts = args.counts
  const width = args.width
  const unit = args.unit
  const words = args.words
  const plane = args.plane
  const bytes = (<usize>width) << 2
  const step = (<usize>plane) << 2
  const whole: usize = unit > MOST_SCALED ? 0 : bytes & ~(<usize>15)
  // 1 / (2^64 units): the whole part of a float times this is its highest word.
  const scale = f32x4.splat(reinterpret<f32>((213 - unit) << 23))
  for (let row = start; row < end; row++) {
    if (counts && load<u32>(counts + ((<usize>row) << 2)) === 0) continue
    const from = values + <usize>row * bytes
    const at = words + <usize>row * bytes
    let column: usize = 0
    for (; column < whole; column += 16) addFour(v128.load(from + column), scale, at + column, step)
    for (; column < bytes; column += 4) addOne(load<u32>(from + column), unit, at + column, step)
  }
}

/**
 * Adds four floats. Each is cut into its three words by arithmetic that does not round: scaling by powers of two, cutting
 * off the whole part, subtracting it. To subtract, sums are complemented before and after.
 */
function addFour(value: v128, scale: v128, at: usize, step: usize): void {
  const word = f32x4.splat(4294967296)
  const first = f32x4.mul(f32x4.abs(value), scale)
  const second = f32x4.mul(f32x4.sub(first, f32x4.trunc(first)), word)
  const third = f32x4.mul(f32x4.sub(second, f32x4.trunc(second)), word)
  const high = i32x4.trunc_sat_f32x4_s(first)
  const mid = i32x4.trunc_sat_f32x4_u(second)
  const low = i32x4.trunc_sat_f32x4_u(third)
  const sign = i32x4.shr_s(value, 31)
  const lower = i32x4.add(v128.xor(v128.load(at), sign), low)
  const middle = i32x4.add(v128.xor(v128.load(at + step), sign), mid)
  // Comparisons give -1 for a carry.
  const carry = i32x4.lt_u(lower, low)
  const raised = i32x4.sub(middle, carry)
  const upper = i32x4.add(v128.xor(v128.load(at + 2 * step), sign), high)
  const carries = i32x4.add(i32x4.lt_u(middle, mid), v128.and(carry, i32x4.eq(raised, i32x4.splat(0))))
  v128.store(at, v128.xor(lower, sign))
  v128.store(at + step, v128.xor(raised, sign))
  v128.store(at + 2 * step, v128.xor(i32x4.sub(upper, carries), sign))
}

/** Adds one float, given by its bits. Without branches: signs are as good as random. */
function addOne(value: u32, unit: i32, at: usize, step: usize): void {
  const power = (value >> 23) & 255
  const shift = <i32>max(power, 1) - unit
  const mantissa = (value & 0x7fffff) | ((<u32>(power > 0)) << 23)
  const bits = <u64>(mantissa >> min(max(-shift, 0), 31))
  const left = max(shift, 0)
  const moved = bits << (left & 31)
  const low = select<u64>(moved, select<u64>(moved << 32, 0, left < 64), left < 32)
  const high = select<u64>(0, select<u64>(moved >> 32, select<u64>(moved, 0, left < 96), left < 64), left < 32)
  const sign = <u64>(<i64>(<i32>value >> 31))
  const before = <u64>load<u32>(at) | ((<u64>load<u32>(at + step)) << 32)
  const lower = (before ^ sign) + low
  const upper = (load<u32>(at + 2 * step) ^ <u32>sign) + <u32>high + <u32>(lower < low)
  store<u32>(at, <u32>(lower ^ sign))
  store<u32>(at + step, <u32>((lower ^ sign) >> 32))
  store<u32>(at + 2 * step, upper ^ <u32>sign)
}

/** The nearest floats, ties to even. */
export function exactToFloats(start: u32, end: u32, _scratch: usize, args: ExactToFloatsArgs): void {
  const out = args.out
  const counts = args.counts
  const width = args.width
  const unit = args.unit
  const words = args.words
  const plane = args.plane
  const bytes = (<usize>width) << 2
  const step = (<usize>plane) << 2
  for (let row = start; row < end; row++) {
    if (counts && load<u32>(counts + ((<usize>row) << 2)) === 0) continue
    let at = words + <usize>row * bytes
    const first = out + <usize>row * bytes
    for (let to = first; to < first + bytes; to += 4) {
      store<u32>(to, nearestBits(load<u32>(at), load<u32>(at + step), load<u32>(at + 2 * step), unit))
      at += 4
    }
  }
}

/** Without branches that depend on signs or on low bits, which are as good as random. */
function nearestBits(low: u32, mid: u32, high: u32, unit: u32): u32 {
  const sign = <u32>(<i32>high >> 31)
  const mask = <u64>(<i64>(<i32>sign))
  const lower = ((<u64>low | ((<u64>mid) << 32)) ^ mask) - mask
  const upper = (high ^ sign) + (sign & <u32>(lower === 0))
  return (sign & 0x80000000) | roundedBits(lower, upper, unit)
}

/** The bits of the float nearest to a positive number of units. */
function roundedBits(lower: u64, upper: u32, unit: u32): u32 {
  if (upper === 0 && lower < 0x1000000) {
    // It fits the 24 bits of a float; below the smallest normal float it is not moved up all the way.
    if (lower === 0) return 0
    const up = min(<u32>clz(lower) - 40, unit - 1)
    return ((unit - 1 - up) << 23) + ((<u32>lower) << up)
  }
  const long = upper > 0
  const top = select<u64>(((<u64>upper) << 32) | (lower >> 32), lower, long)
  const rest = select<u32>(<u32>lower, 0, long)
  const zeros = clz(top)
  const mantissa = <u32>((top << zeros) >> 40)
  // What is below the mantissa, from the highest bit on; the lowest bit stands for everything beyond.
  const below = (top << (zeros + 24)) | <u64>(rest !== 0)
  const up = <u32>(below + <u64>(mantissa & 1) > 0x8000000000000000)
  const moved = select<u32>(72, 40, long) - <u32>zeros
  return min(((unit - 1 + moved) << 23) + mantissa + up, 0x7f800000)
}

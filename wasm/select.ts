/**
 * Selection among keys: u64, of which the upper half says where a point lies along a direction and the lower half is the
 * number of the point. No two keys are equal, so that equal places go by number.
 *
 * Partitions have no branches: where a key goes is added to an address. Branches on keys in random order are guessed wrong
 * every second time, which costs more than everything else.
 */
import { PIVOTS } from './build/assembly/arguments'

/** Up to here keys are sorted by insertion. */
const FEW: u32 = 8
/** From here on the pivot comes from a sample of PIVOTS keys, below from three. */
const MANY: u32 = 512
/** How far from the rank, among the sampled keys, the pivot is taken: so that the rank is mostly on the smaller side. */
const ASIDE: i32 = 2

/** Whole numbers in the order of the floats; both zeros are alike. */
export function risingFloat(value: f32): u32 {
  const bits = reinterpret<i32>(value + 0)
  return <u32>(bits ^ ((bits >> 31) | i32.MIN_VALUE))
}

/** Whole numbers without sign in the order of those with one. */
export function risingInteger(value: i32): u32 {
  return <u32>(value ^ i32.MIN_VALUE)
}

/** Afterwards every key before `rank` is less than every key from it on, among keys `from` to `to`. */
export function selectKeys(keys: usize, from: u32, to: u32, rank: u32, pivots: usize): void {
  if (rank <= from || rank >= to) return
  let low = from
  let high = to
  while (high - low > FEW) {
    const pivot = high - low < MANY ? middleOfThree(keys, low, high) : pivotNear(keys, low, high, rank, pivots)
    const middle = partition(keys, low, high, pivot)
    // Some key is less than the pivot, and some is not: both sides are smaller than what was there.
    if (rank === middle) return
    if (rank < middle) high = middle
    else low = middle
  }
  sortFew(keys + ((<usize>low) << 3), high - low)
}

/** Brings keys less than the pivot to the front; returns where they end. */
function partition(keys: usize, low: u32, high: u32, pivot: u64): u32 {
  let at = keys + ((<usize>low) << 3)
  const end = keys + ((<usize>high) << 3)
  let out = at
  while (at < end) {
    const key = load<u64>(at)
    store<u64>(at, load<u64>(out))
    store<u64>(out, key)
    out += (<usize>(key < pivot)) << 3
    at += 8
  }
  return <u32>((out - keys) >> 3)
}

function middleOfThree(keys: usize, low: u32, high: u32): u64 {
  const a = load<u64>(keys + ((<usize>low) << 3))
  const b = load<u64>(keys + ((<usize>((low + high) >> 1)) << 3))
  const c = load<u64>(keys + ((<usize>(high - 1)) << 3))
  const least = min(a, b)
  const most = max(a, b)
  return max(least, min(most, c))
}

/** A key a little beyond the rank, seen from the nearer end; neither the first nor the last of the sampled ones. */
function pivotNear(keys: usize, low: u32, high: u32, rank: u32, pivots: usize): u64 {
  const step = (high - low) / PIVOTS
  for (let i: u32 = 0; i < PIVOTS; i++) {
    store<u64>(pivots + ((<usize>i) << 3), load<u64>(keys + ((<usize>(low + i * step + (step >> 1))) << 3)))
  }
  sortFew(pivots, PIVOTS)
  const place = <i32>((<u64>(rank - low) * PIVOTS) / (high - low))
  const aside = place < <i32>(PIVOTS >> 1) ? place + ASIDE : place - ASIDE
  return load<u64>(pivots + ((<usize>min(max(aside, 1), <i32>PIVOTS - 2)) << 3))
}

function sortFew(keys: usize, count: u32): void {
  for (let i: u32 = 1; i < count; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3))
    let at = keys + ((<usize>i) << 3)
    while (at > keys && load<u64>(at - 8) > key) {
      store<u64>(at, load<u64>(at - 8))
      at -= 8
    }
    store<u64>(at, key)
  }
}

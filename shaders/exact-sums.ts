/**
 * Exact sums of floats: 96-bit integers as three planes of words, as in wasm/exact-sums.ts. Floats are bound as words, so
 * that no subnormal number is lost and nothing rounds but the last step. One thread for each number.
 */
import { wgsl } from 'wgsl-preprocessor/wgsl-preprocessor.js'
import { threadBuiltins, threadNumber } from './snippets.ts'

/** `counts`: rows whose count is 0 are skipped. */
const skipped = wgsl`
${threadNumber}

fn skipped(here: u32) -> bool {
  if (here >= params.count) { return true; }
  return params.hasCounts == 1u && counts[(params.first + here) / params.width] == 0u;
}
`

export const addExactBody = (): string => wgsl`
${skipped}

// 24 bits moved up by left, as three words.
fn placed(bits: u32, left: u32) -> vec3u {
  let shift = left & 31u;
  let lower = bits << shift;
  let upper = select(0u, bits >> (32u - shift), shift > 0u);
  switch (left >> 5u) {
    case 0u: { return vec3u(lower, upper, 0u); }
    case 1u: { return vec3u(0u, lower, upper); }
    case 2u: { return vec3u(0u, 0u, lower); }
    default: { return vec3u(); }
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (skipped(here)) { return; }
  let value = values[here];
  let power = (value >> 23u) & 255u;
  let shift = i32(max(power, 1u)) - i32(params.unit);
  let mantissa = (value & 0x7fffffu) | select(0u, 0x800000u, power > 0u);
  let bits = mantissa >> u32(clamp(-shift, 0, 31));
  // Minus a number is its complement and one.
  let sign = value >> 31u;
  let part = placed(bits, u32(max(shift, 0))) ^ vec3u(0u - sign);
  let one = low[here] + sign;
  let lower = one + part.x;
  let carry = u32(one < sign) + u32(lower < part.x);  // never both
  let two = mid[here] + carry;
  let middle = two + part.y;
  low[here] = lower;
  mid[here] = middle;
  high[here] += part.z + u32(two < carry) + u32(middle < part.y);
}
`

export const exactToFloatsBody = (): string => wgsl`
${skipped}

fn magnitude(number: vec3u) -> vec3u {
  let lowCarry = u32(number.x == 0u);
  let midCarry = lowCarry & u32(number.y == 0u);
  return ~number + vec3u(1u, lowCarry, midCarry);
}

// The bits of the float nearest to a positive number of units.
fn rounded(number: vec3u) -> u32 {
  if (number.z == 0u && number.y == 0u && number.x < 0x1000000u) {
    // It fits the 24 bits of a float; below the smallest normal float it is not moved up all the way.
    if (number.x == 0u) { return 0u; }
    let up = min(countLeadingZeros(number.x) - 8u, params.unit - 1u);
    return ((params.unit - 1u - up) << 23u) + (number.x << up);
  }
  var words = number;
  var moved = 72u;
  for (; words.z == 0u; moved -= 32u) { words = vec3u(0u, words.xy); }
  let zeros = countLeadingZeros(words.z);
  let first = (words.z << zeros) | select(0u, words.y >> (32u - zeros), zeros > 0u);
  let rest = (words.y << zeros) | words.x;
  let mantissa = first >> 8u;
  let below = first & 255u;
  let up = u32(below > 128u || (below == 128u && (rest != 0u || (mantissa & 1u) == 1u)));
  return min(((params.unit - 1u + moved - zeros) << 23u) + mantissa + up, 0x7f800000u);
}

@compute @workgroup_size(WORKGROUP)
fn main(${threadBuiltins}) {
  let here = threadNumber(workgroup, groups, local);
  if (skipped(here)) { return; }
  let number = vec3u(low[here], mid[here], high[here]);
  let sign = number.z >> 31u;
  if (sign == 1u) {
    out[here] = rounded(magnitude(number)) | 0x80000000u;
  } else {
    out[here] = rounded(number);
  }
}
`

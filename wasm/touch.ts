/**
 * Rows that lie all over memory arrive one after the other, each waited for, unless they are asked for
 * together and early. WebAssembly has no prefetch; a load whose value is wanted late does the same.
 */

/** Rows that are touched before they are needed, where a kernel goes through a list of rows. */
export const AHEAD: u32 = 8

/** What was touched goes somewhere in the end, or the compiler would leave the loads out. */
export function touchRow(row: usize, bytes: usize): u32 {
  // The engine fetches long rows ahead by itself, once they have begun.
  const reach = min<usize>(bytes, 512)
  let sum: u32 = 0
  for (let line: usize = 0; line < reach; line += 64) sum += <u32>load<u8>(row + line)
  return sum
}

/** Of the members listed from `from` on: all labels, and the rows that are there, `near` being the first of `rows`. */
export function touchPoints(
  x: usize,
  bytes: usize,
  members: usize,
  from: u32,
  to: u32,
  lent: usize,
  near: u32,
  rows: u32,
): u32 {
  let sum: u32 = 0
  for (let at = from; at < to; at++) {
    const member = load<u32>(members + ((<usize>at) << 2))
    sum += load<u32>(lent + ((<usize>member) << 2))
    const row = member - near
    if (row < rows) sum += touchRow(x + <usize>row * bytes, bytes)
  }
  return sum
}

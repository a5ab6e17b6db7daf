/**
 * Rows that lie all over memory arrive one after the other, each waited for, unless they are asked for
 * together and early. WebAssembly has no prefetch; a load whose value is wanted late does the same.
 */

/** What was touched goes somewhere in the end, or the compiler would leave the loads out. */
export function touchRow(row: usize, bytes: usize): u32 {
  // The engine fetches long rows ahead by itself, once they have begun.
  const reach = min<usize>(bytes, 512)
  let sum: u32 = 0
  for (let line: usize = 0; line < reach; line += 64) sum += <u32>load<u8>(row + line)
  return sum
}

/** Rows and labels of the points listed from `from` on. */
export function touchPoints(x: usize, bytes: usize, members: usize, from: u32, to: u32, labels: usize): u32 {
  let sum: u32 = 0
  for (let at = from; at < to; at++) {
    const point = <usize>load<u32>(members + ((<usize>at) << 2))
    sum += touchRow(x + point * bytes, bytes) + load<u32>(labels + (point << 2))
  }
  return sum
}

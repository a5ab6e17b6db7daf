/**
 * What the host reads of a round: for every block of BLOCK items the sum of values (times weights,
 * if there are any) and the number of places where two lists differ. Items are blocks; the first begins
 * at place `from` of the lists.
 */
const BLOCK: u32 = 256

export function tally(
  start: u32,
  end: u32,
  scratch: usize,
  from: u32,
  n: u32,
  values: usize,
  weights: usize,
  left: usize,
  right: usize,
  sums: usize,
  differences: usize,
): void {
  for (let block = start; block < end; block++) {
    let sum: f64 = 0
    let different: u32 = 0
    const stop = from + min((block + 1) * BLOCK, n)
    for (let i = from + block * BLOCK; i < stop; i++) {
      const at = (<usize>i) << 2
      const value = <f64>load<f32>(values + at)
      sum += weights ? value * <f64>load<f32>(weights + at) : value
      // Without a right-hand list the zeros of the left one are counted.
      different += <u32>(right ? load<u32>(left + at) !== load<u32>(right + at) : load<u32>(left + at) === 0)
    }
    store<f32>(sums + ((<usize>block) << 2), <f32>sum)
    store<u32>(differences + ((<usize>block) << 2), different)
  }
}

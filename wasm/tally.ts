/**
 * What the host reads of a round: for every block of items the sum of values (times weights,
 * if there are any) and the number of places where two lists differ. Items are blocks; the first begins
 * at place `first` of the lists.
 */
import { TALLY_BLOCK, TallyArgs } from './build/assembly/arguments'

export function tally(start: u32, end: u32, _scratch: usize, args: TallyArgs): void {
  for (let block = start; block < end; block++) {
    let sum: f64 = 0
    let different: u32 = 0
    const stop = args.first + min((block + 1) * TALLY_BLOCK, args.count)
    for (let i = args.first + block * TALLY_BLOCK; i < stop; i++) {
      const at = (<usize>i) << 2
      const value = <f64>load<f32>(args.values + at)
      sum += args.weights ? value * <f64>load<f32>(args.weights + at) : value
      // Without a right-hand list the zeros of the left one are counted.
      const left = load<u32>(args.left + at)
      different += <u32>(args.right ? left !== load<u32>(args.right + at) : left === 0)
    }
    store<f32>(args.sums + ((<usize>block) << 2), <f32>sum)
    store<u32>(args.differences + ((<usize>block) << 2), different)
  }
}

/** |c|^2 in 64 bits. An item is a centre. */
import { CenterSquaresArgs } from './build/assembly/arguments'

export function centerSquares(start: u32, end: u32, _scratch: usize, args: CenterSquaresArgs): void {
  const stride = args.stride
  for (let index = start; index < end; index++) {
    const row = args.centers + ((<usize>index * stride) << 2)
    let sum: f64 = 0
    for (let at: usize = 0; at < (<usize>stride) << 2; at += 4) {
      const value = <f64>load<f32>(row + at)
      sum += value * value
    }
    store<f64>(args.squares + ((<usize>index) << 3), sum)
  }
}

/** out[i] = x_i . directions[node[i]]: one direction per tree node. Items are points. */
import { dotProduct, rowBytes } from './simd'

export function project(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  directions: usize,
  nodes: usize,
  out: usize,
): void {
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const direction = directions + ((<usize>load<u32>(nodes + at) * stride) << 2)
    store<f32>(out + at, dotProduct(x + <usize>i * rowBytes(stride, kind), kind, direction, stride))
  }
}

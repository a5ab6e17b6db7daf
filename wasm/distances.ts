/** The n x k matrix of squared distances, by differences. Items are points. */
import { rowBytes, squaredDistance } from './simd'

export function distanceMatrix(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  count: u32,
  out: usize,
): void {
  for (let i = start; i < end; i++) {
    const row = x + <usize>i * rowBytes(stride, kind)
    let at = out + ((<usize>i * count) << 2)
    for (let j: u32 = 0; j < count; j++) {
      store<f32>(at, squaredDistance(row, kind, centers + ((<usize>j * stride) << 2), stride))
      at += 4
    }
  }
}

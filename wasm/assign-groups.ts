/**
 * Nearest among the centres of the point's group. Groups are ranges of centres: u32 [groups][2], first
 * and count. A point in no group (0xffffffff) or in an empty one gets no label. Items are points.
 */
import { rowBytes, squaredDistance } from './simd'

export function assignGroups(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  groups: usize,
  places: usize,
  labels: usize,
): void {
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const group = load<u32>(places + at)
    let label: u32 = 0xffffffff
    if (group !== 0xffffffff) {
      const row = x + <usize>i * rowBytes(stride, kind)
      const first = load<u32>(groups + ((<usize>group) << 3))
      const count = load<u32>(groups + ((<usize>group) << 3), 4)
      let best: f32 = <f32>Infinity
      for (let center = first; center < first + count; center++) {
        const distance = squaredDistance(row, kind, centers + ((<usize>center * stride) << 2), stride)
        if (distance < best) {
          best = distance
          label = center
        }
      }
    }
    store<u32>(labels + at, label)
  }
}

/**
 * Nearest among the centres of the point's group. Groups are ranges of centres: u32 [groups][2], first
 * and count. A point in no group (0xffffffff) or in an empty one gets no label. Items are points.
 *
 * Scratch: four distances, and the row as floats where it is of bytes.
 */
import { fourDistances, rowBytes, squaredDistance, unpackRow } from './simd'

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
  const bytes = (<usize>stride) << 2
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const group = load<u32>(places + at)
    let label: u32 = 0xffffffff
    if (group !== 0xffffffff) {
      const row = x + <usize>i * rowBytes(stride, kind)
      const first = load<u32>(groups + ((<usize>group) << 3))
      const last = first + load<u32>(groups + ((<usize>group) << 3), 4)
      let best: f32 = <f32>Infinity
      let center = first
      if (last - first >= 4) {
        let floats = row
        if (kind !== 0) {
          floats = scratch + 16
          unpackRow(row, kind, stride, floats)
        }
        for (; center + 4 <= last; center += 4) {
          const from = centers + <usize>center * bytes
          fourDistances(floats, from, from + bytes, from + 2 * bytes, from + 3 * bytes, stride, scratch)
          for (let place: u32 = 0; place < 4; place++) {
            const distance = load<f32>(scratch + ((<usize>place) << 2))
            if (distance < best) {
              best = distance
              label = center + place
            }
          }
        }
      }
      for (; center < last; center++) {
        const distance = squaredDistance(row, kind, centers + <usize>center * bytes, stride)
        if (distance < best) {
          best = distance
          label = center
        }
      }
    }
    store<u32>(labels + at, label)
  }
}

/**
 * Nearest among explicit candidates: `width` labels a point, 0xffffffff for none. The label and
 * distance already there stay unless a candidate is strictly nearer (or equally near with a lower
 * index). Items are points.
 */
import { rowBytes, squaredDistance } from './simd'

export function assignLists(
  start: u32,
  end: u32,
  scratch: usize,
  x: usize,
  kind: u32,
  stride: u32,
  centers: usize,
  lists: usize,
  width: u32,
  labels: usize,
  distances: usize,
  merge: u32,
): void {
  for (let i = start; i < end; i++) {
    const row = x + <usize>i * rowBytes(stride, kind)
    const at = (<usize>i) << 2
    let best = merge ? load<f32>(distances + at) : <f32>Infinity
    let label: u32 = merge ? load<u32>(labels + at) : 0xffffffff
    for (let place: u32 = 0; place < width; place++) {
      const candidate = load<u32>(lists + ((<usize>i * width + place) << 2))
      if (candidate === 0xffffffff || candidate === label) continue
      const distance = squaredDistance(row, kind, centers + ((<usize>candidate * stride) << 2), stride)
      if (distance < best || (distance === best && candidate < label)) {
        best = distance
        label = candidate
      }
    }
    store<u32>(labels + at, label)
    store<f32>(distances + at, best)
  }
}

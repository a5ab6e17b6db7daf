/** assign-groups.ts for sparse rows; distances as in assign-sparse.ts. Items are rows. */
import { sparseDistance } from './assign-sparse'

export function assignGroupsSparse(
  start: u32,
  end: u32,
  scratch: usize,
  values: usize,
  places: usize,
  columnsAt: u32,
  stride: u32,
  centers: usize,
  squares: usize,
  groups: usize,
  groupOf: usize,
  labels: usize,
): void {
  const columns = places + ((<usize>columnsAt) << 2)
  for (let row = start; row < end; row++) {
    const at = (<usize>row) << 2
    const group = load<u32>(groupOf + at)
    let label: u32 = 0xffffffff
    if (group !== 0xffffffff) {
      const from = load<u32>(places + at)
      const to = load<u32>(places + at, 4)
      const first = load<u32>(groups + ((<usize>group) << 3))
      const count = load<u32>(groups + ((<usize>group) << 3), 4)
      let best: f32 = <f32>Infinity
      for (let center = first; center < first + count; center++) {
        const square = load<f64>(squares + ((<usize>center) << 3))
        const distance = sparseDistance(values, columns, from, to, centers + ((<usize>center * stride) << 2), square)
        if (distance < best) {
          best = distance
          label = center
        }
      }
    }
    store<u32>(labels + at, label)
  }
}

/**
 * Nearest among the centres of the row's group. Groups are ranges of centres: u32 [groups][2], first
 * and count. A row in no group (NO_LABEL) or in an empty one gets no label. Items are rows.
 */
import { AssignGroupsArgs, NO_LABEL } from './build/assembly/arguments'
import { FLOATS, SPARSE, squareOf } from './rows'
import { fourDistances, unpackRow } from './simd'

export function assignGroups(start: u32, end: u32, scratch: usize, args: AssignGroupsArgs): void {
  const points = args.points
  const centers = args.centers
  const bytes = (<usize>points.stride) << 2
  const four = scratch + args.fourAt
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const group = load<u32>(args.groupOf + at)
    let label: u32 = NO_LABEL
    if (group !== NO_LABEL) {
      const first = load<u32>(args.ranges + ((<usize>group) << 3))
      const last = first + load<u32>(args.ranges + ((<usize>group) << 3), 4)
      let best: f32 = <f32>Infinity
      let center = first
      if (points.kind !== SPARSE && last - first >= 4) {
        let floats = points.at(i)
        if (points.kind !== FLOATS) {
          const unpacked = scratch + args.rowAt
          unpackRow(floats, points.kind, points.stride, unpacked)
          floats = unpacked
        }
        for (; center + 4 <= last; center += 4) {
          const from = centers + <usize>center * bytes
          fourDistances(floats, from, from + bytes, from + 2 * bytes, from + 3 * bytes, points.stride, four)
          for (let place: u32 = 0; place < 4; place++) {
            const distance = load<f32>(four + ((<usize>place) << 2))
            if (distance < best) {
              best = distance
              label = center + place
            }
          }
        }
      }
      for (; center < last; center++) {
        const distance = points.distance(i, centers + <usize>center * bytes, squareOf(args.squares, center))
        if (distance < best) {
          best = distance
          label = center
        }
      }
    }
    store<u32>(args.labels + at, label)
  }
}

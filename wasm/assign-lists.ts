/**
 * Nearest among explicit candidates: `width` labels for each row, NO_LABEL for none. With `merge` the label and
 * distance already there stay unless a candidate is strictly nearer (or equally near with a lower index). Items are rows.
 */
import { AssignListsArgs, NO_LABEL } from './build/assembly/arguments'
import { squareOf } from './rows'

export function assignLists(start: u32, end: u32, _scratch: usize, args: AssignListsArgs): void {
  const points = args.points
  const stride = points.stride
  const width = args.width
  const merge = args.merge
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    let best = merge ? load<f32>(args.distances + at) : <f32>Infinity
    let label: u32 = merge ? load<u32>(args.labels + at) : NO_LABEL
    for (let place: u32 = 0; place < width; place++) {
      const candidate = load<u32>(args.lists + ((<usize>i * width + place) << 2))
      if (candidate === NO_LABEL || candidate === label) continue
      const center = args.centers + ((<usize>candidate * stride) << 2)
      const distance = points.distance(i, center, squareOf(args.squares, candidate))
      if (distance < best || (distance === best && candidate < label)) {
        best = distance
        label = candidate
      }
    }
    store<u32>(args.labels + at, label)
    store<f32>(args.distances + at, best)
  }
}

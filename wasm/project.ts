/** out[i] = x_i . directions[node[i]]: one direction per tree node. Items are points. */
import { ProjectArgs } from './build/assembly/arguments'
import { dotProduct } from './simd'

export function project(start: u32, end: u32, _scratch: usize, args: ProjectArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const directions = args.directions
  const nodes = args.nodes
  const out = args.out
  for (let i = start; i < end; i++) {
    const at = (<usize>i) << 2
    const direction = directions + ((<usize>load<u32>(nodes + at) * stride) << 2)
    store<f32>(out + at, dotProduct(points.at(i), kind, direction, stride))
  }
}

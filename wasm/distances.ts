/** The n x k matrix of squared distances, by differences. Items are points. */
import { DistanceMatrixArgs } from './build/assembly/arguments'
import { squaredDistance } from './simd'

export function distanceMatrix(start: u32, end: u32, _scratch: usize, args: DistanceMatrixArgs): void {
  const points = args.points
  const kind = points.kind
  const stride = points.stride
  const centers = args.centers
  const k = args.count
  for (let i = start; i < end; i++) {
    const row = points.at(i)
    let at = args.out + ((<usize>i * k) << 2)
    for (let j: u32 = 0; j < k; j++) {
      store<f32>(at, squaredDistance(row, kind, centers + ((<usize>j * stride) << 2), stride))
      at += 4
    }
  }
}

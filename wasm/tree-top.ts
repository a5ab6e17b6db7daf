/**
 * Points on their way through the first levels of a partition tree, of which `growNodes` has found the planes in a sample:
 * one pass over the rows, in their order, in place of one pass for each level over rows that lie all over memory.
 */
import { RouteRowsArgs } from './build/assembly/arguments'
import { dotBytes } from './quantized-rows'
import { BYTES, Rows } from './rows'
import { risingFloat, risingInteger } from './select'
import { dotProduct } from './simd'

/** Bytes are multiplied with directions as 16-bit integers: no sum of so few columns leaves 32 bits. */
export function isRoutedInIntegers(points: Rows): bool {
  return points.kind === BYTES && points.stride < 8000
}

/** Items are rows. cells: u32 [n], the cell of each. The planes of a level are numbered from 2^level on. */
export function routeRows(start: u32, end: u32, _scratch: usize, args: RouteRowsArgs): void {
  const points = args.points
  const planes = args.planes
  const thresholds = args.thresholds
  const levels = args.levels
  const integers = isRoutedInIntegers(points)
  const first = (<u32>1) << levels
  let row = start
  // Four rows side by side: each step of one waits for the step before.
  for (; row + 4 <= end; row += 4) {
    let a: u32 = 1
    let b: u32 = 1
    let c: u32 = 1
    let d: u32 = 1
    for (let level: u32 = 0; level < levels; level++) {
      a = below(points, integers, row, planes, thresholds, a)
      b = below(points, integers, row + 1, planes, thresholds, b)
      c = below(points, integers, row + 2, planes, thresholds, c)
      d = below(points, integers, row + 3, planes, thresholds, d)
    }
    const out = args.cells + ((<usize>row) << 2)
    store<u32>(out, a - first)
    store<u32>(out, b - first, 4)
    store<u32>(out, c - first, 8)
    store<u32>(out, d - first, 12)
  }
  for (; row < end; row++) {
    let node: u32 = 1
    for (let level: u32 = 0; level < levels; level++) node = below(points, integers, row, planes, thresholds, node)
    store<u32>(args.cells + ((<usize>row) << 2), node - first)
  }
}

/** The child of the node in which the row lies. */
function below(points: Rows, integers: bool, row: u32, planes: usize, thresholds: usize, node: u32): u32 {
  const stride = points.stride
  const plane = planes + ((<usize>node * stride) << 2)
  const place = integers
    ? risingInteger(dotBytes(points.at(row), plane, stride))
    : risingFloat(dotProduct(points.at(row), points.kind, plane, stride))
  return 2 * node + u32(place >= load<u32>(thresholds + ((<usize>node) << 2)))
}

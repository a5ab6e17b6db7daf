/**
 * Building partition trees: every node is split by the direction of the largest variance of a sample of its points.
 *
 *     members:   [ from ................................ to )      row numbers of the points of a node
 *                         |
 *     sample     up to `sample` rows less their mean, as floats
 *     direction  v = sum of (row . v) row, normalised, `steps` times
 *     keys       u64 per member: projection on v (upper half), row number (lower half)
 *                         |
 *     select     [ from ....... rank )[ rank ........... to )      every key on the left < every key on the right
 *
 * The step v = (sum of row row') v is power iteration: it multiplies the component of v along each eigenvector of the covariance
 * matrix of the sample by its eigenvalue, so v converges to the eigenvector of the largest one, the first principal axis. A few
 * steps suffice, because any direction with a large variance splits well. The matrix itself, stride x stride, is never formed.
 *
 * Projections are mapped to unsigned integers in the same order (select.ts), so that keys are compared as integers. The row number
 * in the lower half makes all keys different: equal projections are split by row number, and the result does not depend on the
 * order of the members. Only the selection around `rank` is needed, not a full sort.
 *
 * A node is three words: first member, end, and the member at which to split.
 */
import { GrowNodesArgs, NODE_WORDS, QUANTIZED_LENGTH } from './build/assembly/arguments'
import { dotBytes, dotFourBytes, quantizeRow } from './quantized-rows'
import { describeDense, Rows } from './rows'
import { risingFloat, risingInteger, selectKeys } from './select'
import { dotProduct, loadFour, madd } from './simd'
import { AHEAD, touchRow } from './touch'
import { isRoutedInIntegers } from './tree-top'

/** A well mixed number from three. */
function mix(a: u32, b: u32, c: u32): u32 {
  let h = (a * 0x9e3779b1) ^ (b * 0x85ebca77) ^ (c * 0xc2b2ae3d)
  h = (h ^ (h >> 15)) * 0x2c1b3c6d
  h = (h ^ (h >> 12)) * 0x297a2d39
  return h ^ (h >> 15)
}

/**
 * Items are nodes. The sample consists of all points if there are at most `sample`, otherwise it is drawn
 * with replacement. Equal points give a zero direction, so they are split by row number. keys: u64 [n], by slot.
 */
export function growNodes(start: u32, end: u32, scratch: usize, args: GrowNodesArgs): void {
  if (args.planes !== 0) {
    growTop(scratch, args)
    return
  }
  if (args.most > 0) {
    growSubtrees(start, end, scratch, args)
    return
  }
  const seed = args.seed
  const members = args.members
  const keys = args.keys
  for (let node = start; node < end; node++) {
    const at = args.nodes + ((<usize>(node * NODE_WORDS)) << 2)
    const from = load<u32>(at)
    const to = load<u32>(at, 4)
    const rank = load<u32>(at, 8)
    for (let slot = <usize>from; slot < <usize>to; slot++)
      store<u64>(keys + (slot << 3), load<u32>(members + (slot << 2)))
    splitNode(scratch, args, args.points, keys, from, to, rank, seed, mix(seed, node, 77), true)
    for (let slot = <usize>from; slot < <usize>to; slot++)
      store<u32>(members + (slot << 2), load<u32>(keys + (slot << 3)))
  }
}

/**
 * The first levels, over the members of one node: a sample. Its third word is the number of cells, a power of two. The plane of
 * each split is stored, with which `routeRows` assigns all points to cells: the direction, as integers or floats, and the least
 * projection on the far side. Planes are numbered as in a binary heap, from 1 on.
 */
function growTop(scratch: usize, args: GrowNodesArgs): void {
  const points = args.points
  const members = args.members
  const keys = args.keys
  const width = (<usize>points.stride) << 2
  const count = load<u32>(args.nodes, 4)
  const cells = load<u32>(args.nodes, 8)
  for (let i: usize = 0; i < <usize>count; i++) store<u64>(keys + (i << 3), load<u32>(members + (i << 2)))
  for (let level: u32 = 0; (<u32>1) << level < cells; level++) {
    const nodes = (<u32>1) << level
    const seed = mix(args.seed, level, 5)
    for (let node: u32 = 0; node < nodes; node++) {
      const from = <u32>((<u64>count * node) >> level)
      const to = <u32>((<u64>count * (node + 1)) >> level)
      const rank = <u32>((<u64>count * (2 * node + 1)) >> (level + 1))
      splitNode(scratch, args, points, keys, from, to, rank, seed, mix(seed, node, 77), true)
      let least: u32 = u32.MAX_VALUE
      for (let slot = <usize>rank; slot < <usize>to; slot++) least = min(least, load<u32>(keys + (slot << 3), 4))
      const number = <usize>(nodes + node)
      store<u32>(args.thresholds + (number << 2), least)
      const direction = scratch + (isRoutedInIntegers(points) ? args.meanAt : args.directionAt)
      memory.copy(args.planes + number * width, direction, width)
    }
  }
}

/** The points are those of all nodes, or copies of one node's. The lower half of a key is the number of a point. */
function splitNode(
  scratch: usize,
  args: GrowNodesArgs,
  points: Rows,
  keys: usize,
  from: u32,
  to: u32,
  rank: u32,
  seed: u32,
  drawn: u32,
  far: bool,
): void {
  const size = to - from
  if (size < 2) return
  const stride = points.stride
  const width = (<usize>stride) << 2
  const sample = args.sample
  const mean = scratch + args.meanAt
  const direction = scratch + args.directionAt
  const sampled = scratch + args.sampledAt
  const count = min(size, sample)
  gatherSample(points, keys, from, size, count, sample, seed, mean, sampled)
  // Start from a sampled point that differs from the mean. It is drawn at random, so that trees differ.
  for (let turn: u32 = 0; turn < count; turn++) {
    memory.copy(direction, sampled + <usize>((drawn + turn) % count) * width, width)
    if (dotProduct(direction, 0, direction, stride) > 0) break
  }
  const steps = args.steps
  for (let step: u32 = 0; step < steps; step++) powerStep(sampled, count, stride, direction, mean)
  if (size <= sample) projectSample(sampled, keys, from, to, stride, direction)
  else if (isRoutedInIntegers(points)) projectBytes(points, keys, from, to, direction, mean, far)
  else projectRows(points, keys, from, to, direction, far)
  selectKeys(keys, from, to, rank, scratch + args.pivotsAt)
}

/**
 * Small nodes, each split down to its leaves: its rows are copied next to each other, so that all further
 * splits run in the nearest cache. Here the third word of a node is its number of leaves.
 */
function growSubtrees(start: u32, end: u32, scratch: usize, args: GrowNodesArgs): void {
  const points = args.points
  const x = points.data
  const bytes = points.bytes
  const rows = scratch + args.rowsAt
  const keys = scratch + args.placesAt
  const numbers = scratch + args.numbersAt
  const copies = describeDense(scratch + args.viewAt, rows, points.kind, points.stride)
  for (let node = start; node < end; node++) {
    const at = args.nodes + ((<usize>(node * NODE_WORDS)) << 2)
    const from = load<u32>(at)
    const size = load<u32>(at, 4) - from
    const own = args.members + ((<usize>from) << 2)
    memory.copy(numbers, own, (<usize>size) << 2)
    let touched: u32 = 0
    for (let i: u32 = 0; i < size; i++)
      touched += touchRow(x + <usize>load<u32>(own + ((<usize>i) << 2)) * bytes, bytes)
    store<u32>(keys, touched)
    for (let i: u32 = 0; i < size; i++) {
      memory.copy(rows + <usize>i * bytes, x + <usize>load<u32>(own + ((<usize>i) << 2)) * bytes, bytes)
      store<u64>(keys + ((<usize>i) << 3), i)
    }
    growBelow(scratch, args, copies, keys, 0, size, load<u32>(at, 8), mix(args.seed, from, 0))
    for (let i: usize = 0; i < <usize>size; i++) {
      store<u32>(own + (i << 2), load<u32>(numbers + ((<usize>load<u32>(keys + (i << 3))) << 2)))
    }
  }
}

/** Half of the leaves go to each side, and a proportional number of points, rounded as on the host. */
function growBelow(
  scratch: usize,
  args: GrowNodesArgs,
  points: Rows,
  keys: usize,
  from: u32,
  to: u32,
  cells: u32,
  seed: u32,
): void {
  if (cells < 2) return
  const left = (cells + 1) >> 1
  const rank = from + <u32>floor((<f64>(to - from) * <f64>left) / <f64>cells + 0.5)
  splitNode(scratch, args, points, keys, from, to, rank, seed, mix(seed, from, cells), false)
  growBelow(scratch, args, points, keys, from, rank, left, seed)
  growBelow(scratch, args, points, keys, rank, to, cells - left, seed)
}

/** The row of the point whose key this is. */
function rowOf(points: Rows, keys: usize, slot: u32): usize {
  return points.at(load<u32>(keys + ((<usize>slot) << 3)))
}

/** Prefetches rows that are scattered in memory. */
function touchAhead(points: Rows, keys: usize, slot: u32, to: u32): u32 {
  const stop = min(to, slot + 2 * AHEAD)
  let touched: u32 = 0
  for (let next = slot + AHEAD; next < stop; next++) touched += touchRow(rowOf(points, keys, next), points.bytes)
  return touched
}

/** Projections of the rows of a small node, which are the sample. */
function projectSample(rows: usize, keys: usize, from: u32, to: u32, stride: u32, direction: usize): void {
  const width = (<usize>stride) << 2
  for (let slot = from; slot < to; slot++) {
    const value = dotProduct(rows + <usize>(slot - from) * width, 0, direction, stride)
    store<u32>(keys + ((<usize>slot) << 3), risingFloat(value), 4)
  }
}

function projectRows(points: Rows, keys: usize, from: u32, to: u32, direction: usize, far: bool): void {
  for (let slot = from; slot < to; slot++) {
    const place = keys + ((<usize>slot) << 3)
    if (far && ((slot - from) & (AHEAD - 1)) === 0) store<u32>(place, touchAhead(points, keys, slot, to), 4)
    const value = dotProduct(rowOf(points, keys, slot), points.kind, direction, points.stride)
    store<u32>(place, risingFloat(value), 4)
  }
}

/** Bytes times integers: a third of the work of converting every byte to a float. Four rows share the loads of the direction. */
function projectBytes(
  points: Rows,
  keys: usize,
  from: u32,
  to: u32,
  direction: usize,
  integers: usize,
  far: bool,
): void {
  const stride = points.stride
  quantizeRow(direction, 0, stride, QUANTIZED_LENGTH, integers)
  let slot = from
  for (; slot + 4 <= to; slot += 4) {
    const place = keys + ((<usize>slot) << 3)
    if (far && ((slot - from) & (AHEAD - 1)) === 0) store<u32>(place, touchAhead(points, keys, slot, to), 4)
    const dots = dotFourBytes(
      rowOf(points, keys, slot),
      rowOf(points, keys, slot + 1),
      rowOf(points, keys, slot + 2),
      rowOf(points, keys, slot + 3),
      integers,
      stride,
    )
    store<u32>(place, risingInteger(i32x4.extract_lane(dots, 0)), 4)
    store<u32>(place, risingInteger(i32x4.extract_lane(dots, 1)), 12)
    store<u32>(place, risingInteger(i32x4.extract_lane(dots, 2)), 20)
    store<u32>(place, risingInteger(i32x4.extract_lane(dots, 3)), 28)
  }
  for (; slot < to; slot++) {
    const value = dotBytes(rowOf(points, keys, slot), integers, stride)
    store<u32>(keys + ((<usize>slot) << 3), risingInteger(value), 4)
  }
}

/** Sampled rows as floats, less their mean. */
function gatherSample(
  points: Rows,
  keys: usize,
  from: u32,
  size: u32,
  count: u32,
  sample: u32,
  seed: u32,
  mean: usize,
  rows: usize,
): void {
  const kind = points.kind
  const stride = points.stride
  const width = (<usize>stride) << 2
  memory.fill(mean, 0, width)
  for (let s: u32 = 0; s < count; s++) {
    const slot = from + (size <= sample ? s : mix(seed, from, s) % size)
    const row = rowOf(points, keys, slot)
    const to = rows + <usize>s * width
    for (let column: u32 = 0; column < stride; column += 4) {
      const place = (<usize>column) << 2
      const value = loadFour(row, kind, column)
      v128.store(to + place, value)
      v128.store(mean + place, f32x4.add(v128.load(mean + place), value))
    }
  }
  const share = f32x4.splat(<f32>1 / <f32>count)
  for (let place: usize = 0; place < width; place += 16) {
    const center = f32x4.mul(v128.load(mean + place), share)
    for (let s: u32 = 0; s < count; s++) {
      const to = rows + <usize>s * width + place
      v128.store(to, f32x4.sub(v128.load(to), center))
    }
  }
}

/** direction = sum of (row . direction) row, brought to length one. */
function powerStep(rows: usize, count: u32, stride: u32, direction: usize, sum: usize): void {
  const width = (<usize>stride) << 2
  memory.fill(sum, 0, width)
  for (let s: u32 = 0; s < count; s++) {
    const row = rows + <usize>s * width
    const weight = f32x4.splat(dotProduct(row, 0, direction, stride))
    for (let place: usize = 0; place < width; place += 16) {
      v128.store(sum + place, madd(weight, v128.load(row + place), v128.load(sum + place)))
    }
  }
  // Scale by a power of two near the largest value, which is exact: the squares of sums of large rows would overflow.
  let largest = f32x4.splat(0)
  for (let place: usize = 0; place < width; place += 16) {
    largest = f32x4.max(largest, f32x4.abs(v128.load(sum + place)))
  }
  const most = max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
  )
  const unit = f32x4.splat(reinterpret<f32>(0x7f000000 - (reinterpret<u32>(most) & 0x7f800000)))
  if (!(most > 0)) return
  for (let place: usize = 0; place < width; place += 16) {
    v128.store(sum + place, f32x4.mul(v128.load(sum + place), unit))
  }
  const squares = dotProduct(sum, 0, sum, stride)
  const scale = f32x4.splat(<f32>1 / Mathf.sqrt(squares))
  for (let place: usize = 0; place < width; place += 16) {
    v128.store(direction + place, f32x4.mul(v128.load(sum + place), scale))
  }
}

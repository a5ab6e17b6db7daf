/**
 * Growing partition trees: for every node of a level, the direction along which a sample of its
 * points spreads most, all its points along that direction, and their order around the rank at which
 * to split. A node is three words: first member, end, and the member at which to split.
 */
import { GrowNodesArgs, NODE_WORDS, QUANTIZED_LENGTH } from './build/assembly/arguments'
import { dotBytes, quantizeRow } from './quantized-rows'
import { BYTES, describeDense, Rows } from './rows'
import { dotProduct, loadFour, madd } from './simd'
import { touchRow } from './touch'

/** Rows that are asked for ahead of their turn. */
const AHEAD: u32 = 8

/** A well mixed number from three. */
function mix(a: u32, b: u32, c: u32): u32 {
  let h = (a * 0x9e3779b1) ^ (b * 0x85ebca77) ^ (c * 0xc2b2ae3d)
  h = (h ^ (h >> 15)) * 0x2c1b3c6d
  h = (h ^ (h >> 12)) * 0x297a2d39
  return h ^ (h >> 15)
}

/**
 * Items are nodes. All points are the sample where there are no more than `sample`, else it is drawn
 * with replacement. Equal points give a zero direction, which splits by number. along: f32 [n], by slot.
 */
export function growNodes(start: u32, end: u32, scratch: usize, args: GrowNodesArgs): void {
  if (args.most > 0) {
    growSubtrees(start, end, scratch, args)
    return
  }
  const seed = args.seed
  for (let node = start; node < end; node++) {
    const at = args.nodes + ((<usize>(node * NODE_WORDS)) << 2)
    const from = load<u32>(at)
    const to = load<u32>(at, 4)
    const rank = load<u32>(at, 8)
    splitNode(scratch, args, args.points, args.members, args.along, from, to, rank, seed, mix(seed, node, 77))
  }
}

/** The points and members are those of all nodes, or copies of one node's. */
function splitNode(
  scratch: usize,
  args: GrowNodesArgs,
  points: Rows,
  members: usize,
  along: usize,
  from: u32,
  to: u32,
  rank: u32,
  seed: u32,
  drawn: u32,
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
  gatherSample(points, members, from, size, count, sample, seed, mean, sampled)
  // Any sampled point off the mean begins; which one is drawn makes trees differ.
  let first = drawn % count
  for (let tried: u32 = 1; tried < count && isZero(sampled + <usize>first * width, width); tried++) {
    first = (first + 1) % count
  }
  memory.copy(direction, sampled + <usize>first * width, width)
  const steps = args.steps
  for (let step: u32 = 0; step < steps; step++) powerStep(sampled, count, stride, direction, mean)
  projectMembers(points, members, from, to, size <= sample, sampled, direction, mean, along)
  selectRank(members, along, from, to, rank)
}

/**
 * Nodes of few points, each grown to its leaves at once: its rows are copied side by side, so
 * that everything below it happens in the nearest cache. Here a node's third word is how many leaves it
 * is to become.
 */
function growSubtrees(start: u32, end: u32, scratch: usize, args: GrowNodesArgs): void {
  const points = args.points
  const x = points.data
  const bytes = points.bytes
  const rows = scratch + args.rowsAt
  const places = scratch + args.placesAt
  const along = scratch + args.distancesAt
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
    store<u32>(along, touched)
    for (let i: u32 = 0; i < size; i++) {
      memory.copy(rows + <usize>i * bytes, x + <usize>load<u32>(own + ((<usize>i) << 2)) * bytes, bytes)
      store<u32>(places + ((<usize>i) << 2), i)
    }
    growBelow(scratch, args, copies, places, along, 0, size, load<u32>(at, 8), mix(args.seed, from, 0))
    for (let i: usize = 0; i < <usize>size; i++) {
      store<u32>(own + (i << 2), load<u32>(numbers + ((<usize>load<u32>(places + (i << 2))) << 2)))
    }
  }
}

/** Half of the leaves to each side, and of the points in proportion, as the host counts them. */
function growBelow(
  scratch: usize,
  args: GrowNodesArgs,
  points: Rows,
  members: usize,
  along: usize,
  from: u32,
  to: u32,
  cells: u32,
  seed: u32,
): void {
  if (cells < 2) return
  const left = (cells + 1) >> 1
  const rank = from + <u32>floor((<f64>(to - from) * <f64>left) / <f64>cells + 0.5)
  splitNode(scratch, args, points, members, along, from, to, rank, seed, mix(seed, from, cells))
  growBelow(scratch, args, points, members, along, from, rank, left, seed)
  growBelow(scratch, args, points, members, along, rank, to, cells - left, seed)
}

/** Where each member lies along the direction. */
function projectMembers(
  points: Rows,
  members: usize,
  from: u32,
  to: u32,
  atHand: bool,
  rows: usize,
  direction: usize,
  integers: usize,
  along: usize,
): void {
  const x = points.data
  const bytes = points.bytes
  const kind = points.kind
  const stride = points.stride
  const width = (<usize>stride) << 2
  // Bytes times integers: a third of the work of turning every byte into a float.
  const asIntegers = kind === BYTES && stride < 8000 && !atHand
  if (asIntegers) quantizeRow(direction, 0, stride, QUANTIZED_LENGTH, integers)
  let touched: u32 = 0
  for (let slot = from; slot < to; slot++) {
    if (((slot - from) & (AHEAD - 1)) === 0) {
      const stop = min(to, slot + 2 * AHEAD)
      for (let next = slot + AHEAD; next < stop; next++) {
        touched += touchRow(x + <usize>load<u32>(members + ((<usize>next) << 2)) * bytes, bytes)
      }
      store<u32>(along + ((<usize>slot) << 2), touched)
    }
    const place = (<usize>slot) << 2
    const row = x + <usize>load<u32>(members + place) * bytes
    let value: f32
    if (atHand) value = dotProduct(rows + <usize>(slot - from) * width, 0, direction, stride)
    else if (asIntegers) value = <f32>dotBytes(row, integers, stride)
    else value = dotProduct(row, kind, direction, stride)
    store<f32>(along + place, value)
  }
}

/** Sampled rows as floats, less their mean. */
function gatherSample(
  points: Rows,
  members: usize,
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
    const row = points.at(load<u32>(members + ((<usize>slot) << 2)))
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

function isZero(row: usize, width: usize): bool {
  for (let place: usize = 0; place < width; place += 16) {
    if (v128.any_true(f32x4.ne(v128.load(row + place), f32x4.splat(0)))) return false
  }
  return true
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
  // By a power of two near the largest, which changes no digit: squares of the sums of large rows would overflow.
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

/** True if what stands at slot i comes before value and point: smaller, or equal with a lower number. */
function before(members: usize, along: usize, i: u32, value: f32, point: u32): bool {
  const own = load<f32>(along + ((<usize>i) << 2))
  return own < value || (own === value && load<u32>(members + ((<usize>i) << 2)) < point)
}

function after(members: usize, along: usize, i: u32, value: f32, point: u32): bool {
  const own = load<f32>(along + ((<usize>i) << 2))
  return own > value || (own === value && load<u32>(members + ((<usize>i) << 2)) > point)
}

/** Hoare's selection: afterwards everything before `rank` comes before everything from it on. */
function selectRank(members: usize, along: usize, from: u32, to: u32, rank: u32): void {
  if (rank <= from || rank >= to) return
  let low: i32 = from
  let high: i32 = to - 1
  while (low < high) {
    const middle = (<usize>(low + ((high - low) >> 1))) << 2
    const value = load<f32>(along + middle)
    const point = load<u32>(members + middle)
    let i = low
    let j = high
    while (i <= j) {
      while (before(members, along, i, value, point)) i++
      while (after(members, along, j, value, point)) j--
      if (i > j) break
      swapWords(members, i, j)
      swapWords(along, i, j)
      i++
      j--
    }
    if (<i32>rank <= j) high = j
    else if (<i32>rank >= i) low = i
    else return
  }
}

function swapWords(base: usize, i: u32, j: u32): void {
  const left = base + ((<usize>i) << 2)
  const right = base + ((<usize>j) << 2)
  const word = load<u32>(left)
  store<u32>(left, load<u32>(right))
  store<u32>(right, word)
}

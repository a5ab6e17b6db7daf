/**
 * Many small k-means at once: every group of points is split into a few children by some rounds of
 * its own. All groups share the passes over the points, so a level of a tree costs as much
 * as one k-means with as many centres as a node has children.
 *
 * Cost of a call: 3 n branches d operations a round.
 */
import type { Random } from '../core/random.ts'
import type { Device } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { TreePoints } from '../vectors/tree-points.ts'
import { type GroupOptions, runGroups, type SplitGroups } from './group-rounds.ts'

/** Points order[from] to order[to - 1]. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Child extends Span {
  /** Sum of the weights of its points. */
  readonly weight: number
  /** Mean squared distance of its points to its centre; 0 if not requested. */
  readonly spread: number
  readonly center: Float32Array
}

/**
 * Splits each span into at most `branches` children that hold points, the same number for all or one for each, and sorts
 * `order` within the span by child. One child, or none, means that the points are all the same.
 */
export async function splitGroups(
  device: Device,
  points: TreePoints,
  order: Uint32Array,
  spans: readonly Span[],
  branches: number | ((span: Span) => number),
  random: Random,
  options: GroupOptions,
): Promise<Child[][]> {
  const seeds: Float32Array[] = []
  const wanted = typeof branches === 'number' ? () => branches : branches
  for (const span of spans) seeds.push(await distinctRows(points, order, span, wanted(span), random))
  const groups = new Uint32Array(Math.max(1, spans.length) * 2)
  let width = 0
  let total = 0
  seeds.forEach((rows, group) => {
    const count = rows.length / points.cols
    groups.set([total, count], group * 2)
    total += count
    width = Math.max(width, count)
  })
  const start = new Float32Array(total * points.cols)
  seeds.forEach((rows, group) => {
    start.set(rows, groups[group * 2] * points.cols)
  })
  const places = new Uint32Array(points.rows).fill(NO_LABEL)
  spans.forEach(({ from, to }, group) => {
    for (let at = from; at < to; at++) places[order[at]] = group
  })
  const split = await runGroups(device, points, { groups, width, start, places }, random, options)
  const result: Child[][] = []
  for (let group = 0; group < spans.length; group++) {
    const first = groups[group * 2]
    const children = await sortByChild(points, order, spans[group], split, first, groups[group * 2 + 1])
    result.push(children)
  }
  return result
}

/** Different rows of the span to start from: random ones; fewer than wanted only if there are no more. */
async function distinctRows(
  points: TreePoints,
  order: Uint32Array,
  { from, to }: Span,
  wanted: number,
  random: Random,
): Promise<Float32Array> {
  const found: number[] = []
  // A shuffle that goes only as far as it must: mostly the first few rows drawn are different.
  for (let at = from; at < to && found.length < wanted; ) {
    const end = Math.min(to, at + Math.max(wanted - found.length, at > from ? 256 : 1))
    for (let i = at; i < end; i++) {
      const other = i + random.below(to - i)
      const point = order[other]
      order[other] = order[i]
      order[i] = point
    }
    const evaluated = [...found, ...order.subarray(at, end)]
    const same = await comparison(points, evaluated)
    const kept = found.map((_, place) => place)
    for (let i = found.length; i < evaluated.length && kept.length < wanted; i++) {
      if (!kept.some((place) => same(place, i))) kept.push(i)
    }
    for (const place of kept.slice(found.length)) found.push(evaluated[place])
    at = end
  }
  return points.gather(found)
}

/** Tells whether the i-th and the j-th of some rows are the same. */
async function comparison(points: TreePoints, indices: ArrayLike<number>): Promise<(i: number, j: number) => boolean> {
  const { cols, sparse } = points
  if (sparse) return sparse.compare(indices)
  const rows = await points.gather(indices)
  return (i, j) => {
    let t = 0
    while (t < cols && rows[i * cols + t] === rows[j * cols + t]) t++
    return t === cols
  }
}

/** Sorts the span by label, points of a child in rising order; children without points are left out. */
async function sortByChild(
  points: TreePoints,
  order: Uint32Array,
  { from, to }: Span,
  { labels, centers, distances }: SplitGroups,
  first: number,
  count: number,
): Promise<Child[]> {
  const { cols, weights } = points
  const members = order.subarray(from, to).slice().sort()
  const starts = new Uint32Array(count + 1)
  for (const point of members) starts[labels[point] - first + 1]++
  for (let child = 0; child < count; child++) starts[child + 1] += starts[child]
  const next = starts.slice()
  for (const point of members) order[from + next[labels[point] - first]++] = point
  const children: Child[] = []
  for (let child = 0; child < count; child++) {
    if (starts[child] === starts[child + 1]) continue
    const center = centers.slice((first + child) * cols, (first + child + 1) * cols)
    const span = { from: from + starts[child], to: from + starts[child + 1] }
    const weight = weightOf(points, order, span)
    let squares = 0
    if (distances) {
      for (let at = span.from; at < span.to; at++) {
        squares += distances[order[at]] * (weights ? weights[order[at]] : 1)
      }
    }
    children.push({ ...span, center, weight, spread: squares / weight })
  }
  // Rows so close that their distance rounds to zero: told apart one by one instead.
  return children.length === 1 && count > 1 ? separate(points, order, { from, to }) : children
}

function weightOf({ weights }: TreePoints, order: Uint32Array, { from, to }: Span): number {
  if (weights === undefined) return to - from
  let sum = 0
  for (let at = from; at < to; at++) sum += weights[order[at]]
  return sum
}

/** Two children: the rows equal to the first one, and the others. */
async function separate(points: TreePoints, order: Uint32Array, { from, to }: Span): Promise<Child[]> {
  const members = order.slice(from, to)
  const isSame = await comparison(points, members)
  const same: number[] = []
  const others: number[] = []
  members.forEach((point, i) => {
    if (isSame(0, i)) same.push(point)
    else others.push(point)
  })
  order.set([...same, ...others], from)
  const middle = from + same.length
  const child = async (span: Span, row: number): Promise<Child> => ({
    ...span,
    center: await points.gather([row]),
    weight: weightOf(points, order, span),
    spread: 0,
  })
  return [await child({ from, to: middle }, same[0]), await child({ from: middle, to }, others[0])]
}

/**
 * Groups of points in two halves each: a few rounds of 2-means for all groups at once, and what the halves come to. Who
 * splits clusters chooses where the halves begin and judges by weights, squared distances and centres.
 *
 * Cost: 6 n d operations a round, whatever the number of groups.
 */
import type { Random } from '../core/random.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { halveGroupsOnce, type ListedGroups, listGroups, measureHalves } from '../kernels/halve-groups.ts'
import { means } from '../kernels/means.ts'
import { allocateRows, readRows, writeRows } from '../kernels/rows.ts'
import type { TreePart, TreePoints } from '../vectors/tree-points.ts'
import { runGroups } from './group-rounds.ts'

export interface HalvedGroups {
  /** The group of each point, NO_LABEL for none. */
  readonly places: Uint32Array
  /** Where the halves begin: two rows for each group. */
  readonly start: Float32Array
  /** What a point counts in the sums. Default: its weight among `points`, or 1. */
  readonly weightOf?: (point: number) => number
}

export interface HalvingOptions {
  readonly rounds: number
  /** Centres are brought to length one. */
  readonly unit: boolean
  readonly control?: RunControl
}

/** The halves of group g are 2 g and 2 g + 1. */
export interface Halves {
  /** The half of each point that is in a group. */
  readonly labels: Uint32Array
  /** Squared, to the centre of the half, of each point that is in a group. */
  readonly distances: Float32Array
  /** Of each half; 0 where all points of the group are the same. */
  readonly weights: Float64Array
  /** Weighted squared distances of each half. */
  readonly squares: Float64Array
  readonly centers: Float32Array
}

/** From here on threads share the groups, not the points, which is several times as fast. */
const MANY_GROUPS = 64

export async function halveGroups(
  device: Device,
  points: TreePoints,
  { places, start, weightOf = weightsOf(points) }: HalvedGroups,
  random: Random,
  options: HalvingOptions,
): Promise<Halves> {
  const halves = start.length / points.cols
  const byGroup = device.info.kind === 'cpu' && points.sparse === undefined && halves >= 2 * MANY_GROUPS
  const { labels, centers, distances } = byGroup
    ? await halveByGroup(device, points, { places, start }, options)
    : await halveByPoint(device, points, { places, start }, random, options)
  const weights = new Float64Array(halves)
  const squares = new Float64Array(halves)
  for (let point = 0; point < places.length; point++) {
    if (places[point] === NO_LABEL) continue
    const weight = weightOf(point)
    weights[labels[point]] += weight
    squares[labels[point]] += weight * distances[point]
  }
  return { labels, distances, weights, squares, centers }
}

type Halved = Pick<Halves, 'labels' | 'distances' | 'centers'>

async function halveByPoint(
  device: Device,
  points: TreePoints,
  { places, start }: HalvedGroups,
  random: Random,
  { rounds, unit, control }: HalvingOptions,
): Promise<Halved> {
  const groups = Uint32Array.from({ length: start.length / points.cols }, (_, at) => (at % 2 === 0 ? at : 2))
  const found = await runGroups(device, points, { groups, width: 2, start, places }, random, {
    rounds,
    unit,
    splitOrder: 'spread',
    ...(control ? { control } : {}),
  })
  const { labels, centers, distances = new Float32Array(points.rows) } = found
  return { labels, centers, distances }
}

async function halveByGroup(
  device: Device,
  points: TreePoints,
  { places, start }: HalvedGroups,
  { rounds, unit, control }: HalvingOptions,
): Promise<Halved> {
  const { cols, stride, rows } = points
  const halves = start.length / cols
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, halves, cols, 'f32', 'centres of halves')
    writeRows(device, centers, start)
    const sums = scope.allocate(halves * stride * 4, 'sums of halves')
    const totals = scope.allocate(halves * 4, 'weights of halves')
    const gains = scope.allocate(halves * 4, 'gains of halves')
    const held: { part: TreePart; listed: ListedGroups; labels: DeviceBuffer }[] = []
    for (const part of points.parts) {
      const own = scope.upload(places.subarray(part.first, part.first + part.count), 'groups of points')
      const listed = await listGroups(device, scope, own, part.count, halves / 2)
      own.free()
      held.push({ part, listed, labels: scope.allocate(part.count * 4, 'halves of points') })
    }
    for (let round = 0; round < rounds; round++) {
      device.clear(sums)
      device.clear(totals)
      for (const { part, listed, labels } of held) {
        const { weights } = part
        await halveGroupsOnce(device, { points: await part.vectors(), weights, listed, centers, sums, totals, labels })
        control?.signal?.throwIfAborted()
      }
      await means(device, { sums, totals, centers, gains, unit })
    }
    const found = { labels: new Uint32Array(rows), distances: new Float32Array(rows) }
    for (const { part, listed, labels } of held) {
      const { first, count } = part
      const distances = scope.allocate(count * 4, 'distances to halves')
      await measureHalves(device, { points: await part.vectors(), listed, centers, labels, distances })
      found.labels.set(new Uint32Array(await device.read(labels), 0, count), first)
      found.distances.set(new Float32Array(await device.read(distances), 0, count), first)
      distances.free()
    }
    return { ...found, centers: await readRows(device, centers) }
  } finally {
    scope.free()
  }
}

function weightsOf({ weights }: TreePoints): (point: number) => number {
  return weights ? (point) => weights[point] : () => 1
}

export interface OppositeGroups {
  /** The group of each point, NO_LABEL for none. */
  readonly places: Uint32Array
  /** Squared, of each point that is in a group to the centre of the group. */
  readonly distances: Float32Array
  /** Of each group: its weighted squared distances and its centre. */
  readonly squares: ArrayLike<number>
  readonly centers: Float32Array
}

/**
 * Two rows for each group: a point, drawn with a chance in proportion to its weighted squared distance, and the place
 * opposite to it. Between them the centre divides the group.
 */
export async function oppositeStart(points: TreePoints, groups: OppositeGroups, random: Random): Promise<Float32Array> {
  const { cols } = points
  const rows = await points.gather(drawFar(points, groups, random))
  const start = new Float32Array(rows.length * 2)
  for (let group = 0; group < groups.squares.length; group++) {
    for (let j = 0; j < cols; j++) {
      const value = rows[group * cols + j]
      start[group * 2 * cols + j] = value
      start[(group * 2 + 1) * cols + j] = 2 * groups.centers[group * cols + j] - value
    }
  }
  return start
}

/** A point of each group. */
function drawFar({ weights }: TreePoints, { places, distances, squares }: OppositeGroups, random: Random): Uint32Array {
  const left = Float64Array.from(squares, (sum) => random.uniform() * sum)
  const drawn = new Uint32Array(squares.length)
  for (let point = 0; point < places.length; point++) {
    const group = places[point]
    if (group === NO_LABEL || left[group] < 0) continue
    const share = distances[point] * (weights ? weights[point] : 1)
    // Where rounding leaves something, it is the last that counted.
    if (share === 0) continue
    drawn[group] = point
    left[group] -= share
  }
  return drawn
}

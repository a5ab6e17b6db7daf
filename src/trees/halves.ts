/**
 * Groups of points in two halves each: a few rounds of 2-means for all groups at once, and what the halves come to. Who
 * splits clusters chooses where the halves begin and judges by weights, squared distances and centres.
 *
 * Cost: 6 n d operations a round, whatever the number of groups.
 */
import type { Random } from '../core/random.ts'
import type { Device, RunControl } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { TreePoints } from '../vectors/tree-points.ts'
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

export async function halveGroups(
  device: Device,
  points: TreePoints,
  { places, start, weightOf = weightsOf(points) }: HalvedGroups,
  random: Random,
  { rounds, unit, control }: HalvingOptions,
): Promise<Halves> {
  const halves = start.length / points.cols
  const groups = Uint32Array.from({ length: halves }, (_, at) => (at % 2 === 0 ? at : 2))
  const found = await runGroups(device, points, { groups, width: 2, start, places }, random, {
    rounds,
    unit,
    queue: 'spread',
    ...(control ? { control } : {}),
  })
  const { labels, centers, distances = new Float32Array(points.rows) } = found
  const weights = new Float64Array(halves)
  const squares = new Float64Array(halves)
  places.forEach((group, point) => {
    if (group === NO_LABEL) return
    const weight = weightOf(point)
    weights[labels[point]] += weight
    squares[labels[point]] += weight * distances[point]
  })
  return { labels, distances, weights, squares, centers }
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

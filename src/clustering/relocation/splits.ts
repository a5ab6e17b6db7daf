/**
 * What splitting clusters in two would gain: for all of them at once, some rounds of 2-means among the points of each.
 */
import type { Random } from '../../core/random.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { runGroups } from '../../trees/group-rounds.ts'
import type { RunState } from '../run-state.ts'
import type { ClusterMasses, Split } from './pairs.ts'

/** Rounds of 2-means: what more of them would add, the rounds of the run add too. */
const ROUNDS = 3

export interface Splits {
  readonly splits: readonly Split[]
  /** Whether a point belongs to the second half of its cluster. */
  readonly second: (point: number) => boolean
  /** Distances that were measured. */
  readonly looked: number
}

/** Splits of clusters whose squared distances exceed `least`: no split gains more than those. */
export async function possibleSplits(
  state: RunState,
  labels: Uint32Array,
  distances: Float32Array,
  masses: ClusterMasses,
  centers: Float32Array,
  least: number,
  random: Random,
): Promise<Splits> {
  const { device, points, k, unit, weights, control } = state
  const groupOf = new Uint32Array(k).fill(NO_LABEL)
  const clusters: number[] = []
  for (let cluster = 0; cluster < k; cluster++) {
    if (!(masses.squares[cluster] > least)) continue
    groupOf[cluster] = clusters.length
    clusters.push(cluster)
  }
  if (clusters.length === 0) return { splits: [], second: () => false, looked: 0 }
  const drawn = drawFar(labels, distances, weights, groupOf, clusters, masses, random)
  const places = labels.map((label) => groupOf[label])
  const found = await runGroups(
    device,
    points.inParts(weights),
    {
      groups: Uint32Array.from({ length: clusters.length * 2 }, (_, i) => (i % 2 === 0 ? i : 2)),
      width: 2,
      start: oppositeRows(await points.gather(drawn), clusters, centers, points.cols),
      places,
    },
    random,
    { rounds: ROUNDS, queue: 'spread', unit, control: { signal: control.signal } },
  )
  const left = new Float64Array(clusters.length)
  const halves = new Float64Array(clusters.length * 2)
  let members = 0
  places.forEach((group, point) => {
    if (group === NO_LABEL) return
    const weight = weights ? weights[point] : 1
    halves[found.labels[point]] += weight
    left[group] += weight * (found.distances?.[point] ?? 0)
    members++
  })
  const splits: Split[] = []
  clusters.forEach((cluster, group) => {
    if (halves[group * 2] === 0 || halves[group * 2 + 1] === 0) return
    splits.push({ cluster, gain: masses.squares[cluster] - left[group] })
  })
  return {
    splits,
    second: (point) => places[point] !== NO_LABEL && found.labels[point] % 2 === 1,
    looked: members * (2 * ROUNDS + 1),
  }
}

/** A point of each cluster, drawn with a chance in proportion to its weighted squared distance. */
function drawFar(
  labels: Uint32Array,
  distances: Float32Array,
  weights: Float32Array | undefined,
  groupOf: Uint32Array,
  clusters: readonly number[],
  { squares }: ClusterMasses,
  random: Random,
): Uint32Array {
  const left = Float64Array.from(clusters, (cluster) => random.uniform() * squares[cluster])
  const drawn = new Uint32Array(clusters.length)
  for (let point = 0; point < labels.length; point++) {
    const group = groupOf[labels[point]]
    if (group === NO_LABEL || left[group] < 0) continue
    const share = distances[point] * (weights ? weights[point] : 1)
    // Where rounding leaves something, it is the last that counted.
    if (share === 0) continue
    drawn[group] = point
    left[group] -= share
  }
  return drawn
}

/** Two places for each cluster: a row, and the one opposite to it. Between them the centre divides the cluster. */
function oppositeRows(
  rows: Float32Array,
  clusters: readonly number[],
  centers: Float32Array,
  cols: number,
): Float32Array {
  const places = new Float32Array(rows.length * 2)
  clusters.forEach((cluster, group) => {
    for (let j = 0; j < cols; j++) {
      const value = rows[group * cols + j]
      places[group * 2 * cols + j] = value
      places[(group * 2 + 1) * cols + j] = 2 * centers[cluster * cols + j] - value
    }
  })
  return places
}

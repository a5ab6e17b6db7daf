/** The gain of splitting clusters in two: some rounds of 2-means among the points of each, for all clusters together. */
import type { Random } from '../../core/random.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { halveGroups, oppositeStart } from '../../trees/halves.ts'
import type { RunState } from '../run-state.ts'
import type { ClusterMasses, Split } from './pairs.ts'

/** Rounds of 2-means: what more of them would add, the rounds of the run add too. */
const ROUNDS = 3

export interface Splits {
  readonly splits: readonly Split[]
  /** Whether a point belongs to the second half of its cluster. */
  readonly second: (point: number) => boolean
  /** Distances that were measured. */
  readonly evaluated: number
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
  const { cols } = points
  const groupOf = new Uint32Array(k).fill(NO_LABEL)
  const clusters: number[] = []
  for (let cluster = 0; cluster < k; cluster++) {
    if (!(masses.squares[cluster] > least)) continue
    groupOf[cluster] = clusters.length
    clusters.push(cluster)
  }
  if (clusters.length === 0) return { splits: [], second: () => false, evaluated: 0 }
  const places = labels.map((label) => groupOf[label])
  const own = new Float32Array(clusters.length * cols)
  clusters.forEach((cluster, group) => {
    own.set(centers.subarray(cluster * cols, (cluster + 1) * cols), group * cols)
  })
  const squares = clusters.map((cluster) => masses.squares[cluster])
  const inParts = (await points.onFirstDevice()).inParts(weights)
  const start = await oppositeStart(inParts, { places, distances, squares, centers: own }, random)
  const halves = await halveGroups(device, inParts, { places, start }, random, {
    rounds: ROUNDS,
    unit,
    control: { signal: control.signal },
  })
  const splits: Split[] = []
  clusters.forEach((cluster, group) => {
    const [first, second] = [2 * group, 2 * group + 1]
    if (halves.weights[first] === 0 || halves.weights[second] === 0) return
    splits.push({ cluster, gain: masses.squares[cluster] - (halves.squares[first] + halves.squares[second]) })
  })
  const members = places.reduce((sum, group) => sum + (group === NO_LABEL ? 0 : 1), 0)
  return {
    splits,
    second: (point) => places[point] !== NO_LABEL && halves.labels[point] % 2 === 1,
    evaluated: members * (2 * ROUNDS + 1),
  }
}

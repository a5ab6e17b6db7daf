/**
 * More clusters from a clustering that has fewer: what the next step of a sweep begins with.
 *
 * Every cluster is split in two by a small k-means of its own, all of them in the same passes over the points. Splits
 * that lower the sum of squared distances most are made until there are enough clusters, in a few waves, so that the
 * halves of a large cluster can be split again. A clustering with fewer clusters may also have spent two of them on one
 * group of points. So, at the end, two neighbouring clusters become one wherever that costs less than the best split
 * that was not made gains, and that split is made instead, as between the rounds of a run (see relocation/pairs.ts), in
 * some passes.
 */
import type { Random } from '../../core/random.ts'
import { BufferScope, type Device } from '../../device/contract.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, writeRows } from '../../kernels/rows.ts'
import { runGroups } from '../../trees/group-rounds.ts'
import { halveGroups, oppositeStart } from '../../trees/halves.ts'
import type { PointStore } from '../../vectors/points.ts'
import { possibleMerges } from '../relocation/merges.ts'
import { clusterMasses, type Pair, pairUp, relabelled } from '../relocation/pairs.ts'

/** Two halves of a cluster have settled after few rounds, and the clustering that follows moves them anyway. */
const SPLIT_ROUNDS = 3

export interface ExtensionEffort {
  /**
   * Half of the missing clusters come from the first wave of splits, half of the rest from the second; the last makes all
   * that are left.
   */
  readonly waves: number
  /** Most passes of swaps. */
  readonly passes: number
}

/** Swaps and the rounds that follow correct what a single wave misses. */
export const BRIEF: ExtensionEffort = { waves: 1, passes: 12 }

/** A swap has to gain at least this share of the squares that a cluster has on average. */
const LEAST_GAIN = 1e-3

/** A pass of swaps that lowers the squares by less than this share is the last one. */
const WORTHWHILE = 1e-3

interface Half {
  readonly weight: number
  readonly squares: number
  readonly center: Float32Array
}

interface Cluster extends Half {
  /** Undefined: not looked for yet. Empty where it cannot be split. */
  halves?: readonly Half[] | undefined
}

/** The points by cluster, and by half where those are known. */
interface Members {
  /** The cluster of each point. */
  labels: Uint32Array
  /** Squared, to the centre of the cluster. */
  readonly distances: Float32Array
  /** 1 where a point belongs to the second half of its cluster. */
  readonly second: Uint8Array
  /** Squared, to the centre of the half. */
  readonly halfDistances: Float32Array
}

/** Centres in the frame, and the label of every point. */
export interface Clustering {
  readonly labels: Uint32Array
  readonly centers: Float32Array
}

export interface Extension extends Clustering {
  /** The share by which swaps lowered the squares. */
  readonly swapGain: number
}

interface Divided {
  readonly clusters: Cluster[]
  readonly members: Members
}

export interface ExtensionOptions {
  /** Clusters wanted: as many as there are, or more, but no more than different points. */
  readonly k: number
  readonly random: Random
  /** Centres are of length one. */
  readonly unit: boolean
  readonly effort: ExtensionEffort
  readonly signal?: AbortSignal | undefined
}

/** Labels 0 to k - 1 from those of a clustering of the same points with fewer clusters. */
export async function extendClusters(
  device: Device,
  points: PointStore,
  before: Uint32Array,
  options: ExtensionOptions,
): Promise<Extension> {
  const { k, effort } = options
  const { clusters, members } = await measured(device, points, before, options)
  for (let wave = 1; clusters.length < k; wave++) {
    await findHalves(device, points, clusters, members, options)
    const missing = k - clusters.length
    const best = byGain(clusters).slice(0, wave < effort.waves ? Math.ceil(missing / 2) : missing)
    if (best.length === 0) break
    makeSplits(clusters, members, best)
  }
  return swapped(device, points, { clusters, members }, options)
}

/** The clusters that have points, with their own means and what these leave. What is split takes the place of empty ones. */
async function measured(
  device: Device,
  points: PointStore,
  labels: Uint32Array,
  { random, unit, signal }: ExtensionOptions,
): Promise<Divided> {
  const { rows, cols } = points
  const parents = [...new Set(labels)].sort((a, b) => a - b)
  const k = parents.length
  const numbers = new Uint32Array(parents[k - 1] + 1)
  parents.forEach((parent, cluster) => {
    numbers[parent] = cluster
  })
  // With a single candidate, a round gives each cluster the mean of its points, independent of the start.
  const start = new Float32Array(k * cols)
  const places = labels.map((label) => numbers[label])
  const groups = Uint32Array.from({ length: 2 * k }, (_, at) => (at % 2 === 0 ? at / 2 : 1))
  const control = { signal }
  const found = await runGroups(device, points.inParts(), { groups, width: 1, start, places }, random, {
    ...{ rounds: 1, splitOrder: 'spread', unit, control },
  })
  const distances = found.distances ?? new Float32Array(rows)
  const { weights, squares } = clusterMasses(places, distances, undefined, k)
  const clusters = parents.map((_, cluster) => ({
    weight: weights[cluster],
    squares: squares[cluster],
    center: rowOf(found.centers, cluster, cols),
  }))
  const halves = { second: new Uint8Array(rows), halfDistances: new Float32Array(rows) }
  return { clusters, members: { labels: places, distances, ...halves } }
}

function rowOf(rows: Float32Array, row: number, cols: number): Float32Array {
  return rows.slice(row * cols, (row + 1) * cols)
}

/** Looks for the halves of all clusters whose halves are not known yet. */
async function findHalves(
  device: Device,
  points: PointStore,
  clusters: readonly Cluster[],
  { labels, distances, second, halfDistances }: Members,
  { random, unit, signal }: ExtensionOptions,
): Promise<void> {
  const { cols } = points
  const groupOf = new Uint32Array(clusters.length).fill(NO_LABEL)
  const wave: Cluster[] = []
  clusters.forEach((cluster, label) => {
    if (cluster.halves !== undefined) return
    cluster.halves = []
    if (!(cluster.squares > 0)) return
    groupOf[label] = wave.length
    wave.push(cluster)
  })
  if (wave.length === 0) return
  const places = labels.map((label) => groupOf[label])
  const centers = centersOf(wave, cols)
  const inParts = points.inParts()
  const squares = wave.map((cluster) => cluster.squares)
  const start = await oppositeStart(inParts, { places, distances, squares, centers }, random)
  const found = await halveGroups(device, inParts, { places, start }, random, {
    ...{ rounds: SPLIT_ROUNDS, unit, control: { signal } },
  })
  places.forEach((group, point) => {
    if (group === NO_LABEL) return
    second[point] = found.labels[point] % 2
    halfDistances[point] = found.distances[point]
  })
  wave.forEach((cluster, group) => {
    const halves = [2 * group, 2 * group + 1].map((half) => ({
      weight: found.weights[half],
      squares: found.squares[half],
      center: rowOf(found.centers, half, cols),
    }))
    if (halves.every(({ weight }) => weight > 0)) cluster.halves = halves
  })
}

function gainOf({ squares, halves = [] }: Cluster): number {
  return squares - halves.reduce((sum, half) => sum + half.squares, 0)
}

/** The numbers of the clusters that can be split, the best split first. */
function byGain(clusters: readonly Cluster[]): number[] {
  const able = Array.from(clusters.keys()).filter((label) => clusters[label].halves?.length === 2)
  const gains = clusters.map(gainOf)
  return able.sort((a, b) => gains[b] - gains[a] || a - b)
}

/** A cluster keeps its number, with one half; the other half is a new cluster. */
function makeSplits(clusters: Cluster[], members: Members, divided: readonly number[]): void {
  const numbers = new Uint32Array(clusters.length).fill(NO_LABEL)
  for (const label of divided) {
    const [first, second] = clusters[label].halves as readonly [Half, Half]
    numbers[label] = clusters.length
    clusters[label] = { ...first }
    clusters.push({ ...second })
  }
  const { distances, second, halfDistances } = members
  members.labels.forEach((label, point) => {
    if (numbers[label] === NO_LABEL) return
    if (second[point] === 1) members.labels[point] = numbers[label]
    distances[point] = halfDistances[point]
  })
}

/** The clusters after swaps: pass by pass, until one gains little. Points keep to the clusters that they were put in. */
async function swapped(
  device: Device,
  points: PointStore,
  divided: Divided,
  options: ExtensionOptions,
): Promise<Extension> {
  const { cols } = points
  let { clusters, members } = divided
  let swapGain = 0
  for (let pass = 0; pass < options.effort.passes && clusters.length > 2; pass++) {
    await findHalves(device, points, clusters, members, options)
    const pairs = await bestPairs(device, points, clusters, options)
    if (pairs.length === 0) break
    const { changed } = relabelled(members.labels, pairs, (point) => members.second[point] === 1)
    const gain = pairs.reduce((sum, { merge, split }) => sum + split.gain - merge.cost, 0)
    const total = clusters.reduce((sum, { squares }) => sum + squares, 0)
    swapGain += gain / total
    const next = await measured(device, points, changed, options)
    const touched = new Set(pairs.flatMap(({ merge, split }) => [merge.from, merge.into, split.cluster]))
    // The halves of the others are what they were.
    next.clusters.forEach((cluster, i) => {
      if (!touched.has(i)) cluster.halves = clusters[i].halves
    })
    members = { ...members, labels: next.members.labels, distances: next.members.distances }
    clusters = next.clusters
    if (gain < WORTHWHILE * total) break
  }
  return { labels: members.labels, centers: centersOf(clusters, cols), swapGain }
}

function centersOf(clusters: readonly Cluster[], cols: number): Float32Array {
  const centers = new Float32Array(clusters.length * cols)
  clusters.forEach(({ center }, cluster) => {
    centers.set(center, cluster * cols)
  })
  return centers
}

/** Splits that gain more than merging two other clusters costs. */
async function bestPairs(
  device: Device,
  points: PointStore,
  clusters: readonly Cluster[],
  { random, unit }: ExtensionOptions,
): Promise<Pair[]> {
  const k = clusters.length
  const masses = {
    weights: Float64Array.from(clusters, ({ weight }) => weight),
    squares: Float64Array.from(clusters, ({ squares }) => squares),
  }
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, k, points.cols, 'f32', 'centres of clusters')
    writeRows(device, centers, centersOf(clusters, points.cols))
    const { merges } = await possibleMerges({ device, points, k, centers, unit }, masses, random)
    const splits = byGain(clusters).map((cluster) => ({ cluster, gain: gainOf(clusters[cluster]) }))
    const margin = (LEAST_GAIN * masses.squares.reduce((sum, value) => sum + value, 0)) / k
    return pairUp(merges, splits, margin)
  } finally {
    scope.free()
  }
}

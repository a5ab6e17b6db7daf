/**
 * More clusters from a clustering that has fewer: what the next step of a sweep begins with.
 *
 * Every cluster is split in two by a small k-means of its own, all of them in the same passes over the points. Splits
 * that lower the sum of squared distances most are made until there are enough clusters, in a few waves, so that the
 * halves of a large cluster can be split again. A clustering with fewer clusters may also have spent two of them on one
 * group of points. So, at the end, two neighbouring clusters become one wherever that costs less than the best split
 * that was not made gains, and that split is made instead.
 *
 * Sums of squares follow from sizes and means alone: splitting a cluster into parts of weights a and b gains, and
 * joining them costs, a b / (a + b) times the squared distance of their means (Ward).
 */
import { matrix, toSource } from '../../core/matrix.ts'
import type { Random } from '../../core/random.ts'
import type { Device } from '../../device/contract.ts'
import { type Child, type Span, splitGroups, type TreePoints } from '../../trees/group-lloyd.ts'
import { nearestInFrame } from '../nearest.ts'
import type { PointStore } from '../points.ts'

/** Two halves of a cluster have settled after few rounds, and the clustering that follows moves them anyway. */
const SPLIT_ROUNDS = 4
/** Half of the missing clusters come from the first wave, half of the rest from the second; the last makes all that are left. */
const WAVES = 3
/** Nearest clusters that one may be joined with. */
const NEIGHBORS = 6
/** A swap has to gain noticeably more than it costs: sums in 32 bits differ by less than this. */
const WORTH = 1.02

interface Cluster extends Span {
  center: Float32Array
  /** Two halves, once they were looked for; undefined where all points are the same. */
  halves?: readonly Child[] | undefined
  /** By how much splitting it lowers the sum of squares; 0 where it cannot be split. Undefined: not known yet. */
  gain?: number | undefined
}

export interface ExtensionOptions {
  /** Clusters wanted: as many as there are, or more, but no more than different points. */
  readonly k: number
  readonly random: Random
  /** Centres are of length one. */
  readonly unit: boolean
  readonly signal?: AbortSignal | undefined
}

/** A label for every point, 0 to k - 1, from the labels and the centres (in the frame) of a clustering with fewer clusters. */
export async function extendClusters(
  device: Device,
  points: PointStore,
  before: { readonly labels: Uint32Array; readonly centers: Float32Array },
  { k, random, unit, signal }: ExtensionOptions,
): Promise<Uint32Array> {
  const { order, clusters } = sortedByLabel(before.labels, before.centers, points.cols)
  const inParts = points.inParts()
  const split = (): Promise<void> => findHalves(device, inParts, order, clusters, { random, unit, signal })
  for (let wave = 1; clusters.length < k; wave++) {
    await split()
    const missing = k - clusters.length
    const best = byGain(clusters).slice(0, wave < WAVES ? Math.ceil(missing / 2) : missing)
    if (best.length === 0) break
    for (const cluster of best) makeSplit(clusters, cluster)
  }
  await split()
  const joined = await swap(device, clusters, points.cols, signal)
  const labels = new Uint32Array(points.rows)
  clusters.forEach(({ from, to }, label) => {
    for (let at = from; at < to; at++) labels[order[at]] = joined[label]
  })
  return labels
}

/** Empty clusters are left out: what is split takes their place. */
function sortedByLabel(
  labels: Uint32Array,
  centers: Float32Array,
  cols: number,
): { order: Uint32Array; clusters: Cluster[] } {
  const starts = new Uint32Array(centers.length / cols + 1)
  for (const label of labels) starts[label + 1]++
  for (let label = 1; label < starts.length; label++) starts[label] += starts[label - 1]
  const clusters: Cluster[] = []
  for (let label = 0; label + 1 < starts.length; label++) {
    const [from, to] = [starts[label], starts[label + 1]]
    if (to > from) clusters.push({ from, to, center: centers.slice(label * cols, (label + 1) * cols) })
  }
  const next = starts.slice()
  const order = new Uint32Array(labels.length)
  labels.forEach((label, point) => {
    order[next[label]++] = point
  })
  return { order, clusters }
}

/** Looks for the halves of all clusters whose halves are not known yet. */
async function findHalves(
  device: Device,
  points: TreePoints,
  order: Uint32Array,
  clusters: readonly Cluster[],
  { random, unit, signal }: Pick<ExtensionOptions, 'random' | 'unit' | 'signal'>,
): Promise<void> {
  const wave = clusters.filter(({ gain }) => gain === undefined)
  const larger = wave.filter(({ from, to }) => to - from > 1)
  for (const cluster of wave) cluster.gain = 0
  if (larger.length === 0) return
  const control = { signal }
  const split = await splitGroups(device, points, order, larger, 2, random, { rounds: SPLIT_ROUNDS, unit, control })
  larger.forEach((cluster, i) => {
    if (split[i].length < 2) return
    cluster.halves = split[i]
    cluster.gain = ward(split[i][0], split[i][1])
  })
}

function byGain(clusters: readonly Cluster[]): Cluster[] {
  const gainful = clusters.filter(({ halves }) => halves !== undefined)
  return gainful.sort((a, b) => (b.gain ?? 0) - (a.gain ?? 0) || a.from - b.from)
}

/** The cluster keeps its place in the list, with one half; the other half is a new cluster. */
function makeSplit(clusters: Cluster[], cluster: Cluster): void {
  const [first, second] = (cluster.halves ?? []).map(({ from, to, center }): Cluster => ({ from, to, center }))
  clusters[clusters.indexOf(cluster)] = first
  clusters.push(second)
}

function ward(a: Span & { readonly center: Float32Array }, b: Span & { readonly center: Float32Array }): number {
  const [m, n] = [a.to - a.from, b.to - b.from]
  let squared = 0
  for (let j = 0; j < a.center.length; j++) squared += (a.center[j] - b.center[j]) ** 2
  return ((m * n) / (m + n)) * squared
}

/** Makes splits that gain more than joining two other clusters costs. Returns the label of each cluster in the end. */
async function swap(
  device: Device,
  clusters: Cluster[],
  cols: number,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const labels = clusters.map((_, i) => i)
  if (clusters.length < 3) return labels
  const numbers = new Map(clusters.map((cluster, i) => [cluster, i]))
  const touched = new Set<Cluster>()
  const splits = byGain(clusters)
  let next = 0
  for (const { cost, a, b } of await cheapestJoins(device, clusters, cols, signal)) {
    if (touched.has(a) || touched.has(b)) continue
    while (next < splits.length && (touched.has(splits[next]) || splits[next] === a || splits[next] === b)) next++
    const divided = splits[next]
    if (divided === undefined || (divided.gain ?? 0) <= WORTH * cost) break
    for (const cluster of [a, b, divided]) touched.add(cluster)
    const [kept, free] = [numbers.get(a) as number, numbers.get(b) as number]
    // All points of both become those of a; the second half of the divided cluster takes the label of b.
    labels[free] = kept
    makeSplit(clusters, divided)
    labels.push(free)
  }
  return labels
}

interface Join {
  readonly a: Cluster
  readonly b: Cluster
  readonly cost: number
}

/** Pairs of neighbouring clusters, the cheapest to join first. */
async function cheapestJoins(
  device: Device,
  clusters: readonly Cluster[],
  cols: number,
  signal: AbortSignal | undefined,
): Promise<Join[]> {
  const k = clusters.length
  const centers = new Float32Array(k * cols)
  clusters.forEach(({ center }, i) => {
    centers.set(center, i * cols)
  })
  const all = matrix(centers, k, cols)
  const m = Math.min(k, NEIGHBORS + 1)
  const frame = { shift: undefined, scale: 1, unit: false, type: 'f32' } as const
  const { labels } = await nearestInFrame(device, toSource(all), all, frame, m, { signal })
  const joins: Join[] = []
  for (let i = 0; i < k; i++) {
    for (let at = i * m; at < (i + 1) * m; at++) {
      const other = labels[at]
      // Each pair once, whichever of the two found the other.
      if (other === i || (other < i && labels.subarray(other * m, (other + 1) * m).includes(i))) continue
      joins.push({ a: clusters[i], b: clusters[other], cost: ward(clusters[i], clusters[other]) })
    }
  }
  return joins.sort((x, y) => x.cost - y.cost)
}

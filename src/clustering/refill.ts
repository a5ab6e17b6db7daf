/**
 * Empty clusters, policy `farthest`: each takes over the point that lies farthest from its centre,
 * among clusters that can spare one. The point becomes the centre, so the distortion falls by the
 * square of that distance and more. Points without weight do not count: a cluster that has no others
 * is empty. Rare, so it happens on the host.
 */
import type { PointPart } from '../vectors/point-part.ts'
import type { PointStore } from '../vectors/points.ts'
import { type RunState, readCenters, writeCenters } from './run-state.ts'

export interface Refill {
  /** Clusters that got a point. */
  readonly clusters: number
  /** Weighted squared distances of those points to the centres they left. */
  readonly squares: number
}

/** Changes labels and centres; the caller then updates once more. `count` is the number of empty clusters. */
export async function refillEmpty(state: RunState, count: number, weights?: Float32Array): Promise<Refill> {
  const { points, team } = state
  const chosen = await choose(state, count, weights)
  const centers = await readCenters(state)
  const rows = await points.gather(chosen.rows)
  const { cols } = points
  let squares = 0
  chosen.rows.forEach((point, i) => {
    const row = rows.subarray(i * cols, (i + 1) * cols)
    let squared = 0
    for (let j = 0; j < cols; j++) squared += (row[j] - centers[chosen.left[i] * cols + j]) ** 2
    squares += squared * (weights ? weights[point] : 1)
  })
  chosen.rows.forEach((_, i) => {
    centers.set(rows.subarray(i * cols, (i + 1) * cols), chosen.taken[i] * cols)
  })
  const change = { rows: Float64Array.from(chosen.rows), labels: Uint32Array.from(chosen.taken) }
  if (team.remote) team.note('relabel', change)
  else await relabel(points, change)
  writeCenters(state, centers)
  await team.shareCenters()
  return { clusters: chosen.rows.length, squares }
}

/** Points that become centres. */
interface Chosen {
  readonly rows: readonly number[]
  /** The clusters they leave. */
  readonly left: readonly number[]
  /** The empty clusters they go to. */
  readonly taken: readonly number[]
}

/** The farthest points of one owner, by falling distance, and the sizes of clusters there. */
export interface FarPoints {
  readonly rows: Float64Array
  readonly distances: Float32Array
  readonly labels: Uint32Array
  /** There are more, which are not farther. */
  readonly more: boolean
  readonly sizes: Uint32Array
}

/** Owners give as many of their farthest points as may be needed, never all labels. */
async function choose(
  { team, points, k }: RunState,
  count: number,
  weights: Float32Array | undefined,
): Promise<Chosen> {
  for (let most = 2 * count + 64; ; most *= 8) {
    const answers = team.remote
      ? await team.ask('farthest', { count: most })
      : [await farthestOf(points, points.parts, k, most, weights)]
    const sizes = new Uint32Array(k)
    for (const answer of answers) for (let j = 0; j < k; j++) sizes[j] += answer.sizes[j]
    const empty = emptyOf(sizes)
    const found = firstOfAll(answers)
    const order = chooseInOrder(found.points, sizes, empty.length)
    // Points beyond the shortest list may come before those that are left.
    if (order.length < empty.length && found.more) continue
    const rows = order.map(({ row }) => row)
    return { rows, left: order.map(({ label }) => label), taken: empty.slice(0, rows.length) }
  }
}

/** Some points of these get other labels. */
export async function relabel(
  points: PointStore,
  { rows, labels }: { readonly rows: Float64Array; readonly labels: Uint32Array },
): Promise<void> {
  for (const part of points.parts) {
    const own = [...rows.keys()].filter((i) => rows[i] >= part.first && rows[i] < part.first + part.count)
    if (own.length === 0) continue
    const changed = await points.labelsOf(part)
    for (const i of own) changed[rows[i] - part.first] = labels[i]
    await points.writeLabelsOf(part, changed)
  }
}

interface FarPoint {
  readonly row: number
  readonly distance: number
  readonly label: number
}

function byDistance(a: FarPoint, b: FarPoint): number {
  return b.distance - a.distance || a.row - b.row
}

/** The points of all owners in one order, as far as it is certain. */
function firstOfAll(answers: readonly FarPoints[]): { points: FarPoint[]; more: boolean } {
  const points: FarPoint[] = []
  const ends: FarPoint[] = []
  for (const { rows, distances, labels, more } of answers) {
    const own = Array.from(rows, (row, i) => ({ row, distance: distances[i], label: labels[i] }))
    for (const point of own) points.push(point)
    if (more && own.length > 0) ends.push(own[own.length - 1])
  }
  points.sort(byDistance)
  const [end] = ends.sort(byDistance)
  return end ? { points: points.filter((point) => byDistance(point, end) <= 0), more: true } : { points, more: false }
}

function chooseInOrder(order: readonly FarPoint[], sizes: Uint32Array, count: number): FarPoint[] {
  const left = sizes.slice()
  const chosen: FarPoint[] = []
  for (const point of order) {
    if (chosen.length === count) break
    if (left[point.label] <= 1) continue
    left[point.label]--
    chosen.push(point)
  }
  return chosen
}

function emptyOf(sizes: Uint32Array): number[] {
  const empty: number[] = []
  for (let j = 0; j < sizes.length; j++) if (sizes[j] === 0) empty.push(j)
  return empty
}

/** What an owner answers: up to `count` of its points. */
export function ownFarthest({ parts, points, k }: RunState, count: number): Promise<FarPoints> {
  return farthestOf(points, parts, k, count, undefined)
}

/** Of some parts. Points without weight do not count. */
async function farthestOf(
  store: PointStore,
  parts: readonly PointPart[],
  k: number,
  count: number,
  weights: Float32Array | undefined,
): Promise<FarPoints> {
  const sizes = new Uint32Array(k)
  let points: FarPoint[] = []
  let more = false
  for (const part of parts) {
    const labels = await store.labelsOf(part)
    const distances = await store.distancesOf(part)
    const own = weights?.subarray(part.first, part.first + part.count)
    labels.forEach((label, i) => {
      if (label < k && (own === undefined || own[i] > 0)) sizes[label]++
    })
    const { order, all } = topByDistance(distances, count, own)
    more ||= !all || order.length > count
    for (const i of order.slice(0, count))
      points.push({ row: part.first + i, distance: distances[i], label: labels[i] })
    points.sort(byDistance)
    more ||= points.length > count
    points = points.slice(0, count)
  }
  return {
    rows: Float64Array.from(points, ({ row }) => row),
    distances: Float32Array.from(points, ({ distance }) => distance),
    labels: Uint32Array.from(points, ({ label }) => label),
    more,
    sizes,
  }
}

/**
 * Points with weight that are not at their centre, by falling distance: all of them, or at least twice `count`, where no other
 * is farther.
 */
function topByDistance(
  distances: Float32Array,
  count: number,
  weights?: Float32Array,
): { readonly order: number[]; readonly all: boolean } {
  // Most points can never be chosen: a threshold found on a sample of the distances keeps the sort short.
  const usable = (i: number): boolean => distances[i] > 0 && (weights === undefined || weights[i] > 0)
  const threshold = thresholdFor(distances, count * 4 + 1000)
  let candidates: number[] = []
  for (let i = 0; i < distances.length; i++) if (distances[i] >= threshold && usable(i)) candidates.push(i)
  const all = candidates.length < count * 2 || threshold <= 0
  if (all) {
    candidates = []
    for (let i = 0; i < distances.length; i++) if (usable(i)) candidates.push(i)
  }
  return { order: candidates.sort((a, b) => distances[b] - distances[a] || a - b), all }
}

function thresholdFor(distances: Float32Array, wanted: number): number {
  const step = Math.max(1, Math.floor(distances.length / 4096))
  const sample: number[] = []
  for (let i = 0; i < distances.length; i += step) sample.push(distances[i])
  sample.sort((a, b) => b - a)
  const rank = Math.floor((wanted / distances.length) * sample.length)
  return rank < sample.length ? sample[rank] : 0
}

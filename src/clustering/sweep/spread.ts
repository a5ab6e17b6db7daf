/** From clusters of a sample of the points to labels of all points. */
import { BufferScope, type Device } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { assignGroups } from '../../kernels/assign-groups.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, writeRows } from '../../kernels/rows.ts'
import type { PointStore } from '../../vectors/points.ts'
import type { Clustering } from './extension.ts'

/** Clusters that the points of one cluster before may go to, most of them. */
const MOST_PLACES = 16

/** A centre that points of a cluster before may be nearest to. */
interface Place {
  readonly parent: number
  readonly label: number
}

/**
 * `before` are the labels of all points before, `after` a clustering of the points with the given numbers, begun from
 * those. Every point gets the nearest of the clusters that the sampled points of its own cluster went to. A cluster of
 * which no point was sampled goes to the nearest of all.
 */
export async function spreadLabels(
  device: Device,
  points: PointStore,
  before: Uint32Array,
  rows: Uint32Array,
  after: Clustering,
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const parents = before.reduce((most, label) => Math.max(most, label + 1), 0)
  const places = placesOf(before, rows, after, parents)
  const groups = new Uint32Array(parents * 2)
  places.forEach(({ parent }, at) => {
    if (groups[parent * 2 + 1]++ === 0) groups[parent * 2] = at
  })
  const found = await nearestPlaces(device, points, before, { places, groups, centers: after.centers }, signal)
  const labels = before.map((parent, point) => (groups[parent * 2 + 1] > 0 ? places[found[point]].label : NO_LABEL))
  if (!labels.includes(NO_LABEL)) return labels
  const nearest = await nearestLabels(device, points, after.centers, signal)
  return labels.map((label, point) => (label === NO_LABEL ? nearest[point] : label))
}

/** By rising parent; where there are too many, those that most points went to. */
function placesOf(before: Uint32Array, rows: Uint32Array, { labels }: Clustering, parents: number): Place[] {
  const members: Map<number, number>[] = Array.from({ length: parents }, () => new Map())
  rows.forEach((row, i) => {
    const counts = members[before[row]]
    counts.set(labels[i], (counts.get(labels[i]) ?? 0) + 1)
  })
  return members.flatMap((counts, parent) =>
    [...counts]
      .sort(([a, m], [b, n]) => n - m || a - b)
      .slice(0, MOST_PLACES)
      .map(([label]) => ({ parent, label })),
  )
}

async function nearestPlaces(
  device: Device,
  points: PointStore,
  before: Uint32Array,
  { places, groups, centers: all }: { places: readonly Place[]; groups: Uint32Array; centers: Float32Array },
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const { cols } = points
  const data = new Float32Array(places.length * cols)
  places.forEach(({ label }, at) => {
    data.set(all.subarray(label * cols, (label + 1) * cols), at * cols)
  })
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, places.length, cols, 'f32', 'places')
    writeRows(device, centers, data)
    const table = scope.upload(groups, 'places of clusters')
    const width = groups.reduce((most, count, at) => (at % 2 === 1 ? Math.max(most, count) : most), 1)
    const own = scope.allocate(points.largestPart * 4, 'clusters before')
    const labels = scope.allocate(points.largestPart * 4, 'nearest places')
    const found = new Uint32Array(points.rows)
    for (const part of points.parts) {
      const { first, count } = part
      device.write(own, before.subarray(first, first + count))
      const vectors = await points.vectors(part)
      await assignGroups(device, { points: vectors, centers, groups: table, width, places: own, labels }, { signal })
      found.set(new Uint32Array(await device.read({ buffer: labels, offset: 0, bytes: count * 4 })), first)
    }
    return found
  } finally {
    scope.free()
  }
}

/** The nearest of all centres (in the frame), for every point. */
export async function nearestLabels(
  device: Device,
  points: PointStore,
  centers: Float32Array,
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const scope = new BufferScope(device)
  try {
    const rows = allocateRows(scope, centers.length / points.cols, points.cols, 'f32', 'centres')
    writeRows(device, rows, centers)
    const workspace = scope.allocate(assignWorkspaceBytes(rows, points.source.sparse !== undefined), 'prepared centres')
    for (const part of points.parts) {
      const vectors = await points.vectors(part)
      const { labels, distances } = part
      await assign(device, { points: vectors, centers: rows, labels, distances, workspace }, { signal })
    }
    return await points.readLabels()
  } finally {
    scope.free()
  }
}

/**
 * Empty clusters, policy `farthest`: each takes over the point that lies farthest from its centre,
 * among clusters that can spare one. The point becomes the centre, so the distortion falls by the
 * square of that distance and more. Points without weight do not count: a cluster that has no others
 * is empty. Rare, so it happens on the host.
 */
import { type RunState, readCenters, writeCenters } from './run-state.ts'

export interface Refill {
  /** Clusters that got a point. */
  readonly clusters: number
  /** Weighted squared distances of those points to the centres they left. */
  readonly squares: number
}

/** Changes labels and centres; the caller then updates once more. */
export async function refillEmpty(state: RunState, weights?: Float32Array): Promise<Refill> {
  const { points, k } = state
  const labels = await points.readLabels()
  const sizes = new Uint32Array(k)
  labels.forEach((label, point) => {
    if (weights === undefined || weights[point] > 0) sizes[label]++
  })
  const distances = await points.readDistances()
  const empty: number[] = []
  for (let j = 0; j < k; j++) if (sizes[j] === 0) empty.push(j)
  const chosen = farthestPoints(distances, labels, sizes, empty.length, weights)
  const centers = await readCenters(state)
  const rows = await points.gather(chosen)
  const { cols } = points
  let squares = 0
  chosen.forEach((point, i) => {
    const row = rows.subarray(i * cols, (i + 1) * cols)
    let squared = 0
    for (let j = 0; j < cols; j++) squared += (row[j] - centers[labels[point] * cols + j]) ** 2
    squares += squared * (weights ? weights[point] : 1)
    labels[point] = empty[i]
  })
  chosen.forEach((_, i) => {
    centers.set(rows.subarray(i * cols, (i + 1) * cols), empty[i] * cols)
  })
  points.writeLabels(labels)
  writeCenters(state, centers)
  await state.team.shareCenters()
  return { clusters: chosen.length, squares }
}

/** Up to `count` points by falling distance (ties: lowest number first), never the last one of a cluster. */
export function farthestPoints(
  distances: Float32Array,
  labels: Uint32Array,
  sizes: Uint32Array,
  count: number,
  weights?: Float32Array,
): number[] {
  const left = sizes.slice()
  const order = topByDistance(distances, count, weights)
  const chosen: number[] = []
  for (const point of order) {
    if (chosen.length === count) break
    if (left[labels[point]] <= 1) continue
    left[labels[point]]--
    chosen.push(point)
  }
  return chosen
}

/** Candidates sorted by falling distance: all points with weight that are not at their centre. */
function topByDistance(distances: Float32Array, count: number, weights?: Float32Array): number[] {
  // Most points can never be chosen: a threshold found on a sample of the distances keeps the sort short.
  const usable = (i: number): boolean => distances[i] > 0 && (weights === undefined || weights[i] > 0)
  const threshold = thresholdFor(distances, count * 4 + 1000)
  let candidates: number[] = []
  for (let i = 0; i < distances.length; i++) if (distances[i] >= threshold && usable(i)) candidates.push(i)
  if (candidates.length < count * 2) {
    candidates = []
    for (let i = 0; i < distances.length; i++) if (usable(i)) candidates.push(i)
  }
  return candidates.sort((a, b) => distances[b] - distances[a] || a - b)
}

function thresholdFor(distances: Float32Array, wanted: number): number {
  const step = Math.max(1, Math.floor(distances.length / 4096))
  const sample: number[] = []
  for (let i = 0; i < distances.length; i += step) sample.push(distances[i])
  sample.sort((a, b) => b - a)
  const rank = Math.floor((wanted / distances.length) * sample.length)
  return rank < sample.length ? sample[rank] : 0
}

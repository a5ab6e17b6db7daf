/**
 * What `scatterSums` computes, on the device: means and distances in 32 bits, distances added up in 64. Scores of many
 * vectors differ from those of the functions by rounding.
 */
import { BufferScope, type Device } from '../../device/contract.ts'
import { accumulate, createAccumulateWorkspace } from '../../kernels/accumulate.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { means } from '../../kernels/means.ts'
import { allocateRows, type DeviceRows, readRows } from '../../kernels/rows.ts'
import { betweenMeans } from '../../metrics/cluster-scores.ts'
import { renumber } from '../../metrics/partition.ts'
import type { ScatterSums } from '../../metrics/scatter-sums.ts'
import type { Means } from '../../metrics/scored-rows.ts'
import type { PointStore } from '../../vectors/points.ts'

export async function scatterSumsOnDevice(
  device: Device,
  points: PointStore,
  labels: Uint32Array,
  signal: AbortSignal | undefined,
): Promise<ScatterSums> {
  const { rows, cols, frame } = points
  const { indices: clusters, counts: sizes } = renumber(labels)
  const k = sizes.length
  const scope = new BufferScope(device)
  try {
    const own = scope.allocate(points.largestPart * 4, 'clusters')
    const centers = allocateRows(scope, k, cols, 'f32', 'means of clusters')
    await takeMeans(device, scope, points, clusters, own, centers, signal)
    // Where rows are brought to length one, scores are about those, and there is no other unit.
    const unscale = frame.unit ? 1 : 1 / frame.scale
    const distances = new Float64Array(k)
    const squares = new Float64Array(k)
    const again = scope.allocate(points.largestPart * 4, 'clusters again')
    const measured = scope.allocate(points.largestPart * 4, 'distances to means')
    for (const part of points.parts) {
      signal?.throwIfAborted()
      const { first, count } = part
      device.write(own, clusters.subarray(first, first + count))
      const list = { lists: own, width: 1, labels: again, distances: measured }
      await assignLists(device, { points: await points.vectors(part), centers, ...list })
      const found = new Float32Array(await device.read({ buffer: measured, offset: 0, bytes: count * 4 }))
      for (let i = 0; i < count; i++) {
        const cluster = clusters[first + i]
        distances[cluster] += Math.sqrt(found[i]) * unscale
        squares[cluster] += found[i] * unscale * unscale
      }
    }
    const found = meansOutOfFrame(await readRows(device, centers), points, unscale)
    const between = betweenMeans(found, { sizes, clusters })
    return { rows, cols, clusters, sizes, means: found, distances, squares, between }
  } finally {
    scope.free()
  }
}

async function takeMeans(
  device: Device,
  scope: BufferScope,
  points: PointStore,
  clusters: Uint32Array,
  own: ReturnType<BufferScope['allocate']>,
  centers: DeviceRows,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { stride, largestPart } = points
  const k = centers.rows
  device.clear(centers.buffer)
  const sums = scope.allocate(k * stride * 4, 'sums of clusters')
  const totals = scope.allocate(k * 4, 'sizes of clusters')
  const counts = scope.allocate(k * 4, 'points of clusters')
  const gains = scope.allocate(k * 4, 'gains of clusters')
  const sparse = points.source.sparse !== undefined
  const workspace = createAccumulateWorkspace(device, scope, largestPart, stride, k, sparse)
  for (const part of points.parts) {
    signal?.throwIfAborted()
    const { first, count } = part
    device.write(own, clusters.subarray(first, first + count))
    const vectors = await points.vectors(part)
    await accumulate(device, { points: vectors, labels: own, k, sums, totals, counts, add: first > 0, workspace })
  }
  await means(device, { sums, totals, centers, gains })
}

function meansOutOfFrame(centers: Float32Array, { cols, frame }: PointStore, unscale: number): Means {
  const k = centers.length / cols
  const { shift } = frame
  const data = new Float64Array(centers.length)
  const squares = new Float64Array(k)
  for (let mean = 0; mean < k; mean++) {
    for (let j = 0, at = mean * cols; j < cols; j++, at++) {
      const value = centers[at] * unscale + (shift ? shift[j] : 0)
      data[at] = value
      squares[mean] += value * value
    }
  }
  return { k, cols, data, squares }
}

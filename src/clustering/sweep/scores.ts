/** The scores of one clustering of a sweep. What needs a distance to every centre is computed on the device. */
import type { VectorSource } from '../../core/matrix.ts'
import { BufferScope, type Device } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { allocateRows, writeRows } from '../../kernels/rows.ts'
import { mixtureBic } from '../../metrics/bic.ts'
import { type JointScores, scoresOfSums } from '../../metrics/joint-scores.ts'
import { type ScatterSums, scatterSums } from '../../metrics/scatter-sums.ts'
import { silhouette } from '../../metrics/silhouette.ts'
import type { Frame } from '../frame.ts'
import { predictShares } from '../mixture/predict.ts'
import type { ClusterModel } from '../model.ts'
import type { PointStore } from '../points.ts'
import { scoredSource } from './scored-source.ts'

/** The exact silhouette takes n^2 d / 2 steps on one core: up to here that is at most about a second. */
const EXACT_ROWS = 5000
const EXACT_STEPS = 1e9

export type SilhouetteForm = 'exact' | 'simplified'

/** All steps of a sweep have the same form, so that they compare. */
export function silhouetteForm({ rows, cols }: Pick<VectorSource, 'rows' | 'cols'>): SilhouetteForm {
  return rows <= EXACT_ROWS && (rows * rows * cols) / 2 <= EXACT_STEPS ? 'exact' : 'simplified'
}

export interface StepScores extends JointScores {
  readonly silhouette: number | undefined
}

export async function scoresOfModel(
  device: Device,
  points: PointStore,
  model: ClusterModel,
  form: SilhouetteForm,
  signal: AbortSignal | undefined,
): Promise<StepScores> {
  const { source, rows, cols } = points
  const sums = await scatterSums(scoredSource(points), model.labels, { signal })
  const scores = await scoresOfSums(sums, { signal })
  const k = sums.sizes.length
  const bic = model.sigmas
    ? mixtureBic(await logLikelihood(device, source, model, signal), rows, model.facts.k, cols)
    : scores.bic
  if (k < 2 || k >= rows) return { ...scores, bic, silhouette: undefined }
  const metric = model.facts.metric
  const value =
    form === 'exact'
      ? await silhouette(source, model.labels, { method: 'exact', metric, signal })
      : await simplifiedSilhouette(device, points, sums, signal)
  return { ...scores, bic, silhouette: value }
}

/** Of all vectors together, under the mixture that the model holds. */
async function logLikelihood(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { logLikelihoods } = await predictShares(device, source, model, 1, { signal })
  return logLikelihoods.reduce((sum, value) => sum + value, 0)
}

/** As `silhouette` defines it, with distances in 32 bits. */
async function simplifiedSilhouette(
  device: Device,
  points: PointStore,
  sums: ScatterSums,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { clusters, sizes } = sums
  const { frame } = points
  const scope = new BufferScope(device)
  try {
    const centers = allocateRows(scope, sizes.length, points.cols, 'f32', 'means of clusters')
    writeRows(device, centers, meansInFrame(sums, frame))
    const workspace = scope.allocate(
      assignWorkspaceBytes(centers, points.source.sparse !== undefined),
      'prepared means',
    )
    const own = scope.allocate(points.largestPart * 4, 'own clusters')
    const ownAgain = scope.allocate(points.largestPart * 4, 'own clusters again')
    const ownDistances = scope.allocate(points.largestPart * 4, 'distances to own means')
    const nearest = scope.allocate(points.largestPart * 8, 'nearest means')
    const distances = scope.allocate(points.largestPart * 8, 'distances to nearest means')
    let sum = 0
    for (const part of points.parts) {
      signal?.throwIfAborted()
      const { first, count } = part
      const vectors = await points.vectors(part)
      const labels = clusters.subarray(first, first + count)
      device.write(own, labels)
      const list = { lists: own, width: 1, labels: ownAgain, distances: ownDistances }
      await assignLists(device, { points: vectors, centers, ...list })
      await assign(device, { points: vectors, centers, labels: nearest, distances, m: 2, workspace }, { signal })
      const toOwn = new Float32Array(await device.read({ buffer: ownDistances, offset: 0, bytes: count * 4 }))
      const twoLabels = new Uint32Array(await device.read({ buffer: nearest, offset: 0, bytes: count * 8 }))
      const twoDistances = new Float32Array(await device.read({ buffer: distances, offset: 0, bytes: count * 8 }))
      for (let i = 0; i < count; i++) {
        if (sizes[labels[i]] === 1) continue
        const other = twoDistances[2 * i + (twoLabels[2 * i] === labels[i] ? 1 : 0)]
        sum += coefficient(toOwn[i], other, frame.unit)
      }
    }
    return sum / points.rows
  } finally {
    scope.free()
  }
}

/** From squared distances. Of vectors at length one, half the squared distance is one minus the cosine. */
function coefficient(own: number, other: number, unit: boolean): number {
  const [a, b] = unit ? [own, other] : [Math.sqrt(own), Math.sqrt(other)]
  const larger = Math.max(a, b)
  return larger === 0 ? 0 : (b - a) / larger
}

/** Computed in 64 bits: means far from zero keep their digits. */
function meansInFrame({ means: { k, cols, data, squares } }: ScatterSums, { shift, scale, unit }: Frame): Float32Array {
  const framed = new Float32Array(k * cols)
  for (let mean = 0; mean < k; mean++) {
    const factor = unit ? (squares[mean] > 0 ? 1 / Math.sqrt(squares[mean]) : 0) : scale
    for (let j = 0; j < cols; j++) framed[mean * cols + j] = (data[mean * cols + j] - (shift ? shift[j] : 0)) * factor
  }
  return framed
}

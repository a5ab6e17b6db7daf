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
import type { ClusterModel } from '../../models/model.ts'
import { predictShares } from '../../models/responsibilities.ts'
import type { Frame } from '../../vectors/frame.ts'
import { PointStore } from '../../vectors/points.ts'
import { scatterSumsOnDevice } from './device-sums.ts'
import { scoredSource } from './scored-source.ts'

/** The exact silhouette takes n^2 d / 2 steps on one core: up to here that is at most about a second. */
const EXACT_ROWS = 5000
const EXACT_STEPS = 1e9

/**
 * The simplified one is the mean over this many vectors at most, over fewer where vectors are wide: its error is then about
 * 0.005, and less between numbers of clusters, as the vectors are the same.
 */
const SAMPLED_ROWS = 4000
const SAMPLED_ROWS_OF_WIDE = 2000
const SAMPLED_NUMBERS = 2 ** 20
/** Up to here all are measured: a sample would save little. */
const ALL_ROWS = 6000

export type SilhouetteForm = 'exact' | 'simplified'

/** Scores the clusterings of a sweep. All steps have the same form of the silhouette, so that they compare. */
export class Scorer {
  readonly form: SilhouetteForm
  readonly #device: Device
  readonly #points: PointStore
  /** What the simplified silhouette is measured by, once it is known. */
  #sample: Sample | undefined

  constructor(device: Device, points: PointStore) {
    const { rows, cols } = points
    this.form = rows <= EXACT_ROWS && (rows * rows * cols) / 2 <= EXACT_STEPS ? 'exact' : 'simplified'
    this.#device = device
    this.#points = points
  }

  async score(model: ClusterModel, signal: AbortSignal | undefined): Promise<StepScores> {
    const { source, rows, cols } = this.#points
    const sums =
      this.form === 'exact'
        ? await scatterSums(scoredSource(this.#points), model.labels, { signal })
        : await scatterSumsOnDevice(this.#device, this.#points, model.labels, signal)
    const scores = await scoresOfSums(sums, { signal })
    const bic = model.sigmas
      ? mixtureBic(await logLikelihood(this.#device, source, model, signal), rows, model.facts.k, cols)
      : scores.bic
    const k = sums.sizes.length
    if (k < 2 || k >= rows) return { ...scores, bic, silhouette: undefined }
    const { metric } = model.facts
    const value =
      this.form === 'exact'
        ? await silhouette(source, model.labels, { method: 'exact', metric, signal })
        : await simplifiedSilhouette(this.#device, await this.#sampled(), sums, this.#points.frame, signal)
    return { ...scores, bic, silhouette: value }
  }

  free(): void {
    if (this.#sample && this.#sample.points !== this.#points) this.#sample.points.free()
  }

  async #sampled(): Promise<Sample> {
    this.#sample ??= await sampleOf(this.#device, this.#points)
    return this.#sample
  }
}

interface Sample {
  /** In the frame of all points. */
  readonly points: PointStore
  /** Which of all points they are. Undefined: all. */
  readonly rows: Uint32Array | undefined
}

/** Rows at even distances, the same for every step. */
async function sampleOf(device: Device, points: PointStore): Promise<Sample> {
  if (points.rows <= ALL_ROWS) return { points, rows: undefined }
  const affordable = Math.floor(SAMPLED_NUMBERS / points.cols)
  const length = Math.max(SAMPLED_ROWS_OF_WIDE, Math.min(SAMPLED_ROWS, affordable))
  const rows = Uint32Array.from({ length }, (_, i) => Math.floor((i * points.rows) / length))
  const frame: Frame = { shift: undefined, scale: 1, unit: false, type: 'f32' }
  return { points: await PointStore.open(device, await points.pick(rows), { frame }), rows }
}

export interface StepScores extends JointScores {
  readonly silhouette: number | undefined
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
  { points, rows }: Sample,
  sums: ScatterSums,
  frame: Frame,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { sizes } = sums
  const clusters = rows ? rows.map((row) => sums.clusters[row]) : sums.clusters
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

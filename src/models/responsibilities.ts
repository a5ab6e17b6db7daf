/** New points and the components of a mixture: which answer for them, and how much. */
import { badOption, CentroidalError } from '../core/errors.ts'
import type { VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { MOST_ANSWERS, respondAll } from '../kernels/respond.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { sharesOfLists } from '../kernels/shares.ts'
import { frameOfNew, squaresOutOfFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import type { Mixture } from './mixture.ts'
import type { ClusterModel } from './model.ts'
import type { Responsibilities } from './prediction.ts'
import { logScales } from './scales.ts'

export interface PredictedShares extends Responsibilities {
  /** Squared distance to the most responsible component, in the input's units. */
  readonly distances: Float32Array
}

/** The components of a model in its frame; undefined if it has none. */
export function mixtureOf({ weights, sigmas, state }: ClusterModel): Mixture | undefined {
  if (weights === undefined || sigmas === undefined) return undefined
  const { scale } = state.frame
  return {
    weights: Float64Array.from(weights),
    variances: Float64Array.from(sigmas, (sigma) => (sigma * scale) ** 2),
  }
}

export async function predictShares(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  r: number,
  { signal, onProgress }: RunControl,
): Promise<PredictedShares> {
  const mixture = mixtureOf(model)
  if (mixture === undefined) {
    throw new CentroidalError(
      'bad-option',
      `A model of method ${model.facts.method} has no responsibilities: use a mixture (egm, agm, gmm).`,
    )
  }
  const { rows: k, cols } = model.centers
  const most = Math.min(k, MOST_ANSWERS)
  if (!Number.isInteger(r) || r < 1 || r > most) throw badOption('r', r, `give a whole number from 1 to ${most}.`)
  const { frame, centers } = model.state
  const fitting = await frameOfNew(source, model.facts.metric, frame)
  const points = await PointStore.open(device, source, { frame: fitting, bytesPerPoint: 4 * r })
  const scope = new BufferScope(device)
  try {
    const { values, constant } = logScales(mixture, cols)
    const rows = allocateRows(scope, k, cols, 'f32', 'centres')
    writeRows(device, rows, centers)
    const scales = scope.upload(values, 'scales of components')
    const best = scope.allocate(points.largestPart * r * 4, 'best components')
    const logs = scope.allocate(points.largestPart * r * 4, 'shares')
    const evidence = scope.allocate(points.largestPart * 4, 'evidence')
    const components = new Uint32Array(points.rows * r)
    const shares = new Float32Array(points.rows * r)
    const logLikelihoods = new Float32Array(points.rows)
    for (const part of points.parts) {
      const vectors = await points.vectors(part)
      const common = { points: vectors, centers: rows, m: r, best, logs, evidence }
      await respondAll(
        device,
        { ...common, scales },
        { signal, onProgress: (share) => onProgress?.((part.first + share * part.count) / points.rows) },
      )
      const { labels, distances } = part
      await sharesOfLists(device, { ...common, given: true, labels, distances })
      const bytes = part.count * r * 4
      components.set(new Uint32Array(await device.read({ buffer: best, offset: 0, bytes })), part.first * r)
      shares.set(new Float32Array(await device.read({ buffer: logs, offset: 0, bytes })), part.first * r)
      const sums = new Float32Array(await device.read({ buffer: evidence, offset: 0, bytes: part.count * 4 }))
      const shift = constant + cols * Math.log(frame.scale)
      logLikelihoods.set(
        sums.map((sum) => sum + shift),
        part.first,
      )
    }
    const distances = squaresOutOfFrame(await points.readDistances(), frame)
    return { components, shares, logLikelihoods, distances }
  } finally {
    scope.free()
    points.free()
  }
}

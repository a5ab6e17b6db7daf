/** The model of a run as it stands: centres, labels and facts, in the input's units. */
import { isMatrix, type Matrix, matrix } from '../core/matrix.ts'
import type { ModelFacts } from '../models/facts.ts'
import { ClusterModel, type ResumeState } from '../models/model.ts'
import type { IterationStats, StopReason } from '../models/stats.ts'
import { requireFiniteResult } from '../vectors/finite.ts'
import { LARGEST_FLOAT, outOfFrame } from '../vectors/frame.ts'
import type { ResolvedOptions } from './options.ts'
import { type RunState, readCenters, type TreeUse } from './run-state.ts'

/** What a run needs to know: the caller's options, and what was found out about the vectors. */
export interface RunOptions extends ResolvedOptions {
  /** See resolution.ts. */
  readonly roundingError: number
  /** No number of a vector is larger, in the frame. */
  readonly largest: number
  /** Points as evidence, where that is known: see RunState. */
  readonly evidence?: number | undefined
  /** See RunState. */
  readonly treeUse?: TreeUse | undefined
}

export async function readModel(
  state: RunState,
  resolved: RunOptions,
  course: { stats: readonly IterationStats[]; stopped: StopReason; startSeconds: number | undefined },
  resumeState: ResumeState,
  given: boolean,
): Promise<ClusterModel> {
  const { device, points, k, mixture } = state
  const { stats, stopped, startSeconds } = course
  const inner = await readCenters(state)
  const centers = matrix(outOfFrame(inner, points.cols, points.frame), k, points.cols)
  const sigmas = sigmasOf(state)
  requireFiniteResult(inner, 'a centre')
  requireFiniteResult(centers.data, 'a centre')
  requireFiniteResult([stats[stats.length - 1]?.distortion ?? 0], 'the distortion')
  if (mixture && sigmas) {
    requireFiniteResult(mixture.weights, 'a weight of the mixture')
    requireFiniteResult(sigmas, 'a standard deviation of the mixture')
  }
  // No limit in time is no number in JSON.
  const { start, weights, seconds, methodReason, shards, own: _own, ...others } = resolved
  const { weightScale: _, roundingError: __, evidence: ___, largest: ____, treeUse: _____, ...rest } = others
  const plain = shards === undefined ? rest : { ...rest, shards }
  const chosen = methodReason === undefined ? {} : { methodReason }
  const limit = Number.isFinite(seconds) ? { seconds } : {}
  const facts = {
    method: methodNamed(resolved),
    metric: resolved.metric,
    k,
    rows: points.rows,
    cols: points.cols,
    ...(weights && { weight: state.totalWeight / state.weightScale }),
    seed: resolved.seed,
    options: {
      ...plain,
      ...limit,
      ...chosen,
      start: given || isMatrix(start) ? 'given' : start,
      weighted: weights !== undefined,
    },
    device: { kind: device.info.kind, name: device.info.name, reason: device.info.reason },
    stopped,
    ...(startSeconds === undefined ? {} : { startSeconds }),
    ...(state.sample && { sample: state.sample }),
    iterations: [...stats],
  }
  return new ClusterModel(
    centers,
    await points.readLabels(),
    // The settings are those of the method: see resolveSettings.
    facts as ModelFacts,
    { centers: inner, frame: points.frame },
    state.tree,
    mixture && sigmas && { weights: Float32Array.from(mixture.weights), sigmas },
    resumeState,
  )
}

/** As the facts of a model name the method. */
export function methodNamed({ method, own }: Pick<ResolvedOptions, 'method' | 'own'>): ModelFacts['method'] {
  return own ? `own:${own.name}` : method
}

export async function centersOf(state: RunState): Promise<Matrix<Float32Array>> {
  const { points, k } = state
  return matrix(outOfFrame(await readCenters(state), points.cols, points.frame), k, points.cols)
}

/** In the input's units. */
export function sigmasOf({ mixture, points }: RunState): Float32Array | undefined {
  if (mixture === undefined) return undefined
  const { scale } = points.frame
  // Among the largest floats, components can lie farther apart than floats reach.
  return Float32Array.from(mixture.variances, (variance) => Math.min(LARGEST_FLOAT, Math.sqrt(variance) / scale))
}

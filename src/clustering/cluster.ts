/** The two ways in: `cluster` for the result, `clusterSteps` for the same loop step by step. */
import { CentroidalError } from '../core/errors.ts'
import { isMatrix, type Matrix, matrix, toSource, type VectorInput } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import { paddedCols } from '../kernels/rows.ts'
import { acquireDevice } from './device-choice.ts'
import { requireDistinct } from './distinct.ts'
import { requireFiniteResult, requireWidths } from './finite.ts'
import { type Frame, inspectVectors, intoFrame, LARGEST_FLOAT, outOfFrame, widenFrame } from './frame.ts'
import { iterate } from './loop.ts'
import { mixtureOf } from './mixture/predict.ts'
import { ClusterModel, type ModelFacts, type ResumeState } from './model.ts'
import {
  type ClusterOptions,
  type ResolvedOptions,
  readOptions,
  requireSparseOptions,
  resolveOptions,
} from './options.ts'
import { PointStore } from './points.ts'
import { METHODS } from './presets.ts'
import { roundingError } from './resolution.ts'
import { arraysToResume, bestBefore, checkResume, exactMixture, restartsLeft, sameMethod, withBest } from './resume.ts'
import { createRunState, type Mixture, type RunState, readCenters, type Update, writeCenters } from './run-state.ts'
import { chooseStart, completeCenters, type Start, samplePoints, seedingRandom } from './seeding.ts'
import type { IterationStats, StopReason } from './stats.ts'
import { labelNearest, unweightedMeans } from './weightless.ts'

/** A round, and a look at what stands after it. The looks are good until the next step is asked for. */
export interface ClusterStep extends IterationStats {
  /** k x d, in the input's units. */
  centers(): Promise<Matrix>
  /** The cluster of each point. */
  labels(): Promise<Uint32Array>
  /** Standard deviations of the components, where the clusters are those of a mixture. */
  sigmas(): Float32Array | undefined
}

/**
 * Clusters vectors; see {@link ClusterOptions} for what can be asked.
 *
 * @example
 * ```ts
 * import { blobs, cluster } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 300, cols: 8, clusters: 3, separated: true })
 * const model = await cluster(vectors, { k: 3, seed: 1 })
 * model.centers.rows // => 3
 * model.labels.length // => 300
 * model.facts.method // => 'lloyd'
 * ```
 */
export async function cluster(vectors: VectorInput, options: ClusterOptions): Promise<ClusterModel> {
  const steps = clusterSteps(vectors, options)
  for (;;) {
    const step = await steps.next()
    if (step.done) return step.value
  }
}

/**
 * The loop of {@link cluster}, a step at a time; returns the model when it is done. Leaving it early frees everything.
 *
 * @example
 * ```ts
 * import { blobs, clusterSteps } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 300, cols: 2, clusters: 5 })
 * for await (const step of clusterSteps(vectors, { k: 5 })) {
 *   const centers = await step.centers()
 *   console.log(step.iteration, step.distortion, centers.data)
 *   if (step.moved < 3) break
 * }
 * ```
 */
export async function* clusterSteps(
  vectors: VectorInput,
  options: ClusterOptions,
): AsyncGenerator<ClusterStep, ClusterModel> {
  options = readOptions(options)
  const source = toSource(vectors)
  const { rows, cols, sparse } = source
  const resolved = resolveOptions(options, { rows, cols, sparse: sparse !== undefined })
  if (options.resume) checkResume(options.resume, source, resolved)
  requireSparseOptions(source, resolved)
  const began = performance.now()
  const { onProgress } = options
  const watch = { signal: options.signal, onProgress: (share: number) => onProgress?.('checking the vectors', share) }
  const found = await inspectVectors(source, resolved.metric, watch)
  const { start } = resolved
  const frame = options.resume?.state.frame ?? (isMatrix(start) ? widenFrame(found.frame, start.data) : found.frame)
  requireWidths(resolved.settings, frame)
  const method = METHODS[resolved.method]
  if (!method.findsCount) await requireDistinct(source, resolved.k, frame, { signal: options.signal })
  options.signal?.throwIfAborted()
  const { device, release } = await acquireDevice(options.device)
  let points: PointStore | undefined
  try {
    points = await PointStore.open(device, source, {
      frame,
      weights: resolved.weights,
      pointBytes: method.pointBytes?.(resolved.settings, paddedCols(source.cols)),
      watch: { signal: options.signal, onProgress: (share) => onProgress?.('loading the vectors', share) },
    })
    const { resume } = options
    const run = { ...resolved, roundingError: roundingError(found, frame, cols) }
    let best = resume && bestBefore(resume)
    const { first, end } = resume ? restartsLeft(resume, resolved.restarts) : { first: 0, end: resolved.restarts }
    for (let restart = first; restart < end; restart++) {
      const from = restart === first ? resume : undefined
      const model = yield* runOnce(device, points, run, options, { restart, from, best }, began)
      if (model && (best === undefined || isBetter(model, best))) best = model
      if (options.signal?.aborted) break
    }
    if (best === undefined) {
      options.signal?.throwIfAborted()
      throw new CentroidalError('bad-option', 'The run ended before its first round.')
    }
    return best
  } finally {
    points?.free()
    await release()
  }
}

/** Mixtures are there to be likely, clusters to be near. */
export function isBetter(model: ClusterModel, best: ClusterModel): boolean {
  const likelihood = ({ facts }: ClusterModel) => facts.iterations[facts.iterations.length - 1].extra?.logLikelihood
  const [own, other] = [likelihood(model), likelihood(best)]
  return own !== undefined && other !== undefined ? own > other : model.distortion < best.distortion
}

/** What a run needs to know: the caller's options, and what was found out about the vectors. */
export interface RunOptions extends ResolvedOptions {
  /** See resolution.ts. */
  readonly roundingError: number
}

export interface Attempt {
  /** Which one, from 0. */
  readonly restart: number
  /** What it begins with, where that is known already: neither the options nor the method choose then. */
  readonly start?: Start | undefined
  /** The weights and widths that a mixture begins with, besides labels to start from. */
  readonly mixture?: Mixture | undefined
  /** Where it goes on from; it begins anew otherwise. */
  readonly from: ClusterModel | undefined
  /** The best of those before. */
  readonly best: ClusterModel | undefined
}

/** One start, run to its end. Undefined if it was stopped before the first round was done. */
export async function* runOnce(
  device: Device,
  points: PointStore,
  resolved: RunOptions,
  options: ClusterOptions,
  { restart, from, best, start, mixture }: Attempt,
  began: number,
): AsyncGenerator<ClusterStep, ClusterModel | undefined> {
  const { k, weights } = resolved
  const elapsed = (): number => (performance.now() - began) / 1000
  const totalWeight = weights ? weights.reduce((sum, weight) => sum + weight, 0) : points.rows
  const history = from?.facts.iterations ?? []
  const stats: IterationStats[] = [...history]
  const before = stats[stats.length - 1]?.seconds ?? 0
  const state = createRunState(device, points, k, {
    seed: resolved.seed,
    settings: resolved.settings,
    weights,
    totalWeight,
    weightScale: resolved.weightScale,
    control: {
      signal: options.signal,
      onProgress: options.onProgress && ((share) => options.onProgress?.(`round ${stats.length + 1}`, share)),
    },
  })
  try {
    const method = METHODS[resolved.method]
    const candidates = method.candidates(state)
    const update = method.update(state)
    const snapshot = async (stopped: StopReason, best?: ClusterModel, checkpoint = false): Promise<ClusterModel> => {
      const arrays = await arraysToResume(state, candidates, update, stopped)
      const resume = checkpoint ? withBest(arrays, restart, best) : { arrays }
      return readModel(state, resolved, stats, stopped, resume, start !== undefined)
    }
    const same = from !== undefined && sameMethod(from, resolved)
    if (from) takeOver(state, from)
    else if (!(await prepare(state, update, resolved, options, { restart, start, mixture }))) return undefined
    if (same) {
      const saved = from.resumeState?.arrays ?? {}
      candidates.restore?.(state, saved)
      update.restore?.(state, saved)
    }
    const loop = iterate(state, candidates, update, {
      ...resolved,
      history,
      sameMethod: same,
      timeIsUp: () => elapsed() >= resolved.seconds,
    })
    for (;;) {
      const next = await loop.next()
      if (next.done) return stats.length > 0 ? await snapshot(next.value) : undefined
      const step: IterationStats = { ...next.value, seconds: before + elapsed(), restart }
      stats.push(step)
      options.onIteration?.(step)
      if (options.checkpoint && step.iteration % options.checkpoint.every === 0) {
        await options.checkpoint.save(await snapshot('iterations', best, true))
      }
      yield {
        ...step,
        centers: () => centersOf(state),
        labels: () => points.readLabels(),
        sigmas: () => sigmasOf(state),
      }
    }
  } finally {
    state.scope.free()
  }
}

/** Centres and labels as the model has them. */
function takeOver(state: RunState, from: ClusterModel): void {
  writeCenters(state, from.state.centers)
  state.mixture = exactMixture(from) ?? mixtureOf(from)
  state.points.writeLabels(from.labels)
  state.labelled = true
  state.tree = from.tree
}

/** Centres and labels as they are before the first round. False if it was stopped. */
async function prepare(
  state: RunState,
  update: Update,
  resolved: ResolvedOptions,
  options: ClusterOptions,
  attempt: Pick<Attempt, 'restart' | 'start' | 'mixture'>,
): Promise<boolean> {
  const { points } = state
  try {
    const start = attempt.start ?? (await firstState(state, resolved, options, attempt.restart))
    if ('centers' in start) {
      points.forgetLabels()
      writeCenters(state, start.centers)
      return true
    }
    if (METHODS[resolved.method].keepsTree) state.tree = start.tree
    points.writeLabels(start.labels)
    if (resolved.weights?.includes(0)) await unweightedMeans(state)
    if (update.adopt) await update.adopt(state)
    else {
      for (const part of points.parts) await update.take(state, part, await points.vectors(part))
      await update.finish(state)
    }
    await labelNearest(state, start.labels)
    state.mixture = attempt.mixture
    state.labelled = true
    return true
  } catch (error) {
    if (options.signal?.aborted) return false
    throw error
  }
}

async function firstState(
  state: RunState,
  resolved: ResolvedOptions,
  options: ClusterOptions,
  restart: number,
): Promise<Start> {
  const { start, method, seed, weights, iterations } = resolved
  const random = seedingRandom(seed, restart)
  const onProgress = (share: number): void => options.onProgress?.('choosing the first centres', share)
  if (isMatrix(start)) {
    const given = givenCenters(start, state.points.frame)
    return {
      centers: start.rows === state.k ? given : await completeCenters(state, given, { random, weights, onProgress }),
    }
  }
  if (METHODS[method].findsCount || typeof start === 'number' || start === 'all') {
    return { centers: await samplePoints(state, random) }
  }
  const name = start === 'auto' ? (METHODS[method].start ?? 'auto') : start
  return chooseStart(state, { start: name, random, weights, iterations, onProgress })
}

function givenCenters(start: Matrix, frame: Frame): Float32Array {
  const data = start.data instanceof Float32Array ? start.data : Float32Array.from(start.data)
  return intoFrame(data, start.cols, { ...frame, type: 'f32' }) as Float32Array
}

async function readModel(
  state: RunState,
  resolved: RunOptions,
  stats: readonly IterationStats[],
  stopped: StopReason,
  resumeState: ResumeState,
  given: boolean,
): Promise<ClusterModel> {
  const { device, points, k, mixture } = state
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
  const { start, weights, weightScale: _, seconds, methodReason, roundingError: __, ...plain } = resolved
  const chosen = methodReason === undefined ? {} : { methodReason }
  const limit = Number.isFinite(seconds) ? { seconds } : {}
  const facts: ModelFacts = {
    method: resolved.method,
    metric: resolved.metric,
    k,
    rows: points.rows,
    cols: points.cols,
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
    iterations: [...stats],
  }
  return new ClusterModel(
    centers,
    await points.readLabels(),
    facts,
    { centers: inner, frame: points.frame },
    state.tree,
    mixture && sigmas && { weights: Float32Array.from(mixture.weights), sigmas },
    resumeState,
  )
}

async function centersOf(state: RunState): Promise<Matrix> {
  const { points, k } = state
  return matrix(outOfFrame(await readCenters(state), points.cols, points.frame), k, points.cols)
}

/** In the input's units. */
function sigmasOf({ mixture, points }: RunState): Float32Array | undefined {
  if (mixture === undefined) return undefined
  const { scale } = points.frame
  // Among the largest floats, components can lie farther apart than floats reach.
  return Float32Array.from(mixture.variances, (variance) => Math.min(LARGEST_FLOAT, Math.sqrt(variance) / scale))
}

/**
 * How many clusters? The same vectors clustered with several numbers of clusters, and scores for each.
 *
 * Vectors are checked and brought to the device once. Every clustering begins from the one with fewer clusters (see
 * sweep/extension.ts), so that it needs few rounds; each seed has a chain of its own. Only the chain of the first seed
 * clusters all vectors where there are many; the others cluster a sample (sweep/samples.ts).
 */
import { badArgument, CentroidalError, show } from '../core/errors.ts'
import { requireRows, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { finished } from '../core/rounds.ts'
import type { Device } from '../device/contract.ts'
import { paddedCols } from '../kernels/rows.ts'
import { adjustedRandIndex } from '../metrics/partition.ts'
import type { ClusterModel } from '../models/model.ts'
import { acquireDevice } from '../vectors/device-choice.ts'
import { requireDistinct } from '../vectors/distinct.ts'
import { inspectVectors, largestInFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { clusterSteps } from './cluster.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { resolveOnDevices } from './method-on-device.ts'
import type { Shape } from './method-task.ts'
import { type ResolvedOptions, requireSparseOptions, resolveOptions } from './options.ts'
import { METHODS } from './presets.ts'
import type { RunOptions } from './read-model.ts'
import { roundingError } from './resolution.ts'
import { isBetter } from './run-once.ts'
import { adviceOf, bestOf, elbowOf, judgedSteps } from './sweep/advice.ts'
import { Chain, type ChainRun } from './sweep/chain.ts'
import { type ReadSweepOptions, readSweepOptions, requireCounts, type SweepOptions } from './sweep/options.ts'
import { SweepProgress } from './sweep/progress.ts'
import { reducedPoints } from './sweep/reduced.ts'
import type { SweepResult, SweepStep } from './sweep/result.ts'
import { everything, Samples, TO_BEGIN, TO_COMPARE } from './sweep/samples.ts'
import { Scorer, type SilhouetteForm } from './sweep/scores.ts'

/**
 * Clusters vectors with several numbers of clusters, scores each clustering, and recommends a number in one sentence. Each
 * clustering starts from the previous one, which has fewer clusters, so that a sweep costs far less than separate
 * clusterings. Other seeds, which measure the stability of the clusters, use a sample if there are many vectors.
 *
 * @example
 * ```ts
 * import { blobs, sweep } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 600, cols: 4, clusters: 6, seed: 1, separated: true })
 * const { advice, advised, steps, model } = await sweep(vectors, { k: { from: 2, to: 12 } })
 * console.log(advice) // About 6 clusters: BIC, silhouette, ...
 * advised // => 6
 * steps.length // => 11
 * model(6).labels.length // => 600
 * ```
 */
export async function sweep(vectors: VectorInput, options: SweepOptions): Promise<SweepResult> {
  return finished(sweepSteps(vectors, options))
}

/**
 * The same as {@link sweep}, a number of clusters at a time, from the fewest to the most; returns the result when it is
 * done. Leaving it early frees everything.
 *
 * @example
 * ```ts
 * import { blobs, sweepSteps } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 300, cols: 2, clusters: 5 })
 * for await (const { k, bic, silhouette } of sweepSteps(vectors, { k: [2, 5, 10], seeds: 1 })) {
 *   console.log(k, bic, silhouette)
 * }
 * ```
 */
export async function* sweepSteps(vectors: VectorInput, options: SweepOptions): AsyncGenerator<SweepStep, SweepResult> {
  const asked = readSweepOptions(options)
  const { counts, metric, signal, onProgress } = asked
  const source = toSource(vectors)
  requireRows(source)
  requireCounts(counts, source.rows, source.name)
  const checked = resolveRuns(source, asked)
  // Next to the clusterings this takes no time.
  const watch = (phase: string) => ({ signal, onProgress: () => onProgress?.(0, phase) })
  const found = await inspectVectors(source, metric, watch('checking the vectors'))
  await requireDistinct(source, Math.max(2, counts[counts.length - 1]), found.frame, { signal })
  signal?.throwIfAborted()
  const { device, release } = await acquireDevice(asked.device, [source])
  let points: PointStore | undefined
  try {
    const runs = await resolveRunsOn(device, checked, source)
    points = await PointStore.open(device, source, {
      frame: found.frame,
      bytesPerPoint: pointBytesOf(runs, source),
      watch: watch('loading the vectors'),
    })
    const rounding = {
      roundingError: roundingError(found, found.frame, source),
      largest: largestInFrame(found, found.frame),
    }
    const links = runs.map(({ run, hard }) => ({
      run: { ...run, ...rounding },
      hard: hard && { ...hard, ...rounding },
    }))
    return yield* goThrough(device, points, links, asked)
  } finally {
    points?.free()
    await release()
  }
}

/** The options of every clustering, checked before any work begins. */
function resolveRuns(
  source: VectorSource,
  { counts, method, methodOptions, seed, metric }: ReadSweepOptions,
): ResolvedRun[] {
  const shape = shapeOf(source)
  return counts.map((k) => {
    const options = { ...methodOptions, k, method, seed, metric }
    const run = resolveOptions(options, shape)
    requireSparseOptions(source, run)
    // Mixtures begin from hard clusters: by themselves they end in worse places, which the next one would begin from.
    return { options, run, hard: run.method === 'gmm' ? resolveOptions({ k, seed, metric }, shape) : undefined }
  })
}

interface ResolvedRun {
  readonly options: AnyClusterOptions
  readonly run: ResolvedOptions
  readonly hard: ResolvedOptions | undefined
}

/** With the methods that `auto` chooses on the device. */
async function resolveRunsOn(
  device: Device,
  runs: readonly ResolvedRun[],
  source: VectorSource,
): Promise<ResolvedRun[]> {
  const resolve = (run: ResolvedOptions, options: AnyClusterOptions): Promise<ResolvedOptions> =>
    resolveOnDevices(run, options, shapeOf(source), [device], clusterSteps)
  const found: ResolvedRun[] = []
  for (const { options, run, hard } of runs) {
    const { k, seed, metric } = run
    found.push({ options, run: await resolve(run, options), hard: hard && (await resolve(hard, { k, seed, metric })) })
  }
  return found
}

function shapeOf({ rows, cols, sparse }: VectorSource): Shape {
  return { rows, cols, sparse: sparse !== undefined }
}

function pointBytesOf(runs: readonly ResolvedRun[], { cols }: VectorSource): number | undefined {
  const bytes = runs.map(({ run: { method, settings } }) => METHODS[method].bytesPerPoint?.(settings, paddedCols(cols)))
  const most = Math.max(...bytes.map((value) => value ?? 0))
  return most > 0 ? most : undefined
}

async function* goThrough(
  device: Device,
  points: PointStore,
  runs: readonly ChainRun[],
  asked: ReadSweepOptions,
): AsyncGenerator<SweepStep, SweepResult> {
  const { seed, seeds, keep, signal, onStep } = asked
  const chains = Array.from({ length: seeds }, (_, i) => new Chain(device, points, asked.counts, seed + i))
  const scorer = new Scorer(device, points)
  const reduced = runs.every(({ run }) => searchesReduced(run))
    ? await reducedPoints(device, points, signal)
    : undefined
  const space = reduced ?? points
  const samples = new Samples(device, points, space, seed, TO_BEGIN)
  const compared = new Samples(device, points, space, seed, TO_COMPARE)
  const steps: SweepStep[] = []
  const models = new Map<number, ClusterModel>()
  const progress = new SweepProgress(asked, points.rows)
  try {
    for (const run of runs) {
      const began = performance.now()
      const done = await oneStep(run, points, {
        chains,
        scorer,
        samples,
        compared,
        progress,
        alone: runs.length === 1,
        signal,
      })
      if (done === undefined) break
      const step: SweepStep = { ...done.step, seconds: (performance.now() - began) / 1000 }
      steps.push(step)
      if (keep) models.set(step.k, done.model)
      onStep?.(step)
      yield step
    }
  } finally {
    scorer.free()
    samples.free()
    compared.free()
    reduced?.free()
  }
  if (steps.length === 0) {
    signal?.throwIfAborted()
    throw new CentroidalError('bad-option', 'The sweep ended before its first step.')
  }
  return resultOf(steps, models, scorer.form, points.rows, asked)
}

/** Clusters of some methods follow from a tree or from widths, which are others in fewer columns. */
function searchesReduced({ method }: RunOptions): boolean {
  return !METHODS[method].keepsTree && method !== 'gmm'
}

interface Tools {
  /** The first counts, the others tell how far seeds agree. */
  readonly chains: readonly Chain[]
  readonly scorer: Scorer
  /** For the first chain: which clusters to split. */
  readonly samples: Samples
  /** What the other chains cluster. */
  readonly compared: Samples
  readonly progress: SweepProgress
  /** There is no other step: the clustering has to be good by itself. */
  readonly alone: boolean
  readonly signal: AbortSignal | undefined
}

/** Undefined if a signal stopped it. */
async function oneStep(
  link: ChainRun,
  points: PointStore,
  { chains, scorer, samples, compared, progress, alone, signal }: Tools,
): Promise<{ step: Omit<SweepStep, 'seconds'>; model: ClusterModel } | undefined> {
  const { k, method } = link.run
  try {
    const sample = chains.length > 1 ? await compared.at(k, signal) : everything(points)
    const found: ClusterModel[] = []
    for (const [i, chain] of chains.entries()) {
      const control = { signal, onRound: (done: number, most: number) => progress.round(k, i, done, most) }
      const model =
        i === 0
          ? await chain.next(link, points, alone ? everything(points) : await samples.at(k, signal), control)
          : await chain.next(link, sample.points, everything(sample.points), control)
      if (model === undefined) return undefined
      found.push(model)
      progress.clustered(k, i)
    }
    // Clusterings of a sample are no better or worse than one of all points.
    const model = sample.points !== points ? found[0] : found.reduce((best, one) => (isBetter(one, best) ? one : best))
    const scores = await scorer.score(model, signal)
    progress.scored(k)
    const { distortion } = model
    const stability = stabilityOf(found, sample.rows)
    const step = {
      k,
      method,
      distortion,
      inertia: distortion * model.facts.rows,
      ...scores,
      stability,
      stabilityRows: stability === undefined ? undefined : sample.points.rows,
      rounds: model.facts.iterations.length,
    }
    return { step, model }
  } catch (error) {
    if (signal?.aborted) return undefined
    throw error
  }
}

/** The first clustering is one of all points, the others of the given rows. */
function stabilityOf(models: readonly ClusterModel[], rows: Uint32Array | undefined): number | undefined {
  if (models.length < 2 || models[0].facts.k < 2) return undefined
  const labels = models.map((model, i) =>
    rows && i === 0 ? Uint32Array.from(rows, (row) => model.labels[row]) : model.labels,
  )
  const agreements = labels.flatMap((one, i) => labels.slice(i + 1).map((other) => adjustedRandIndex(one, other)))
  return agreements.reduce((sum, value) => sum + value, 0) / agreements.length
}

function resultOf(
  steps: readonly SweepStep[],
  models: ReadonlyMap<number, ClusterModel>,
  form: SilhouetteForm,
  rows: number,
  { counts, keep }: ReadSweepOptions,
): SweepResult {
  const judged = judgedSteps(steps, rows)
  const elbow = elbowOf(judged)
  const best = bestOf(judged)
  return {
    steps,
    elbow,
    best,
    ...adviceOf(judged, best, elbow, rows),
    silhouetteForm: form,
    aborted: steps.length < counts.length,
    model(k) {
      const model = models.get(k)
      if (model) return model
      if (!keep) {
        throw new CentroidalError(
          'bad-option',
          `The clusterings were not kept (option keep is false): call sweep with keep: true to get the one with ${show(k)} clusters.`,
        )
      }
      const tried = steps.map((step) => step.k).join(', ')
      throw badArgument('the argument k', k, `the sweep has these numbers of clusters: ${tried}.`)
    },
  }
}

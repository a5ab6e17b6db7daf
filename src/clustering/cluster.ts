/** The two ways in: `cluster` for the result, `clusterSteps` for the same loop step by step. */
import { CentroidalError } from '../core/errors.ts'
import { isMatrix, requireRows, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { finished } from '../core/rounds.ts'
import { paddedCols } from '../kernels/rows.ts'
import type { ClusterModel } from '../models/model.ts'
import { acquireDevices } from '../vectors/device-choice.ts'
import { effectivePoints, requireDistinct } from '../vectors/distinct.ts'
import { inspectVectors, largestInFrame, widenFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { automaticOptions, certaintyOf } from './automatic.ts'
import type { AnyClusterOptions, ClusterOptions } from './cluster-options.ts'
import { jointSpeed } from './method-choice.ts'
import { resolveOnDevices } from './method-on-device.ts'
import { readOptions, requireSparseOptions, resolveOptions } from './options.ts'
import { METHODS } from './presets.ts'
import { relocationBytes, relocationFits } from './relocation/option.ts'
import { roundingError } from './resolution.ts'
import { bestBefore, checkResume, restartsLeft } from './resume.ts'
import { type ClusterStep, isBetter, runOnce } from './run-once.ts'
import { requireWidths } from './width-limits.ts'

/** Centres, their sums, centres before the round, and 16-bit forms, as a multiple of the size of the centres. */
const COPIES_OF_CENTERS = 6

/**
 * Clusters vectors; the options are described in {@link ClusterOptions}.
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
  return finished(clusterSteps(vectors, options))
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
  const read = readOptions(options)
  const source = toSource(vectors)
  requireRows(source)
  return read.k === 'auto' ? yield* stepsWithoutCount(source, read) : yield* stepsWithCount(source, read)
}

/** `k: 'auto'`: see automatic.ts. */
async function* stepsWithoutCount(
  source: VectorSource,
  given: AnyClusterOptions,
): AsyncGenerator<ClusterStep, ClusterModel> {
  // Wrong options are refused before a device is opened.
  automaticOptions(given, source)
  const { devices, release } = await acquireDevices(given, [source])
  const [device] = devices
  try {
    const { options: found, reason } = automaticOptions(
      given,
      source,
      jointSpeed(devices.map(({ info }) => info.speed)),
    )
    const { device: _device, devices: _devices, ...options } = found
    const model = yield* stepsWithCount(source, { ...options, devices }, reason)
    if (options.signal?.aborted) return model
    const { signal, onProgress, weights, checkpoint: _, onIteration: __, resume: ___, start: ____, ...same } = options
    const told = onProgress && (() => onProgress(0, 'checking the number of clusters'))
    try {
      const certainty = await certaintyOf(model, source, {
        weights,
        runAgain: (half, seed, halfWeights) =>
          cluster(half, {
            ...same,
            ...(signal && { signal }),
            ...(told && { onProgress: told }),
            ...(halfWeights && { weights: halfWeights }),
            device,
            seed,
          }),
        assign: async (other, judged) => (await other.assign(judged, { device, ...(signal && { signal }) })).labels,
      })
      return certainty && !signal?.aborted ? model.withCertainty(certainty) : model
    } catch (error) {
      // The number is found; only the check of it was stopped.
      if (signal?.aborted) return model
      throw error
    }
  } finally {
    await release()
  }
}

async function* stepsWithCount(
  source: VectorSource,
  options: AnyClusterOptions,
  reason?: string,
): AsyncGenerator<ClusterStep, ClusterModel> {
  const { rows, cols, sparse, shards } = source
  const shape = { rows, cols, sparse: sparse !== undefined, shards }
  const found = resolveOptions(options, shape)
  const checked = reason === undefined ? found : { ...found, methodReason: reason }
  if (options.resume) checkResume(options.resume, source, checked)
  requireSparseOptions(source, checked)
  const began = performance.now()
  const { onProgress } = options
  const watch = { signal: options.signal, onProgress: (share: number) => onProgress?.(share, 'checking the vectors') }
  const inspected = await inspectVectors(source, checked.metric, watch)
  const { start } = checked
  const frame =
    options.resume?.state.frame ?? (isMatrix(start) ? widenFrame(inspected.frame, start.data) : inspected.frame)
  requireWidths(checked.settings, frame)
  if (!METHODS[checked.method].findsCount) await requireDistinct(source, checked.k, frame, { signal: options.signal })
  options.signal?.throwIfAborted()
  const { devices, release } = await acquireDevices(options, [source])
  let points: PointStore | undefined
  try {
    const chosen = await resolveOnDevices(checked, options, shape, devices, clusterSteps)
    const bytes = relocationBytes(source, chosen.k)
    const byDefault = options.relocate === undefined && options.resume === undefined
    const resolved = byDefault && !relocationFits(bytes, devices) ? { ...chosen, relocate: false } : chosen
    const method = METHODS[resolved.method]
    points = await PointStore.open(devices, source, {
      frame,
      weights: resolved.weights,
      shards: resolved.shards,
      separate: source.shards !== undefined,
      owned: options.on && new Set(),
      besides: COPIES_OF_CENTERS * resolved.k * paddedCols(source.cols) * 4,
      hostBytes: resolved.relocate ? bytes : 0,
      bytesPerPoint: method.bytesPerPoint?.(resolved.settings, paddedCols(source.cols)),
      watch: { signal: options.signal, onProgress: (share) => onProgress?.(share, 'loading the vectors') },
    })
    const { resume } = options
    const evidence =
      'prior' in resolved.settings ? await effectivePoints(source, frame, resolved.weights, watch) : undefined
    const run = {
      ...resolved,
      roundingError: roundingError(inspected, frame, source),
      largest: largestInFrame(inspected, frame),
      evidence,
    }
    let best = resume && bestBefore(resume)
    const { first, end } = resume ? restartsLeft(resume, resolved.restarts) : { first: 0, end: resolved.restarts }
    for (let restart = first; restart < end; restart++) {
      const from = restart === first ? resume : undefined
      const model = yield* runOnce(points, run, options, { restart, from, best }, began)
      if (model && (best === undefined || isBetter(model, best))) best = model
      if (options.signal?.aborted) break
    }
    if (best === undefined) {
      options.signal?.throwIfAborted()
      throw new CentroidalError('bad-option', 'The run ended before its first round: allow at least one round.')
    }
    return best
  } finally {
    points?.free()
    await release()
  }
}

/** Trains a quantizer: inspects the data, then runs rounds until convergence. */

import { badOption } from '../core/errors.ts'
import { requireRows, toSource, type VectorInput } from '../core/matrix.ts'
import { repeatRounds } from '../core/rounds.ts'
import { sampledSource } from '../core/sampled-source.ts'
import { stream } from '../core/streams.ts'
import type { Device } from '../device/contract.ts'
import { codeBytes } from '../kernels/encode.ts'
import { paddedCols } from '../kernels/rows.ts'
import { product } from '../math/orthogonal.ts'
import { acquireDevice } from '../vectors/device-choice.ts'
import { requireFiniteResult } from '../vectors/finite.ts'
import { inspectVectors, largestInFrame } from '../vectors/frame.ts'
import { PointStore } from '../vectors/points.ts'
import { evenRanges } from './codec.ts'
import {
  QUANTIZER_DEFAULTS,
  type QuantizerOptions,
  type ResolvedQuantizerOptions,
  readQuantizerOptions,
  resolveQuantizerOptions,
  vectorsThatHelp,
} from './options.ts'
import { Quantizer } from './quantizer.ts'
import { type Round, Rounds } from './rounds.ts'
import { along, firstBooks, firstDirections, Samples } from './start.ts'
import type { QuantizerStats, QuantizerStop } from './stats.ts'
import { plainTrainer, shardTrainer, type Trainer } from './trainer.ts'
import type { TrainingShape } from './training-points.ts'

/**
 * Trains a quantizer; the options are described in {@link QuantizerOptions}.
 *
 * @example
 * ```ts
 * import { blobs, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 600, cols: 32, clusters: 40 })
 * const quantizer = await trainQuantizer(vectors, { type: 'ck', m: 4, codewords: 64 })
 * quantizer.codeBytes // => 4
 * const codes = await quantizer.encode(vectors)
 * codes.rows // => 600
 * ```
 */
export async function trainQuantizer(vectors: VectorInput, options: QuantizerOptions): Promise<Quantizer> {
  options = readQuantizerOptions(options)
  const { signal, onProgress, on, sample = vectorsThatHelp(options.codewords) } = options
  const given = toSource(vectors)
  requireRows(given)
  if (on && given.shards === undefined) {
    throw badOption(
      'on',
      'other machines',
      'they read shards themselves; instead of vectors, give the result of openShards().',
    )
  }
  const seed = options.seed ?? QUANTIZER_DEFAULTS.seed
  const source = sampledSource(given, sample, seed)
  const resolved = resolveQuantizerOptions(options, source.rows, source.cols)
  const watch = { signal, onProgress: (share: number) => onProgress?.(share, 'checking the vectors') }
  const inspection = await inspectVectors(source, 'euclidean', watch)
  const { frame } = inspection
  const { device, release } = await acquireDevice(options.device, [source])
  let points: PointStore | undefined
  let trainer: Trainer | undefined
  try {
    points = await PointStore.open(device, source, {
      frame,
      mostRows: partRows(device, source.cols, resolved),
      ...(source.shards ? { shards: source.shards, separate: true } : {}),
      ...(on ? { owned: new Set<number>() } : {}),
      watch: { signal, onProgress: (share) => onProgress?.(share, 'loading the vectors') },
    })
    const { type, codewords, order } = resolved
    const shape: TrainingShape = {
      type,
      codewords,
      ranges: evenRanges(resolved.rank, resolved.m),
      rotated: !(type === 'pq' && order === 'natural'),
      largest: largestInFrame(inspection, frame),
    }
    const { layout } = points
    const remote = await on?.beginTraining(given, { ...shape, frame, layout, sample, seed }, signal)
    trainer = source.shards
      ? shardTrainer(device, points, shape, { remote, signal })
      : plainTrainer(device, points, shape, signal)
    return await run(device, points, trainer, resolved, options)
  } finally {
    await trainer?.close()
    points?.free()
    await release()
  }
}

// The class cannot import what makes it.
Quantizer.train = trainQuantizer

/** Bytes of rotated vectors, or of codes, that are kept at a time. */
const PART_BYTES = 256 * 2 ** 20

/** Bytes become floats when they are rotated: parts are cut so that those fit one binding too. */
function partRows(device: Device, cols: number, { m, codewords }: ResolvedQuantizerOptions): number {
  const room = Math.min(device.info.limits.bindingBytes, PART_BYTES)
  return Math.max(1, Math.floor(room / Math.max(paddedCols(cols) * 4, codeBytes(1, m, codewords))))
}

async function run(
  device: Device,
  points: PointStore,
  trainer: Trainer,
  resolved: ResolvedQuantizerOptions,
  { signal, onIteration, onProgress }: QuantizerOptions,
): Promise<Quantizer> {
  const { type, m, codewords, rank, iterations, tolerance, seed } = resolved
  const began = performance.now()
  const { mean, scatter } = await trainer.moments()
  signal?.throwIfAborted()
  onProgress?.(0, 'choosing the first codewords')
  const ranges = evenRanges(rank, m)
  const first = await firstDirections(points, trainer, mean, resolved, stream(seed, 'directions'))
  const samples = await Samples.draw(points, codewords, stream(seed, 'samples'))
  const center = along(first.directions, mean, rank)
  const books = firstBooks(samples, first.directions, center, ranges, codewords, stream(seed, 'codewords'))
  const refill = stream(seed, 'refill')
  const rounds = new Rounds(device, points, {
    type,
    ranges,
    codewords,
    ...first,
    books,
    mean,
    scatter,
    samples,
    trainer,
    refill,
  })
  const stats: QuantizerStats[] = []
  const unscale = 1 / (points.frame.scale * points.frame.scale * points.rows)
  try {
    let last = Number.POSITIVE_INFINITY
    const loop = repeatRounds<Round>({
      first: 1,
      iterations,
      signal,
      run: (iteration) => oneRound(rounds, iteration, { signal, onProgress }, iterations),
      after({ objective }) {
        const distortion = objective * unscale
        const flat = tolerance > 0 && last - distortion <= tolerance * distortion
        last = distortion
        return flat && !signal?.aborted ? 'tolerance' : undefined
      },
    })
    let next = await loop.next()
    for (; !next.done; next = await loop.next()) {
      const { objective, rotationSeconds } = next.value
      const seconds = (performance.now() - began) / 1000
      const iteration = stats.length + 1
      const step: QuantizerStats = { iteration, distortion: objective * unscale, seconds, rotationSeconds }
      stats.push(step)
      onIteration?.(step)
      onProgress?.(iteration / iterations, `round ${iteration}`)
    }
    const stopped = next.value as QuantizerStop
    const natural = type === 'pq' && first.natural
    const codec = {
      cols: points.cols,
      frame: points.frame,
      ranges,
      codewords,
      rotation: natural ? undefined : Float32Array.from(rounds.directions),
      offset: rank < points.cols ? leftOut(rounds.directions, mean, rank) : undefined,
      books: rounds.books,
    }
    requireFiniteResult(codec.books, 'a codeword')
    if (codec.rotation) requireFiniteResult(codec.rotation, 'the rotation')
    if (codec.offset) requireFiniteResult(codec.offset, 'the offset')
    requireFiniteResult(
      stats.map(({ distortion }) => distortion),
      'the distortion',
    )
    const { kind, name, reason } = device.info
    const rows = points.rows
    return new Quantizer(codec, { ...resolved, rows, stopped, iterations: stats, device: { kind, name, reason } })
  } finally {
    rounds.free()
  }
}

/** What the rounds before reached stands where one is stopped; without any there is no result. */
async function oneRound(
  rounds: Rounds,
  iteration: number,
  { signal, onProgress }: Pick<QuantizerOptions, 'signal' | 'onProgress'>,
  iterations: number,
): Promise<Round | 'aborted'> {
  try {
    return await rounds.run({
      signal,
      onProgress: (share) => onProgress?.((iteration - 1 + share) / iterations, `round ${iteration}`),
    })
  } catch (error) {
    if (signal?.aborted && iteration > 1) return 'aborted'
    throw error
  }
}

/** The part of the mean that no direction has. */
function leftOut(directions: Float64Array, mean: Float64Array, rank: number): Float32Array {
  const d = mean.length
  const center = product(directions, mean, rank, d, 1)
  return Float32Array.from(mean, (value, j) => {
    let kept = 0
    for (let t = 0; t < rank; t++) kept += directions[t * d + j] * center[t]
    return value - kept
  })
}

/**
 * Where the sums of training come from: the points on this device, all at once, or shards on this device or in other
 * processes. Over shards the result has the same bits whoever owns them.
 */
import type { VectorSource } from '../core/matrix.ts'
import { sumOf } from '../core/shard-values.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { floatsFromExact, mergeExactInto } from '../kernels/exact-sums.ts'
import { gram } from '../kernels/matmul.ts'
import { paddedCols } from '../kernels/rows.ts'
import { type Frame, intoFrame, wideChunks } from '../vectors/frame.ts'
import type { RowLayout } from '../vectors/layout.ts'
import type { PointStore } from '../vectors/points.ts'
import {
  type Codebooks,
  codeSumShape,
  covarianceShape,
  type PartialCodeSums,
  type ShardMoments,
  type SumTarget,
  TrainingPoints,
  type TrainingShape,
} from './training-points.ts'

export interface Moments {
  readonly mean: Float64Array
  /** Sum of squared distances to the mean. */
  readonly scatter: number
}

export interface Trainer {
  moments(): Promise<Moments>
  /** Sums of products of columns, d x d. */
  covariance(): Promise<Float64Array>
  /** Encodes all points and replaces the sums by codeword. Returns the sum of squared distances in the subspaces. */
  sum(books: Codebooks, into: SumTarget, control: RunControl): Promise<number>
  /** Ends the training in other processes. */
  close(): Promise<void>
}

/** Arguments and result of what owners of shards are asked. */
export interface TrainingTasks {
  moments: { args: Record<string, never>; result: readonly ShardMoments[] }
  covariance: { args: Record<string, never>; result: { readonly words: Uint32Array } }
  sums: { args: Codebooks; result: PartialCodeSums }
}
export type TrainingTask = keyof TrainingTasks

/** All that owners have to know of a training. */
export interface TrainingDescription extends TrainingShape {
  readonly frame: Frame
  readonly layout: RowLayout
  /** Number of rows to use, drawn with the seed: see sampledSource. */
  readonly sample: number | undefined
  readonly seed: number
}

/** Processes that own all shards. */
export interface RemoteTraining {
  /** Asks all owners; the results together cover every shard once. */
  ask<N extends TrainingTask>(
    name: N,
    args: TrainingTasks[N]['args'],
    onProgress?: (share: number) => void,
  ): Promise<readonly TrainingTasks[N]['result'][]>
  close(): Promise<void>
}

/** Processes on other machines that can train a quantizer: what {@link connect} returns. */
export interface TrainingMachines {
  /** @internal They take the shards of the source. */
  beginTraining(
    source: VectorSource,
    description: TrainingDescription,
    signal: AbortSignal | undefined,
  ): Promise<RemoteTraining>
}

/** All points on one device, without shards. */
export function plainTrainer(device: Device, points: PointStore, shape: TrainingShape, signal?: AbortSignal): Trainer {
  const training = new TrainingPoints(device, points, shape)
  return {
    moments: () => momentsOf(points, signal),
    covariance: () => productOfColumns(device, points),
    sum: (books, into, control) => training.addSums(books, into, control),
    async close() {
      training.free()
    },
  }
}

/** Shards of this process, or of others. */
export function shardTrainer(
  device: Device,
  points: PointStore,
  shape: TrainingShape,
  { remote, signal }: { readonly remote: RemoteTraining | undefined; readonly signal: AbortSignal | undefined },
): Trainer {
  const { rows, cols } = points
  const own = remote ? undefined : new TrainingPoints(device, points, shape)
  return {
    async moments() {
      const found = own ? await own.moments(signal) : ((await remote?.ask('moments', {})) ?? []).flat()
      return joinMoments(found, rows, cols)
    },
    async covariance() {
      const words = own
        ? [await own.covariance()]
        : ((await remote?.ask('covariance', {})) ?? []).map((each) => each.words)
      const { width, exponent } = covarianceShape(shape, rows, cols)
      const floats = floatsFromExact(joinExact(words), exponent)
      const total = new Float64Array(cols * cols)
      for (let i = 0; i < cols; i++) for (let j = 0; j < cols; j++) total[i * cols + j] = floats[i * width + j]
      return total
    },
    async sum(books, { sums, counts }, control) {
      const { onProgress } = control
      const found = own
        ? [await own.partialSums(books, control)]
        : ((await remote?.ask('sums', books, onProgress)) ?? [])
      const { exponent, rows: words, width } = codeSumShape(shape, rows, cols)
      const total = new Uint32Array(words)
      for (const partial of found) for (let i = 0; i < words; i++) total[i] += partial.counts[i]
      device.write(sums.buffer, floatsFromExact(joinExact(found.map((each) => each.sums)), exponent, words * width))
      device.write(counts, total)
      return sumOf(found.flatMap(({ errors }) => errors))
    },
    async close() {
      own?.free()
      await remote?.close()
    },
  }
}

/** Exact sums of several owners. */
function joinExact(all: readonly Uint32Array[]): Uint32Array {
  const total = all[0].slice()
  for (const words of all.slice(1)) mergeExactInto(total, words)
  return total
}

function joinMoments(found: readonly ShardMoments[], rows: number, cols: number): Moments {
  const sums = new Float64Array(cols)
  const squares = new Float64Array(cols)
  for (const shard of [...found].sort((a, b) => a.shard - b.shard)) {
    for (let j = 0; j < cols; j++) {
      sums[j] += shard.sums[j]
      squares[j] += shard.squares[j]
    }
  }
  return momentsFrom(sums, squares, rows)
}

async function momentsOf({ source, frame }: PointStore, signal: AbortSignal | undefined): Promise<Moments> {
  const { rows, cols } = source
  const sums = new Float64Array(cols)
  const squares = new Float64Array(cols)
  for await (const { data } of wideChunks(source, { signal })) {
    const framed = intoFrame(data, cols, frame)
    for (let at = 0; at < framed.length; at += cols) {
      for (let j = 0; j < cols; j++) {
        const value = framed[at + j]
        sums[j] += value
        squares[j] += value * value
      }
    }
  }
  return momentsFrom(sums, squares, rows)
}

function momentsFrom(sums: Float64Array, squares: Float64Array, rows: number): Moments {
  const mean = sums.map((sum) => sum / rows)
  let scatter = 0
  for (let j = 0; j < mean.length; j++) scatter += Math.max(0, squares[j] - sums[j] * mean[j])
  return { mean, scatter }
}

async function productOfColumns(device: Device, points: PointStore): Promise<Float64Array> {
  const { cols } = points
  const stride = paddedCols(cols)
  const total = new Float64Array(cols * cols)
  const scope = new BufferScope(device)
  try {
    const out = scope.allocate(stride * stride * 4, 'product of columns')
    for (const part of points.parts) {
      const rows = await points.vectors(part)
      await gram(device, { a: rows, b: rows, out })
      const found = new Float32Array(await device.read(out))
      for (let i = 0; i < cols; i++) for (let j = 0; j < cols; j++) total[i * cols + j] += found[i * stride + j]
    }
  } finally {
    scope.free()
  }
  return total
}

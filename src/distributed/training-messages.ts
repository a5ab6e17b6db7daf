/** What coordinator and workers send each other while a quantizer is trained, checked. */

import type { VectorSource } from '../core/matrix.ts'
import { sampledSource } from '../core/sampled-source.ts'
import { choice, list, optional, real, record, type Schema, whole, wrongValue } from '../data/schema.ts'
import { bookStride } from '../kernels/encode.ts'
import { exactBytes } from '../kernels/exact-sums.ts'
import { QUANTIZER_TYPES } from '../quantize/options.ts'
import type { TrainingDescription, TrainingTask, TrainingTasks } from '../quantize/trainer.ts'
import { codeSumShape, covarianceShape } from '../quantize/training-points.ts'
import { checkShard, type ShardEntry } from './manifest.ts'
import { checkFrame, checkLayout, fromStore, typed } from './messages.ts'

/** The description of a training, as it is in the store. */
export interface TrainingBlob {
  readonly training: TrainingDescription
  readonly cols: number
  /** Of all shards. */
  readonly rows: number
  readonly type: 'f32' | 'u8'
  readonly shards: readonly ShardEntry[]
  /** Shards of each group. */
  readonly groups: readonly (readonly number[])[]
}

const MOST_ROTATED = 2 ** 26

export const checkTraining: Schema<TrainingBlob> = (value, at) => {
  const blob = record({
    training: record({
      type: choice(...QUANTIZER_TYPES),
      ranges: list(whole(0, 1_000_000)),
      codewords: whole(1, 65_536),
      rotated: choice(true, false),
      largest: real(0),
      frame: checkFrame,
      layout: checkLayout,
      sample: optional(whole(1)),
      seed: whole(0),
    }),
    cols: whole(1, 1_000_000),
    rows: whole(1),
    type: choice('f32', 'u8'),
    shards: list(checkShard),
    groups: list(list(whole(0))),
  })(value, at)
  const { training, cols, rows, shards, groups } = blob
  const { ranges, layout, frame, sample = rows } = training
  const total = shards.reduce((sum, shard) => sum + shard.rows, 0)
  if (total !== rows) throw wrongValue(`${at}.rows`, rows, `the sum of the shards, ${total},`)
  const dealt = groups.flat()
  if (dealt.length !== shards.length || dealt.some((shard, i) => shard !== i)) {
    throw wrongValue(`${at}.groups`, dealt.length, 'groups of all shards in their order')
  }
  const rising = ranges[0] === 0 && ranges.every((end, i) => i === 0 || end > ranges[i - 1])
  if (!rising || ranges.length < 2 || ranges[ranges.length - 1] > cols) {
    throw wrongValue(`${at}.ranges`, ranges.length, `rising numbers up to ${cols}`)
  }
  const last = layout.shards[layout.shards.length - 1]
  const used = Math.min(rows, sample)
  if (last === undefined || last.first + last.count !== used)
    throw wrongValue(at, last?.first, `shards of ${used} rows`)
  if (frame.shift && frame.shift.length !== cols) throw wrongValue(at, frame.shift.length, `${cols} shifts`)
  return blob as TrainingBlob
}

/** The rows that are learned from. */
export function trainingSource({ training: { sample, seed } }: TrainingBlob, source: VectorSource): VectorSource {
  return sample === undefined ? source : sampledSource(source, sample, seed)
}

/** Rows of the sample in each group: first and number. */
export function rowsOfTraining({ groups }: TrainingBlob, { shards = [] }: VectorSource) {
  let first = 0
  return groups.map((own) => {
    const count = own.reduce((sum, shard) => sum + shards[shard], 0)
    const range = { first, count }
    first += count
    return range
  })
}

/** Arguments of a task. */
export function checkTrainingTask(name: TrainingTask, args: unknown, { training, cols }: TrainingBlob) {
  return fromStore<TrainingTasks[TrainingTask]['args']>(
    (value, at) => {
      if (name !== 'sums') return record({})(value, at) as Record<string, never>
      const { ranges, codewords, rotated } = training
      const m = ranges.length - 1
      const numbers = ranges[m] * cols
      if (rotated && numbers > MOST_ROTATED)
        throw wrongValue(at, numbers, `a rotation of at most ${MOST_ROTATED} numbers`)
      const books = typed(Float32Array, m * codewords * bookStride(ranges))
      const rotation = rotated ? typed(Float32Array, numbers) : optional(typed(Float32Array, 0))
      const own = record({ books, rotation })(value, at)
      for (const values of [own.books, own.rotation]) {
        if (values && !values.every(Number.isFinite)) throw wrongValue(at, 'a codeword', 'finite numbers')
      }
      return { books: own.books, rotation: rotated ? own.rotation : undefined }
    },
    args,
    `the arguments of ${name}`,
  )
}

/** Answer to a task. */
export function checkTrainingAnswer(name: TrainingTask, value: unknown, what: string, blob: TrainingBlob): unknown {
  const { training, cols, rows } = blob
  const used = Math.min(rows, training.sample ?? rows)
  const shard = whole(0, training.layout.shards.length - 1)
  const words = (shape: { readonly rows: number; readonly width: number }): Schema<Uint32Array> =>
    typed(Uint32Array, exactBytes(shape.rows, shape.width) / 4)
  const sums = codeSumShape(training, used, cols)
  const schemas: { readonly [N in TrainingTask]: Schema<unknown> } = {
    moments: list(record({ shard, sums: typed(Float64Array, cols), squares: typed(Float64Array, cols) })),
    covariance: (given, at) => record({ words: words(covarianceShape(training, used, cols)) })(given, at),
    sums: record({
      errors: list(record({ shard, value: real(0) })),
      sums: words(sums),
      counts: typed(Uint32Array, sums.rows),
    }),
  }
  return fromStore(schemas[name], value, what)
}

/** Work over shards on other machines that is no clustering: see shard-jobs.ts. */

import { abortSignal, callback, optionsOf } from '../core/arguments.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import type { Matrix, VectorData, VectorSource } from '../core/matrix.ts'
import type { OnProgress } from '../core/progress.ts'
import { sampleRows } from '../core/sampled-source.ts'
import { ClusterModel } from '../models/model.ts'
import type { Quantizer } from '../quantize/quantizer.ts'
import type { ClusterEvent } from './cluster-events.ts'
import { type Place, PROTOCOL, type Report } from './messages.ts'
import type { Queues } from './queues.ts'
import { RunShards } from './run-shards.ts'
import { checkJobAnswer, joinRows, modelFiles, type ShardJob, type ShardOutput } from './shard-jobs.ts'
import type { ShardedVectors } from './shard-source.ts'
import type { BlobStore } from './store.ts'
import { VERSION } from './version.ts'

/** Options of work over shards. */
export interface ShardWorkOptions {
  /** Suffix of the file names, such as part-0.labels.npy. Default: labels, or codes. */
  readonly suffix?: string | undefined
  /** Stops the work. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called with the share that is done. Optional. */
  readonly onProgress?: OnProgress | undefined
}

export interface JobContext {
  readonly store: BlobStore
  readonly queues: Queues
  readonly expire: number
  /** Milliseconds. */
  readonly lock: number
  readonly onEvent: (event: ClusterEvent) => void
  readonly newId: () => string
  readonly groupShards: (rows: readonly number[]) => number[][]
}

/** Labels of the vectors of all shards, by the clusters of a model, written next to the shards. */
export async function assignShards(
  context: JobContext,
  source: VectorSource,
  model: ClusterModel,
  options: ShardWorkOptions,
): Promise<ShardOutput[]> {
  const { suffix = 'labels', ...control } = workOptions(options)
  return files(await runJob(context, { kind: 'assign', ...shardsOf(source), model: slim(model), suffix }, control))
}

/** Codes of the vectors of all shards, written next to the shards. */
export async function encodeShards(
  context: JobContext,
  source: VectorSource,
  quantizer: Quantizer,
  options: ShardWorkOptions,
): Promise<ShardOutput[]> {
  const { suffix = 'codes', ...control } = workOptions(options)
  const model = modelFiles(quantizer.folderContents())
  return files(await runJob(context, { kind: 'encode', ...shardsOf(source), model, suffix }, control))
}

/** A sample of the vectors, read by the workers that have them. */
export async function readSample(
  context: JobContext,
  source: VectorSource,
  count: number,
  seed: number,
  options: ShardWorkOptions,
): Promise<Matrix> {
  const wanted = sampleRows(source.rows, count, seed)
  const job: JobWithoutGroups = { kind: 'rows', ...shardsOf(source), wanted }
  const answers = await runJob(context, job, workOptions(options))
  const pieces = answers.map(({ value }) => (value as { data: VectorData }).data)
  const found = joinRows(pieces, source.cols, source.type)
  if (found.rows === wanted.length) return found
  throw new CentroidalError('bad-data', `Workers returned ${found.rows} of ${wanted.length} rows: start again.`)
}

type JobWithoutGroups = Omit<ShardJob, 'groups'>

function workOptions(options: ShardWorkOptions): ShardWorkOptions {
  return optionsOf<ShardWorkOptions>('work over shards', options, {
    suffix: (value, thing) => {
      if (typeof value === 'string' && /^[a-z0-9-]{1,40}$/.test(value)) return value
      throw badArgument(thing, value, 'give up to 40 letters a-z, digits and hyphens.')
    },
    signal: abortSignal,
    onProgress: callback,
  })
}

function shardsOf(source: VectorSource): Pick<ShardJob, 'cols' | 'rows' | 'type' | 'shards'> {
  const { manifest } = source as Partial<ShardedVectors>
  if (manifest === undefined) {
    throw new CentroidalError('bad-option', 'Other machines read shards themselves: give the result of openShards().')
  }
  const { cols, type, shards } = manifest
  return { cols, type, shards, rows: source.rows }
}

/** Without what assigning does not need. Trees are searched by the sizes of clusters, which follow from the labels. */
function slim({ centers, labels, facts, state, tree, weights, sigmas }: ClusterModel): ShardJob['model'] {
  const mixture = weights && sigmas && { weights, sigmas }
  const small = tree
    ? new ClusterModel(centers, labels, facts, state, tree, mixture)
    : new ClusterModel(centers, Uint32Array.of(0), { ...facts, rows: 1 }, state, undefined, mixture)
  return modelFiles(small.folderContents())
}

interface JobAnswer {
  readonly group: number
  readonly value: unknown
}

function files(answers: readonly JobAnswer[]): ShardOutput[] {
  return answers.flatMap(({ value }) => value as ShardOutput[])
}

/** In the order of the groups. */
async function runJob(
  { store, queues, expire, lock, onEvent, newId, groupShards }: JobContext,
  given: JobWithoutGroups,
  { signal, onProgress }: ShardWorkOptions,
): Promise<JobAnswer[]> {
  const run = newId()
  const job: ShardJob = { ...given, groups: groupShards(given.shards.map(({ rows }) => rows)) }
  const shards = new RunShards(store, queues, { run, groups: job.groups.length, onEvent, expire, lock })
  // Groups that were not begun go to workers that come later.
  shards.onIdle = () => {
    shards.rebalance().catch(() => {})
  }
  const answers: JobAnswer[] = []
  try {
    const description = await shards.traffic.put('run', job, true)
    const lease = { protocol: PROTOCOL, version: VERSION, run, groups: job.groups.length, description }
    await shards.open({ ...lease, purpose: 'job' })
    const payload = await shards.traffic.put('c-1', { notes: [], task: { name: 'none', args: {} }, whole: false }, true)
    const collect = async ({ name, groups: [group], answer }: Report): Promise<void> => {
      const what = `the answer of ${name}`
      answers.push({ group, value: checkJobAnswer(job.kind, await shards.traffic.get(answer as Place, what), what) })
    }
    await shards.run({ seq: 1, payload, base: 1, log: [] }, collect, {
      signal,
      onShare: onProgress,
      patience: undefined,
    })
    signal?.throwIfAborted()
  } finally {
    await shards.close()
  }
  return answers.sort((a, b) => a.group - b.group)
}

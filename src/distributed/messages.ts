/**
 * What coordinator and workers send each other through a store. Anything that comes from there is checked here before it is
 * used: shapes, ranges, names. No part of a message is ever executed, and only the manifest names files.
 */

import { resolveSettings } from '../clustering/method-options.ts'
import { METHODS } from '../clustering/presets.ts'
import type { RunDescription } from '../clustering/remote-owners.ts'
import { CentroidalError } from '../core/errors.ts'
import {
  choice,
  list,
  optional,
  plainObject,
  real,
  record,
  SAVE_AGAIN,
  type Schema,
  text,
  whole,
  wrongValue,
} from '../data/schema.ts'
import { EXACT_BLOCK } from '../kernels/exact-sums.ts'
import type { MethodName, MethodOptions } from '../models/method-names.ts'
import type { RowLayout } from '../vectors/layout.ts'
import type { BlockDelta, CenterDelta, SumsDelta } from './deltas.ts'
import { checkShard, type ShardEntry } from './manifest.ts'

/** Coordinators and workers of other versions are refused: results could differ. */
export const PROTOCOL = 3

const MOST = Number.MAX_SAFE_INTEGER
export const RUN_ID = /^[0-9a-f]{16}$/
const WORKER_ID = /^[0-9a-f]{16}$/

/** Where a value is kept: in the message itself, or as a blob of so many bytes. */
export const checkPlace = record({
  inline: optional(text(/^[A-Za-z0-9+/=]{0,65536}$/)),
  key: optional(text(/^[a-z0-9/-]{1,80}$/)),
  bytes: whole(0, 2 ** 40),
})
export type Place = ReturnType<typeof checkPlace>

/** A job of the queue of leases: some shards that a worker may take. */
export const checkLease = record({
  protocol: whole(0, MOST),
  version: text(/^[\w.+-]{1,40}$/),
  run: text(RUN_ID),
  group: whole(0, 1_000_000),
  groups: whole(1, 1_000_000),
  description: checkPlace,
  purpose: choice('cluster', 'job', 'train'),
})
export type Lease = ReturnType<typeof checkLease>

/** A job of the queue of a worker in a run. */
export const checkCommand = record({
  run: text(RUN_ID),
  kind: choice('task', 'stop', 'end', 'release', 'report'),
  seq: whole(0, MOST),
  groups: list(whole(0, 1_000_000)),
  payload: optional(checkPlace),
  /** The first command that is still kept, and where it and all others before this one are. */
  base: optional(whole(1, MOST)),
  log: optional(list(whole(-(2 ** 40), 2 ** 40))),
})
export type Command = ReturnType<typeof checkCommand>

const REPORTS = [
  'own',
  /** All groups that the worker holds. */
  'holds',
  'answer',
  'stopped',
  'left',
  'failed',
  'refused',
  'idle',
  'reduced',
  'unreduced',
] as const

/** A job of the queue of the coordinator. */
export const checkReport = record({
  run: text(RUN_ID),
  worker: text(WORKER_ID),
  name: text(/^[^\p{C}]{1,80}$/u),
  kind: choice(...REPORTS),
  groups: list(whole(0, 1_000_000)),
  seq: optional(whole(1, MOST)),
  answer: optional(checkPlace),
  error: optional(text()),
  code: optional(text(/^[a-z-]{1,40}$/)),
  device: optional(text()),
  /** Of a reduction. */
  job: optional(whole(0, MOST)),
  /** Bytes that the worker has written to the store and read from it for this run. */
  written: optional(whole(0, MOST)),
  read: optional(whole(0, MOST)),
})
export type Report = ReturnType<typeof checkReport>

/** Undefined for reports that only workers of other versions send, before they know whose run it is. */
export function readReport(data: unknown): Report | undefined {
  const { kind } = fromStore(plainObject, data, 'a report')
  if (typeof kind === 'string' && !(REPORTS as readonly string[]).includes(kind)) return undefined
  return fromStore(checkReport, data, 'a report')
}

/** Names of commands in the store. */
export function commandKey(seq: number): string {
  return `c-${seq}`
}

/** Names of what a worker kept of a group of shards, for others to go on from. */
export function keptKey(seq: number, group: number): string {
  return `k-${seq}-${group}`
}

const NOTES = ['centers', 'follow', 'endRound', 'labels', 'relabel', 'restore', 'undo', 'kept'] as const
const TASKS = [
  'choose',
  'take',
  'retreat',
  'squares',
  'measure',
  'nearest',
  'approach',
  'farthest',
  'labels',
  'distances',
  'lists',
  'keep',
  'none',
  // Of the training of a quantizer.
  'moments',
  'covariance',
  'sums',
] as const

/** A task with the notes that precede it. `keep` writes the state of shards to the store, `kept` reads it. */
export const checkPayload = record({
  notes: list(record({ name: choice(...NOTES), note: plainObject })),
  task: record({ name: choice(...TASKS), args: plainObject }),
  /** Sums are sent as they are, not as differences to the last ones. */
  whole: choice(true, false),
})
export type Payload = ReturnType<typeof checkPayload>

export interface RunBlob {
  readonly run: RunDescription
  readonly cols: number
  readonly rows: number
  readonly type: 'f32' | 'u8'
  readonly shards: readonly ShardEntry[]
  /** Shards of each group. */
  readonly groups: readonly (readonly number[])[]
  /** Sums of more numbers than this are added up by workers, in ranges of so many. */
  readonly range: number
}

/** Checks a value that came from a store. */
export function fromStore<T>(schema: Schema<T>, value: unknown, what: string): T {
  try {
    return schema(value, what)
  } catch (error) {
    if (!(error instanceof CentroidalError)) throw error
    const why = error.message.replace(SAVE_AGAIN, '')
    throw new CentroidalError('bad-data', `A message in the store is invalid: ${why}.`, { cause: error })
  }
}

export function typed<T extends Float32Array | Float64Array | Uint32Array>(
  Kind: { new (length: number): T; readonly name: string },
  length?: number,
): Schema<T> {
  return (value, at) => {
    if (value instanceof Kind && (length === undefined || value.length === length)) return value
    throw wrongValue(at, value, `a ${Kind.name}${length === undefined ? '' : ` of ${length}`}`)
  }
}

export const checkFrame = record({
  shift: optional(typed(Float64Array)),
  scale: real(0),
  unit: choice(true, false),
  type: choice('f32', 'u8'),
})

export const checkLayout: Schema<RowLayout> = (value, at) => {
  const ranges = list(record({ first: whole(0), count: whole(0) }))
  const domain = record({ index: whole(0), first: whole(0), count: whole(0), shards: whole(0) })
  const own = record({ domains: list(domain), shards: ranges, chosen: choice(true), separate: choice(true) })(value, at)
  let next = 0
  for (const { first, count } of own.shards) {
    if (first !== next) throw wrongValue(at, first, `a shard that begins at row ${next}`)
    next += count
  }
  let shard = 0
  own.domains.forEach(({ index, first, count, shards }, i) => {
    const rows = own.shards.slice(shard, shard + shards).reduce((sum, each) => sum + each.count, 0)
    const begin = own.shards[shard]?.first ?? next
    if (index !== i || first !== begin || count !== rows || shards !== 1)
      throw wrongValue(at, i, 'domains of one shard')
    shard += shards
  })
  if (shard !== own.shards.length) throw wrongValue(at, shard, `${own.shards.length} domains`)
  return own
}

export function checkRun(value: unknown, at: string): RunBlob {
  const blob = record({
    run: record({
      method: choice(...(Object.keys(METHODS) as MethodName[])),
      settings: plainObject,
      seed: whole(0),
      k: whole(1),
      most: whole(1),
      frame: checkFrame,
      layout: checkLayout,
      totalWeight: real(0),
      weightScale: real(0),
      evidence: real(0),
      largest: real(0),
    }),
    cols: whole(1, 1_000_000),
    rows: whole(1),
    type: choice('f32', 'u8'),
    shards: list(checkShard),
    groups: list(list(whole(0))),
    range: whole(EXACT_BLOCK, 2 ** 32),
  })(value, at)
  const { run, rows, shards, groups, cols } = blob
  const total = shards.reduce((sum, shard) => sum + shard.rows, 0)
  if (total !== rows) throw wrongValue(`${at}.rows`, rows, `the sum of the shards, ${total},`)
  const last = run.layout.shards[run.layout.shards.length - 1]
  if (last === undefined || last.first + last.count !== rows) throw wrongValue(at, last?.first, 'shards of all rows')
  if (run.most < run.k || run.most > rows) throw wrongValue(`${at}.most`, run.most, `a number from ${run.k} to ${rows}`)
  if (run.frame.shift && run.frame.shift.length !== cols) throw wrongValue(at, run.frame.shift.length, `${cols} shifts`)
  const dealt = groups.flat()
  if (dealt.length !== shards.length || dealt.some((shard, i) => shard !== i)) {
    throw wrongValue(`${at}.groups`, dealt.length, 'groups of all shards in their order')
  }
  const settings = resolveSettings(run.method, METHODS[run.method].options, run.settings as MethodOptions)
  return { ...blob, run: { ...run, settings, frame: { ...run.frame, shift: run.frame.shift } } } as RunBlob
}

export const checkCenterDelta: Schema<CenterDelta> = (value, at) => {
  const { count, changed, rows } = record({
    count: whole(1),
    changed: optional(typed(Uint32Array)),
    rows: typed(Float32Array),
  })(value, at)
  if (!rows.every(Number.isFinite)) throw wrongValue(at, 'a centre', 'finite numbers')
  return { count, changed, rows }
}

const checkPlanes: Schema<(Uint32Array | undefined)[]> = (given, place) =>
  list((entry, where) => (entry === null || entry === undefined ? undefined : typed(Uint32Array)(entry, where)), 3)(
    given,
    place,
  )

export const checkBlockDelta: Schema<BlockDelta> = (value, at) =>
  record({ words: whole(0, 2 ** 34), blocks: optional(typed(Uint32Array)), planes: checkPlanes })(
    value,
    at,
  ) as BlockDelta

export const checkSumsDelta: Schema<SumsDelta> = (value, at) => {
  const checked = record({
    exact: list(checkBlockDelta),
    counts: list(typed(Uint32Array)),
    values: list(record({ shard: whole(0), value: real() })),
  })(value, at)
  return checked as unknown as SumsDelta
}

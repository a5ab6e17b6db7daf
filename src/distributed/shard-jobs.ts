/**
 * Work that needs every shard once and nothing of the others: labels or codes of its vectors, written next to it, and rows
 * for a sample. A model travels as the files it would be saved as, and is checked as those of a folder are.
 */
import { CentroidalError } from '../core/errors.ts'
import { matrix, type VectorData } from '../core/matrix.ts'
import type { SavedFolder } from '../data/folder-load.ts'
import type { FolderContents } from '../data/folder-save.ts'
import { choice, list, optional, plainObject, record, type Schema, text, whole, wrongValue } from '../data/schema.ts'
import { labelBytes, vectorBytes } from '../data/write.ts'
import type { Device } from '../device/contract.ts'
import { modelFrom } from '../models/model.ts'
import { quantizerFrom } from '../quantize/quantizer.ts'
import { rowsOfGroups } from './answers.ts'
import { checkShard, type ShardEntry } from './manifest.ts'
import { type Command, fromStore, typed } from './messages.ts'
import type { GroupAnswer } from './owned-groups.ts'
import type { Performer } from './performers.ts'
import type { ShardedVectors } from './shard-source.ts'
import type { Traffic } from './traffic.ts'

/** What is to be done with each shard. */
export interface ShardJob {
  readonly kind: 'assign' | 'encode' | 'rows'
  readonly cols: number
  readonly rows: number
  readonly type: 'f32' | 'u8'
  readonly shards: readonly ShardEntry[]
  readonly groups: readonly (readonly number[])[]
  /** The model or quantizer, where there is one. */
  readonly model?: ModelFiles | undefined
  /** Files are named by their shard and this. */
  readonly suffix?: string | undefined
  /** Rising numbers of rows that are wanted. */
  readonly wanted?: Uint32Array | undefined
}

interface ModelFiles {
  readonly facts: Readonly<Record<string, unknown>>
  /** Bytes of .npy files, by the names of the arrays. */
  readonly arrays: Readonly<Record<string, Uint8Array>>
}

/** A file that was written. */
export interface ShardOutput {
  /** Path or address, as the worker has it. */
  readonly file: string
  /** Rows of the shard. */
  readonly rows: number
  /** Sum of squared distances to the centres, where labels were written. */
  readonly squares?: number
}

const bytes: Schema<Uint8Array> = (value, at) => {
  if (value instanceof Uint8Array) return value
  throw wrongValue(at, value, 'bytes')
}

const arrays: Schema<Record<string, Uint8Array>> = (value, at) => {
  const given = plainObject(value, at)
  return Object.fromEntries(
    Object.entries(given).map(([name, own]) => [text(/^[a-z][a-z-]{0,60}$/)(name, at), bytes(own, `${at}.${name}`)]),
  )
}

export const checkJob: Schema<ShardJob> = (value, at) => {
  const job = record({
    kind: choice('assign', 'encode', 'rows'),
    cols: whole(1, 1_000_000),
    rows: whole(1),
    type: choice('f32', 'u8'),
    shards: list(checkShard),
    groups: list(list(whole(0))),
    model: optional(record({ facts: plainObject, arrays })),
    suffix: optional(text(/^[a-z0-9-]{1,40}$/)),
    wanted: optional(typed(Uint32Array)),
  })(value, at)
  const dealt = job.groups.flat()
  if (dealt.length !== job.shards.length || dealt.some((shard, i) => shard !== i)) {
    throw wrongValue(`${at}.groups`, dealt.length, 'groups of all shards in their order')
  }
  return job as ShardJob
}

/** What `save` would write, for a message. */
export function modelFiles({ facts, files, version }: FolderContents): ModelFiles {
  const all: Record<string, Uint8Array> = {}
  for (const [name, pieces] of Object.entries(files)) {
    const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const piece of pieces) {
      joined.set(piece, at)
      at += piece.length
    }
    all[name.replace(/\.npy$/, '')] = joined
  }
  return { facts: JSON.parse(JSON.stringify({ ...facts, version })) as Record<string, unknown>, arrays: all }
}

function savedFolder({ facts, arrays: own }: ModelFiles): SavedFolder {
  const { version: _, ...rest } = facts
  const missing = (name: string): CentroidalError =>
    new CentroidalError('bad-data', `The store contains a model without ${name}: start again.`)
  return {
    path: 'the model in the store',
    facts: rest,
    arrays: Object.keys(own),
    bytes(name) {
      if (Object.hasOwn(own, name)) return own[name]
      throw missing(`${name}.npy`)
    },
    folder(name) {
      throw missing(name)
    },
  }
}

export interface JobContext {
  readonly job: ShardJob
  readonly device: Device
  readonly source: ShardedVectors
  readonly traffic: Traffic
  readonly worker: string
  readonly signal: () => AbortSignal | undefined
  /** Whether a group is still held: groups that were not begun may go to others. */
  readonly held: (group: number) => boolean
}

export class JobPerformer implements Performer {
  readonly #context: JobContext

  constructor(context: JobContext) {
    this.#context = context
  }

  async *perform({ groups, seq }: Command): AsyncGenerator<GroupAnswer> {
    const { job, traffic, worker, held } = this.#context
    for (const group of groups) {
      if (!held(group)) continue
      const value = job.kind === 'rows' ? await this.#rows(group) : await this.#files(group)
      yield { groups: [group], answer: await traffic.put(`a-${seq}-${group}-${worker}`, value) }
    }
  }

  drop(): void {}

  async #rows(group: number): Promise<{ data: VectorData }> {
    const { wanted = new Uint32Array(), cols, type } = this.#context.job
    const { first, count } = rowsOfGroups(this.#context.job)[group]
    const own = wanted.filter((row) => row >= first && row < first + count)
    const data = type === 'u8' ? new Uint8Array(own.length * cols) : new Float32Array(own.length * cols)
    for (const [i, row] of own.entries()) data.set(await this.#context.source.read(row, row + 1), i * cols)
    return { data }
  }

  async #files(group: number): Promise<ShardOutput[]> {
    const { groups, shards, cols, type, kind, model, suffix = 'out' } = this.#context.job
    if (model === undefined)
      throw new CentroidalError('bad-data', 'The store contains a job without a model: start again.')
    const { roots } = this.#context.source
    const firsts = shards.map(() => 0)
    for (let i = 1; i < shards.length; i++) firsts[i] = firsts[i - 1] + shards[i - 1].rows
    const outputs: ShardOutput[] = []
    for (const shard of groups[group]) {
      const { rows, file, first } = shards[shard]
      if (rows === 0) continue
      const part = {
        rows,
        cols,
        type,
        name: file,
        read: (start: number, end: number) => this.#context.source.read(firsts[shard] + start, firsts[shard] + end),
      }
      const signal = this.#context.signal()
      const options = { device: this.#context.device, ...(signal && { signal }) }
      const only = shards.filter((other) => other.file === file).length === 1
      const location = await roots.beside(file, `${only ? '' : `.${first}`}.${suffix}.npy`)
      if (kind === 'assign') {
        const { labels, distances } = await (await modelFrom(savedFolder(model))).assign(part, options)
        await roots.write(location, await labelBytes('labels.npy', labels))
        const squares = distances.reduce((sum, squared) => sum + squared, 0)
        outputs.push({ file: location, rows, squares })
      } else {
        const codes = await (await quantizerFrom(savedFolder(model))).encode(part, options)
        await roots.write(location, await vectorBytes('codes.npy', codes))
        outputs.push({ file: location, rows })
      }
    }
    return outputs
  }
}

/** Checks of what comes back. */
export function checkJobAnswer(kind: ShardJob['kind'], value: unknown, what: string): unknown {
  const output = record({
    file: text(/^[^\p{C}]{1,4096}$/u),
    rows: whole(1),
    squares: optional((each) => Number(each)),
  })
  const rows = record({
    data: (given, at) => {
      if (given instanceof Uint8Array || given instanceof Float32Array) return given
      throw wrongValue(at, given, 'rows')
    },
  })
  return fromStore<unknown>(kind === 'rows' ? rows : list(output), value, what)
}

/** Rows from all groups, in the order of the rows. */
export function joinRows(pieces: readonly VectorData[], cols: number, type: 'f32' | 'u8') {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  const data = type === 'u8' ? new Uint8Array(length) : new Float32Array(length)
  let at = 0
  for (const piece of pieces) {
    data.set(piece, at)
    at += piece.length
  }
  return matrix(data, length / cols, cols)
}

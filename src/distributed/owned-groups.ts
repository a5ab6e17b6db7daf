/**
 * Shards that a worker owns in one run, with the state that commands have brought them to. Shards that were first asked about
 * together are processed together. A command that is repeated gives the same answer.
 */
import type { PartialSums } from '../clustering/partial.ts'
import type { NoteName, OwnerNotes, OwnerTasks, TaskName } from '../clustering/remote-owners.ts'
import { ShardOwner } from '../clustering/shard-owner.ts'
import { CentroidalError } from '../core/errors.ts'
import type { VectorSource } from '../core/matrix.ts'
import { list, record, whole } from '../data/schema.ts'
import type { Device } from '../device/contract.ts'
import { rowsOfGroups } from './answers.ts'
import { nameOf } from './coordinator.ts'
import { applyCenters, applySums, sumsDelta } from './deltas.ts'
import { type Command, checkPayload, fromStore, keptKey, type Payload, type Place, type RunBlob } from './messages.ts'
import { sendSums } from './reductions.ts'
import { checkCenters, checkFollow, checkNews, checkNote, checkTask, type RunSizes } from './task-messages.ts'
import type { Traffic } from './traffic.ts'

export interface GroupAnswer {
  readonly groups: readonly number[]
  readonly answer: Place
}

/** What groups of shards need of the process they are in. */
export interface OwnerContext {
  readonly device: Device
  readonly source: VectorSource
  readonly blob: RunBlob
  readonly traffic: Traffic
  readonly worker: string
  /** Stops the command under way. */
  readonly signal: () => AbortSignal | undefined
}

export class OwnedGroups {
  readonly groups: readonly number[]
  readonly #context: OwnerContext
  readonly #owner: ShardOwner
  readonly #sizes: RunSizes
  /** Tells its answers from those of other groups. */
  readonly #number = crypto.getRandomValues(new Uint32Array(1))[0]
  /** The last command that was done. */
  #applied = 0
  #centers: Float32Array | undefined
  #sums: PartialSums | undefined
  #followed: PartialSums | undefined
  #lastAnswer: { readonly seq: number; readonly place: Place } | undefined

  static async open(context: OwnerContext, groups: readonly number[]): Promise<OwnedGroups> {
    const { blob, device, source, signal } = context
    const ranges = rowsOfGroups(blob)
    const owned = new Set<number>()
    blob.run.layout.shards.forEach(({ first, count }, shard) => {
      const inside = groups.some((group) => {
        const range = ranges[group]
        return first >= range.first && first + count <= range.first + range.count
      })
      if (inside) owned.add(shard)
    })
    const owner = await ShardOwner.open(device, source, blob.run, { owned, signal })
    return new OwnedGroups(context, groups, owner)
  }

  private constructor(context: OwnerContext, groups: readonly number[], owner: ShardOwner) {
    this.#context = context
    this.groups = groups
    this.#owner = owner
    const { rows, cols, run } = context.blob
    this.#sizes = { rows, cols, most: run.most }
  }

  free(): void {
    this.#owner.free()
  }

  /** Whether the commands that are still kept lead from here to the next one. */
  canFollow({ base = 1, seq }: Command): boolean {
    return this.#applied === 0 || (this.#applied >= base - 1 && this.#applied <= seq)
  }

  async perform(command: Command, payload: Payload): Promise<GroupAnswer> {
    const { seq } = command
    if (this.#lastAnswer?.seq === seq) return { groups: this.groups, answer: this.#lastAnswer.place }
    await this.#catchUp(command)
    await this.#applyNotes(payload)
    const value = await this.#performTask(payload, seq, true)
    this.#applied = seq
    const place = await this.#context.traffic.put(this.#answerKey(seq), value)
    this.#lastAnswer = { seq, place }
    return { groups: this.groups, answer: place }
  }

  /** No two answers have the same name: who answers for some of these groups alone has other sums. */
  #answerKey(seq: number): string {
    return `a-${seq}-${this.#context.worker}-${this.#number}`
  }

  /** Does what was done to these shards before they came here. */
  async #catchUp({ seq, base = 1, log = [] }: Command): Promise<void> {
    // A worker that performed everything up to the base has this state.
    if (this.#applied === base - 1 && base > 1) {
      this.#applied = base
      this.#sums = undefined
    }
    for (let next = Math.max(base, this.#applied + 1); next < seq; next++) {
      const size = log[next - base]
      if (size === undefined) throw new CentroidalError('bad-data', `Command ${next} is no longer known.`)
      const place = { key: nameOf(next, size), bytes: Math.abs(size) }
      const payload = await readPayload(this.#context.traffic, place)
      await this.#applyNotes(payload)
      if (!READ_ONLY.has(payload.task.name)) await this.#performTask(payload, next, false)
      this.#applied = next
    }
  }

  async #applyNotes({ notes }: Payload): Promise<void> {
    for (const { name, note } of notes) await this.#applyNote(name, note)
  }

  async #applyNote(name: Payload['notes'][number]['name'], note: unknown): Promise<void> {
    const owner = this.#owner
    const { cols, most } = this.#sizes
    if (name === 'kept') return this.#restoreKept(note)
    if (name === 'centers') {
      const { delta, mixture, labelled } = fromStore((value) => checkCenters(value, this.#sizes), note, 'centres')
      const centers = applyCenters(delta, this.#centers, cols)
      if (centers === undefined || centers.length > most * cols) throw misfit('centres')
      this.#centers = centers
      return owner.note('centers', { centers, mixture, labelled })
    }
    if (name === 'follow') {
      const { delta, whole: all, news } = fromStore(checkFollow, note, 'sums')
      const merged = applySums(delta, all ? undefined : this.#followed)
      const like = this.#sums ?? this.#followed
      const fits = merged?.exact.every(({ length }, i) => like === undefined || like.exact[i]?.length === length)
      if (merged === undefined || !fits) throw misfit('sums')
      this.#followed = merged
      return owner.note('follow', { merged, news: checkNews(news, most) })
    }
    const checked = fromStore((value) => checkNote(name as NoteName, value, this.#sizes), note, name)
    return owner.note(name as NoteName, checked as OwnerNotes[NoteName])
  }

  /** Without `send` the sums are only remembered. */
  async #performTask({ task: { name, args }, whole: all }: Payload, seq: number, send: boolean): Promise<unknown> {
    if (name === 'none') {
      this.#sums = all ? undefined : this.#sums
      return null
    }
    if (name === 'keep') return this.#keep(seq)
    if (name === 'moments' || name === 'covariance' || name === 'sums') throw misfit('commands')
    const checked = fromStore((value) => checkTask(name, value, this.#sizes), args, name)
    const result = await this.#owner.perform(name as TaskName, checked as OwnerTasks[TaskName]['args'])
    if (name !== 'choose' && name !== 'take' && name !== 'retreat') return result
    const { sums, ...rest } = result as { sums: PartialSums }
    const delta = sumsDelta(sums, all ? undefined : this.#sums)
    this.#sums = sums
    if (!send) return null
    const { blob, traffic } = this.#context
    const key = (array: number, range: number): string => `${this.#answerKey(seq)}-${array}-${range}`
    return { ...rest, sums: await sendSums(traffic, delta, blob.range, key) }
  }

  /** Writes the state of each group to the store. */
  async #keep(seq: number): Promise<{ group: number; bytes: number }[]> {
    const { labels, saved } = await this.#owner.keep()
    const ranges = rowsOfGroups(this.#context.blob)
    const kept: { group: number; bytes: number }[] = []
    for (const group of this.groups) {
      const { first, count } = ranges[group]
      const own = labels.filter((part) => part.first >= first && part.first < first + count)
      const { bytes } = await this.#context.traffic.put(keptKey(seq, group), { labels: own, saved }, true)
      kept.push({ group, bytes })
    }
    return kept
  }

  async #restoreKept(note: unknown): Promise<void> {
    const { blob, traffic } = this.#context
    const { seq, sizes } = fromStore(record({ seq: whole(1), sizes: list(whole(0)) }), note, 'kept')
    const labels = new Uint32Array(blob.rows)
    let saved: unknown
    for (const group of this.groups) {
      const value = await traffic.get({ key: keptKey(seq, group), bytes: sizes[group] ?? 0 }, 'the state of shards')
      const kept = value as { labels?: readonly { first: number; values: Uint32Array }[]; saved?: unknown }
      for (const { first, values } of kept.labels ?? []) labels.set(values, first)
      saved = kept.saved
    }
    const checked = checkNote('labels', { labels }, this.#sizes) as OwnerNotes['labels']
    await this.#owner.note('labels', checked)
    await this.#owner.note(
      'restore',
      checkNote('restore', { arrays: saved ?? {} }, this.#sizes) as OwnerNotes['restore'],
    )
  }
}

/** Who takes over does not have to repeat these. */
const READ_ONLY = new Set<string>(['measure', 'farthest', 'labels', 'distances', 'lists', 'keep', 'none'])

export async function readPayload(traffic: Traffic, place: Place): Promise<Payload> {
  return fromStore(checkPayload, await traffic.get(place, 'a command'), 'a command')
}

function misfit(what: string): CentroidalError {
  return new CentroidalError('bad-data', `The store contains ${what} of another run: start the run again.`)
}

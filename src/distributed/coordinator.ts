/**
 * A run whose shards other processes own, as the leading process sees it. Every task is a command with a number. Commands
 * are kept in the store, so that a worker that takes over shards can do again what was done to them: the state of a shard
 * follows from the commands alone. Now and then workers write the state of their shards to the store, and commands before
 * that are removed.
 */
import type { PartialRound, PartialSums } from '../clustering/partial.ts'
import { mergeRounds } from '../clustering/partial.ts'
import { METHODS } from '../clustering/presets.ts'
import type { NoteName, OwnerNotes, OwnerTasks, RemoteOwners, TaskName } from '../clustering/remote-owners.ts'
import { CentroidalError } from '../core/errors.ts'
import type { RunControl } from '../device/contract.ts'
import { checkAnswer } from './answers.ts'
import { addBlocks, applySums, centerDelta, sumsDelta } from './deltas.ts'
import { commandKey, keptKey, type Payload, type Place, type Report, type RunBlob } from './messages.ts'
import { gatherPieces, misfit, readPiece, type SentSums } from './reductions.ts'
import { RoundMeter, type RoundTraffic } from './round-traffic.ts'
import type { RunShards } from './run-shards.ts'
import type { Traffic } from './traffic.ts'

type Answers = readonly unknown[]
type Note = Payload['notes'][number]

/** Commands of fewer bytes than this are kept, however small the labels are. */
const LEAST_KEPT = 32 * 2 ** 20
/** Minimum number of rounds between saved states while all centres move, because all centres are then written again. */
const KEPT_CENTERS = 3
const MOST_KEPT_CENTERS = 2 ** 28
/** When a run was stopped, workers that do not answer are left alone after this time. */
const STOP_PATIENCE = 20_000
/** Tasks whose results are needed even if the run was stopped. */
const FINAL: readonly string[] = ['labels', 'distances', 'lists']

export interface RemoteRunOptions {
  readonly onRound: (traffic: RoundTraffic) => void
  /** Bytes. Default: as many as labels, or as centres a few times take, or LEAST_KEPT. */
  readonly history: number | undefined
}

export class RemoteRun implements RemoteOwners {
  readonly #shards: RunShards
  readonly #blob: RunBlob
  readonly #control: RunControl
  readonly #traffic: Traffic
  readonly #meter: RoundMeter
  /** Bytes of commands that are kept at the most. */
  readonly #history: number
  #seq = 0
  /** Commands that are kept in the store: their sizes, from #base on. */
  #base = 1
  #log: number[] = []
  #notes: Note[] = []
  /** What the last notes said, for differences and for what replaces the commands. */
  #centers: Float32Array | undefined
  #lastCenters: Omit<OwnerNotes['centers'], 'centers'> | undefined
  #followed: PartialSums | undefined
  #news: unknown
  #rounds: OwnerNotes['endRound'][] = []
  /** Sums of all shards, to which differences are added. */
  #sums: PartialSums | undefined
  #keptBytes: readonly { key: string; bytes: number }[] = []
  /** Answers that are not needed any more when their command is done. */
  #places: Place[] = []

  constructor(shards: RunShards, blob: RunBlob, control: RunControl, { onRound, history }: RemoteRunOptions) {
    this.#shards = shards
    this.#blob = blob
    this.#control = control
    this.#traffic = shards.traffic
    this.#meter = new RoundMeter(shards, onRound)
    const labels = 4 * blob.rows
    const centers = 4 * blob.run.most * blob.cols
    this.#history = history ?? Math.max(labels, KEPT_CENTERS * Math.min(centers, MOST_KEPT_CENTERS), LEAST_KEPT)
  }

  note<N extends NoteName>(name: N, note: OwnerNotes[N]): void {
    switch (name) {
      case 'centers': {
        const { centers, ...rest } = note as OwnerNotes['centers']
        const delta = centerDelta(centers, this.#centers, this.#blob.cols)
        this.#centers = centers
        this.#lastCenters = rest
        this.#notes.push({ name, note: { delta, ...rest } })
        return
      }
      case 'follow': {
        const { merged, news } = note as OwnerNotes['follow']
        const whole = this.#followed === undefined || !sameShape(merged, this.#followed)
        const delta = sumsDelta(merged, whole ? undefined : this.#followed)
        this.#followed = merged
        this.#news = news
        this.#notes.push({ name, note: { delta, whole, news } })
        return
      }
      case 'endRound':
        this.#rounds.push(note as OwnerNotes['endRound'])
        this.#meter.end((note as OwnerNotes['endRound']).iteration)
    }
    this.#notes.push({ name, note: note as Note['note'] })
  }

  async ask<N extends TaskName>(name: N, args: OwnerTasks[N]['args']): Promise<readonly OwnerTasks[N]['result'][]> {
    const rebalancing = this.#shards.surplus.size > 0
    if (this.#mayForget(rebalancing)) await this.#keepState()
    if (rebalancing) await this.#shards.rebalance()
    const whole = this.#sums === undefined || name === 'take'
    const answers = await this.#command(name, args, whole)
    const results = (await this.#merged(name, answers, whole)) as readonly OwnerTasks[N]['result'][]
    this.#traffic.discard(this.#places)
    this.#places = []
    // Plain means may be of another shape than the sums of the update.
    if (name === 'take' && (args as OwnerTasks['take']['args']).kind !== 'update') this.#sums = undefined
    return results
  }

  close(): Promise<void> {
    return this.#shards.close()
  }

  async #command(name: Payload['task']['name'], args: object, whole: boolean): Promise<Answers> {
    const { signal, onProgress } = this.#control
    const final = FINAL.includes(name) || name === 'keep'
    if (!final) signal?.throwIfAborted()
    const seq = ++this.#seq
    const notes = this.#notes
    this.#notes = []
    const payload: Payload = { notes, task: { name, args: args as Payload['task']['args'] }, whole }
    const place = await this.#traffic.put(commandKey(seq), payload, true)
    const command = { seq, payload: place, base: this.#base, log: [...this.#log] }
    const answers: unknown[] = []
    const collect = async (report: Report): Promise<void> => {
      const what = `the answer of ${report.name}`
      const value = await this.#traffic.get(report.answer as Place, what)
      this.#places.push(report.answer as Place)
      answers.push(checkAnswer(name, value, what, { blob: this.#blob, groups: report.groups, like: this.#sums }))
    }
    const onShare = name === 'choose' ? onProgress : undefined
    const stopped = await this.#shards.run(command, collect, {
      signal: final ? undefined : signal,
      onShare,
      patience: signal?.aborted ? STOP_PATIENCE : undefined,
    })
    this.#log.push(place.bytes)
    if (stopped) {
      // A stopped command is never repeated; earlier notes are kept.
      const only: Payload = { notes, task: { name: 'none', args: {} }, whole: false }
      const kept = await this.#traffic.put(`${commandKey(seq)}-stopped`, only, true)
      this.#log[this.#log.length - 1] = -kept.bytes
      signal?.throwIfAborted()
    }
    return answers
  }

  /** What comes from several workers becomes one result where it is sums, as differences have to be added up first. */
  async #merged(name: TaskName, answers: Answers, whole: boolean): Promise<Answers> {
    if (name !== 'choose' && name !== 'take' && name !== 'retreat') return answers
    const given = answers as readonly { round?: PartialRound; squares?: unknown[]; sums: SentSums }[]
    let sums = whole ? undefined : this.#sums
    const values: PartialSums['values'][number][] = []
    for (const { sums: sent } of given) {
      const next = applySums(sent.delta, sums)
      if (next === undefined) {
        throw new CentroidalError('bad-data', 'Workers answered with sums of different shapes: start the run again.')
      }
      values.push(...next.values)
      sums = next
    }
    if (sums === undefined) throw new CentroidalError('bad-data', 'No worker answered: start the run again.')
    await this.#addPieces(
      sums,
      given.map((answer) => answer.sums),
    )
    this.#sums = { ...sums, values }
    const rounds = given.flatMap(({ round }) => (round ? [round] : []))
    return [
      {
        ...(rounds.length > 0 ? { round: rounds.reduce(mergeRounds) } : {}),
        ...(name === 'retreat' ? { squares: given.flatMap(({ squares }) => squares ?? []) } : {}),
        sums: this.#sums,
      },
    ]
  }

  /** Adds what workers wrote to the store in ranges. What several of them wrote is added up by workers first. */
  async #addPieces(sums: PartialSums, sent: readonly SentSums[]): Promise<void> {
    const pieces = gatherPieces(sent)
    const several = pieces.filter(({ places }) => places.length > 1)
    const { range: size } = this.#blob
    const jobs = several.map(({ range, places }) => ({ range, size, places }))
    const reduced = await this.#shards.reduce(this.#seq, jobs, this.#control.signal)
    const where = new Map(several.map((piece, i) => [piece, reduced[i]]))
    for (const piece of pieces) {
      const { array, places } = piece
      const place = where.get(piece) ?? places[0]
      const fits = sums.exact[array] && addBlocks(sums.exact[array], await readPiece(this.#traffic, place))
      if (!fits) throw misfit()
      this.#places.push(place, ...places)
    }
  }

  /** Between rounds, where the commands take more room than the labels, or others are about to take over shards. */
  #mayForget(rebalancing: boolean): boolean {
    const { run } = this.#blob
    // Points of a mixture with lists remember more than labels.
    const remembers = METHODS[run.method].mixture && run.settings.memory !== undefined
    if (remembers || this.#centers === undefined) return false
    const last = this.#notes[this.#notes.length - 1]
    const bytes = this.#log.reduce((sum, each) => sum + Math.abs(each), 0)
    return last?.name === 'endRound' && (rebalancing || bytes > this.#history)
  }

  async #keepState(): Promise<void> {
    const answers = (await this.#command('keep', {}, false)) as { group: number; bytes: number }[][]
    const kept = this.#seq
    const sizes = new Array<number>(this.#blob.groups.length).fill(0)
    for (const { group, bytes } of answers.flat()) sizes[group] = bytes
    const centers = this.#centers as Float32Array
    const notes: Note[] = [
      { name: 'kept', note: { seq: kept, sizes } },
      {
        name: 'centers',
        note: { delta: centerDelta(centers, undefined, this.#blob.cols), ...(this.#lastCenters as object) },
      },
    ]
    for (const round of this.#rounds) notes.push({ name: 'endRound', note: round as never })
    if (this.#followed) {
      notes.push({
        name: 'follow',
        note: { delta: sumsDelta(this.#followed, undefined), whole: true, news: this.#news } as never,
      })
    }
    const seq = ++this.#seq
    const payload: Payload = { notes, task: { name: 'none', args: {} }, whole: true }
    const { bytes } = await this.#traffic.put(commandKey(seq), payload, true)
    const old = this.#log.map((size, i) => ({ key: nameOf(this.#base + i, size), bytes: Math.abs(size) }))
    const older = this.#keptBytes
    this.#base = seq
    this.#log = [bytes]
    // Sums are sent in full next time, because a worker that takes over does not have the previous ones.
    this.#sums = undefined
    this.#keptBytes = sizes.map((size, group) => ({ key: keptKey(kept, group), bytes: size }))
    await this.#traffic.removeBlobs([...old, ...older])
  }
}

/** A command that was stopped is kept under another name, with a negative size. */
export function nameOf(seq: number, size: number): string {
  return size < 0 ? `${commandKey(seq)}-stopped` : commandKey(seq)
}

function sameShape(a: PartialSums, b: PartialSums): boolean {
  const sizes = ({ exact, counts }: PartialSums): string =>
    JSON.stringify([exact.map(({ length }) => length), counts.map(({ length }) => length)])
  return sizes(a) === sizes(b)
}

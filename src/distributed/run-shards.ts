/**
 * Who owns which shards of a run, and how commands reach them. Groups of shards are leases in a queue that all workers take
 * from; a worker that holds one reports it, and gets its commands through a queue of its own. When it dies, its leases are
 * handed to others by the queue, and what they have not answered is asked again. An answer counts if none of its groups has
 * been answered yet: whoever works on the same shards a second time gives the same answer.
 */
import { CentroidalError } from '../core/errors.ts'
import { type Lease, type Place, type Report, readReport } from './messages.ts'
import type { Queues, Receiver } from './queues.ts'
import type { Reduction } from './reductions.ts'
import type { BlobStore } from './store.ts'
import { Traffic } from './traffic.ts'

export const LEASES = 'centroidal-leases'

export function answersOf(run: string): string {
  return `centroidal-${run}`
}

export function reductionsOf(run: string): string {
  return `centroidal-${run}-reductions`
}

export function commandsOf(run: string, worker: string): string {
  return `centroidal-${run}-${worker}`
}

/** A process that owns shards. */
export interface WorkerFacts {
  /** Its number, which is never used again. */
  readonly worker: string
  /** For people. */
  readonly name: string
  /** Kind and name of its device. */
  readonly device: string
  /** Groups of shards. */
  readonly groups: readonly number[]
}

/** What happens to a run that is worth telling. */
export type ClusterEvent =
  | { readonly kind: 'waiting'; readonly groups: number }
  | { readonly kind: 'workers'; readonly workers: readonly WorkerFacts[]; readonly total: number }
  | {
      readonly kind: 'left' | 'failed' | 'refused'
      readonly name: string
      readonly groups: readonly number[]
      readonly why?: string
    }
  /** Groups were taken back for workers that came later and own none. */
  | { readonly kind: 'rebalanced'; readonly groups: readonly number[]; readonly idle: readonly string[] }
  /** The store is tried again for so many seconds. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly seconds: number }
  /** Workers compute on devices of different kinds: results may differ in the last digits from run to run. */
  | { readonly kind: 'mixed'; readonly devices: readonly string[] }

export interface PendingCommand {
  readonly seq: number
  readonly payload: Place
  readonly base: number
  readonly log: readonly number[]
}

export interface RunControlOptions {
  readonly signal: AbortSignal | undefined
  /** Share of the shards that have answered. */
  readonly onShare: ((share: number) => void) | undefined
  /** Milliseconds after which a missing answer is an error. Default: it is waited for. */
  readonly patience: number | undefined
}

/** Commands to workers that take over are sent together. */
const GATHER = 60
/** A worker that fails repeatedly ends the run. */
const MOST_FAILURES = 3
/** If all that try refuse a group, the run ends after this time. */
const REFUSAL_PATIENCE = 6_000
const STOP_PATIENCE = 20_000
/** Workers are waited for at the end of a run. */
const END_PATIENCE = 2000
/** Milliseconds between two signs of life, at most; a run without any expires. */
const TOUCH_INTERVAL = 5_000

interface Pending {
  readonly command: PendingCommand
  readonly remaining: Set<number>
  readonly asked: Map<number, string>
  readonly collect: (report: Report) => Promise<void>
  readonly onShare: ((share: number) => void) | undefined
  stopped: boolean
  settle(): void
  fail(error: unknown): void
}

interface Reducing {
  readonly seq: number
  /** By the number of the job. */
  readonly places: Map<number, Place>
  readonly count: number
  settle(places: Place[]): void
  fail(error: unknown): void
}

export interface RunShardsOptions {
  readonly run: string
  readonly groups: number
  readonly onEvent: (event: ClusterEvent) => void
  /** Seconds after which a run whose coordinator is gone is removed. */
  readonly expire: number
}

export class RunShards {
  readonly traffic: Traffic
  readonly #store: BlobStore
  readonly #queues: Queues
  readonly #run: string
  readonly #groups: number
  readonly #touchInterval: number
  readonly #onEvent: (event: ClusterEvent) => void
  readonly #owners = new Map<number, string>()
  readonly #workers = new Map<string, { name: string; device: string }>()
  /** Workers that asked for shards and own none, by name. */
  readonly #idle = new Map<string, string>()
  /** Workers that refused shards: none are taken from others for them. */
  readonly #unable = new Set<string>()
  readonly #bytes = new Map<string, { written: number; read: number }>()
  readonly #failures = new Map<number, number>()
  readonly #refused = new Map<number, { readonly since: number; readonly why: CentroidalError }>()
  #pending: Pending | undefined
  #receiver: Receiver | undefined
  #timers: ReturnType<typeof setInterval>[] = []
  #gathering: ReturnType<typeof setTimeout> | undefined
  #reducing: Reducing | undefined
  #discarding: Promise<void> = Promise.resolve()
  #mixed = ''
  /** Called when a worker is idle. */
  onIdle: () => void = () => {}
  #closed = false
  #failure: unknown

  constructor(store: BlobStore, queues: Queues, { run, groups, onEvent, expire }: RunShardsOptions) {
    this.#store = store
    this.#queues = queues
    this.#run = run
    this.#groups = groups
    this.#onEvent = onEvent
    this.#touchInterval = Math.min(TOUCH_INTERVAL, (expire * 1000) / 4)
    this.traffic = new Traffic(store, run)
  }

  /** Offers the shards to workers. */
  async open(lease: Omit<Lease, 'group'>): Promise<void> {
    await this.#store.touch(this.#run, [answersOf(this.#run), reductionsOf(this.#run)])
    this.#receiver = this.#queues.receive(answersOf(this.#run), (data) => this.#heard(data))
    this.#timers.push(
      setInterval(() => {
        this.#store.touch(this.#run, []).catch((error: unknown) => this.#fail(error))
      }, this.#touchInterval),
      setInterval(() => this.#lookForRefusals(), 1000),
    )
    for (let group = 0; group < this.#groups; group++) {
      await this.#queues.send(LEASES, { ...lease, group }, `${this.#run}-${group}`)
    }
    this.#onEvent({ kind: 'waiting', groups: this.#groups })
  }

  /** Returns when all shards have answered; true if the command was stopped. */
  async run(
    command: PendingCommand,
    collect: (report: Report) => Promise<void>,
    { signal, onShare, patience }: RunControlOptions,
  ): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    let timer: ReturnType<typeof setTimeout> | undefined
    const limit = (milliseconds: number): void => {
      timer ??= setTimeout(() => this.#fail(noAnswer()), milliseconds)
    }
    const stop = (): void => {
      this.#stop().catch((error: unknown) => this.#fail(error))
      limit(STOP_PATIENCE)
    }
    try {
      const done = new Promise<void>((resolve, reject) => {
        const remaining = new Set(Array.from({ length: this.#groups }, (_, group) => group))
        const pending = { command, remaining, asked: new Map(), collect, onShare, stopped: false }
        this.#pending = { ...pending, settle: resolve, fail: reject }
      })
      if (patience !== undefined) limit(patience)
      signal?.addEventListener('abort', stop, { once: true })
      await Promise.all([done, this.#dispatch()])
      return this.#pending?.stopped === true
    } finally {
      signal?.removeEventListener('abort', stop)
      clearTimeout(timer)
      this.#pending = undefined
    }
  }

  /**
   * Has sums added up by workers: a job for each, which any of them may take. Returns where the sums are. A worker that dies
   * loses its job to another one, which writes the same.
   */
  async reduce(
    seq: number,
    jobs: readonly Pick<Reduction, 'range' | 'size' | 'places'>[],
    signal: AbortSignal | undefined,
  ): Promise<Place[]> {
    if (jobs.length === 0) return []
    if (this.#failure !== undefined) throw this.#failure
    let stop = (): void => {}
    try {
      return await new Promise<Place[]>((resolve, reject) => {
        this.#reducing = { seq, places: new Map(), count: jobs.length, settle: resolve, fail: reject }
        stop = () => reject(signal?.reason)
        signal?.addEventListener('abort', stop, { once: true })
        const send = async (): Promise<void> => {
          for (const [job, own] of jobs.entries()) {
            await this.#queues.send(reductionsOf(this.#run), { run: this.#run, seq, job, ...own })
          }
        }
        send().catch(reject)
      })
    } finally {
      signal?.removeEventListener('abort', stop)
      this.#reducing = undefined
    }
  }

  /** Removes blobs that nobody will read, without waiting for it. */
  discard(places: readonly Place[]): void {
    const blobs = places.flatMap(({ key, bytes, inline }) => (key && inline === undefined ? [{ key, bytes }] : []))
    this.#discarding = this.#discarding.then(() => this.removeBlobs(blobs)).catch(() => {})
  }

  /** Bytes that workers have written to the store and read from it, as far as they have reported. */
  get workerBytes(): { readonly written: number; readonly read: number } {
    let [written, read] = [0, 0]
    for (const own of this.#bytes.values()) {
      written += own.written
      read += own.read
    }
    return { written, read }
  }

  /** Groups to take from their owners for workers that own none, so that all own about as many. */
  get surplus(): ReadonlyMap<string, readonly number[]> {
    const surplus = new Map<string, number[]>()
    if (this.#idle.size === 0 || this.#owners.size < this.#groups) return surplus
    const remaining = this.#pending?.remaining
    const owned = [...this.#groupsByWorker()].map(([worker, groups]) => {
      return { worker, groups: groups.filter((group) => remaining?.has(group) ?? true).sort((a, b) => a - b) }
    })
    const total = owned.reduce((sum, { groups }) => sum + groups.length, 0)
    const share = Math.floor(total / (owned.length + this.#idle.size))
    for (let wanted = share * this.#idle.size; wanted > 0; wanted--) {
      const { worker, groups } = owned.reduce((most, each) => (each.groups.length > most.groups.length ? each : most))
      const group = groups.length > share ? groups.pop() : undefined
      if (group === undefined) break
      surplus.set(worker, [...(surplus.get(worker) ?? []), group])
    }
    return surplus
  }

  /** Takes the surplus back. Whoever asks for shards next gets it: those that own none do not wait before they ask. */
  async rebalance(): Promise<void> {
    const surplus = this.surplus
    const groups = [...surplus.values()].flat()
    const idle = [...this.#idle.values()]
    this.#idle.clear()
    if (groups.length === 0) return
    this.#onEvent({ kind: 'rebalanced', groups, idle })
    for (const [worker, own] of surplus) {
      for (const group of own) this.#disown(group)
      const release = { run: this.#run, kind: 'release', seq: 0, groups: own }
      await this.#queues.send(commandsOf(this.#run, worker), release)
    }
  }

  async removeBlobs(blobs: readonly { readonly key: string; readonly bytes: number }[]): Promise<void> {
    for (const { key, bytes } of blobs) await this.#store.remove(this.#run, key, bytes)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#gathering)
    await this.#receiver?.close()
    await Promise.all([...this.#workers.keys()].map((worker) => this.#endWorker(worker).catch(() => {})))
    const leases = Array.from({ length: this.#groups }, (_, group) => `${this.#run}-${group}`)
    await this.#queues.withdraw(LEASES, leases)
    await this.#discarding
    await this.#queues.remove(answersOf(this.#run))
    await this.#queues.remove(reductionsOf(this.#run))
    await this.#store.forget(this.#run)
  }

  /** Those that are there remove their queue themselves; for those that have died it is done here. */
  async #endWorker(worker: string): Promise<void> {
    const queue = commandsOf(this.#run, worker)
    const owns = [...this.#owners.values()].includes(worker)
    await this.#queues.send(queue, { run: this.#run, kind: 'end', seq: 0, groups: [] })
    await this.#queues.drained(queue, owns ? END_PATIENCE : END_PATIENCE / 4)
    await this.#queues.remove(queue)
  }

  async #heard(data: unknown): Promise<void> {
    try {
      const report = readReport(data)
      if (report === undefined) return
      if (report.run !== this.#run || this.#closed) return
      if (report.groups.some((group) => group >= this.#groups)) return
      await this.#take(report)
    } catch (error) {
      this.#fail(error)
    }
  }

  async #take(report: Report): Promise<void> {
    const { worker, name, groups, kind, written, read } = report
    if (written !== undefined && read !== undefined) this.#bytes.set(worker, { written, read })
    const pending = this.#pending
    switch (kind) {
      case 'idle':
        if (!this.#unable.has(worker) && ![...this.#owners.values()].includes(worker)) this.#idle.set(worker, name)
        this.onIdle()
        return
      case 'own':
        this.#idle.delete(worker)
        if (!this.#workers.has(worker)) await this.#store.touch(this.#run, [commandsOf(this.#run, worker)])
        this.#workers.set(worker, { name, device: report.device ?? '' })
        for (const group of groups) {
          this.#owners.set(group, worker)
          this.#refused.delete(group)
          // Also who had it before is asked again: its answer may have covered groups that others have answered by now.
          pending?.asked.delete(group)
        }
        this.#tellWorkers()
        this.#tellMixed()
        this.#dispatchSoon()
        return
      case 'left':
        this.#idle.delete(worker)
        for (const group of groups) if (this.#owners.get(group) === worker) this.#disown(group)
        this.#onEvent({ kind: 'left', name, groups })
        this.#tellWorkers()
        return
      case 'refused':
      case 'failed': {
        const why = new CentroidalError(
          (report.code as CentroidalError['code'] | undefined) ?? 'bad-data',
          `Worker ${name}: ${report.error ?? 'it failed'}`,
        )
        this.#onEvent({ kind, name, groups, why: why.message })
        this.#idle.delete(worker)
        if (kind === 'refused') this.#unable.add(worker)
        for (const group of groups) {
          if (this.#owners.get(group) === worker) this.#disown(group)
          if (kind === 'refused') this.#refused.set(group, this.#refused.get(group) ?? { since: Date.now(), why })
          const failures = (this.#failures.get(group) ?? 0) + (kind === 'failed' ? 1 : 0)
          this.#failures.set(group, failures)
          if (failures >= MOST_FAILURES) throw why
        }
        return
      }
      case 'reduced':
      case 'unreduced': {
        const reducing = this.#reducing
        const { seq, job, answer, error } = report
        if (reducing === undefined || reducing.seq !== seq || job === undefined || job >= reducing.count) return
        if (answer === undefined) throw new CentroidalError('bad-data', `Worker ${name}: ${error ?? 'it failed'}`)
        reducing.places.set(job, answer)
        if (reducing.places.size < reducing.count) return
        reducing.settle(Array.from({ length: reducing.count }, (_, i) => reducing.places.get(i) as Place))
        return
      }
      case 'answer':
      case 'stopped': {
        if (pending === undefined || report.seq !== pending.command.seq || groups.length === 0) {
          if (report.answer) this.discard([report.answer])
          return
        }
        // Only answers that fit together count; the others are repetitions.
        if (!groups.every((group) => pending.remaining.has(group))) {
          if (report.answer) this.discard([report.answer])
          // What is still missing of it is asked for by itself.
          for (const group of groups) if (pending.asked.get(group) === worker) pending.asked.delete(group)
          this.#dispatchSoon()
          return
        }
        for (const group of groups) {
          pending.remaining.delete(group)
          this.#failures.delete(group)
        }
        if (kind === 'stopped') pending.stopped = true
        else if (!pending.stopped && report.answer) await pending.collect(report)
        pending.onShare?.(1 - pending.remaining.size / this.#groups)
        if (pending.remaining.size === 0) pending.settle()
      }
    }
  }

  #dispatchSoon(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined
      this.#dispatch().catch((error: unknown) => this.#fail(error))
    }, GATHER)
  }

  #disown(group: number): void {
    this.#owners.delete(group)
    this.#pending?.asked.delete(group)
  }

  /** Sends the command to owners that have not got it yet. Waits with the first until every group has an owner. */
  async #dispatch(): Promise<void> {
    const pending = this.#pending
    if (pending === undefined || this.#owners.size < this.#groups) return
    const byWorker = new Map<string, number[]>()
    for (const group of pending.remaining) {
      const owner = this.#owners.get(group)
      if (owner === undefined || pending.asked.get(group) === owner) continue
      pending.asked.set(group, owner)
      byWorker.set(owner, [...(byWorker.get(owner) ?? []), group])
    }
    const { seq, payload, base, log } = pending.command
    for (const [worker, groups] of byWorker) {
      const message = { run: this.#run, kind: pending.stopped ? 'stop' : 'task', seq, groups, payload, base, log }
      await this.#queues.send(commandsOf(this.#run, worker), message)
    }
  }

  async #stop(): Promise<void> {
    const pending = this.#pending
    if (pending === undefined) return
    pending.stopped = true
    const { seq } = pending.command
    for (const worker of new Set(pending.asked.values())) {
      await this.#queues.send(commandsOf(this.#run, worker), { run: this.#run, kind: 'stop', seq, groups: [] })
    }
    // Groups that nobody was asked about yet have nothing to stop.
    for (const group of [...pending.remaining]) if (!pending.asked.has(group)) pending.remaining.delete(group)
    if (pending.remaining.size === 0) pending.settle()
  }

  #lookForRefusals(): void {
    for (const [group, { since, why }] of this.#refused) {
      if (!this.#owners.has(group) && Date.now() - since > REFUSAL_PATIENCE) this.#fail(why)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#pending?.fail(error)
    this.#reducing?.fail(error)
  }

  #groupsByWorker(): Map<string, number[]> {
    const groups = new Map<string, number[]>()
    for (const [group, worker] of this.#owners) groups.set(worker, [...(groups.get(worker) ?? []), group])
    return groups
  }

  /** Once for each set of devices. */
  #tellMixed(): void {
    const owners = new Set(this.#owners.values())
    const devices = new Set([...owners].map((worker) => deviceKind(this.#workers.get(worker)?.device ?? '')))
    const all = [...devices].sort()
    if (all.length < 2 || this.#mixed === all.join()) return
    this.#mixed = all.join()
    this.#onEvent({ kind: 'mixed', devices: all })
  }

  #tellWorkers(): void {
    const workers = [...this.#groupsByWorker()].map(([worker, own]) => {
      const { name, device } = this.#workers.get(worker) ?? { name: worker, device: '' }
      return { worker, name, device, groups: own.sort((a, b) => a - b) }
    })
    workers.sort((a, b) => (a.name < b.name ? -1 : 1))
    this.#onEvent({ kind: 'workers', workers, total: this.#groups })
  }
}

/** Devices whose results have the same bits: all CPUs, and GPUs of one name. */
function deviceKind(device: string): string {
  return device.startsWith('cpu') ? 'cpu' : device
}

function noAnswer(): CentroidalError {
  return new CentroidalError('bad-data', 'Workers do not answer: check that they run. A saved run can be resumed.')
}

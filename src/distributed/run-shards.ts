/**
 * Who owns which shards of a run, and how commands reach them. Groups of shards are leases in a queue that all workers take
 * from; a worker that holds one reports it, and gets its commands through a queue of its own. When it dies, its leases are
 * handed to others by the queue, and what they have not answered is asked again. An answer counts if none of its groups has
 * been answered yet: a worker that processes the same shards again gives the same answer.
 */
import type { ClusterEvent } from './cluster-events.ts'
import { type Lease, type Place, type Report, readReport } from './messages.ts'
import { Owners } from './owners.ts'
import { pause } from './pause.ts'
import {
  noAnswer,
  type Pending,
  type PendingCommand,
  type RunControlOptions,
  type RunShardsOptions,
  reasonOf,
} from './pending-command.ts'
import { PendingReductions } from './pending-reductions.ts'
import { answersOf, commandsOf, LEASES, reductionsOf } from './queue-names.ts'
import type { Queues, Receiver } from './queues.ts'
import type { Reduction } from './reductions.ts'
import { Refusals } from './refusals.ts'
import type { BlobStore } from './store.ts'
import { Traffic, totalOf } from './traffic.ts'

/** Commands to workers that take over are sent together. */
const GATHER = 60
/** After this multiple of the lock time without messages, workers are asked again what they hold and have done. */
const SILENCE = 2
/** Milliseconds for cleaning up; less after a failure, when the store may be away. What is left then expires. */
const [CLEAN_PATIENCE, FAILED_PATIENCE] = [30_000, 5000]
/** Workers are waited for when a run is stopped and at its end. Milliseconds. */
const [STOP_PATIENCE, END_PATIENCE] = [20_000, 2000]
/** Signs of life of a run, which expires without. */
const TOUCH_INTERVAL = 5000

export class RunShards {
  readonly traffic: Traffic
  readonly #store: BlobStore
  readonly #queues: Queues
  readonly #run: string
  readonly #groups: number
  readonly #touchInterval: number
  /** Milliseconds without progress after which everything is asked for again. */
  readonly #silence: number
  readonly #onEvent: (event: ClusterEvent) => void
  readonly #owners: Owners
  readonly #bytes = new Map<string, { written: number; read: number }>()
  readonly #refusals: Refusals
  #pending: Pending | undefined
  #receiver: Receiver | undefined
  #timers: ReturnType<typeof setInterval>[] = []
  #gathering: ReturnType<typeof setTimeout> | undefined
  #reducing: { readonly pending: PendingReductions; readonly jobs: readonly object[] } | undefined
  #lease: Omit<Lease, 'group'> | undefined
  /** Time of the last message that advanced the run. */
  #heardAt = 0
  /** Called when a worker is idle. */
  onIdle: () => void = () => {}
  #closed = false
  #failure: unknown

  constructor(store: BlobStore, queues: Queues, { run, groups, onEvent, expire, lock }: RunShardsOptions) {
    this.#store = store
    this.#queues = queues
    this.#run = run
    this.#groups = groups
    this.#onEvent = onEvent
    this.#owners = new Owners(groups, onEvent)
    this.#refusals = new Refusals(lock)
    this.#silence = SILENCE * lock
    this.#touchInterval = Math.min(TOUCH_INTERVAL, (expire * 1000) / 4)
    this.traffic = new Traffic(store, run)
  }

  /** Offers the shards to workers. */
  async open(lease: Omit<Lease, 'group'>): Promise<void> {
    await this.#store.touch(this.#run, [answersOf(this.#run), reductionsOf(this.#run)])
    this.#receiver = this.#queues.receive(answersOf(this.#run), (data) => this.#heard(data))
    this.#timers.push(
      setInterval(() => this.#store.touch(this.#run, []).catch((e: unknown) => this.#fail(e)), this.#touchInterval),
      setInterval(() => this.#fail(this.#refusals.overdue(this.#owners)), 1000),
      setInterval(() => this.#askAgain().catch((e: unknown) => this.#fail(e)), this.#silence / 2),
    )
    this.#lease = lease
    for (let group = 0; group < this.#groups; group++) await this.#offer(group)
    this.#onEvent({ kind: 'waiting', groups: this.#groups })
  }

  /** Returns when all shards have answered; true if the command was stopped. */
  async run(
    command: PendingCommand,
    collect: (report: Report) => Promise<void>,
    { signal, onShare, patience }: RunControlOptions,
  ): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    this.#heardAt = Date.now()
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
    const pending = new PendingReductions(seq, jobs.length)
    const messages = jobs.map((own, job) => ({ run: this.#run, seq, job, ...own }))
    this.#reducing = { pending, jobs: messages }
    this.#heardAt = Date.now()
    const stop = (): void => pending.fail(signal?.reason)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      for (const message of messages) await this.#queues.send(reductionsOf(this.#run), message)
      return await pending.places
    } finally {
      signal?.removeEventListener('abort', stop)
      this.#reducing = undefined
    }
  }

  /** Bytes that workers have written to the store and read from it, as far as they have reported. */
  get workerBytes(): { readonly written: number; readonly read: number } {
    return totalOf(this.#bytes.values())
  }

  /** Groups to take from their owners for workers that own none. */
  get surplus(): ReadonlyMap<string, readonly number[]> {
    const remaining = this.#pending?.remaining
    return this.#owners.surplus((group) => remaining?.has(group) ?? true)
  }

  /**
   * Takes the surplus back. The next worker that requests shards gets it; workers without shards do not wait before they
   * request.
   */
  async rebalance(): Promise<void> {
    const surplus = this.surplus
    const groups = [...surplus.values()].flat()
    const idle = this.#owners.takeIdle()
    if (groups.length === 0) return
    this.#onEvent({ kind: 'rebalanced', groups, idle })
    for (const [worker, own] of surplus) {
      for (const group of own) this.#disown(group)
      const release = { run: this.#run, kind: 'release', seq: 0, groups: own }
      await this.#queues.send(commandsOf(this.#run, worker), release)
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    clearTimeout(this.#gathering)
    const cleaned = this.#cleanUp().catch(() => {})
    await Promise.race([cleaned, pause(this.#failure === undefined ? CLEAN_PATIENCE : FAILED_PATIENCE)])
  }

  async #cleanUp(): Promise<void> {
    await this.#receiver?.close()
    const message = { run: this.#run, kind: 'end', seq: 0, groups: [] }
    const end = (worker: string): Promise<void> => {
      const patience = END_PATIENCE / (this.#owners.hasAny(worker) ? 1 : 4)
      return this.#queues.finish(commandsOf(this.#run, worker), message, patience)
    }
    await Promise.all(this.#owners.workers.map((worker) => end(worker).catch(() => {})))
    const leases = Array.from({ length: this.#groups }, (_, group) => `${this.#run}-${group}`)
    await this.#queues.withdraw(LEASES, leases)
    await this.traffic.discarded
    await this.#queues.remove(answersOf(this.#run))
    await this.#queues.remove(reductionsOf(this.#run))
    await this.#store.forget(this.#run)
  }

  /** Does nothing if it is already offered. */
  async #offer(group: number): Promise<void> {
    await this.#queues.send(LEASES, { ...this.#lease, group }, `${this.#run}-${group}`)
  }

  /**
   * A message may be lost with a store or a worker, and who holds what may have changed unseen while a process did not answer.
   * After a silence leases without owner are offered again, workers report what they hold, and get the command again; those
   * that still work on it leave the repetition alone.
   */
  async #askAgain(): Promise<void> {
    const waiting = this.#pending !== undefined || this.#reducing !== undefined
    if (!waiting || Date.now() - this.#heardAt < this.#silence) return
    this.#heardAt = Date.now()
    for (const group of this.#owners.missing) await this.#offer(group)
    for (const worker of this.#owners.workers) {
      const message = { run: this.#run, kind: 'report', seq: 0, groups: [] }
      await this.#queues.send(commandsOf(this.#run, worker), message)
    }
    const { pending, jobs } = this.#reducing ?? {}
    for (const job of pending?.missing ?? []) await this.#queues.send(reductionsOf(this.#run), jobs?.[job] as object)
  }

  async #heard(data: unknown): Promise<void> {
    try {
      const report = readReport(data)
      if (report?.run !== this.#run || this.#closed) return
      if (report.groups.every((group) => group < this.#groups)) await this.#take(report)
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
        this.#owners.setIdle(worker, name)
        this.onIdle()
        return
      case 'own':
      case 'holds':
        // Groups that it no longer holds were, or will be, handed to others.
        if (kind === 'holds') for (const group of this.#owners.besides(worker, groups)) this.#disown(group)
        this.#heardAt = Date.now()
        if (!this.#owners.knows(worker)) await this.#store.touch(this.#run, [commandsOf(this.#run, worker)])
        for (const group of groups) {
          this.#refusals.taken(group)
          // Also who had it before is asked again: its answer may have covered groups that others have answered by now.
          pending?.asked.delete(group)
        }
        this.#owners.set(worker, groups, name, report.device ?? '')
        this.#dispatchSoon()
        return
      case 'left':
        this.#owners.notIdle(worker)
        for (const group of groups) if (this.#owners.of(group) === worker) this.#disown(group)
        this.#onEvent({ kind: 'left', name, groups })
        this.#owners.tell()
        return
      case 'refused':
      case 'failed': {
        const why = reasonOf(report)
        this.#onEvent({ kind, name, groups, why: why.message })
        this.#owners.notIdle(worker)
        if (kind === 'refused') this.#owners.setUnable(worker)
        for (const group of groups) {
          if (this.#owners.of(group) === worker) this.#disown(group)
          if (kind === 'refused') this.#refusals.refuse(group, why)
          else this.#refusals.fail(group, why)
        }
        return
      }
      case 'reduced':
      case 'unreduced':
        this.#heardAt = Date.now()
        this.#reducing?.pending.take(report)
        return
      case 'answer':
      case 'stopped': {
        if (pending === undefined || report.seq !== pending.command.seq || groups.length === 0) {
          if (report.answer) this.traffic.discard([report.answer])
          return
        }
        // Only answers that fit together count; the others are repetitions.
        if (!groups.every((group) => pending.remaining.has(group))) {
          if (report.answer) this.traffic.discard([report.answer])
          // What is still missing of it is asked for by itself.
          for (const group of groups) if (pending.asked.get(group) === worker) pending.asked.delete(group)
          this.#dispatchSoon()
          return
        }
        this.#heardAt = Date.now()
        for (const group of groups) {
          pending.remaining.delete(group)
          this.#refusals.answered(group)
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
    if (pending === undefined || !this.#owners.complete) return
    const byWorker = new Map<string, number[]>()
    for (const group of pending.remaining) {
      const owner = this.#owners.of(group)
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
    // Groups without a command yet have nothing to stop.
    for (const group of [...pending.remaining]) if (!pending.asked.has(group)) pending.remaining.delete(group)
    if (pending.remaining.size === 0) pending.settle()
  }

  #fail(error: unknown): void {
    if (error === undefined) return
    this.#failure ??= error
    this.#pending?.fail(error)
    this.#reducing?.pending.fail(error)
  }
}

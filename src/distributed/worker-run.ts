/** One run, as a worker sees it: the groups of shards it holds, the commands it gets, and its answers. */
import { CentroidalError } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import type { DataRoots } from './data-roots.ts'
import { type Command, checkCommand, checkRun, fromStore, type Lease, type Report, type RunBlob } from './messages.ts'
import { readPayload } from './owned-groups.ts'
import { ClusterPerformer, type Performer } from './performers.ts'
import { answersOf, commandsOf, reductionsOf } from './queue-names.ts'
import type { HeldLease, Queues, Receiver } from './queues.ts'
import { checkReduction, reduce } from './reductions.ts'
import { checkJob, type JobContext, JobPerformer } from './shard-jobs.ts'
import { type ShardedVectors, shardedVectors, verifyShard } from './shard-source.ts'
import type { BlobStore } from './store.ts'
import { Traffic } from './traffic.ts'
import { checkTraining } from './training-messages.ts'
import { TrainingPerformer } from './training-performer.ts'

/** What all runs of a worker have in common. */
export interface WorkerContext {
  readonly store: BlobStore
  readonly queues: Queues
  readonly worker: string
  readonly name: string
  readonly device: Device
  readonly roots: DataRoots
  /** Shards that were compared with their checksum already. */
  readonly verified: Set<string>
  /** Commands of all runs, one after another: they share a device. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  readonly onEvent: (text: string) => void
}

/** What all kinds of runs have. */
type RunData = Pick<RunBlob, 'cols' | 'type' | 'shards' | 'groups'>
/** What all of them need. */
type Common = Omit<JobContext, 'job' | 'held'>

type OwnReport = Omit<Report, 'run' | 'worker' | 'name' | 'groups'> & { readonly groups: readonly number[] }

/** In reports. */
export function deviceText({ info }: Device): string {
  return `${info.kind}: ${info.name}`
}

export class WorkerRun {
  readonly run: string
  readonly #context: WorkerContext
  readonly #traffic: Traffic
  readonly #data: RunData
  readonly #performer: Performer
  readonly #source: ShardedVectors
  readonly #receiver: Receiver
  #reducer: Receiver | undefined
  readonly #leases = new Map<number, HeldLease>()
  #running: { readonly seq: number; readonly controller: AbortController } | undefined
  /** Groups that were asked for, with the number of the command that is under way or waits for its turn. */
  readonly #asked = new Map<number, number>()
  #stoppedSeq = 0
  #ended = false
  #left = false
  /** Called when the coordinator says that the run is over. */
  onEnd: () => void = () => {}
  /** Called when it holds fewer groups than before. */
  onChange: () => void = () => {}

  static async open(context: WorkerContext, lease: Lease): Promise<WorkerRun> {
    const traffic = new Traffic(context.store, lease.run)
    const value = await traffic.get(lease.description, 'the description of the run')
    const { run, purpose } = lease
    if (purpose === 'job') {
      const job = fromStore(checkJob, value, 'the job')
      return new WorkerRun(context, run, traffic, job, (common, held) => new JobPerformer({ job, held, ...common }))
    }
    if (purpose === 'train') {
      const blob = fromStore(checkTraining, value, 'the training')
      return new WorkerRun(context, run, traffic, blob, (common) => new TrainingPerformer({ blob, ...common }))
    }
    const blob = fromStore(checkRun, value, 'the run')
    const worker = new WorkerRun(
      context,
      run,
      traffic,
      blob,
      (common, held) => new ClusterPerformer({ blob, held, ...common }),
    )
    worker.#reducer = context.queues.receive(reductionsOf(run), (data) => worker.#reduce(data))
    return worker
  }

  private constructor(
    context: WorkerContext,
    run: string,
    traffic: Traffic,
    data: RunData,
    perform: (common: Common, held: (group: number) => boolean) => Performer,
  ) {
    this.run = run
    this.#context = context
    this.#traffic = traffic
    this.#data = data
    const { device, worker } = context
    const { cols, type, shards } = data
    this.#source = shardedVectors({ cols, type, shards }, context.roots, 'the shards')
    const signal = (): AbortSignal | undefined => this.#running?.controller.signal
    const common = { device, source: this.#source, traffic, worker, signal }
    this.#performer = perform(common, (group) => this.#leases.has(group))
    // Several at a time: a command can be stopped while it is under way.
    this.#receiver = context.queues.receive(commandsOf(run, context.worker), (data) => this.#heard(data), 4)
  }

  get groups(): readonly number[] {
    return [...this.#leases.keys()]
  }

  /** Compares the shards with their checksums and reports that they are here. False if that took longer than the lease. */
  async hold(group: number, lease: HeldLease): Promise<boolean> {
    const { device, verified, roots } = this.#context
    const { cols, type, shards, groups } = this.#data
    for (const shard of groups[group] ?? []) {
      const entry = shards[shard]
      const key = JSON.stringify(entry)
      if (verified.has(key)) continue
      await verifyShard(roots, { cols, type, shards }, entry)
      verified.add(key)
    }
    if (!(await lease.renew())) return false
    this.#leases.set(group, lease)
    await this.#report({ kind: 'own', groups: [group], device: deviceText(device) })
    return true
  }

  /** Renews what is held. Leases that were lost belong to others now. */
  async renew(): Promise<void> {
    for (const [group, lease] of this.#leases) {
      if (!(await lease.renew()) && this.#leases.get(group) === lease) {
        this.#leases.delete(group)
        this.#context.onEvent(`lost group ${group} of run ${this.run}: the store did not hear of this worker in time`)
      }
    }
  }

  /** Hands everything to others immediately. */
  async leave(): Promise<void> {
    this.#ended = true
    this.#left = true
    this.#running?.controller.abort()
    const groups = this.groups
    if (groups.length > 0) await this.#report({ kind: 'left', groups }).catch(() => {})
    for (const lease of this.#leases.values()) await lease.release().catch(() => {})
    await this.close()
  }

  async end(): Promise<void> {
    this.#ended = true
    for (const lease of this.#leases.values()) await lease.complete().catch(() => {})
    await this.close()
    // After its receivers are closed, which would bring it back.
    const { queues, worker } = this.#context
    await queues.remove(commandsOf(this.run, worker))
    // A late report may have brought back the queue of a coordinator that is gone.
    await queues.remove(answersOf(this.run))
    if (this.#reducer) await queues.remove(reductionsOf(this.run))
  }

  async close(): Promise<void> {
    this.#ended = true
    this.#running?.controller.abort()
    this.#leases.clear()
    await this.#receiver.close()
    await this.#reducer?.close()
    await this.#context.inTurn(async () => {
      this.#performer.drop()
      await this.#source.close?.()
    })
  }

  async #heard(data: unknown): Promise<void> {
    try {
      const command = fromStore(checkCommand, data, 'a command')
      if (command.run !== this.run || this.#ended) return
      if (command.kind === 'end') this.onEnd()
      else if (command.kind === 'stop') await this.#stop(command)
      else if (command.kind === 'release') await this.#release(command.groups)
      else if (command.kind === 'report') await this.#reportHeld()
      else if (command.kind === 'task') await this.#performOnce(command)
    } catch (error) {
      this.#context.onEvent(`run ${this.run}: ${(error as Error).message}`)
    }
  }

  async #reduce(data: unknown): Promise<void> {
    try {
      const reduction = fromStore(checkReduction, data, 'a reduction')
      const { seq, job } = reduction
      if (reduction.run !== this.run) return
      if (this.#ended) return await this.#handOn(data)
      try {
        const answer = await reduce(this.#traffic, reduction, this.#context.worker)
        await this.#report({ kind: 'reduced', groups: [], seq, job, answer })
      } catch (error) {
        if (this.#ended) return await this.#handOn(data)
        await this.#report({ kind: 'unreduced', groups: [], seq, job, error: (error as Error).message })
      }
    } catch (error) {
      this.#context.onEvent(`run ${this.run}: ${(error as Error).message}`)
    }
  }

  /** A reduction goes back to its queue if this worker leaves, but the run does not end. */
  async #handOn(data: unknown): Promise<void> {
    if (this.#left) await this.#context.queues.send(reductionsOf(this.run), data as object)
  }

  async #reportHeld(): Promise<void> {
    await this.#report({ kind: 'holds', groups: this.groups, device: deviceText(this.#context.device) })
  }

  /** What is asked for again while it is under way, or waits for its turn, is left alone. */
  async #performOnce(command: Command): Promise<void> {
    const { seq } = command
    const groups = command.groups.filter((group) => this.#asked.get(group) !== seq)
    if (groups.length === 0 && command.groups.length > 0) return
    for (const group of groups) this.#asked.set(group, seq)
    try {
      await this.#context.inTurn(() => this.#perform({ ...command, groups }))
    } finally {
      for (const group of groups) if (this.#asked.get(group) === seq) this.#asked.delete(group)
    }
  }

  /** Others own these from now on. */
  async #release(groups: readonly number[]): Promise<void> {
    for (const group of groups) {
      const lease = this.#leases.get(group)
      if (lease === undefined) continue
      this.#leases.delete(group)
      this.#context.onEvent(`gave group ${group} of run ${this.run} to another worker`)
      // A lease that was lost meanwhile goes to others by itself.
      await lease.release().catch(() => {})
    }
    this.onChange()
  }

  async #stop({ seq, groups }: Command): Promise<void> {
    this.#stoppedSeq = Math.max(this.#stoppedSeq, seq)
    if (this.#running?.seq === seq) this.#running.controller.abort()
    if (groups.length > 0) await this.#report({ kind: 'stopped', groups, seq })
  }

  async #perform(command: Command): Promise<void> {
    const { seq, groups } = command
    if (this.#ended) return
    if (seq <= this.#stoppedSeq) return this.#report({ kind: 'stopped', groups, seq })
    const controller = new AbortController()
    this.#running = { seq, controller }
    try {
      if (command.payload === undefined) throw new CentroidalError('bad-data', 'A command has no payload.')
      const payload = await readPayload(this.#traffic, command.payload)
      for await (const answer of this.#performer.perform(command, payload)) {
        await this.#report({ kind: 'answer', seq, ...answer })
      }
    } catch (error) {
      if (this.#ended) return
      if (controller.signal.aborted) return this.#report({ kind: 'stopped', groups, seq })
      await this.#fail(groups, error)
    } finally {
      this.#running = undefined
    }
  }

  /** The shards go to somebody else, or come back here from the beginning. */
  async #fail(groups: readonly number[], error: unknown): Promise<void> {
    this.#performer.drop()
    const { message, code } = error as CentroidalError
    this.#context.onEvent(`run ${this.run}: ${message}`)
    const known = error instanceof CentroidalError ? { code } : {}
    try {
      await this.#report({ kind: 'failed', groups, error: message, ...known })
    } finally {
      for (const group of groups) {
        const lease = this.#leases.get(group)
        this.#leases.delete(group)
        await lease?.release().catch(() => {})
      }
    }
  }

  async #report(report: OwnReport): Promise<void> {
    const { worker, name, queues } = this.#context
    const { written, read } = this.#traffic
    await queues.send(answersOf(this.run), { run: this.run, worker, name, written, read, ...report })
  }
}

/** One run, as a worker sees it: the groups of shards it holds, the commands it gets, and its answers. */
import { CentroidalError } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import type { DataRoots } from './data-roots.ts'
import { type Command, checkCommand, checkRun, fromStore, type Lease, type Report, type RunBlob } from './messages.ts'
import { readPayload } from './owned-groups.ts'
import { ClusterPerformer, type Performer } from './performers.ts'
import type { HeldLease, Queues, Receiver } from './queues.ts'
import { answersOf, commandsOf } from './run-shards.ts'
import { checkJob, JobPerformer, type ShardJob } from './shard-jobs.ts'
import { type ShardedVectors, shardedVectors, verifyShard } from './shard-source.ts'
import type { BlobStore } from './store.ts'
import { Traffic } from './traffic.ts'

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

type OwnReport = Omit<Report, 'run' | 'worker' | 'name' | 'groups'> & { readonly groups: readonly number[] }

export class WorkerRun {
  readonly run: string
  readonly #context: WorkerContext
  readonly #traffic: Traffic
  readonly #data: Pick<RunBlob, 'cols' | 'type' | 'shards' | 'groups'>
  readonly #performer: Performer
  readonly #source: ShardedVectors
  readonly #receiver: Receiver
  readonly #leases = new Map<number, HeldLease>()
  #running: { readonly seq: number; readonly controller: AbortController } | undefined
  #stoppedSeq = 0
  #ended = false
  /** Called when the coordinator says that the run is over. */
  onEnd: () => void = () => {}

  static async open(context: WorkerContext, lease: Lease): Promise<WorkerRun> {
    const traffic = new Traffic(context.store, lease.run)
    const value = await traffic.get(lease.description, 'the description of the run')
    const checked =
      lease.purpose === 'cluster'
        ? { blob: fromStore(checkRun, value, 'the run'), job: undefined }
        : { blob: undefined, job: fromStore(checkJob, value, 'the job') }
    return new WorkerRun(context, lease.run, traffic, checked)
  }

  private constructor(
    context: WorkerContext,
    run: string,
    traffic: Traffic,
    {
      blob,
      job,
    }: { readonly blob: RunBlob; readonly job: undefined } | { readonly blob: undefined; readonly job: ShardJob },
  ) {
    this.run = run
    this.#context = context
    this.#traffic = traffic
    this.#data = blob ?? job
    const { cols, type, shards } = this.#data
    this.#source = shardedVectors({ cols, type, shards }, context.roots, 'the shards')
    const signal = (): AbortSignal | undefined => this.#running?.controller.signal
    this.#performer = blob
      ? new ClusterPerformer(blob, context.device, this.#source, traffic, signal)
      : new JobPerformer(job, context.device, this.#source, traffic, signal)
    // Two at a time: a command can be stopped while it is under way.
    this.#receiver = context.queues.receive(commandsOf(run, context.worker), (data) => this.#heard(data), 4)
  }

  get groups(): readonly number[] {
    return [...this.#leases.keys()]
  }

  /** Compares the shards with their checksums and reports that they are here. */
  async hold(group: number, lease: HeldLease): Promise<void> {
    const { device, verified, roots } = this.#context
    const { cols, type, shards, groups } = this.#data
    for (const shard of groups[group] ?? []) {
      const entry = shards[shard]
      const key = JSON.stringify(entry)
      if (verified.has(key)) continue
      await verifyShard(roots, { cols, type, shards }, entry)
      verified.add(key)
    }
    this.#leases.set(group, lease)
    await this.#report({ kind: 'own', groups: [group], device: `${device.info.kind}: ${device.info.name}` })
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

  /** Gives everything to others at once. */
  async leave(): Promise<void> {
    this.#ended = true
    this.#running?.controller.abort()
    const groups = this.groups
    if (groups.length > 0) await this.#report({ kind: 'left', groups }).catch(() => {})
    for (const lease of this.#leases.values()) await lease.release().catch(() => {})
    await this.close()
  }

  async end(): Promise<void> {
    this.#ended = true
    for (const lease of this.#leases.values()) await lease.complete().catch(() => {})
    await this.#context.queues.remove(commandsOf(this.run, this.#context.worker))
    await this.close()
  }

  async close(): Promise<void> {
    this.#ended = true
    this.#running?.controller.abort()
    this.#leases.clear()
    await this.#receiver.close()
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
      else if (command.kind === 'task') await this.#context.inTurn(() => this.#perform(command))
    } catch (error) {
      this.#context.onEvent(`run ${this.run}: ${(error as Error).message}`)
    }
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
    await this.#report({ kind: 'failed', groups, error: message, ...known })
    for (const group of groups) {
      const lease = this.#leases.get(group)
      this.#leases.delete(group)
      await lease?.release().catch(() => {})
    }
  }

  async #report(report: OwnReport): Promise<void> {
    const { worker, name, queues } = this.#context
    await queues.send(answersOf(this.run), { run: this.run, worker, name, ...report })
  }
}

/**
 * A worker: takes leases of shards from the queue of a store, as many as its share, and works on them until it is told to
 * leave. It opens files below its data roots only, and runs nothing but the tasks of this version.
 */
import { abortSignal, callback, optionsOf, real } from '../core/arguments.ts'
import { badArgument, CentroidalError, show } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import { type DeviceChoice, deviceChoice, openDevice } from '../vectors/device-choice.ts'
import { type Connection, connectStore } from './connect.ts'
import { openRoots } from './data-roots.ts'
import { pathList } from './manifest.ts'
import { checkLease, fromStore, type Lease, PROTOCOL } from './messages.ts'
import { pause } from './pause.ts'
import { answersOf, LEASES } from './queue-names.ts'
import type { HeldLease } from './queues.ts'
import { removeRun } from './sweep-runs.ts'
import { VERSION } from './version.ts'
import { deviceText, type WorkerContext, WorkerRun } from './worker-run.ts'

/** Options of {@link work}. */
export interface WorkerOptions {
  /** Folders or S3 prefixes that shards may be read from. Default: the current folder. */
  readonly data?: readonly string[] | undefined
  /** Device to compute on. Default `auto`. */
  readonly device?: DeviceChoice
  /** Name in reports. Default: host and process. */
  readonly name?: string | undefined
  /** Seconds after which a run whose coordinator is gone is removed. Default 300. */
  readonly expire?: number | undefined
  /** Seconds after which a worker that does not answer loses its shards. Default 15. */
  readonly lock?: number | undefined
  /** Seconds to retry a store that cannot be reached; after that, it ends with an error. Default 60. */
  readonly wait?: number | undefined
  /** Stops the worker when it is aborted: its shards are handed to other workers. Default: runs until the process ends. */
  readonly signal?: AbortSignal | undefined
  /** Called with messages of one line. Optional. */
  readonly onEvent?: ((text: string) => void) | undefined
}

/** A worker that holds its share requests more only after this time. */
const MODESTY = 1500
/** If no other worker takes them, it takes one after the other. */
const MODEST_STEP = 100
const DEFAULT_WAIT = 60
/** Milliseconds for closing connections of a store that does not answer. */
const LOST_PATIENCE = 2000
const SWEEP_INTERVAL = 15_000
/** Milliseconds between two reports that nothing is left to take. */
const IDLE_INTERVAL = 2000
/** Coordinators tell the store every few seconds that they are there. */
const IDLE_RUN = 15

/**
 * Joins a store as a worker, and works on the shards of runs until `signal` is aborted. `centroidal worker` calls this.
 *
 * @example
 * ```ts
 * import { work } from 'centroidal'
 *
 * async function workUntilTerminated(url: string) {
 *   const leaving = new AbortController()
 *   process.once('SIGTERM', () => leaving.abort())
 *   await work(url, { data: ['/mnt/vectors'], signal: leaving.signal, onEvent: console.log })
 * }
 * typeof workUntilTerminated // => 'function'
 * ```
 */
export async function work(url: string, options: WorkerOptions = {}): Promise<void> {
  const asked = optionsOf<WorkerOptions>('work', options, {
    data: (value, thing) => pathList(value, thing),
    device: deviceChoice,
    name: (value, thing) => workerName(value, thing),
    expire: real(1),
    lock: real(0.1),
    wait: real(0),
    signal: abortSignal,
    onEvent: callback,
  })
  const { signal, onEvent = () => {}, expire = 300, device: given } = asked
  const connection = await connectStore(url, {
    expire,
    lock: asked.lock,
    wait: asked.wait ?? DEFAULT_WAIT,
    onUnreachable: (why, seconds) => onEvent(`${why} Trying again for ${seconds} seconds.`),
  })
  const roots = await openRoots(asked.data ?? ['.']).catch(async (error: unknown) => {
    await connection.close()
    throw error
  })
  const device: Device = isDevice(given)
    ? given
    : await openDevice(typeof given === 'string' ? { kind: given } : (given ?? {}))
  let turn: Promise<unknown> = Promise.resolve()
  const context: WorkerContext = {
    store: connection.store,
    queues: connection.queues,
    worker: connection.id,
    name: asked.name ?? connection.name,
    device,
    roots,
    verified: new Set(),
    inTurn(task) {
      const next = turn.then(task)
      turn = next.catch(() => {})
      return next
    },
    onEvent,
  }
  try {
    onEvent(`ready: ${context.name}, ${device.info.kind} (${device.info.name}), store ${connection.address}`)
    await new LeaseHolder(context, connection, expire).run(signal)
  } finally {
    await connection.close()
    await roots.close()
    if (!isDevice(given)) await device.close()
  }
}

function workerName(value: unknown, thing: string): string {
  if (typeof value === 'string' && /^[^\p{C}]{1,80}$/u.test(value)) return value
  throw badArgument(thing, value, 'give up to 80 visible characters.')
}

class LeaseHolder {
  readonly #context: WorkerContext
  readonly #connection: Connection
  readonly #expire: number
  readonly #runs = new Map<string, Promise<WorkerRun>>()
  /** Leases that cannot be served here. */
  readonly #refused = new Set<string>()
  #held = 0
  #toldIdle = 0
  /** Ends a pause, because the groups it was for are gone. */
  #wake: () => void = () => {}

  constructor(context: WorkerContext, connection: Connection, expire: number) {
    this.#context = context
    this.#connection = connection
    this.#expire = expire
  }

  async run(signal: AbortSignal | undefined): Promise<void> {
    const leases = this.#connection.queues.leases(LEASES, this.#context.worker)
    let sweeping: ReturnType<typeof setInterval> | undefined
    const renewing = setInterval(() => this.#renew().catch(() => {}), this.#connection.lock / 3)
    let lost: unknown
    const leaving = new Promise<undefined>((resolve) => {
      const lose = (error: unknown): void => {
        lost = error
        resolve(undefined)
      }
      // It fails if the store was away for too long.
      let busy = false
      const sweep = async (): Promise<void> => {
        if (busy) return
        busy = true
        await this.#sweep().catch(lose)
        busy = false
      }
      sweeping = setInterval(sweep, Math.min(SWEEP_INTERVAL, this.#expire * 1000, 2 * this.#connection.lock))
      if (signal?.aborted) resolve(undefined)
      signal?.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    await this.#sweep().catch(() => {})
    /** What came in the last moment goes back. */
    let late: Promise<unknown> = Promise.resolve()
    try {
      /** It left the groups to others, and none was taken. */
      let modest = false
      const none = { leases: 0, waiting: 0, workers: 1 }
      // Commands wait for a store that is away.
      const count = async () => (await Promise.race([leases.counts().catch(() => none), leaving])) ?? none
      while (!signal?.aborted && lost === undefined) {
        const counts = await count()
        const share = Math.ceil(counts.leases / counts.workers)
        if (this.#held > 0 && this.#held >= share && !modest) {
          await Promise.race([pause(MODESTY), leaving, new Promise<void>((resolve) => (this.#wake = resolve))])
          // No other worker took the remaining groups.
          modest = (await count()).waiting > 0
          if (!modest) continue
        }
        if (signal?.aborted) break
        if (this.#held === 0 && counts.leases > 0 && counts.waiting === 0) await this.#tellIdle().catch(() => {})
        const next = leases.next()
        const lease = await Promise.race([next, leaving])
        if (signal?.aborted) {
          late = Promise.race([next, pause(3000)]).then((last) => last?.release().catch(() => {}))
          break
        }
        if (lease) await this.#take(lease)
        else modest = false
        // Others may come a moment later.
        if (modest) await Promise.race([pause(MODEST_STEP), leaving])
      }
      if (lost !== undefined) throw lost
    } finally {
      clearInterval(renewing)
      clearInterval(sweeping)
      const leave = async (): Promise<void> => {
        for (const run of this.#runs.values()) await (await run.catch(() => undefined))?.leave().catch(() => {})
        await late
        await leases.close()
      }
      // A lost store cannot be notified.
      await (lost === undefined ? leave() : Promise.race([leave().catch(() => {}), pause(LOST_PATIENCE)]))
    }
  }

  async #take(held: HeldLease): Promise<void> {
    let lease: Lease
    try {
      lease = fromStore(checkLease, held.data, 'a lease')
    } catch (error) {
      this.#context.onEvent(`ignored a job: ${(error as Error).message}`)
      await held.complete().catch(() => {})
      return
    }
    const key = `${lease.run}-${lease.group}`
    if (this.#refused.has(key)) {
      await held.release().catch(() => {})
      await pause(1000)
      return
    }
    // Loading and checking can take long, and others must not take the lease meanwhile.
    const renewing = setInterval(() => held.renew().catch(() => {}), this.#connection.lock / 3)
    try {
      requireVersion(lease)
      const run = await this.#runOf(lease)
      const holds = await run.hold(lease.group, held)
      this.#context.onEvent(`${holds ? 'took' : 'lost'} group ${lease.group} of run ${lease.run}`)
    } catch (error) {
      if (!(await this.#exists(lease.run))) {
        await held.complete().catch(() => {})
        return
      }
      this.#refused.add(key)
      const { message } = error as Error
      this.#context.onEvent(`cannot take group ${lease.group} of run ${lease.run}: ${message}`)
      const { worker, name, queues } = this.#context
      const code = error instanceof CentroidalError ? { code: error.code } : {}
      const report = { run: lease.run, worker, name, kind: 'refused', groups: [lease.group], error: message, ...code }
      await queues.send(answersOf(lease.run), report).catch(() => {})
      await held.release().catch(() => {})
    } finally {
      clearInterval(renewing)
      await this.#count()
    }
  }

  #runOf(lease: Lease): Promise<WorkerRun> {
    const known = this.#runs.get(lease.run)
    if (known) return known
    const opening = WorkerRun.open(this.#context, lease).then((run) => {
      run.onEnd = () => {
        this.#runs.delete(lease.run)
        run.end().catch(() => {})
        this.#context.onEvent(`run ${lease.run} is over`)
        this.#count()
          .then(() => this.#wake())
          .catch(() => {})
      }
      run.onChange = () => {
        this.#count().catch(() => {})
      }
      return run
    })
    this.#runs.set(lease.run, opening)
    opening.catch(() => this.#runs.delete(lease.run))
    return opening
  }

  async #count(): Promise<void> {
    const runs = await Promise.all(this.#runs.values())
    this.#held = runs.reduce((sum, { groups }) => sum + groups.length, 0)
  }

  async #renew(): Promise<void> {
    let lost = false
    for (const run of this.#runs.values()) {
      const { groups } = await run
      await (await run).renew()
      lost ||= groups.length > 0 && (await run).groups.length === 0
    }
    await this.#count()
    // The run may have ended while this process did not answer.
    if (lost) await this.#sweep()
  }

  /** If the store cannot tell, it does. */
  async #exists(run: string): Promise<boolean> {
    const runs = await this.#context.store.runs().catch(() => undefined)
    return runs === undefined || runs.some((each) => each.run === run)
  }

  /** All shards are taken: coordinators may take some from workers that have many. */
  async #tellIdle(): Promise<void> {
    if (Date.now() - this.#toldIdle < IDLE_INTERVAL) return
    this.#toldIdle = Date.now()
    const { worker, name, queues, store, device } = this.#context
    for (const { run, idle } of await store.runs()) {
      // A coordinator that is gone reads no reports.
      if (idle > IDLE_RUN) continue
      const report = { run, worker, name, kind: 'idle', groups: [], device: deviceText(device) }
      await queues.send(answersOf(run), report)
    }
  }

  /** Runs whose coordinator is gone are removed. */
  async #sweep(): Promise<void> {
    const { store, queues } = this.#connection
    const runs = await store.runs()
    for (const { run, idle, queues: names } of runs) {
      if (idle <= this.#expire) continue
      this.#context.onEvent(`removed run ${run}: nobody has asked for it for ${Math.round(idle)} seconds`)
      await removeRun(store, queues, run, names)
    }
    const left = new Set(runs.filter(({ idle }) => idle <= this.#expire).map(({ run }) => run))
    for (const [run, opening] of this.#runs) {
      if (left.has(run)) continue
      this.#runs.delete(run)
      await (await opening).end()
    }
    await this.#count()
  }
}

function requireVersion({ protocol, version }: Lease): void {
  if (protocol === PROTOCOL && version === VERSION) return
  throw new CentroidalError(
    'bad-option',
    `the coordinator runs centroidal ${show(version)} and this worker ${show(VERSION)}: install the same version.`,
  )
}

/** The worker's side: one device, runs that take turns on it, and the CPU where the GPU fails. */
import { CentroidalError, type Device, openDevice } from '../../src/index.ts'
import type { DeviceRegister } from './lost-device.ts'
import type { DeviceChoice, DeviceReport, Failure, FromWorker, ToWorker } from './protocol.ts'
import { Allowance } from './rounds.ts'
import type { Task } from './task.ts'

const PROGRESS_PAUSE = 50

interface ActiveRun {
  readonly controller: AbortController
  readonly allowance: Allowance
  readonly ended: Promise<void>
}

export class WorkerServer {
  readonly #tasks: Readonly<Record<string, Task<never, unknown, unknown>>>
  readonly #register: DeviceRegister
  readonly #post: (message: FromWorker, transfer: Transferable[]) => void
  readonly #runs = new Map<number, ActiveRun>()
  #device: Promise<Device> = Promise.reject(new CentroidalError('no-device', 'No device was opened yet.'))
  /** Rounds of different runs take turns: a device is never asked by two at once. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    tasks: Readonly<Record<string, Task<never, unknown, unknown>>>,
    register: DeviceRegister,
    post: (message: FromWorker, transfer: Transferable[]) => void,
  ) {
    this.#tasks = tasks
    this.#register = register
    this.#post = post
    this.#device.catch(() => {})
  }

  receive(message: ToWorker): void {
    if (message.type === 'open') this.#open(message.device)
    else if (message.type === 'start') this.#start(message)
    else if (message.type === 'step') this.#runs.get(message.run)?.allowance.grant(message.rounds)
    else if (message.type === 'stop') this.#runs.get(message.run)?.controller.abort()
    else {
      this.#register.lose()
      // A run meets the loss by itself.
      if (this.#runs.size === 0) this.#replace(this.#device, 'The GPU went away. The CPU takes over.')
    }
  }

  #open(choice: DeviceChoice): void {
    const before = this.#device
    const runs = [...this.#runs.values()]
    for (const { controller } of runs) controller.abort()
    this.#device = (async () => {
      await Promise.all(runs.map(({ ended }) => ended))
      await before.then((device) => device.close()).catch(() => {})
      return this.#openOrFallBack(choice)
    })()
    this.#device.catch((error) => this.#post({ type: 'error', run: undefined, failure: failureOf(error) }, []))
  }

  async #openOrFallBack(choice: DeviceChoice): Promise<Device> {
    try {
      return this.#report(await openDevice({ kind: choice }))
    } catch (error) {
      if (choice === 'cpu') throw error
      return this.#report(await openDevice({ kind: 'cpu' }), {
        note: 'There is no WebGPU adapter in this browser, so the CPU does the work.',
        reason: 'this browser has no WebGPU adapter',
      })
    }
  }

  /** `changes` is what the page should know that the device does not: it was opened in place of another. */
  #report(device: Device, changes: Partial<DeviceReport> = {}): Device {
    const { kind, name, reason, software } = device.info
    const report = { kind, name, reason, software, note: undefined, replacesLost: false, ...changes }
    this.#post({ type: 'device', device: report }, [])
    return device
  }

  #start({ run, task, input, rounds }: Extract<ToWorker, { type: 'start' }>): void {
    const controller = new AbortController()
    const allowance = new Allowance(rounds, controller.signal)
    const ended = this.#run(run, task, input as never, controller.signal, allowance)
      .catch((error) => this.#post({ type: 'error', run, failure: failureOf(error, controller.signal) }, []))
      .finally(() => this.#runs.delete(run))
    this.#runs.set(run, { controller, allowance, ended })
  }

  async #run(run: number, task: string, input: never, signal: AbortSignal, allowance: Allowance): Promise<void> {
    for (;;) {
      const pending = this.#device
      const device = await pending
      const rounds = this.#tasks[task](input, { device, signal, progress: this.#progress(run) })
      try {
        for (;;) {
          await allowance.take()
          const next = await this.#inTurn(() => rounds.next())
          this.#post({ type: next.done ? 'result' : 'round', run, value: next.value }, buffersOf(next.value))
          if (next.done) return
        }
      } catch (error) {
        const lost = error instanceof CentroidalError && error.code === 'device-lost'
        if (!lost || signal.aborted || device.info.kind === 'cpu') throw error
        this.#replace(pending, 'The GPU went away while it worked. The run begins again on the CPU.')
        this.#post({ type: 'restart', run }, [])
        // The round that was lost is owed.
        allowance.grant(1)
      } finally {
        await rounds.return(undefined).catch(() => {})
      }
    }
  }

  /** The first run that meets the lost device opens another; the others find it there. */
  #replace(lost: Promise<Device>, note: string): void {
    if (this.#device !== lost) return
    this.#device = (async () => {
      await (await lost).close().catch(() => {})
      const device = await openDevice({ kind: 'cpu' })
      return this.#report(device, { note, reason: 'the GPU was lost', replacesLost: true })
    })()
    this.#device.catch((error) => this.#post({ type: 'error', run: undefined, failure: failureOf(error) }, []))
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #progress(run: number): (phase: string, share: number) => void {
    let last = Number.NEGATIVE_INFINITY
    return (phase, share) => {
      const now = performance.now()
      if (now - last < PROGRESS_PAUSE) return
      last = now
      this.#post({ type: 'progress', run, phase, share }, [])
    }
  }
}

function failureOf(error: unknown, signal?: AbortSignal): Failure {
  if (signal?.aborted) return { code: 'stopped', message: 'Stopped before there was anything to show.' }
  if (error instanceof CentroidalError) return { code: error.code, message: error.message }
  return { code: 'broken', message: error instanceof Error ? error.message : String(error) }
}

/** Buffers that belong to the value alone: those that one typed array fills. Shared memory cannot be transferred. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>()
  const visit = (part: unknown): void => {
    if (ArrayBuffer.isView(part)) {
      if (part.buffer instanceof ArrayBuffer && part.byteLength === part.buffer.byteLength) found.add(part.buffer)
    } else if (typeof part === 'object' && part !== null) Object.values(part).forEach(visit)
  }
  visit(value)
  return [...found]
}

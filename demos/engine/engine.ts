/** The page's side of the worker: starts runs and hears of them. */
import type { DeviceChoice, DeviceReport, Failure, FromWorker, ToWorker } from './protocol.ts'
import type { InputOf, ResultOf, RoundOf, TaskName } from './tasks.ts'

/** A run that ended without a result. `stopped` is nobody's fault. */
export class RunFailure extends Error {
  readonly code: Failure['code']

  constructor({ code, message }: Failure) {
    super(message)
    this.code = code
  }
}

export interface Watcher<Round> {
  readonly onRound?: (round: Round) => void
  readonly onProgress?: (phase: string, share: number) => void
  /** The device was lost and the run begins again on another: forget its rounds. */
  readonly onRestart?: () => void
}

export interface StartOptions {
  /** Rounds to go at once. Default: all. */
  readonly rounds?: number
  /** Buffers of the input that the page does not need any more. Default: none, the input is copied. */
  readonly transfer?: Transferable[]
}

export interface Run<Result> {
  /** Lets it go that many rounds further; 0 is a pause. */
  step(rounds: number): void
  /** Ends it. The result is what was reached, or a RunFailure with code `stopped`. */
  stop(): void
  readonly result: Promise<Result>
}

interface OpenRun {
  readonly watcher: Watcher<unknown>
  resolve(value: unknown): void
  reject(error: RunFailure): void
}

export interface EngineListener {
  onDevice(device: DeviceReport): void
  /** Something that is no run's own: no device at all, or the worker broke. */
  onFailure(failure: Failure): void
}

export class Engine {
  readonly #worker: Worker
  readonly #listener: EngineListener
  readonly #runs = new Map<number, OpenRun>()
  #count = 0

  constructor(listener: EngineListener) {
    this.#listener = listener
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
    this.#worker.addEventListener('message', (event: MessageEvent<FromWorker>) => this.#hear(event.data))
    this.#worker.addEventListener('error', (event) => {
      event.preventDefault()
      this.#break(event.message || 'The worker could not be started.')
    })
  }

  /** Stops all runs and opens a device; `onDevice` tells which. */
  open(device: DeviceChoice): void {
    this.#tell({ type: 'open', device })
  }

  loseDevice(): void {
    this.#tell({ type: 'lose-device' })
  }

  start<Name extends TaskName>(
    task: Name,
    input: InputOf<Name>,
    watcher: Watcher<RoundOf<Name>> = {},
    { rounds = Number.POSITIVE_INFINITY, transfer = [] }: StartOptions = {},
  ): Run<ResultOf<Name>> {
    const run = ++this.#count
    const result = new Promise<ResultOf<Name>>((resolve, reject) => {
      this.#runs.set(run, {
        watcher: watcher as Watcher<unknown>,
        resolve: resolve as (value: unknown) => void,
        reject,
      })
    })
    this.#tell({ type: 'start', run, task, input, rounds }, transfer)
    return {
      step: (more) => this.#tell({ type: 'step', run, rounds: more }),
      stop: () => this.#tell({ type: 'stop', run }),
      result,
    }
  }

  #tell(message: ToWorker, transfer: Transferable[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #hear(message: FromWorker): void {
    if (message.type === 'device') {
      this.#listener.onDevice(message.device)
      return
    }
    if (message.type === 'error' && message.run === undefined) this.#listener.onFailure(message.failure)
    const run = this.#runs.get(message.run as number)
    if (!run) return
    if (message.type === 'round') run.watcher.onRound?.(message.value)
    else if (message.type === 'progress') run.watcher.onProgress?.(message.phase, message.share)
    else if (message.type === 'restart') run.watcher.onRestart?.()
    else {
      this.#runs.delete(message.run as number)
      if (message.type === 'result') run.resolve(message.value)
      else run.reject(new RunFailure(message.failure))
    }
  }

  #break(message: string): void {
    const failure: Failure = { code: 'broken', message }
    for (const run of this.#runs.values()) run.reject(new RunFailure(failure))
    this.#runs.clear()
    this.#listener.onFailure(failure)
  }
}

/** Runs WebAssembly jobs: on threads that share one memory, or in place where nothing can be shared. */

import { platform } from '#platform'
import { CentroidalError } from '../../core/errors.ts'
import type { Thread } from '../../platform/contract.ts'
import type { CpuJob, RunControl } from '../contract.ts'
import type { AccessMap } from './access-map.ts'
import type { WasmHeap } from './heap.ts'
import { CONTROL, CONTROL_BYTES, JOB, JOB_BYTES, MAX_ARGS, MAX_JOBS, THREAD_SCRIPT } from './thread-script.ts'

const PROGRESS_MS = 100
/** Bytes between the scratch memory of two threads, which no kernel may touch. */
const GAP = 64

export interface JobRunner {
  readonly threads: number
  /** Most jobs that `run` takes at a time. */
  readonly queue: number
  /** Why no more work can be done; undefined while it can. */
  readonly lost: CentroidalError | undefined
  /** One job after the other. Ends early, without an error, when the signal fires; the caller looks at the signal. */
  run(jobs: readonly CpuJob[], control?: RunControl): Promise<void>
  close(): Promise<void>
}

/** What tests add to find kernels that read or write where they must not. */
export interface MemoryChecks {
  /** Scratch is filled with this byte before every call of a kernel. */
  readonly fill?: number | undefined
  /** Told about scratch memory; buffers are told to it by the device. */
  readonly access?: AccessMap | undefined
}

type WasmFunction = (start: number, end: number, scratch: number, ...args: number[]) => void

/** One thread, the caller's own: gives way to the event loop between slices, so that a page stays alive. */
export class InPlaceRunner implements JobRunner {
  readonly threads = 1
  readonly queue = 1
  readonly #exports: WebAssembly.Exports
  readonly #heap: WasmHeap
  readonly #checks: MemoryChecks
  #lastBreath = 0
  lost: CentroidalError | undefined

  constructor(exports: WebAssembly.Exports, heap: WasmHeap, checks: MemoryChecks = {}) {
    this.#exports = exports
    this.#heap = heap
    this.#checks = checks
  }

  async run(jobs: readonly CpuJob[], control: RunControl = {}): Promise<void> {
    for (const job of jobs) await this.#runOne(job, control)
  }

  async #runOne(job: CpuJob, control: RunControl): Promise<void> {
    const { scratchBytes = 0 } = job
    const call = this.#exports[job.entry] as WasmFunction
    if (typeof call !== 'function') throw new Error(`No WebAssembly function ${job.entry}`)
    const scratch = this.#heap.allocateUncleared(scratchBytes, 'scratch')
    this.#checks.access?.allow(scratch, scratchBytes)
    try {
      for (let start = 0; start < job.items; start += job.grain) {
        this.#call(job, call, start, scratch)
        if (performance.now() - this.#lastBreath > 12) {
          control.onProgress?.(start / job.items)
          await new Promise((resolve) => setTimeout(resolve))
          this.#lastBreath = performance.now()
          if (control.signal?.aborted) return
        }
      }
    } finally {
      this.#heap.release(scratch)
    }
  }

  #call(job: CpuJob, call: WasmFunction, start: number, scratch: number): void {
    if (this.#checks.fill !== undefined) {
      new Uint8Array(this.#heap.memory.buffer, scratch, job.scratchBytes ?? 0).fill(this.#checks.fill)
    }
    try {
      call(start, Math.min(start + job.grain, job.items), scratch, ...job.args)
    } catch (error) {
      this.lost = trapError(job.entry, String(error))
      throw this.lost
    }
  }

  async close(): Promise<void> {}
}

export class ThreadPool implements JobRunner {
  readonly queue: number
  readonly #threads: Thread[]
  readonly #entries: Map<string, number>
  readonly #heap: WasmHeap
  readonly #checks: MemoryChecks
  readonly #words: Int32Array
  #scratch = { address: 0, bytes: 0 }
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined
  #failures: CentroidalError[] = []
  #done = false
  #closed = false
  lost: CentroidalError | undefined

  static async start(
    module: WebAssembly.Module,
    heap: WasmHeap,
    threadCount: number,
    checks: MemoryChecks = {},
  ): Promise<ThreadPool> {
    const entries = WebAssembly.Module.exports(module)
      .filter((entry) => entry.kind === 'function')
      .map((entry) => entry.name)
    const control = new SharedArrayBuffer(CONTROL_BYTES)
    const threads: Thread[] = []
    try {
      for (let i = 0; i < threadCount; i++) threads.push(platform.startThread(THREAD_SCRIPT))
      await Promise.all(
        threads.map(
          (thread, index) =>
            new Promise<void>((resolve, reject) => {
              thread.onMessage((message) => 'ready' in (message as object) && resolve())
              thread.onLost((why) => reject(new Error(why)))
              const { memory } = heap
              thread.post({ module, memory, control, entries, threads: threadCount, index, fill: checks.fill })
            }),
        ),
      )
    } catch (cause) {
      await Promise.all(threads.map((thread) => thread.terminate()))
      throw new CentroidalError(
        'no-device',
        `The CPU device could not start ${threadCount} threads (${(cause as Error).message}): use fewer threads.`,
        { cause },
      )
    }
    return new ThreadPool(threads, entries, heap, control, checks)
  }

  private constructor(
    threads: Thread[],
    entries: string[],
    heap: WasmHeap,
    control: SharedArrayBuffer,
    checks: MemoryChecks,
  ) {
    this.#threads = threads
    this.#entries = new Map(entries.map((name, index) => [name, index]))
    this.#heap = heap
    this.#checks = checks
    this.#words = new Int32Array(control)
    // With an access map every job has its own scratch, so that it sees no more than it asked for.
    this.queue = checks.access ? 1 : MAX_JOBS
    threads.forEach((thread, index) => {
      thread.onMessage((message) => this.#hear(message as ThreadMessage))
      thread.onLost((why) => this.#lose(`Thread ${index} of the CPU device stopped (${why})`))
      // Idle threads do not hold the process; `run` holds it while there is work.
      thread.keepAlive(false)
    })
  }

  get threads(): number {
    return this.#threads.length
  }

  async run(given: readonly CpuJob[], control: RunControl = {}): Promise<void> {
    if (this.lost) throw this.lost
    const jobs = given.filter((job) => job.items > 0)
    if (jobs.length === 0) return
    this.#reserveScratch(jobs.reduce((most, { scratchBytes = 0 }) => Math.max(most, scratchBytes), 0))
    const words = this.#words
    jobs.forEach((job, i) => {
      this.#enqueue(job, i)
    })
    words[CONTROL.jobs] = jobs.length
    words[CONTROL.running] = this.#threads.length
    words[CONTROL.met] = 0
    words[CONTROL.stop] = 0
    words[CONTROL.failures] = 0
    this.#failures = []
    this.#done = false
    words[CONTROL.scratch] = this.#scratch.address
    words[CONTROL.scratchBytes] = this.#scratch.bytes
    this.#threads[0].keepAlive(true)
    // Nothing left to take: threads finish the slice they are on and report.
    const stop = (): void => void Atomics.store(words, CONTROL.stop, 1)
    control.signal?.addEventListener('abort', stop)
    let thrown: { error: unknown } | undefined
    const report = (): void => {
      if (thrown) return
      try {
        this.#report(control.onProgress, jobs)
      } catch (error) {
        // The caller's own error ends the work, once the threads are done with their slices.
        thrown = { error }
        stop()
      }
    }
    const watch = control.onProgress && setInterval(report, PROGRESS_MS)
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settle = { resolve, reject }
        Atomics.add(words, CONTROL.generation, 1)
        Atomics.notify(words, CONTROL.generation)
      })
    } finally {
      this.#settle = undefined
      clearInterval(watch)
      control.signal?.removeEventListener('abort', stop)
      this.#threads[0].keepAlive(false)
    }
    if (this.#failures.length > 0) {
      this.lost = this.#failures[0]
      throw this.lost
    }
    if (thrown) throw thrown.error
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#words[CONTROL.jobs] = -1
    Atomics.add(this.#words, CONTROL.generation, 1)
    Atomics.notify(this.#words, CONTROL.generation)
    await this.#terminate()
  }

  #enqueue(job: CpuJob, place: number): void {
    const entry = this.#entries.get(job.entry)
    if (entry === undefined) throw new Error(`No WebAssembly function ${job.entry}`)
    if (job.args.length > MAX_ARGS)
      throw new Error(`${job.entry} takes ${job.args.length} arguments, at most ${MAX_ARGS} fit`)
    const words = this.#words
    const at = CONTROL.words + (place * JOB_BYTES) / 4
    words[at + JOB.entry] = entry
    words[at + JOB.items] = job.items
    words[at + JOB.grain] = job.grain
    words[at + JOB.next] = 0
    words[at + JOB.argCount] = job.args.length
    words[at + JOB.scratchBytes] = job.scratchBytes ?? 0
    new Float64Array(words.buffer, (at + JOB.words) * 4, MAX_ARGS).set(job.args)
    for (let i = 0; i < this.#threads.length; i++) {
      this.#checks.access?.allow(this.#scratch.address + i * this.#scratch.bytes, job.scratchBytes ?? 0)
    }
  }

  /** The share of the job that is being done. */
  #report(onProgress: RunControl['onProgress'], jobs: readonly CpuJob[]): void {
    const job = Math.min(jobs.length - 1, Math.floor(Atomics.load(this.#words, CONTROL.met) / this.#threads.length))
    const next = Atomics.load(this.#words, CONTROL.words + (job * JOB_BYTES) / 4 + JOB.next)
    onProgress?.(Math.min(1, next / jobs[job].items))
  }

  /** Messages of different threads may overtake each other: a failure can arrive after the end. */
  #hear({ failed, entry, done }: ThreadMessage): void {
    if (failed !== undefined) this.#failures.push(trapError([...this.#entries.keys()][entry ?? 0], failed))
    if (done !== undefined) this.#done = true
    if (this.#done && this.#failures.length === Atomics.load(this.#words, CONTROL.failures)) this.#settle?.resolve()
  }

  /** The others would wait for a lost thread for ever, so all of them end. */
  #lose(what: string): void {
    if (this.#closed || this.lost) return
    this.lost = new CentroidalError(
      'device-lost',
      `${what}: open another device, and resume from the last checkpoint if there is one.`,
    )
    this.#settle?.reject(this.lost)
    void this.#terminate()
  }

  async #terminate(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.terminate()))
  }

  /** Scratch is kept from job to job and only ever grows. */
  #reserveScratch(bytes: number): void {
    if (bytes <= this.#scratch.bytes - GAP) return
    if (this.#scratch.bytes > 0) this.#heap.release(this.#scratch.address)
    // Nothing is held if the allocation fails.
    this.#scratch = { address: 0, bytes: 0 }
    const rounded = Math.ceil((bytes + GAP) / 4096) * 4096
    this.#scratch = {
      address: this.#heap.allocateUncleared(rounded * this.#threads.length, 'scratch of the threads'),
      bytes: rounded,
    }
  }
}

interface ThreadMessage {
  readonly done?: number
  readonly failed?: string
  /** The function that failed. */
  readonly entry?: number
}

/** A kernel that traps is a bug, and may have written anywhere in the memory before: nothing on the device can be trusted. */
function trapError(entry: string, why: string): CentroidalError {
  return new CentroidalError(
    'device-lost',
    `The kernel ${entry} of the CPU device failed (${why}). This is a bug of the library: please report it, and open another device.`,
  )
}

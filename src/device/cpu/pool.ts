/** Runs WebAssembly jobs: on threads that share one memory, or in place where nothing can be shared. */

import { platform } from '#platform'
import type { Thread } from '../../platform/contract.ts'
import type { CpuJob, RunControl } from '../contract.ts'
import type { WasmHeap } from './heap.ts'
import { CONTROL, CONTROL_BYTES, JOB, JOB_BYTES, MAX_ARGS, MAX_JOBS, THREAD_SCRIPT } from './thread-script.ts'

const PROGRESS_MS = 100

export interface JobRunner {
  readonly threads: number
  /** Most jobs that `run` takes at a time. */
  readonly queue: number
  /** One job after the other. Ends early, without an error, when the signal fires; the caller looks at the signal. */
  run(jobs: readonly CpuJob[], control?: RunControl): Promise<void>
  close(): Promise<void>
}

type WasmFunction = (start: number, end: number, scratch: number, ...args: number[]) => void

/** One thread, the caller's own: gives way to the event loop between slices, so that a page stays alive. */
export class InPlaceRunner implements JobRunner {
  readonly threads = 1
  readonly queue = 1
  readonly #exports: WebAssembly.Exports
  readonly #heap: WasmHeap
  #lastBreath = 0

  constructor(exports: WebAssembly.Exports, heap: WasmHeap) {
    this.#exports = exports
    this.#heap = heap
  }

  async run(jobs: readonly CpuJob[], control: RunControl = {}): Promise<void> {
    for (const job of jobs) await this.#runOne(job, control)
  }

  async #runOne(job: CpuJob, control: RunControl): Promise<void> {
    const scratch = this.#heap.allocate(job.scratchBytes ?? 0, 'scratch')
    const call = this.#exports[job.entry] as WasmFunction
    try {
      for (let start = 0; start < job.items; start += job.grain) {
        call(start, Math.min(start + job.grain, job.items), scratch, ...job.args)
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

  async close(): Promise<void> {}
}

export class ThreadPool implements JobRunner {
  readonly queue = MAX_JOBS
  readonly #threads: Thread[]
  readonly #entries: Map<string, number>
  readonly #heap: WasmHeap
  readonly #words: Int32Array
  #scratch = { address: 0, bytes: 0 }
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined
  #failures: Error[] = []
  #done = false

  static async start(module: WebAssembly.Module, heap: WasmHeap, threadCount: number): Promise<ThreadPool> {
    const entries = WebAssembly.Module.exports(module)
      .filter((entry) => entry.kind === 'function')
      .map((entry) => entry.name)
    const control = new SharedArrayBuffer(CONTROL_BYTES)
    const threads = Array.from({ length: threadCount }, () => platform.startThread(THREAD_SCRIPT))
    await Promise.all(
      threads.map(
        (thread, index) =>
          new Promise<void>((resolve, reject) => {
            thread.onMessage((message) => 'ready' in (message as object) && resolve())
            thread.onError(reject)
            thread.post({ module, memory: heap.memory, control, entries, threads: threadCount, index })
          }),
      ),
    )
    return new ThreadPool(threads, entries, heap, control)
  }

  private constructor(threads: Thread[], entries: string[], heap: WasmHeap, control: SharedArrayBuffer) {
    this.#threads = threads
    this.#entries = new Map(entries.map((name, index) => [name, index]))
    this.#heap = heap
    this.#words = new Int32Array(control)
    for (const thread of threads) {
      thread.onMessage((message) => this.#hear(message as { done?: number; failed?: string }))
      thread.onError((error) => this.#settle?.reject(error))
      // Idle threads do not hold the process; `run` holds it while there is work.
      thread.keepAlive(false)
    }
  }

  get threads(): number {
    return this.#threads.length
  }

  async run(given: readonly CpuJob[], control: RunControl = {}): Promise<void> {
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
    const watch = control.onProgress && setInterval(() => this.#report(control.onProgress, jobs), PROGRESS_MS)
    try {
      await new Promise<void>((resolve, reject) => {
        this.#settle = { resolve, reject }
        Atomics.add(words, CONTROL.generation, 1)
        Atomics.notify(words, CONTROL.generation)
      })
    } finally {
      clearInterval(watch)
      control.signal?.removeEventListener('abort', stop)
      this.#threads[0].keepAlive(false)
    }
    if (this.#failures.length > 0) throw this.#failures[0]
  }

  async close(): Promise<void> {
    this.#words[CONTROL.jobs] = -1
    Atomics.add(this.#words, CONTROL.generation, 1)
    Atomics.notify(this.#words, CONTROL.generation)
    await Promise.all(this.#threads.map((thread) => thread.terminate()))
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
    new Float64Array(words.buffer, (at + JOB.words) * 4, MAX_ARGS).set(job.args)
  }

  /** The share of the job that is being done. */
  #report(onProgress: RunControl['onProgress'], jobs: readonly CpuJob[]): void {
    const job = Math.min(jobs.length - 1, Math.floor(Atomics.load(this.#words, CONTROL.met) / this.#threads.length))
    const next = Atomics.load(this.#words, CONTROL.words + (job * JOB_BYTES) / 4 + JOB.next)
    onProgress?.(Math.min(1, next / jobs[job].items))
  }

  /** Messages of different threads may overtake each other: a failure can arrive after the end. */
  #hear(message: { done?: number; failed?: string }): void {
    if (message.failed !== undefined) this.#failures.push(new Error(message.failed))
    if (message.done !== undefined) this.#done = true
    if (this.#done && this.#failures.length === Atomics.load(this.#words, CONTROL.failures)) this.#settle?.resolve()
  }

  /** Scratch is kept from job to job and only ever grows. */
  #reserveScratch(bytes: number): void {
    if (bytes <= this.#scratch.bytes) return
    if (this.#scratch.bytes > 0) this.#heap.release(this.#scratch.address)
    const rounded = Math.ceil(bytes / 4096) * 4096
    this.#scratch = {
      address: this.#heap.allocate(rounded * this.#threads.length, 'scratch of the threads'),
      bytes: rounded,
    }
  }
}

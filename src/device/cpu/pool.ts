/**
 * Runs WebAssembly jobs on threads that share one memory.
 *
 * Starting a thread takes longer than clustering a few hundred points, and an idle one keeps megabytes. So a pool may begin
 * with one thread and start the others when a queue takes longer than a moment. They join by a pause: threads finish the
 * slices they are on, and the same queue goes on with all of them where it stopped.
 */

import { platform } from '#platform'
import { CentroidalError } from '../../core/errors.ts'
import type { Thread } from '../../platform/contract.ts'
import { ARGUMENT_BYTES, type CpuJob, type RunControl } from '../contract.ts'
import type { WasmHeap } from './heap.ts'
import { allowScratch, type JobRunner, type MemoryChecks, trapError } from './runner.ts'
import { CONTROL, CONTROL_BYTES, JOB, JOB_BYTES, MAX_JOBS, THREAD_SCRIPT } from './thread-script.ts'

const PROGRESS_MS = 100
/** Work that more threads could share is done by the first one for this long, over all queues, before they are started. */
const ALONE_MS = 10
/** Bytes between the scratch memory of two threads, which no kernel may touch. */
const GAP = 64

export interface PoolOptions extends MemoryChecks {
  /** Where the arguments of `MAX_JOBS` jobs lie. */
  readonly blocks: number
  /** True starts one thread, and the others when there is work for them. Default: all at once. */
  readonly grows?: boolean | undefined
}

export class ThreadPool implements JobRunner {
  readonly threads: number
  readonly queue: number
  readonly #module: WebAssembly.Module
  readonly #entries: Map<string, number>
  readonly #heap: WasmHeap
  readonly #options: PoolOptions
  readonly #control = new SharedArrayBuffer(CONTROL_BYTES)
  readonly #words = new Int32Array(this.#control)
  /** Threads that go through queues. */
  readonly #working: Thread[] = []
  /** Threads that are ready and go through queues from the next one on. */
  readonly #ready: Thread[] = []
  #aloneMs = ALONE_MS
  #growing = false
  #paused = false
  #scratch = { address: 0, bytes: 0, threads: 0 }
  /** Arguments of the jobs in the queue. */
  readonly #blocks: number
  #settle: { resolve: () => void; reject: (error: Error) => void } | undefined
  #failures: CentroidalError[] = []
  #done = false
  #closed = false
  lost: CentroidalError | undefined

  static async start(
    module: WebAssembly.Module,
    heap: WasmHeap,
    threads: number,
    options: PoolOptions,
  ): Promise<ThreadPool> {
    const pool = new ThreadPool(module, heap, threads, options)
    await pool.#startThreads(options.grows ? 1 : threads)
    return pool
  }

  private constructor(module: WebAssembly.Module, heap: WasmHeap, threads: number, options: PoolOptions) {
    const entries = WebAssembly.Module.exports(module).filter((entry) => entry.kind === 'function')
    this.#module = module
    this.#entries = new Map(entries.map(({ name }, index) => [name, index]))
    this.#heap = heap
    this.#blocks = options.blocks
    this.threads = threads
    this.#options = options
    // With an access map every job has its own scratch, so that it sees no more than it asked for.
    this.queue = options.access ? 1 : MAX_JOBS
  }

  /** Resolves when all of them are ready. If one fails, none of them is kept. */
  async #startThreads(count: number): Promise<void> {
    const threads: Thread[] = []
    try {
      for (let i = 0; i < count; i++) threads.push(platform.startThread(THREAD_SCRIPT))
      // `run` holds the process while there is work; threads that come to help do not.
      if (this.#growing) for (const thread of threads) thread.keepAlive(false)
      await Promise.all(threads.map((thread) => this.#prepare(thread)))
    } catch (cause) {
      await Promise.all(threads.map((thread) => thread.terminate()))
      throw new CentroidalError(
        'no-device',
        `The CPU device could not start ${count} threads (${(cause as Error).message}): use fewer threads.`,
        { cause },
      )
    }
    const before = this.#working.length
    threads.forEach((thread, index) => {
      thread.onMessage((message) => this.#hear(message as ThreadMessage))
      thread.onLost((why) => this.#lose(`Thread ${before + index} of the CPU device stopped (${why})`))
      // Idle threads do not hold the process.
      thread.keepAlive(false)
    })
    this.#ready.push(...threads)
  }

  #prepare(thread: Thread): Promise<void> {
    return new Promise((resolve, reject) => {
      thread.onMessage((message) => 'ready' in (message as object) && resolve())
      thread.onLost((why) => reject(new Error(why)))
      thread.post({
        module: this.#module,
        memory: this.#heap.memory,
        control: this.#control,
        entries: [...this.#entries.keys()],
        fill: this.#options.fill,
      })
    })
  }

  async run(given: readonly CpuJob[], control: RunControl = {}): Promise<void> {
    if (this.lost) throw this.lost
    const jobs = given.filter((job) => job.items > 0)
    if (jobs.length === 0) return
    const words = this.#words
    this.#begin(jobs)
    jobs.forEach((job, i) => {
      this.#enqueue(job, i)
    })
    words[CONTROL.jobs] = jobs.length
    words[CONTROL.failures] = 0
    this.#failures = []
    this.#working[0].keepAlive(true)
    let stopped = false
    // Nothing left to take: threads finish the slice they are on and report.
    const stop = (): void => {
      stopped = true
      Atomics.store(words, CONTROL.stop, 1)
    }
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
    const stopWatching = this.#growDuring(jobs)
    try {
      await this.#goThrough()
      while (this.#paused && !stopped && this.#failures.length === 0) {
        this.#begin(jobs)
        await this.#goThrough()
      }
    } finally {
      stopWatching()
      this.#settle = undefined
      clearInterval(watch)
      control.signal?.removeEventListener('abort', stop)
      this.#working[0].keepAlive(false)
    }
    if (this.#failures.length > 0) {
      this.lost = this.#failures[0]
      throw this.lost
    }
    if (thrown) throw thrown.error
  }

  /** Lets threads join that have become ready, and makes the control block what threads expect at the start of a queue. */
  #begin(jobs: readonly CpuJob[]): void {
    const words = this.#words
    const seen = Atomics.load(words, CONTROL.generation)
    for (const thread of this.#ready.splice(0)) {
      thread.post({ index: this.#working.length, seen })
      this.#working.push(thread)
    }
    this.#reserveScratch(jobs.reduce((most, { scratchBytes = 0 }) => Math.max(most, scratchBytes), 0))
    words[CONTROL.threads] = this.#working.length
    words[CONTROL.running] = this.#working.length
    words[CONTROL.met] = 0
    words[CONTROL.stop] = 0
    words[CONTROL.scratch] = this.#scratch.address
    words[CONTROL.scratchBytes] = this.#scratch.bytes
    this.#paused = false
    this.#done = false
  }

  /** Resolves when every thread is through with the queue. */
  #goThrough(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#settle = { resolve, reject }
      Atomics.add(this.#words, CONTROL.generation, 1)
      Atomics.notify(this.#words, CONTROL.generation)
    })
  }

  /** Watches over a queue and starts the other threads if there is enough to share. Call the result when the queue is done. */
  #growDuring(jobs: readonly CpuJob[]): () => void {
    const complete = this.#growing || this.#working.length + this.#ready.length === this.threads
    if (complete || jobs.every(({ items, grain }) => items <= grain)) return () => {}
    const began = performance.now()
    const timer = setTimeout(() => void this.#grow(), this.#aloneMs)
    return () => {
      clearTimeout(timer)
      this.#aloneMs = Math.max(0, this.#aloneMs - (performance.now() - began))
    }
  }

  async #grow(): Promise<void> {
    this.#growing = true
    try {
      await this.#startThreads(this.threads - this.#working.length)
    } catch {
      // Where there is no room for more threads, one does the work.
      return
    }
    if (this.#closed || this.lost) return this.#terminate()
    this.#growing = false
    if (this.#settle === undefined) return
    this.#paused = true
    Atomics.store(this.#words, CONTROL.stop, 1)
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
    if (job.args.length > ARGUMENT_BYTES) {
      throw new Error(`${job.entry} has ${job.args.length} bytes of arguments, at most ${ARGUMENT_BYTES} fit`)
    }
    const words = this.#words
    const at = CONTROL.words + (place * JOB_BYTES) / 4
    words[at + JOB.entry] = entry
    words[at + JOB.items] = job.items
    words[at + JOB.grain] = job.grain
    words[at + JOB.next] = 0
    words[at + JOB.scratchBytes] = job.scratchBytes ?? 0
    const block = this.#blocks + place * ARGUMENT_BYTES
    new Uint8Array(this.#heap.memory.buffer, block, job.args.length).set(job.args)
    words[at + JOB.block] = block
    for (let i = 0; i < this.#working.length; i++) {
      allowScratch(this.#options.access, job, this.#scratch.address + i * this.#scratch.bytes)
    }
  }

  /** The share of the job that is being done. */
  #report(onProgress: RunControl['onProgress'], jobs: readonly CpuJob[]): void {
    const job = Math.min(jobs.length - 1, Math.floor(Atomics.load(this.#words, CONTROL.met) / this.#working.length))
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
    await Promise.all([...this.#working, ...this.#ready].map((thread) => thread.terminate()))
  }

  /** Scratch is kept from job to job and only ever grows. */
  #reserveScratch(bytes: number): void {
    const threads = this.#working.length
    const kept = this.#scratch
    if (bytes <= kept.bytes - GAP && threads === kept.threads) return
    if (kept.bytes > 0) this.#heap.release(kept.address)
    // Nothing is held if the allocation fails.
    this.#scratch = { address: 0, bytes: 0, threads: 0 }
    const rounded = Math.max(kept.bytes, Math.ceil((bytes + GAP) / 4096) * 4096)
    const address = this.#heap.allocateUncleared(rounded * threads, 'scratch of the threads')
    this.#scratch = { address, bytes: rounded, threads }
  }
}

interface ThreadMessage {
  readonly done?: number
  readonly failed?: string
  /** The function that failed. */
  readonly entry?: number
}

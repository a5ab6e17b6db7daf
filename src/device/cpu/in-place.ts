/** Runs WebAssembly jobs on the calling thread, where threads cannot share memory. */
import type { CentroidalError } from '../../core/errors.ts'
import type { CpuJob, RunControl } from '../contract.ts'
import type { WasmHeap } from './heap.ts'
import { type JobRunner, type MemoryChecks, trapError } from './runner.ts'

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

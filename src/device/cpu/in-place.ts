/** Runs WebAssembly jobs on the calling thread, where threads cannot share memory. */
import type { CentroidalError } from '../../core/errors.ts'
import { ARGUMENT_BYTES, type CpuJob, type RunControl } from '../contract.ts'
import type { WasmHeap } from './heap.ts'
import { allowScratch, type JobRunner, type MemoryChecks, trapError } from './runner.ts'

type WasmFunction = (start: number, end: number, scratch: number, args: number) => void

/** One thread, the caller's own: gives way to the event loop between slices, so that a page stays alive. */
export class InPlaceRunner implements JobRunner {
  readonly threads = 1
  readonly queue = 1
  readonly #exports: WebAssembly.Exports
  readonly #heap: WasmHeap
  readonly #checks: MemoryChecks
  readonly #block: number
  #lastBreath = 0
  lost: CentroidalError | undefined

  /** `block`: where the arguments of a job lie. */
  constructor(exports: WebAssembly.Exports, heap: WasmHeap, block: number, checks: MemoryChecks = {}) {
    this.#exports = exports
    this.#heap = heap
    this.#block = block
    this.#checks = checks
  }

  async run(jobs: readonly CpuJob[], control: RunControl = {}): Promise<void> {
    for (const job of jobs) await this.#runOne(job, control)
  }

  /** The whole job before it returns. */
  runAtOnce(job: CpuJob): void {
    const { call, scratch } = this.#begin(job)
    try {
      for (let start = 0; start < job.items; start += job.grain) this.#call(job, call, start, scratch)
    } finally {
      this.#heap.release(scratch)
    }
  }

  #begin(job: CpuJob): { readonly call: WasmFunction; readonly scratch: number } {
    const { scratchBytes = 0 } = job
    const call = this.#exports[job.entry] as WasmFunction
    if (typeof call !== 'function') throw new Error(`No WebAssembly function ${job.entry}`)
    const scratch = this.#heap.allocateUncleared(scratchBytes, 'scratch')
    allowScratch(this.#checks.access, job, scratch)
    new Uint8Array(this.#heap.memory.buffer, this.#block, ARGUMENT_BYTES).set(job.args)
    return { call, scratch }
  }

  async #runOne(job: CpuJob, control: RunControl): Promise<void> {
    const { call, scratch } = this.#begin(job)
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
    const { fill } = this.#checks
    if (fill !== undefined) this.#scratch(job, scratch).fill(fill)
    const end = Math.min(start + job.grain, job.items)
    try {
      call(start, end, scratch, this.#block)
      if (fill !== undefined) checkGaps(job, this.#scratch(job, scratch), fill)
    } catch (error) {
      this.lost = trapError(job.entry, String(error))
      throw this.lost
    }
  }

  #scratch({ scratchBytes = 0 }: CpuJob, address: number): Uint8Array {
    return new Uint8Array(this.#heap.memory.buffer, address, scratchBytes)
  }

  async close(): Promise<void> {}
}

/** Throws if a kernel has changed bytes around its areas of scratch memory. */
function checkGaps({ scratchAreas = [] }: CpuJob, scratch: Uint8Array, fill: number): void {
  let end = 0
  for (const { name, offset, bytes } of [...scratchAreas, { name: 'the end', offset: scratch.length, bytes: 0 }]) {
    const at = scratch.subarray(end, offset).findIndex((byte) => byte !== fill)
    if (scratchAreas.length > 0 && at >= 0)
      throw new Error(`wrote to byte ${end + at} of its scratch memory, before ${name}`)
    end = offset + bytes
  }
}

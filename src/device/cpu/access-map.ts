/**
 * For tests: which bytes the kernel that runs may touch. The checked build of the kernels
 * (`wasm/checked.ts`) looks here before every load and store. The map lies in front of the heap, one byte
 * for each 4 bytes of memory.
 */
import type { WasmHeap } from './heap.ts'

/** The memory of a device with a map ends here. The same number is in `wasm/checked.ts`. */
export const MAPPED_BYTES = 2 ** 28
export const MAP_BYTES = MAPPED_BYTES / 4

interface WordRange {
  readonly from: number
  readonly to: number
}

export class AccessMap {
  readonly #heap: WasmHeap
  readonly #base: number
  #allowed: WordRange[] = []
  #scratch: WordRange[] = []

  constructor(heap: WasmHeap, base: number) {
    this.#heap = heap
    this.#base = base
  }

  /** Allows an access to these bytes until `reset`. */
  allow(address: number, bytes: number): void {
    this.#allowed.push(this.#mark(address, bytes))
  }

  /** Allows an access to these bytes until `endJobs`: the next job may have other areas in the same scratch memory. */
  allowScratch(address: number, bytes: number): void {
    this.#scratch.push(this.#mark(address, bytes))
  }

  endJobs(): void {
    for (const range of this.#scratch) this.#set(range, 0)
    this.#scratch = []
  }

  reset(): void {
    this.endJobs()
    for (const range of this.#allowed) this.#set(range, 0)
    this.#allowed = []
  }

  #mark(address: number, bytes: number): WordRange {
    const range = { from: Math.floor(address / 4), to: Math.ceil((address + bytes) / 4) }
    this.#set(range, 1)
    return range
  }

  #set({ from, to }: WordRange, value: number): void {
    new Uint8Array(this.#heap.memory.buffer, this.#base + from, to - from).fill(value)
  }
}

/**
 * For tests: which bytes the kernel that runs may touch. The checked build of the kernels
 * (`wasm/checked.ts`) looks here before every load and store. The map lies in front of the heap, one byte
 * for each 4 bytes of memory.
 */
import type { WasmHeap } from './heap.ts'

/** The memory of a device with a map ends here. The same number is in `wasm/checked.ts`. */
export const MAPPED_BYTES = 2 ** 28
export const MAP_BYTES = MAPPED_BYTES / 4

export class AccessMap {
  readonly #heap: WasmHeap
  readonly #base: number
  #allowed: { from: number; to: number }[] = []

  constructor(heap: WasmHeap, base: number) {
    this.#heap = heap
    this.#base = base
  }

  /** Allows an access to these bytes until `reset`. */
  allow(address: number, bytes: number): void {
    const range = { from: Math.floor(address / 4), to: Math.ceil((address + bytes) / 4) }
    this.#allowed.push(range)
    this.#set(range, 1)
  }

  reset(): void {
    for (const range of this.#allowed) this.#set(range, 0)
    this.#allowed = []
  }

  #set({ from, to }: { from: number; to: number }, value: number): void {
    new Uint8Array(this.#heap.memory.buffer, this.#base + from, to - from).fill(value)
  }
}

/**
 * Memory of the CPU device: one WebAssembly memory, handed out in aligned blocks. First fit over a
 * list of free blocks sorted by address; neighbours merge when freed. Allocations are few and large,
 * so a list is enough.
 *
 * New blocks are zero. Memory that was never handed out is zero already, so only recycled blocks are
 * cleared. Tests replace zero by another byte, to find code that reads memory it did not write.
 */
import { CentroidalError } from '../../core/errors.ts'

const ALIGNMENT = 64
const PAGE = 65536

/** Sets bytes from an address on to a value. */
export type FillMemory = (address: number, value: number, bytes: number) => void

export interface HeapOptions {
  /** For tests: what new memory holds. Default 0. */
  readonly fill?: number | undefined
  /** A faster way than that of typed arrays. */
  readonly fillMemory?: FillMemory
}

export class WasmHeap {
  readonly memory: WebAssembly.Memory
  readonly maximumBytes: number
  #free: { start: number; end: number }[] = []
  #sizes = new Map<number, number>()
  #allocated = 0
  readonly #fill: number
  readonly #fillMemory: FillMemory
  /** Memory from here on was never handed out. */
  #untouched: number

  constructor(memory: WebAssembly.Memory, firstFree: number, maximumBytes: number, options: HeapOptions = {}) {
    this.memory = memory
    this.maximumBytes = maximumBytes
    this.#fill = options.fill ?? 0
    this.#fillMemory =
      options.fillMemory ?? ((address, value, bytes) => new Uint8Array(memory.buffer, address, bytes).fill(value))
    this.#untouched = align(firstFree)
    this.#free = [{ start: align(firstFree), end: memory.buffer.byteLength }]
  }

  get allocatedBytes(): number {
    return this.#allocated
  }

  allocate(bytes: number, label: string): number {
    const before = this.#untouched
    const address = this.allocateUncleared(bytes, label)
    const end = address + (this.#sizes.get(address) as number)
    const stale = this.#fill === 0 ? Math.min(end, before) : end
    if (stale > address) this.#fillMemory(address, this.#fill, stale - address)
    return address
  }

  clear(address: number, bytes: number): void {
    this.#fillMemory(address, 0, bytes)
  }

  /** For memory that is always written before it is read. */
  allocateUncleared(bytes: number, label: string): number {
    const size = align(Math.max(bytes, 1))
    let block = this.#free.find((candidate) => candidate.end - candidate.start >= size)
    if (block === undefined) {
      this.#grow(size, label)
      block = this.#free[this.#free.length - 1]
    }
    const address = block.start
    block.start += size
    if (block.start === block.end) this.#free.splice(this.#free.indexOf(block), 1)
    this.#sizes.set(address, size)
    this.#allocated += size
    this.#untouched = Math.max(this.#untouched, address + size)
    return address
  }

  release(address: number): void {
    const size = this.#sizes.get(address)
    if (size === undefined) return
    this.#sizes.delete(address)
    this.#allocated -= size
    this.#give(address, address + size)
  }

  #give(start: number, end: number): void {
    let at = this.#free.findIndex((block) => block.start > start)
    if (at < 0) at = this.#free.length
    this.#free.splice(at, 0, { start, end })
    for (const i of [at, at - 1]) {
      const left = this.#free[i]
      const right = this.#free[i + 1]
      if (left && right && left.end === right.start) {
        left.end = right.end
        this.#free.splice(i + 1, 1)
      }
    }
  }

  #grow(size: number, label: string): void {
    const end = this.memory.buffer.byteLength
    const last = this.#free[this.#free.length - 1]
    const usable = last !== undefined && last.end === end ? end - last.start : 0
    const pages = Math.ceil((size - usable) / PAGE)
    try {
      if (end + pages * PAGE > this.maximumBytes) throw new RangeError('over the limit')
      this.memory.grow(pages)
    } catch (cause) {
      throw new CentroidalError(
        'out-of-memory',
        `The CPU device cannot hold ${megabytes(size)} MB for ${label}: ${megabytes(this.#allocated)} MB of at most ` +
          `${megabytes(this.maximumBytes)} MB are in use. Use fewer clusters or dimensions, bytes instead of floats, a smaller memoryBytes or totalBytes so that less is kept on the device, or a WebGPU device.`,
        { cause },
      )
    }
    this.#give(end, end + pages * PAGE)
  }
}

function align(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6)
}

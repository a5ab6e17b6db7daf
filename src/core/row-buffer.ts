/**
 * Memory that rows of a source are read into again and again. A read that allocates leaves megabytes to the garbage collector,
 * which takes its time, and whose holes the allocator of the process keeps.
 */
import { readWide, type VectorData, type VectorSource, type WideData } from './matrix.ts'

export class RowBuffer {
  readonly #source: VectorSource
  #memory: VectorData | undefined

  constructor(source: VectorSource) {
    this.#source = source
  }

  /** Rows start to end, in 64 bits where the source has them. Valid until the next call. */
  async read(start: number, end: number): Promise<WideData> {
    const { readInto, read64, cols, type } = this.#source
    if (readInto === undefined || read64 !== undefined) return readWide(this.#source, start, end)
    const length = (end - start) * cols
    if (this.#memory === undefined || this.#memory.length < length) {
      this.#memory = type === 'u8' ? new Uint8Array(length) : new Float32Array(length)
    }
    const into = this.#memory.subarray(0, length)
    await this.#source.readInto?.(start, into)
    return into
  }
}

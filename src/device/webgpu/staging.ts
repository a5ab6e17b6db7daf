/**
 * Reads of GPU memory. Bytes are first copied to staging memory; reads asked for together share it, and are mapped at
 * once. Staging buffers are kept for the next reads.
 */
import type { CommandRecorder, NativePart } from './recorder.ts'

/** Large enough for the statistics of most rounds. */
const CHUNK = 2 ** 20
/** More than this is not kept for later. */
const MOST_KEPT = 16 * 2 ** 20

interface Chunk {
  readonly buffer: GPUBuffer
  used: number
  /** What it held, once it was mapped. */
  bytes?: ArrayBuffer
}

/** Reads that are mapped together. */
export interface ReadBatch {
  readonly chunks: Chunk[]
  /** Resolves when all bytes are available. Undefined until it is requested. */
  done: Promise<void> | undefined
}

/** One read: bytes as they were when it was staged. */
export interface StagedPart {
  readonly batch: ReadBatch
  /** Once `batch.done` has resolved. */
  bytes(): ArrayBuffer
}

export class StagingPool {
  readonly #device: GPUDevice
  #free: GPUBuffer[] = []
  #batch: ReadBatch | undefined

  constructor(device: GPUDevice) {
    this.#device = device
  }

  /** Records the copy of a part, whose size is a multiple of 4; `bytes` of it are wanted. */
  stage(recorder: CommandRecorder, part: NativePart, bytes: number): StagedPart {
    this.#batch ??= { chunks: [], done: undefined }
    const batch = this.#batch
    const chunk = this.#chunkWith(batch, part.size)
    const offset = chunk.used
    chunk.used += part.size
    recorder.copy(part, { buffer: chunk.buffer, offset, size: part.size })
    return { batch, bytes: () => (chunk.bytes as ArrayBuffer).slice(offset, offset + bytes) }
  }

  /** After the copies were submitted: waits for them. Whatever is staged from now on belongs to the next batch. */
  async fetch(batch: ReadBatch): Promise<void> {
    if (this.#batch === batch) this.#batch = undefined
    try {
      await Promise.all(
        batch.chunks.map(async (chunk) => {
          const size = Math.max(8, chunk.used)
          await chunk.buffer.mapAsync(GPUMapMode.READ, 0, size)
          chunk.bytes = chunk.buffer.getMappedRange(0, size).slice(0, chunk.used)
          chunk.buffer.unmap()
        }),
      )
    } catch (error) {
      for (const { buffer } of batch.chunks) buffer.destroy()
      throw error
    }
    for (const { buffer } of batch.chunks) this.#keep(buffer)
  }

  destroy(): void {
    for (const buffer of this.#free) buffer.destroy()
    this.#free = []
  }

  #chunkWith(batch: ReadBatch, bytes: number): Chunk {
    const last = batch.chunks[batch.chunks.length - 1]
    if (last && last.used + bytes <= last.buffer.size) return last
    const chunk = { buffer: this.#take(bytes), used: 0 }
    batch.chunks.push(chunk)
    return chunk
  }

  #take(bytes: number): GPUBuffer {
    const at = this.#free.findIndex(({ size }) => size >= bytes)
    if (at >= 0) return this.#free.splice(at, 1)[0]
    return this.#device.createBuffer({
      label: 'staging',
      size: Math.ceil(Math.max(CHUNK, bytes) / CHUNK) * CHUNK,
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    })
  }

  #keep(buffer: GPUBuffer): void {
    const kept = this.#free.reduce((sum, { size }) => sum + size, 0)
    if (kept + buffer.size > MOST_KEPT) buffer.destroy()
    else this.#free.push(buffer)
  }
}

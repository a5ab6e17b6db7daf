/** Reading a source from front to back, a few megabytes at a time. What is given is valid until the next piece is asked for. */
import type { VectorData, VectorSource, WideData } from './matrix.ts'
import { RowBuffer } from './row-buffer.ts'

/** Progress and cancellation of a pass over the data. */
export interface Watch {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((share: number) => void) | undefined
}

/** Numbers read in one go. */
const CHUNK_NUMBERS = 4_000_000

export function chunks(source: VectorSource, watch: Watch = {}): AsyncGenerator<{ first: number; data: VectorData }> {
  if (source.read64) return inChunks(source, (start, end) => source.read(start, end), watch)
  return wideChunks(source, watch) as AsyncGenerator<{ first: number; data: VectorData }>
}

/** The same in 64 bits where the source has them. */
export function wideChunks(source: VectorSource, watch: Watch = {}): AsyncGenerator<{ first: number; data: WideData }> {
  const buffer = new RowBuffer(source)
  return inChunks(source, (start, end) => buffer.read(start, end), watch)
}

async function* inChunks<Data>(
  source: VectorSource,
  read: (start: number, end: number) => Promise<Data>,
  { signal, onProgress }: Watch,
): AsyncGenerator<{ first: number; data: Data }> {
  const step = Math.max(1, Math.floor(CHUNK_NUMBERS / source.cols))
  for (let first = 0; first < source.rows; first += step) {
    signal?.throwIfAborted()
    yield { first, data: await read(first, Math.min(first + step, source.rows)) }
    onProgress?.(Math.min(1, (first + step) / source.rows))
  }
}

/** Reading a source from front to back, a few megabytes at a time. */
import type { VectorData, VectorSource } from './matrix.ts'

/** Watching and stopping a long look at the data. */
export interface Watch {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((share: number) => void) | undefined
}

/** Numbers read in one go. */
const CHUNK_NUMBERS = 4_000_000

export async function* chunks(
  source: VectorSource,
  { signal, onProgress }: Watch = {},
): AsyncGenerator<{ first: number; data: VectorData }> {
  const step = Math.max(1, Math.floor(CHUNK_NUMBERS / source.cols))
  for (let first = 0; first < source.rows; first += step) {
    signal?.throwIfAborted()
    yield { first, data: await source.read(first, Math.min(first + step, source.rows)) }
    onProgress?.(Math.min(1, (first + step) / source.rows))
  }
}

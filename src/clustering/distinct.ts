/** Telling equal rows apart: for starts without duplicates, and for the error when there are too few different points. */
import { CentroidalError } from '../core/errors.ts'
import type { VectorData, VectorSource } from '../core/matrix.ts'
import { chunks, type Watch } from './frame.ts'

/** Remembers rows by a 53-bit hash of their numbers; two different rows that collide are one in 10^15. */
export class RowSet {
  readonly #seen = new Set<number>()

  get size(): number {
    return this.#seen.size
  }

  /** True if the row was not there yet. */
  add(row: VectorData): boolean {
    const before = this.#seen.size
    this.#seen.add(hash(row))
    return this.#seen.size > before
  }
}

function hash(row: VectorData): number {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  const bits = row instanceof Uint8Array ? row : new Uint32Array(row.buffer, row.byteOffset, row.length)
  for (let i = 0; i < bits.length; i++) {
    // 0 and -0 are the same place.
    const word = bits[i] === 0x80000000 ? 0 : bits[i]
    a = Math.imul(a ^ word, 0x01000193)
    b = Math.imul(b ^ (word + (a >>> 13)), 0x85ebca6b)
    b ^= b >>> 15
  }
  return (a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff)
}

/** Fails with their number if there are fewer different rows than clusters. Stops looking as soon as there are enough. */
export async function requireDistinct(source: VectorSource, k: number, watch: Watch = {}): Promise<void> {
  const rows = new RowSet()
  for await (const { data } of chunks(source, watch)) {
    for (let at = 0; at < data.length; at += source.cols) {
      rows.add(data.subarray(at, at + source.cols))
      if (rows.size >= k) return
    }
  }
  throw new CentroidalError(
    'bad-option',
    `Option k is ${k}: ${source.name} has only ${rows.size} different vectors; give at most that many clusters.`,
  )
}

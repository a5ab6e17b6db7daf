/** Values in a store, counted: small ones travel inside messages, others as blobs. */
import { CentroidalError } from '../core/errors.ts'
import { decode, encode } from './codec.ts'
import type { Place } from './messages.ts'
import type { BlobStore } from './store.ts'

/** Larger values are blobs. */
const MOST_INLINE = 8192

export class Traffic {
  readonly #store: BlobStore
  readonly #run: string
  /** Bytes written to the store, and read from it. */
  written = 0
  read = 0

  /** What was discarded so far is removed. */
  discarded: Promise<void> = Promise.resolve()

  constructor(store: BlobStore, run: string) {
    this.#store = store
    this.#run = run
  }

  /** With `keep` it is a blob, whatever its size. */
  async put(key: string, value: unknown, keep = false): Promise<Place> {
    const bytes = encode(value)
    this.written += bytes.length
    const small = bytes.length <= MOST_INLINE
    if (keep || !small) await this.#store.put(this.#run, key, bytes)
    return small
      ? { inline: Buffer.from(bytes).toString('base64'), key, bytes: bytes.length }
      : { key, bytes: bytes.length }
  }

  async get({ inline, key, bytes }: Place, what: string): Promise<unknown> {
    this.read += bytes
    if (inline !== undefined) return decode(new Uint8Array(Buffer.from(inline, 'base64')), what)
    const found = key === undefined ? undefined : await this.#store.get(this.#run, key, bytes)
    if (found) return decode(found, what)
    throw new CentroidalError('bad-data', `${what} is no longer in the store: resume the run.`)
  }

  /** Removes values that will not be read, without waiting for it. */
  discard(places: readonly Place[]): void {
    const blobs = places.flatMap(({ key, bytes, inline }) => (key && inline === undefined ? [{ key, bytes }] : []))
    this.discarded = this.discarded.then(() => this.removeBlobs(blobs)).catch(() => {})
  }

  async removeBlobs(blobs: readonly { readonly key: string; readonly bytes: number }[]): Promise<void> {
    for (const { key, bytes } of blobs) await this.#store.remove(this.#run, key, bytes)
  }
}

/** Bytes of several processes. */
export function totalOf(all: Iterable<{ readonly written: number; readonly read: number }>) {
  let [written, read] = [0, 0]
  for (const own of all) {
    written += own.written
    read += own.read
  }
  return { written, read }
}

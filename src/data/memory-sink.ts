/** A file that is never on a disk: the bytes written to it, in one piece. */
import type { ByteSink } from '../core/bytes.ts'

export class MemorySink implements ByteSink {
  readonly name = 'memory'
  #pieces: Uint8Array[] = []

  async write(bytes: Uint8Array): Promise<void> {
    // Whoever writes may use its array again.
    this.#pieces.push(bytes.slice())
  }

  async close(): Promise<void> {}

  async abort(): Promise<void> {
    this.#pieces = []
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const whole = new Uint8Array(this.#pieces.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const piece of this.#pieces) {
      whole.set(piece, at)
      at += piece.length
    }
    return whole
  }
}

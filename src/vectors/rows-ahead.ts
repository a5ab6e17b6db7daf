/**
 * Reads the rows of parts in pieces, a few of them ahead of what is asked for, so that reading overlaps with computing. Parts
 * are expected in their order, and then from the first again; whatever else is asked for is read when it is asked for.
 */
import type { VectorSource, WideData } from '../core/matrix.ts'
import { RowBuffer } from '../core/row-buffer.ts'

interface RowRange {
  readonly first: number
  readonly count: number
}

interface Piece {
  readonly first: number
  readonly end: number
  readonly data: Promise<WideData>
  /** Where it is read to. */
  readonly buffer: RowBuffer
}

export class RowsAhead {
  readonly #source: VectorSource
  readonly #parts: readonly RowRange[]
  /** Rows of a piece. */
  readonly #step: number
  /** Pieces that are read ahead. */
  readonly #most: number
  #pieces: Piece[] = []
  /** Memory of pieces that were used. */
  readonly #spare: RowBuffer[] = []
  /** The piece that was given out last. */
  #given: Piece | undefined
  /** The part that the next piece is of, and its first row in it. */
  #next = { part: 0, row: 0 }
  #last: Promise<unknown> = Promise.resolve()
  /** How often the first part was asked for: a second time, and it will be again. */
  #passes = 0
  #stopped = false

  constructor(source: VectorSource, parts: readonly RowRange[], step: number, most: number) {
    this.#source = source
    this.#parts = parts
    this.#step = step
    this.#most = most
  }

  /** The rows of a part, from `row` on, as many as a piece has. Valid until the next call. */
  async read(part: number, row: number): Promise<{ readonly data: WideData; readonly rows: number }> {
    const first = this.#parts[part].first + row
    if (part === 0 && row === 0) this.#passes++
    if (this.#given) this.#spare.push(this.#given.buffer)
    this.#given = undefined
    if (this.#pieces[0]?.first !== first) {
      // They may still be read: reads follow one another, so that no memory is used for two of them at a time.
      for (const { buffer } of this.#pieces) this.#spare.push(buffer)
      this.#pieces = []
      this.#next = { part, row }
    }
    this.#fill(1)
    const piece = this.#pieces.shift() as Piece
    this.#given = piece
    this.#fill(this.#most)
    return { data: await piece.data, rows: piece.end - piece.first }
  }

  /** Nothing is asked for any more. */
  stop(): void {
    this.#stopped = true
    this.#pieces = []
    this.#given = undefined
    this.#spare.length = 0
  }

  #fill(most: number): void {
    while (this.#pieces.length < most && !this.#stopped) {
      const { part, row } = this.#next
      if (part === this.#parts.length) return
      const { first, count } = this.#parts[part]
      const [from, end] = [first + row, first + Math.min(row + this.#step, count)]
      // One after the other: a source need not be able to read twice at a time.
      const buffer = this.#spare.pop() ?? new RowBuffer(this.#source)
      const data = this.#last.then(async () => (this.#stopped ? new Uint8Array() : buffer.read(from, end)))
      // Who asks for the piece gets the error.
      this.#last = data.catch(() => {})
      this.#pieces.push({ first: from, end, data, buffer })
      this.#next = end < first + count ? { part, row: row + this.#step } : this.#after(part)
    }
  }

  #after(part: number): { part: number; row: number } {
    const wraps = part === this.#parts.length - 1 && this.#passes > 1 && this.#parts.length > 1
    return { part: wraps ? 0 : part + 1, row: 0 }
  }
}

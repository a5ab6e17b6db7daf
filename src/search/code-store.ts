/**
 * The content of an index of codes: rows of codes and ids, in the order they were added. Adding takes constant time per vector.
 * Removed vectors are only noted; the rows are closed up when they are next needed in order, as a flat search reads all of
 * them anyway. What a reader got before a change stays as it was.
 */
import { type Matrix, matrix } from '../core/matrix.ts'
import { IdTable } from './id-table.ts'

/** Changes that are remembered one by one. */
const MOST_CUTS = 256

export class CodeStore {
  readonly codeBytes: number
  /** [rows][codeBytes], with room behind. */
  #codes: Uint8Array
  #ids: Uint32Array
  #rows: number
  #nextId = 0
  /** Set of the ids in the index, built when it is first needed. */
  #known: IdTable | undefined
  /** Removed, and still among the rows. */
  #gone = new Set<number>()
  /** The first row that moved, each time that rows were closed up. */
  #cuts: number[] = []
  #forgotten = 0

  constructor(codes: Matrix, ids: Uint32Array) {
    this.codeBytes = codes.cols
    this.#codes = codes.data as Uint8Array
    this.#ids = ids
    this.#rows = codes.rows
    for (const id of ids) if (id >= this.#nextId) this.#nextId = id + 1
  }

  get size(): number {
    return this.#rows - this.#gone.size
  }

  /** One more than the highest id there has been. */
  get nextId(): number {
    return this.#nextId
  }

  get ids(): Uint32Array {
    this.#closeUp()
    return this.#ids.subarray(0, this.#rows)
  }

  get codes(): Matrix {
    this.#closeUp()
    return matrix(this.#codes.subarray(0, this.#rows * this.codeBytes), this.#rows, this.codeBytes)
  }

  /** Times that rows have been closed up, for `firstMoved`. */
  get cuts(): number {
    this.#closeUp()
    return this.#forgotten + this.#cuts.length
  }

  /** The first row that is not where it was when there were so many cuts; Infinity: all are, up to those that were added. */
  firstMoved(cuts: number): number {
    this.#closeUp()
    if (cuts < this.#forgotten) return 0
    return Math.min(Number.POSITIVE_INFINITY, ...this.#cuts.slice(cuts - this.#forgotten))
  }

  /** Some vectors, in the order they were added. */
  rowsOf(ids: ReadonlySet<number>): { readonly codes: Matrix; readonly ids: Uint32Array } {
    const { codes, ids: all } = this
    const out = { codes: new Uint8Array(ids.size * this.codeBytes), ids: new Uint32Array(ids.size) }
    let to = 0
    all.forEach((id, row) => {
      if (!ids.has(id)) return
      out.codes.set(codes.data.subarray(row * this.codeBytes, (row + 1) * this.codeBytes), to * this.codeBytes)
      out.ids[to++] = id
    })
    return { codes: matrix(out.codes, ids.size, this.codeBytes), ids: out.ids }
  }

  has(id: number): boolean {
    return this.#knownIds().get(id) !== undefined
  }

  add(codes: Matrix, ids: Uint32Array): void {
    if (this.#gone.size > 0 && ids.some((id) => this.#gone.has(id))) this.#closeUp()
    const rows = this.#rows + ids.length
    if (rows > this.#ids.length || rows * this.codeBytes > this.#codes.length) {
      const room = Math.max(rows, Math.ceil(1.5 * this.#rows))
      this.#codes = grown(this.#codes, this.#rows * this.codeBytes, new Uint8Array(room * this.codeBytes))
      this.#ids = grown(this.#ids, this.#rows, new Uint32Array(room))
    }
    this.#codes.set(codes.data, this.#rows * this.codeBytes)
    this.#ids.set(ids, this.#rows)
    this.#rows = rows
    for (const id of ids) {
      this.#known?.set(id, 0)
      if (id >= this.#nextId) this.#nextId = id + 1
    }
  }

  /** False: there was none of that id. */
  remove(id: number): boolean {
    const known = this.#knownIds()
    if (known.get(id) === undefined) return false
    known.delete(id)
    this.#gone.add(id)
    // So that removed rows do not accumulate.
    if (2 * this.#gone.size > this.#rows + 1024) this.#closeUp()
    return true
  }

  #closeUp(): void {
    const gone = this.#gone
    if (gone.size === 0) return
    const { codeBytes } = this
    const rows = this.#rows
    const ids = new Uint32Array(rows - gone.size)
    const codes = new Uint8Array(ids.length * codeBytes)
    let first = 0
    while (!gone.has(this.#ids[first])) first++
    let to = 0
    for (let from = 0; from < rows; ) {
      let end = from
      while (end < rows && !gone.has(this.#ids[end])) end++
      ids.set(this.#ids.subarray(from, end), to)
      codes.set(this.#codes.subarray(from * codeBytes, end * codeBytes), to * codeBytes)
      to += end - from
      from = end + 1
    }
    this.#ids = ids
    this.#codes = codes
    this.#rows = ids.length
    this.#gone = new Set()
    this.#cuts.push(first)
    if (this.#cuts.length > MOST_CUTS) {
      this.#forgotten += this.#cuts.length
      this.#cuts = []
    }
  }

  #knownIds(): IdTable {
    if (this.#known) return this.#known
    const known = new IdTable(this.#rows)
    for (let i = 0; i < this.#rows; i++) if (!this.#gone.has(this.#ids[i])) known.set(this.#ids[i], 0)
    this.#known = known
    return known
  }
}

function grown<T extends Uint8Array | Uint32Array>(from: T, used: number, to: T): T {
  to.set(from.subarray(0, used))
  return to
}

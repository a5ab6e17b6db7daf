/**
 * The content of an inverted file in memory: codes, terms and ids in slots, the slots of a list one after the other with room
 * behind them. Adding or removing a vector takes constant time: a full list moves to twice the room, and the last vector of
 * a list fills the hole that a removed one leaves. A log of changed slots lets copies on devices follow.
 */
import { IdTable } from './id-table.ts'

/** Lists begin at multiples of this, so that codes may lie in blocks. */
const ALIGNMENT = 16
/** Slots without a vector that are tolerated, beside three for each vector. */
const SPARE = 4096

export interface StoredRows {
  /** [rows][rowBytes]: the code of a vector, then what is kept of it. */
  readonly rows: Uint8Array
  readonly ids: Uint32Array
  readonly lists: Uint32Array
}

/** What changed since a copy was made: everything, or some slots. */
export type Changes = 'all' | Uint32Array

/** A state of the store that a copy has. */
export interface StoreVersion {
  readonly epoch: number
  readonly logged: number
  /** Calls that have changed something. */
  readonly changes: number
}

export class ListStore {
  readonly k: number
  readonly codeBytes: number
  /** Bytes of a code, and what is kept behind it. */
  readonly rowBytes: number
  /** [slots][rowBytes] */
  rows = new Uint8Array(0)
  ids = new Uint32Array(0)
  /** What the sum of a code begins with, see scan-lists. */
  terms = new Float32Array(0)
  /** [k][2]: first slot and number of vectors of each list. */
  readonly extents: Uint32Array
  readonly #rooms: Uint32Array
  /** The list of each run of `ALIGNMENT` slots. */
  #owners = new Uint32Array(0)
  /** Slots in use or set aside, from the first. */
  #end = 0
  #size = 0
  #largestId = -1
  /** Made when it is first needed. */
  #places: IdTable | undefined
  #epoch = 0
  #changes = 0
  #log: number[] = []

  constructor(k: number, codeBytes: number, keptBytes = 0) {
    this.k = k
    this.codeBytes = codeBytes
    this.rowBytes = codeBytes + keptBytes
    this.extents = new Uint32Array(2 * k)
    this.#rooms = new Uint32Array(k)
  }

  /** Vectors. */
  get size(): number {
    return this.#size
  }

  /** Slots, with those that are free. */
  get slots(): number {
    return this.#end
  }

  /** One more than the largest id there has been. */
  get nextId(): number {
    return this.#largestId + 1
  }

  has(id: number): boolean {
    return this.#placesById().get(id) !== undefined
  }

  /** The slot of a vector. */
  slotOf(id: number): number | undefined {
    return this.#placesById().get(id)
  }

  get version(): StoreVersion {
    return { epoch: this.#epoch, logged: this.#log.length, changes: this.#changes }
  }

  /** What changed since. */
  changesSince({ epoch, logged }: StoreVersion): Changes {
    return epoch === this.#epoch ? Uint32Array.from(this.#log.slice(logged)) : 'all'
  }

  /** Takes vectors in, with one term each. */
  add({ rows, ids, lists }: StoredRows, terms: Float32Array): void {
    if (ids.length === 0) return
    const many = ids.length > this.#size / 2
    if (many) {
      this.#forgetLog()
      const counts = new Uint32Array(this.k)
      for (const list of lists) counts[list]++
      counts.forEach((count, list) => {
        if (count > 0) this.#reserve(list, this.extents[2 * list + 1] + count, true)
      })
    }
    const places = this.#places
    for (let i = 0; i < ids.length; i++) {
      const list = lists[i]
      if (!many) this.#reserve(list, this.extents[2 * list + 1] + 1, false)
      const slot = this.extents[2 * list] + this.extents[2 * list + 1]++
      this.rows.set(rows.subarray(i * this.rowBytes, (i + 1) * this.rowBytes), slot * this.rowBytes)
      this.ids[slot] = ids[i]
      this.terms[slot] = terms[i]
      if (ids[i] > this.#largestId) this.#largestId = ids[i]
      places?.set(ids[i], slot)
      if (!many) this.#log.push(slot)
    }
    this.#size += ids.length
    this.#changes++
    this.#limitLog()
    if (this.#end > 4 * this.#size + SPARE + 2 * ALIGNMENT * this.k) this.#pack()
  }

  /** Takes a vector out. False: there was none of that id. */
  remove(id: number): boolean {
    const places = this.#placesById()
    const slot = places.get(id)
    if (slot === undefined) return false
    const list = this.listOf(slot)
    const last = this.extents[2 * list] + --this.extents[2 * list + 1]
    if (last !== slot) {
      this.rows.copyWithin(slot * this.rowBytes, last * this.rowBytes, (last + 1) * this.rowBytes)
      this.ids[slot] = this.ids[last]
      this.terms[slot] = this.terms[last]
      places.set(this.ids[slot], slot)
      this.#log.push(slot)
    }
    places.delete(id)
    this.#size--
    this.#changes++
    this.#limitLog()
    if (this.#end > 4 * this.#size + SPARE + 2 * ALIGNMENT * this.k) this.#pack()
    return true
  }

  /** The list of a slot in use. */
  listOf(slot: number): number {
    return this.#owners[Math.floor(slot / ALIGNMENT)]
  }

  /** Calls `each` for every vector. */
  forEach(each: (id: number, slot: number) => void): void {
    for (let list = 0; list < this.k; list++) {
      const first = this.extents[2 * list]
      for (let slot = first; slot < first + this.extents[2 * list + 1]; slot++) each(this.ids[slot], slot)
    }
  }

  /** All ids, list after list. */
  idList(): Uint32Array {
    const out = new Uint32Array(this.#size)
    let at = 0
    this.forEach((id) => {
      out[at++] = id
    })
    return out
  }

  /** The codes of some slots, without what is kept behind them. */
  codesOf(first: number, end: number): Uint8Array {
    return columnsOf(this.rows.subarray(first * this.rowBytes, end * this.rowBytes), this.rowBytes, 0, this.codeBytes)
  }

  /** Everything, list after list. */
  content(): StoredRows {
    const rows = new Uint8Array(this.#size * this.rowBytes)
    const ids = new Uint32Array(this.#size)
    const lists = new Uint32Array(this.#size)
    let at = 0
    for (let list = 0; list < this.k; list++) {
      const first = this.extents[2 * list]
      const count = this.extents[2 * list + 1]
      rows.set(this.rows.subarray(first * this.rowBytes, (first + count) * this.rowBytes), at * this.rowBytes)
      ids.set(this.ids.subarray(first, first + count), at)
      lists.fill(list, at, at + count)
      at += count
    }
    return { rows, ids, lists }
  }

  /** Some of the vectors. */
  rowsOf(wanted: Iterable<number>): StoredRows {
    const ids = Uint32Array.from(wanted)
    const rows = new Uint8Array(ids.length * this.rowBytes)
    const lists = new Uint32Array(ids.length)
    ids.forEach((id, i) => {
      const slot = this.slotOf(id) as number
      rows.set(this.rows.subarray(slot * this.rowBytes, (slot + 1) * this.rowBytes), i * this.rowBytes)
      lists[i] = this.listOf(slot)
    })
    return { rows, ids, lists }
  }

  #placesById(): IdTable {
    if (this.#places) return this.#places
    const places = new IdTable(this.#size)
    this.forEach((id, slot) => {
      places.set(id, slot)
    })
    this.#places = places
    return places
  }

  /** Room for `wanted` vectors in a list; `exact` leaves none to spare. */
  #reserve(list: number, wanted: number, exact: boolean): void {
    if (wanted <= this.#rooms[list]) return
    const from = this.extents[2 * list]
    const count = this.extents[2 * list + 1]
    const room = Math.ceil((exact ? wanted : Math.max(wanted, 2 * count)) / ALIGNMENT) * ALIGNMENT
    const to = this.#end
    this.#end += room
    this.#ensure(this.#end)
    this.rows.copyWithin(to * this.rowBytes, from * this.rowBytes, (from + count) * this.rowBytes)
    this.ids.copyWithin(to, from, from + count)
    this.terms.copyWithin(to, from, from + count)
    this.extents[2 * list] = to
    this.#rooms[list] = room
    this.#owners.fill(list, to / ALIGNMENT, (to + room) / ALIGNMENT)
    for (let i = 0; i < count; i++) {
      this.#places?.set(this.ids[to + i], to + i)
      this.#log.push(to + i)
    }
  }

  /** Arrays of at least so many slots. */
  #ensure(slots: number): void {
    if (slots <= this.ids.length) return
    const room = Math.ceil(Math.max(slots, 1.25 * this.ids.length) / ALIGNMENT) * ALIGNMENT
    this.rows = grown(this.rows, new Uint8Array(room * this.rowBytes))
    this.ids = grown(this.ids, new Uint32Array(room))
    this.terms = grown(this.terms, new Float32Array(room))
    this.#owners = grown(this.#owners, new Uint32Array(room / ALIGNMENT))
  }

  /** Closes the gaps that moved lists have left. */
  #pack(): void {
    const content = this.content()
    const terms = new Float32Array(content.ids.length)
    let at = 0
    for (let list = 0; list < this.k; list++) {
      const first = this.extents[2 * list]
      const count = this.extents[2 * list + 1]
      terms.set(this.terms.subarray(first, first + count), at)
      at += count
    }
    this.extents.fill(0)
    this.#rooms.fill(0)
    this.#end = 0
    this.#size = 0
    this.rows = new Uint8Array(0)
    this.ids = new Uint32Array(0)
    this.terms = new Float32Array(0)
    this.#owners = new Uint32Array(0)
    this.#places = undefined
    this.add(content, terms)
  }

  #forgetLog(): void {
    this.#epoch++
    this.#log = []
  }

  /** A log that costs more than copying everything is useless. */
  #limitLog(): void {
    if (this.#log.length > 1024 + this.#end / 4) this.#forgetLog()
  }
}

function grown<T extends Uint8Array | Uint32Array | Float32Array>(from: T, to: T): T {
  to.set(from)
  return to
}

/** Some columns of rows of bytes; no copy where they are all. */
export function columnsOf(rows: Uint8Array, width: number, from: number, to: number): Uint8Array {
  if (from === 0 && to === width) return rows
  const out = new Uint8Array((rows.length / width) * (to - from))
  for (let at = from, i = 0; i < out.length; at += width, i += to - from) out.set(rows.subarray(at, at + to - from), i)
  return out
}

/** From ids to places, by open addressing: 16 bytes for each id at half load, a tenth of what a Map takes. */
import { NO_LABEL } from '../kernels/assign-lists.ts'

const LEAST = 16

export class IdTable {
  /** NO_LABEL: free. It is no id. */
  #ids: Uint32Array
  #places: Uint32Array
  #size = 0

  constructor(capacity = 0) {
    let room = LEAST
    while (room < 2 * capacity) room *= 2
    this.#ids = new Uint32Array(room).fill(NO_LABEL)
    this.#places = new Uint32Array(room)
  }

  get size(): number {
    return this.#size
  }

  /** The place of an id, or undefined. */
  get(id: number): number | undefined {
    if (id === NO_LABEL) return undefined
    const at = this.#find(id)
    return this.#ids[at] === id ? this.#places[at] : undefined
  }

  set(id: number, place: number): void {
    if (2 * (this.#size + 1) > this.#ids.length) this.#grow()
    const at = this.#find(id)
    if (this.#ids[at] !== id) {
      this.#ids[at] = id
      this.#size++
    }
    this.#places[at] = place
  }

  /** Takes an id out, and moves up those that its entry had pushed away. */
  delete(id: number): void {
    if (this.get(id) === undefined) return
    let hole = this.#find(id)
    const last = this.#ids.length - 1
    for (let at = (hole + 1) & last; this.#ids[at] !== NO_LABEL; at = (at + 1) & last) {
      const wanted = this.#home(this.#ids[at])
      // It may fill the hole unless its home lies after it.
      if (((at - wanted) & last) < ((at - hole) & last)) continue
      this.#ids[hole] = this.#ids[at]
      this.#places[hole] = this.#places[at]
      hole = at
    }
    this.#ids[hole] = NO_LABEL
    this.#size--
  }

  /** The entry of an id, or the free one where it would go. */
  #find(id: number): number {
    const last = this.#ids.length - 1
    let at = this.#home(id)
    while (this.#ids[at] !== NO_LABEL && this.#ids[at] !== id) at = (at + 1) & last
    return at
  }

  #home(id: number): number {
    // Multiplicative hashing: neighbouring ids go far apart.
    const mixed = Math.imul(id, 0x9e3779b1)
    return (mixed ^ (mixed >>> 15)) & (this.#ids.length - 1)
  }

  #grow(): void {
    const ids = this.#ids
    const places = this.#places
    this.#ids = new Uint32Array(ids.length * 2).fill(NO_LABEL)
    this.#places = new Uint32Array(ids.length * 2)
    for (let i = 0; i < ids.length; i++) {
      if (ids[i] === NO_LABEL) continue
      const at = this.#find(ids[i])
      this.#ids[at] = ids[i]
      this.#places[at] = places[i]
    }
  }
}

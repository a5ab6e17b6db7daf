/**
 * Structures made of the points of a store that runs share, such as trees. They live as long as the store, in groups: where
 * all of them take too much memory, the group that was not asked for longest is freed. What is asked for is valid until
 * something of another group is; where memory is limited also only until another part of the points is loaded, because the
 * structures are then put away in a temporary file.
 */
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import type { Spill } from './spill.ts'

/** Groups besides the one in use are kept up to here: a dozen trees over some millions of points. */
const MOST_BYTES = 256 * 2 ** 20

interface Kept {
  readonly scope: BufferScope
  /** Undefined while its buffers are only in the temporary file. */
  value: Promise<object> | undefined
  /** Set when it is made. */
  made: object | undefined
  /** Where its buffers are in the file, by name. */
  places: ReadonlyMap<string, number> | undefined
}

export class KeptStructures {
  readonly #device: Device
  readonly #mostBytes: number
  readonly #spill: Spill | undefined
  /** The group asked for last comes last. */
  readonly #groups = new Map<string, Map<string, Kept>>()

  constructor(device: Device, mostBytes = MOST_BYTES, spill?: Spill) {
    this.#device = device
    this.#mostBytes = mostBytes
    this.#spill = spill
  }

  /**
   * The structure of that name, made if it is not there: an object, whose buffers belong to the scope that `make` is given.
   * Where memory is limited they must be properties of it.
   */
  async get<T extends object>(group: string, name: string, make: (scope: BufferScope) => Promise<T>): Promise<T> {
    const members = this.#groups.get(group) ?? new Map<string, Kept>()
    this.#groups.delete(group)
    this.#groups.set(group, members)
    const known = members.get(name)
    if (known) {
      known.value ??= this.#fetch(known)
      return (await known.value) as T
    }
    const scope = new BufferScope(this.#device)
    const value = make(scope)
    const kept: Kept = { value, scope, made: undefined, places: undefined }
    members.set(name, kept)
    try {
      kept.made = await value
      this.#makeRoom()
      return kept.made as T
    } catch (error) {
      members.delete(name)
      scope.free()
      throw error
    }
  }

  /** Moves everything to the temporary file, if there is one. */
  async putAway(): Promise<void> {
    if (this.#spill === undefined) return
    for (const members of this.#groups.values()) {
      for (const kept of members.values()) {
        if (kept.made === undefined || kept.value === undefined) continue
        kept.places ??= await this.#store(kept.made, this.#spill)
        kept.value = undefined
        kept.scope.free()
      }
    }
  }

  free(): void {
    for (const group of [...this.#groups.keys()]) this.#drop(group)
  }

  async #store(made: object, spill: Spill): Promise<Map<string, number>> {
    const places = new Map<string, number>()
    for (const [name, value] of Object.entries(made)) {
      if (!isBuffer(value)) continue
      const at = spill.allocate(value.bytes)
      await spill.save(this.#device, value, at)
      places.set(name, at)
    }
    return places
  }

  /** Its buffers are made again from the file. */
  async #fetch(kept: Kept): Promise<object> {
    const fetched: Record<string, unknown> = { ...kept.made }
    for (const [name, at] of kept.places ?? []) {
      const { bytes, label } = fetched[name] as DeviceBuffer
      const buffer = kept.scope.allocate(bytes, label)
      await this.#spill?.fetch(this.#device, buffer, at)
      fetched[name] = buffer
    }
    kept.made = fetched
    return fetched
  }

  #makeRoom(): void {
    let bytes = 0
    for (const members of this.#groups.values()) for (const { scope } of members.values()) bytes += scope.bytes
    for (const group of [...this.#groups.keys()].slice(0, -1)) {
      if (bytes <= this.#mostBytes) return
      bytes -= this.#drop(group)
    }
  }

  #drop(group: string): number {
    let bytes = 0
    for (const { scope } of this.#groups.get(group)?.values() ?? []) {
      bytes += scope.bytes
      scope.free()
    }
    this.#groups.delete(group)
    return bytes
  }
}

function isBuffer(value: unknown): value is DeviceBuffer {
  return typeof value === 'object' && value !== null && 'freed' in value && 'bytes' in value
}

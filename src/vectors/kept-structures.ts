/**
 * Structures made of the points of a store that runs share, such as trees. They live as long as the store, in groups: where
 * all of them take too much memory, the group that was not asked for longest is freed. What is asked for is valid until
 * something of another group is.
 */
import { BufferScope, type Device } from '../device/contract.ts'

/** Groups besides the one in use are kept up to here: a dozen trees over some millions of points. */
const MOST_BYTES = 256 * 2 ** 20

interface Kept {
  readonly value: Promise<unknown>
  readonly scope: BufferScope
}

export class KeptStructures {
  readonly #device: Device
  readonly #mostBytes: number
  /** The group asked for last comes last. */
  readonly #groups = new Map<string, Map<string, Kept>>()

  constructor(device: Device, mostBytes = MOST_BYTES) {
    this.#device = device
    this.#mostBytes = mostBytes
  }

  /** The structure of that name, made if it is not there. Its buffers belong to the scope that `make` is given. */
  async get<T>(group: string, name: string, make: (scope: BufferScope) => Promise<T>): Promise<T> {
    const members = this.#groups.get(group) ?? new Map<string, Kept>()
    this.#groups.delete(group)
    this.#groups.set(group, members)
    const known = members.get(name)
    if (known) return (await known.value) as T
    const scope = new BufferScope(this.#device)
    const value = make(scope)
    members.set(name, { value, scope })
    try {
      const made = await value
      this.#makeRoom()
      return made
    } catch (error) {
      members.delete(name)
      scope.free()
      throw error
    }
  }

  free(): void {
    for (const group of [...this.#groups.keys()]) this.#drop(group)
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

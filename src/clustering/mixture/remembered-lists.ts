/** The components stored for each point, on a device. If components are renumbered, the lists are updated with a table. */
import type { DeviceBuffer } from '../../device/contract.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { RowLists } from '../remote-owners.ts'
import type { RunState } from '../run-state.ts'
import type { ListsOfPoints } from './lists-of-points.ts'

export class RememberedLists {
  /** For each old number of a component the new one. */
  readonly renamed: DeviceBuffer
  readonly #width: number
  readonly #best = new Map<PointPart, DeviceBuffer>()
  /** Parts whose lists are of the round under way, and so name components as they are numbered now. */
  readonly #current = new Set<PointPart>()
  /** New numbers of the components that the other lists name. */
  #names: Uint32Array | undefined
  #forgotten = false

  constructor({ scope, room }: RunState, width: number) {
    this.#width = width
    this.renamed = scope.upload(
      Uint32Array.from({ length: room.rows }, (_, i) => i),
      'new numbers of components',
    )
  }

  get isEmpty(): boolean {
    return this.#best.size === 0
  }

  /** True where no list names components as they are now. */
  get forgotten(): boolean {
    return this.#forgotten
  }

  has(part: PointPart): boolean {
    return this.#best.has(part)
  }

  /** The components of the points of a part in earlier rounds; empty at first. */
  of({ scope }: RunState, part: PointPart): DeviceBuffer {
    let best = this.#best.get(part)
    if (best === undefined) {
      best = scope.upload(new Uint32Array(part.count * this.#width).fill(NO_LABEL), 'best components of points')
      this.#best.set(part, best)
    }
    return best
  }

  /** The lists of a part were written in this round. */
  written(part: PointPart): void {
    this.#current.add(part)
  }

  endRound(): void {
    this.#current.clear()
  }

  /** Components have new numbers; without a table the lists are forgotten. */
  rename({ device }: RunState, renamed: Uint32Array | undefined, before: number): void {
    const names = renamed ?? new Uint32Array(before).fill(NO_LABEL)
    device.write(this.renamed, names)
    this.#names = names
    this.#forgotten = renamed === undefined
  }

  async copyTo(lists: ListsOfPoints): Promise<void> {
    for (const { first, count, lists: words, names } of await this.rows()) lists.set({ first, count }, words, names)
  }

  /** All lists, with the new numbers of the components they name where those have changed. */
  async rows(): Promise<RowLists[]> {
    const rows: RowLists[] = []
    for (const [part, best] of this.#best) {
      const { first, count } = part
      const lists = new Uint32Array(await part.device.read(best))
      rows.push({ first, count, lists, names: this.#current.has(part) ? undefined : this.#names })
    }
    return rows
  }
}

/**
 * The labels of a whole domain on a device that owns only some of its rows. Where one device owns the domain, there is
 * nothing to do: its own labels are those of the domain.
 */
import type { DeviceBuffer } from '../device/contract.ts'
import type { Around } from '../kernels/around.ts'
import type { PointPart } from '../vectors/point-part.ts'
import type { RunState } from './run-state.ts'

export class DomainLabels {
  readonly #state: RunState
  readonly #buffers = new Map<PointPart, DeviceBuffer>()

  constructor(state: RunState) {
    this.#state = state
  }

  /** For kernels; undefined where the part is the whole domain. */
  around(part: PointPart): Around | undefined {
    if (!part.isPartial) return undefined
    const { domain } = part
    let labels = this.#buffers.get(part)
    if (labels === undefined) {
      labels = this.#state.scope.allocate(domain.count * 4, 'labels of the domain')
      this.#buffers.set(part, labels)
    }
    return { labels, from: part.first - domain.first, rows: domain.count }
  }

  /**
   * All devices that own rows of the domain exchange their labels as they stand now, or those of the round before.
   * Returns those of the domain.
   */
  async exchange(part: PointPart, which: 'labels' | 'previous' = 'labels'): Promise<Uint32Array> {
    const { device, team, owner } = this.#state
    const own = new Uint32Array(await device.read(part[which]), 0, part.count)
    const around = this.around(part)
    if (around === undefined) return own
    const all = await team.meet(part.domain, owner, own, (values) => joined(values, part.domain.count))
    device.write(around.labels, all)
    return all
  }

  /** Brings the labels on the device up to date with those of the domain on the host. */
  write(part: PointPart, all: Uint32Array): void {
    const around = this.around(part)
    if (around === undefined) return
    const { device } = this.#state
    device.write(around.labels, all)
    device.write(part.labels, all.subarray(around.from, around.from + part.count))
  }
}

function joined(values: readonly Uint32Array[], count: number): Uint32Array {
  const all = new Uint32Array(count)
  let at = 0
  for (const labels of values) {
    all.set(labels, at)
    at += labels.length
  }
  return all
}

/** k-means||: many points at once, each with a probability proportional to its squared distance from the centres so far. */
import type { Random } from '../core/random.ts'
import { BufferScope, type DeviceBuffer } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, type DeviceRows, writeRows } from '../kernels/rows.ts'
import { RowSet } from '../vectors/distinct.ts'
import type { RunState } from './run-state.ts'

/** Centres that were just chosen, on one device. */
export interface NewCenters {
  readonly scope: BufferScope
  readonly rows: DeviceRows
  readonly workspace: DeviceBuffer
}

export function roomForCenters({ device, points }: RunState, capacity: number): NewCenters {
  const scope = new BufferScope(device)
  const rows = allocateRows(scope, capacity, points.cols, 'f32', 'new centres')
  const bytes = assignWorkspaceBytes(rows, points.source.sparse !== undefined)
  return { scope, rows, workspace: scope.allocate(bytes, 'prepared new centres') }
}

/** Distances of one device's points to the nearest centre, with these new ones; they are numbered from `firstLabel`. */
export async function approach(
  { device, points, parts, control }: RunState,
  chosen: Float32Array,
  firstLabel: number,
  { rows, workspace }: NewCenters,
): Promise<void> {
  writeRows(device, rows, chosen)
  for (const part of parts) {
    await assign(
      device,
      {
        points: await points.vectors(part),
        centers: { ...rows, rows: chosen.length / points.cols },
        labels: part.labels,
        distances: part.distances,
        merge: firstLabel > 0,
        firstLabel,
        workspace,
      },
      { signal: control.signal },
    )
  }
}

/** Keeps every point's squared distance to the nearest chosen centre on its device, and draws by it. */
export class DistanceSampler {
  readonly #state: RunState
  readonly #weights: Float32Array | undefined
  readonly #capacity: number
  readonly #centers: readonly NewCenters[]

  constructor(state: RunState, weights: Float32Array | undefined, capacity: number) {
    const { team } = state
    this.#state = state
    this.#weights = weights
    this.#capacity = capacity
    this.#centers = team.states.map((each) => roomForCenters(each, capacity))
  }

  free(): void {
    for (const { scope } of this.#centers) scope.free()
  }

  /** Takes points as centres; `firstLabel` is the number of the first of them. */
  async add(indices: readonly number[], firstLabel: number): Promise<void> {
    const { points, team } = this.#state
    for (let from = 0; from < indices.length; from += this.#capacity) {
      const some = indices.slice(from, from + this.#capacity)
      const chosen = await points.gather(some)
      const first = firstLabel + from
      await Promise.all([
        team.ask('approach', { chosen, firstLabel: first }),
        team.everywhere((state, owner) => approach(state, chosen, first, this.#centers[owner])),
      ])
    }
  }

  /** About `count` points at once, each drawn on its own; equal rows only once. */
  async drawMany(random: Random, count: number): Promise<number[]> {
    const { points } = this.#state
    const distances = await points.readDistances()
    const weights = this.#weights
    const chance = (i: number): number => distances[i] * (weights ? weights[i] : 1)
    let total = 0
    for (let i = 0; i < distances.length; i++) total += chance(i)
    if (!(total > 0)) return []
    const rows = new RowSet(points.frame)
    const drawn: number[] = []
    for (let i = 0; i < distances.length; i++) {
      if (random.uniform() * total >= count * chance(i)) continue
      if (await rows.addFrom(points.source, i)) drawn.push(i)
    }
    return drawn
  }
}

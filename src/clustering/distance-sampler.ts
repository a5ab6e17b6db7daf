/** k-means||: many points at once, each with a chance in proportion to its squared distance from the centres so far. */
import type { Random } from '../core/random.ts'
import { BufferScope } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { RowSet } from './distinct.ts'
import type { RunState } from './run-state.ts'

/** Keeps every point's squared distance to the nearest chosen centre on the device, and draws by it. */
export class DistanceSampler {
  readonly #state: RunState
  readonly #weights: Float32Array | undefined
  readonly #scope: BufferScope
  readonly #capacity: number
  readonly #centers
  readonly #workspace

  constructor(state: RunState, weights: Float32Array | undefined, capacity: number) {
    this.#state = state
    this.#weights = weights
    this.#capacity = capacity
    this.#scope = new BufferScope(state.device)
    this.#centers = allocateRows(this.#scope, capacity, state.points.cols, 'f32', 'new centres')
    this.#workspace = this.#scope.allocate(
      assignWorkspaceBytes(this.#centers, state.points.source.sparse !== undefined),
      'prepared new centres',
    )
  }

  free(): void {
    this.#scope.free()
  }

  /** Takes points as centres; `firstLabel` is the number of the first of them. */
  async add(indices: readonly number[], firstLabel: number): Promise<void> {
    const { device, points, control } = this.#state
    for (let from = 0; from < indices.length; from += this.#capacity) {
      const some = indices.slice(from, from + this.#capacity)
      writeRows(device, this.#centers, await points.gather(some))
      for (const part of points.parts) {
        await assign(
          device,
          {
            points: await points.vectors(part),
            centers: { ...this.#centers, rows: some.length },
            labels: part.labels,
            distances: part.distances,
            merge: firstLabel + from > 0,
            firstLabel: firstLabel + from,
            workspace: this.#workspace,
          },
          { signal: control.signal },
        )
      }
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

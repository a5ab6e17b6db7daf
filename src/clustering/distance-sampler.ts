/** Drawing points in proportion to their squared distance from the centres chosen so far. */
import { TALLY_BLOCK } from '../../shaders/tally.ts'
import type { Random } from '../core/random.ts'
import { BufferScope } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { tally } from '../kernels/tally.ts'
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

  constructor(state: RunState, weights: Float32Array | undefined, capacity = 1) {
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

  /** One point, by squared distance times weight. Undefined if all lie on centres. */
  async draw(random: Random): Promise<number | undefined> {
    const { device, points } = this.#state
    // Sums of blocks come first, so that only one block of distances is read.
    const blocks: { part: (typeof points.parts)[number]; sums: Float32Array }[] = []
    let total = 0
    for (const part of points.parts) {
      const { sum } = await tally(device, {
        count: part.count,
        values: part.distances,
        weights: part.weights,
        left: part.labels,
        sums: part.sums,
        differences: part.differences,
      })
      blocks.push({ part, sums: new Float32Array(await device.read(part.sums)) })
      total += sum
    }
    if (!(total > 0)) return undefined
    let left = random.uniform() * total
    let fallback: number | undefined
    for (const { part, sums } of blocks) {
      const count = Math.ceil(part.count / TALLY_BLOCK)
      for (let block = 0; block < count; block++) {
        if (sums[block] <= 0) continue
        if (left >= sums[block]) {
          left -= sums[block]
          if (block + 1 < count || part !== blocks[blocks.length - 1].part) continue
        }
        const found = await this.#drawFromBlock(part, block, left)
        if (found !== undefined) return found
        fallback = part.first + block * TALLY_BLOCK
      }
    }
    return fallback
  }

  async #drawFromBlock(
    part: RunState['points']['parts'][number],
    block: number,
    target: number,
  ): Promise<number | undefined> {
    const start = block * TALLY_BLOCK
    const count = Math.min(TALLY_BLOCK, part.count - start)
    const bytes = await this.#state.device.read({ buffer: part.distances, offset: start * 4, bytes: count * 4 })
    const distances = new Float32Array(bytes)
    let left = target
    let last: number | undefined
    for (let i = 0; i < count; i++) {
      const chance = distances[i] * (this.#weights ? this.#weights[part.first + start + i] : 1)
      if (chance <= 0) continue
      last = part.first + start + i
      left -= chance
      if (left < 0) return last
    }
    // Rounding can leave a rest: the last possible point takes it.
    return last
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

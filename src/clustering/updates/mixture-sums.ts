/** Sums over the shares of components, and log-likelihoods, of the shards that a device owns. */
import type { DeviceBuffer } from '../../device/contract.ts'
import type { AccumulateWorkspace } from '../../kernels/accumulate.ts'
import { accumulateSoft, createSoftWorkspace, softSumsBytes } from '../../kernels/accumulate-soft.ts'
import type { DeviceRows, RowRange } from '../../kernels/rows.ts'
import { tally } from '../../kernels/tally.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { type PartialSums, type ShardValue, sumOf } from '../partial.ts'
import type { RunState } from '../run-state.ts'
import { ExactArray } from './exact-array.ts'

/** Pairs of a point and a component, with shares: m for each point. */
export interface SharedPairs {
  readonly m: number
  readonly pairs: DeviceBuffer
  readonly shares: DeviceBuffer
}

/** Makes pairs of some rows available, one set after the other. Default range: all rows. */
export type PairsOf = (range: RowRange | undefined) => AsyncIterable<SharedPairs> | Iterable<SharedPairs>

export class MixtureSums {
  readonly #sums: DeviceBuffer
  readonly #workspace: AccumulateWorkspace
  /** With several shards: sums over all of them. */
  readonly #merged: ExactArray | undefined
  #likelihoods: readonly ShardValue[] = []

  /** `width`: pairs of a point at a time, at most. */
  constructor(state: RunState, width: number) {
    const { device, scope, points, room, totalWeight, largest } = state
    const { stride, cols, layout } = points
    this.#sums = scope.allocate(softSumsBytes(room), 'sums of components')
    this.#workspace = createSoftWorkspace(device, scope, points.largestPart * width, stride, room.rows)
    // Sums of many components are large: parts that were not requested are added in order instead.
    if (layout.separate || (layout.chosen && layout.shards.length > 1)) {
      // Sums of shares, of shares times differences to a mean, and of shares times their squares.
      const bound = totalWeight * Math.max(1, 2 * largest, 4 * cols * largest ** 2)
      this.#merged = new ExactArray(state, room.rows, softSumsBytes({ rows: 1, stride }) / 4, bound)
    }
  }

  reset(): void {
    this.#likelihoods = []
    this.#merged?.clear()
  }

  /** Log-likelihoods of a part's shards, from the evidence of its points. */
  async addLikelihoods(part: PointPart, evidence: DeviceBuffer): Promise<void> {
    for (const { index, from, count } of part.shards) {
      const { sum } = await tally(part.device, {
        count: part.count,
        values: evidence,
        weights: part.weights,
        left: part.labels,
        sums: part.sums,
        differences: part.differences,
        range: { from, count },
      })
      this.#likelihoods = [...this.#likelihoods, { shard: index, value: sum }]
    }
  }

  get likelihood(): number {
    return sumOf(this.#likelihoods)
  }

  async take(state: RunState, part: PointPart, vectors: DeviceRows, pairsOf: PairsOf): Promise<void> {
    if (this.#merged === undefined) return this.#takeRows(state, part, vectors, pairsOf, part !== state.parts[0])
    for (const { from, count } of part.shards) {
      state.control.signal?.throwIfAborted()
      await this.#takeRows(state, part, vectors, pairsOf, false, { from, count })
      await this.#merged.add(this.#sums)
    }
  }

  /** The sums become those of some rows of the part; with `add` they come on top. */
  async #takeRows(
    { device, centers }: RunState,
    { labels }: PointPart,
    points: DeviceRows,
    pairsOf: PairsOf,
    add: boolean,
    range?: RowRange,
  ): Promise<void> {
    const common = { points, centers, labels, sums: this.#sums, workspace: this.#workspace, range }
    let more = add
    for await (const pairs of pairsOf(range)) {
      await accumulateSoft(device, { ...common, ...pairs, add: more })
      more = true
    }
  }

  async partial(): Promise<PartialSums> {
    if (this.#merged === undefined) throw new Error('One shard has no partial sums')
    return { exact: [await this.#merged.read()], counts: [], values: this.#likelihoods }
  }

  absorb({ exact, values }: PartialSums): void {
    this.#merged?.write(exact[0])
    this.#likelihoods = values
  }

  /** All that was taken, for kernel `expand`. */
  async settle(): Promise<DeviceBuffer> {
    await this.#merged?.toFloats(this.#sums)
    return this.#sums
  }
}

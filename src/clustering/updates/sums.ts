/**
 * Sums, weights and counts of clusters over the shards that a device owns. Each shard is summed by itself; with several
 * shards these sums are added exactly, so that it does not matter which device owns which (see `addsExactly`).
 */
import type { Device, DeviceBuffer } from '../../device/contract.ts'
import { type AccumulateArgs, accumulate, createAccumulateWorkspace } from '../../kernels/accumulate.ts'
import { exactBytes } from '../../kernels/exact-sums.ts'
import { means } from '../../kernels/means.ts'
import type { DeviceRows, RowRange } from '../../kernels/rows.ts'
import { tally, tallyWorkspaceBytes } from '../../kernels/tally.ts'
import type { PartShard, PointPart } from '../../vectors/point-part.ts'
import type { PartialSums } from '../partial.ts'
import type { RunState, UpdateResult } from '../run-state.ts'
import { ExactArray } from './exact-array.ts'

export interface ClusterSums {
  /** As they are after `settle`. */
  readonly buffers: { readonly sums: DeviceBuffer; readonly totals: DeviceBuffer; readonly counts: DeviceBuffer }
  /** Forgets what was taken. */
  reset(): void
  /**
   * Adds a part of the points by their labels. With `centers` the distances of the part become those to the centres of the
   * labels (`measuresDistances` says whether the device can do that).
   */
  take(part: PointPart, vectors: DeviceRows, centers?: DeviceRows): Promise<void>
  /** What was taken, as a value. */
  partial(): Promise<PartialSums>
  /** Others take the place of what was taken. */
  absorb(merged: PartialSums): void
  /** Writes what was taken to `buffers`. */
  settle(): Promise<void>
  /** The same, and centres become the means. */
  finish(): Promise<UpdateResult>
  /** Runs nothing, on a device that compiles what the rest will need: see device/rehearsal.ts. */
  rehearse(rehearsal: Device, part: PointPart, vectors: DeviceRows): Promise<void>
}

/** So many bytes, each at most 255, add up to less than 2^24: whole numbers that floats hold exactly. */
const EXACT_ROWS = 65_536

/** Exact sums may take this share of the largest buffer, which on the CPU device is all memory: 512 MiB. */
const SHARE_OF_EXACT = 1 / 8

/**
 * Whether the sums of shards are added as 96-bit integers. One shard needs no adding. For very many clusters, whose points
 * are few, floats are added in the order of the shards, unless the caller chose them or they may be on other machines.
 */
function addsExactly({ device, points, k }: RunState): boolean {
  const { layout, stride } = points
  if (layout.chosen || layout.separate) return layout.shards.length > 1 || layout.separate
  return layout.shards.length > 1 && exactBytes(k, stride) <= device.info.limits.bufferBytes * SHARE_OF_EXACT
}

/**
 * Rows whose sums are taken at once: those of a shard. Shards side by side that have no more than `exactRows` rows are taken
 * together, because their sums are the same bits either way.
 */
export function summedTogether(shards: readonly PartShard[], exactRows: number): RowRange[] {
  const ranges: RowRange[] = []
  for (const { from, count } of shards) {
    const last = ranges[ranges.length - 1]
    if (last !== undefined && last.count + count <= exactRows) {
      ranges[ranges.length - 1] = { from: last.from, count: last.count + count }
    } else ranges.push({ from, count })
  }
  return ranges
}

/** Without `weighted` all points count alike. Memory is taken when it is needed: a start from a sample has it before. */
export function clusterSums(state: RunState, weighted = true): ClusterSums {
  let made: ClusterSums | undefined
  const sums = (): ClusterSums => {
    if (made === undefined) {
      made = allocateSums(state, weighted)
      made.reset()
    }
    return made
  }
  return {
    get buffers() {
      return sums().buffers
    },
    reset: () => made?.reset(),
    take: (part, vectors, centers) => sums().take(part, vectors, centers),
    partial: () => sums().partial(),
    absorb: (merged) => sums().absorb(merged),
    settle: () => sums().settle(),
    finish: () => sums().finish(),
    rehearse: (rehearsal, part, vectors) => sums().rehearse(rehearsal, part, vectors),
  }
}

function allocateSums(state: RunState, weighted: boolean): ClusterSums {
  const { device, scope, points, k } = state
  const { stride } = points
  const buffers = {
    sums: scope.allocate(k * stride * 4, 'sums of clusters'),
    totals: scope.allocate(k * 4, 'weights of clusters'),
    counts: scope.allocate(k * 4, 'sizes of clusters'),
  }
  const gains = scope.allocate(k * 4, 'gains of clusters')
  const gainSums = scope.allocate(tallyWorkspaceBytes(k), 'sum of gains')
  const empties = scope.allocate(tallyWorkspaceBytes(k), 'empty clusters')
  const sparse = points.source.sparse !== undefined
  const workspace = createAccumulateWorkspace(device, scope, points.largestPart, stride, k, sparse)
  const merging = addsExactly(state) ? new MergedSums(state, weighted) : undefined
  /** Without exact sums: nothing was added yet. */
  let empty = true
  const settle = async (): Promise<void> => merging?.write(buffers)
  const argsOf = ({ labels, weights: own }: PointPart, vectors: DeviceRows): AccumulateArgs => {
    const weights = weighted ? own : undefined
    return { points: vectors, labels, weights, k, ...buffers, workspace }
  }
  const moveCenters = async (on: Device): Promise<UpdateResult> => {
    const { sums, totals, counts } = buffers
    await means(on, { sums, totals, centers: state.centers, gains, unit: state.unit })
    const { sum, different } = await tally(on, {
      count: k,
      values: gains,
      // A cluster whose points have weight zero is empty, like a cluster without points.
      left: state.weights ? totals : counts,
      sums: gainSums,
      differences: empties,
    })
    return { gain: sum, empty: different }
  }
  return {
    buffers,
    reset() {
      empty = true
      merging?.reset()
    },
    async take(part, vectors, centers) {
      const { shards, distances } = part
      const args = { ...argsOf(part, vectors), ...(centers && { measured: { centers, distances } }) }
      const { weights } = args
      if (merging === undefined) {
        const add = !empty && points.layout.shards.length > 1
        empty = false
        return accumulate(device, { ...args, add })
      }
      const exactRows = vectors.type === 'u8' && weights === undefined ? EXACT_ROWS : 0
      for (const range of summedTogether(shards, exactRows)) {
        await accumulate(device, { ...args, range, keepEmpty: true })
        await merging.add(buffers)
      }
    },
    partial() {
      if (merging === undefined) throw new Error('One shard has no partial sums')
      return merging.value()
    },
    absorb: (merged) => merging?.absorb(merged),
    settle,
    async finish() {
      await settle()
      return moveCenters(device)
    },
    async rehearse(rehearsal, part, vectors) {
      await accumulate(rehearsal, argsOf(part, vectors))
      await moveCenters(rehearsal)
    },
  }
}

/** Sums and weights as exact numbers on the device; counts, which are few, on the host. */
class MergedSums {
  readonly #state: RunState
  readonly #sums: ExactArray
  readonly #totals: ExactArray
  #counts: Uint32Array
  /** Counts of shards that were not added yet. */
  #staged: (() => Promise<ArrayBuffer>)[] = []

  constructor(state: RunState, weighted: boolean) {
    const { points, k, largest, weights } = state
    const total = weighted && weights ? state.totalWeight : points.rows
    this.#state = state
    this.#sums = new ExactArray(state, k, points.stride, total * largest)
    this.#totals = new ExactArray(state, k, 1, total)
    this.#counts = new Uint32Array(k)
  }

  reset(): void {
    this.#sums.clear()
    this.#totals.clear()
    this.#counts.fill(0)
    this.#staged = []
  }

  /** Adds the sums of a shard. */
  async add({ sums, totals, counts }: ClusterSums['buffers']): Promise<void> {
    await this.#sums.add(sums, counts)
    await this.#totals.add(totals, counts)
    this.#staged.push(this.#state.device.stage(counts))
  }

  async value(): Promise<PartialSums> {
    const [sums, totals] = await Promise.all([this.#sums.read(), this.#totals.read(), this.#addCounts()])
    return { exact: [sums, totals], counts: [this.#counts], values: [] }
  }

  absorb({ exact, counts }: PartialSums): void {
    this.#sums.write(exact[0])
    this.#totals.write(exact[1])
    this.#counts = counts[0].slice()
    this.#staged = []
  }

  async write({ sums, totals, counts }: ClusterSums['buffers']): Promise<void> {
    await this.#sums.toFloats(sums)
    await this.#totals.toFloats(totals)
    await this.#addCounts()
    this.#state.device.write(counts, this.#counts)
  }

  async #addCounts(): Promise<void> {
    const staged = await Promise.all(this.#staged.map((read) => read()))
    this.#staged = []
    for (const bytes of staged) {
      const read = new Uint32Array(bytes)
      for (let cluster = 0; cluster < this.#counts.length; cluster++) this.#counts[cluster] += read[cluster]
    }
  }
}

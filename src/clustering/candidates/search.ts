/**
 * The candidates are the centres found by an approximate search.
 *
 * AKM (Philbin et al. 2007): a search over the centres, rebuilt every round. Robust AKM (Li, Yang, Hua and Zhang 2014) adds
 * three things, each a setting of its own:
 * 1. keep: a point keeps its centre unless the new one is strictly nearer, so the objective never rises.
 * 2. reseed: the index of round r is built from seed r, so that searches err at different places.
 * 3. probe: all points also try centre number r mod k, so that k rounds without a change prove a
 *    fixed point of Lloyd.
 *
 * Where the paper leaves it open: checks are tuned once, in the first round, on a sample of the points; if comparing with
 * all centres is cheaper than the search, that is done instead.
 */
import { sampleDistinct } from '../../core/random.ts'
import { stream, streamSeed } from '../../core/streams.ts'
import { BufferScope, type DeviceBuffer, slice } from '../../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../../kernels/assign.ts'
import { assignLists } from '../../kernels/assign-lists.ts'
import { allocateRows, type DeviceRows, writeRows } from '../../kernels/rows.ts'
import { type DeviceTree, searchTree } from '../../kernels/search-tree.ts'
import { tally } from '../../kernels/tally.ts'
import type { ResumeArrays } from '../../models/resume-arrays.ts'
import { type FlatTree, TreeBuffers } from '../../trees/flat-tree.ts'
import { buildKdForest } from '../../trees/kd-forest.ts'
import { buildKMeansTree } from '../../trees/kmeans-tree.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import { type CandidateSource, type Round, type RunState, readCenters, reportShare } from '../run-state.ts'
import { rowsByLeaf } from './leaf-order.ts'

/** Points on which checks are tuned. */
const TUNING_SAMPLE = 1000
/** A centre measured by the search costs about as much as this many measured side by side. */
const EXACT_ADVANTAGE = 4

export interface IndexSettings {
  readonly index: 'kd' | 'kmeans'
  readonly trees: number
  readonly branching: number
}

interface SearchSettings extends IndexSettings {
  /** 0: to be tuned. */
  readonly checks: number
  readonly precision: number
  readonly keep: boolean
  readonly reseed: boolean
  readonly probe: boolean
}

export function searchCandidates(state: RunState): CandidateSource {
  return new CenterSearch(state)
}

class CenterSearch implements CandidateSource {
  readonly #state: RunState
  readonly #settings: SearchSettings
  readonly #buffers: TreeBuffers
  readonly #evaluated: DeviceBuffer
  readonly #probed: DeviceRows
  readonly #probeWorkspace: DeviceBuffer
  #tree: DeviceTree | undefined
  /** Numbers of all centres, leaf by leaf. */
  #leaves: Uint32Array = new Uint32Array()
  readonly #order: DeviceBuffer
  #builtFor: number | undefined
  #checks: number
  /** Rounds in a row without a change. */
  #unchanged = 0

  constructor(state: RunState) {
    const { device, scope, points, settings } = state
    this.#state = state
    this.#settings = {
      keep: false,
      reseed: false,
      probe: false,
      ...(settings as unknown as Omit<SearchSettings, 'keep' | 'reseed' | 'probe'>),
    }
    this.#checks = this.#settings.checks
    this.#buffers = new TreeBuffers(device, scope)
    this.#evaluated = scope.allocate(points.largestPart * 4, 'centres looked at')
    this.#order = scope.allocate(device.info.kind === 'cpu' ? points.largestPart * 4 : 4, 'order of the points')
    this.#probed = allocateRows(scope, 1, points.cols, 'f32', 'probed centre')
    this.#probeWorkspace = scope.allocate(assignWorkspaceBytes(this.#probed), 'prepared probed centre')
  }

  async assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number> {
    if (this.#builtFor !== round) await this.#build(round)
    const { keep, probe } = this.#settings
    const { device, centers } = state
    const { labels, distances } = part
    let evaluated = 0
    if (keep) {
      // Points without a label stay infinitely far from the one they do not have.
      await assignLists(device, { points: vectors, centers, lists: part.previous, width: 1, labels, distances })
      evaluated += part.count
    }
    evaluated += await this.#search(part, vectors, keep)
    if (probe) {
      const firstLabel = round % state.k
      await assign(device, {
        points: vectors,
        centers: this.#probed,
        labels,
        distances,
        merge: true,
        firstLabel,
        workspace: this.#probeWorkspace,
      })
      evaluated += part.count
    }
    return evaluated
  }

  async prepare(_state: RunState, round: number): Promise<void> {
    if (this.#builtFor !== round) await this.#build(round)
  }

  /** Checks are tuned on the centres of the first round. */
  save(): ResumeArrays {
    return { checks: Uint32Array.of(this.#checks) }
  }

  restore(_state: RunState, { checks }: ResumeArrays): void {
    if (checks?.length === 1) this.#checks = checks[0]
  }

  endRound({ moved }: Round): boolean {
    this.#unchanged = moved === 0 ? this.#unchanged + 1 : 0
    const { reseed, probe } = this.#settings
    // The same centres searched in the same way give the same answer.
    if (this.#exact || !(reseed || probe)) return true
    return probe && this.#unchanged >= this.#state.k
  }

  get #exact(): boolean {
    return this.#checks >= this.#state.k
  }

  async #search(part: PointPart, vectors: DeviceRows, merge: boolean): Promise<number> {
    const { device, centers, control, k, assignWorkspace } = this.#state
    const { labels, distances } = part
    const onProgress = (share: number): void => reportShare(this.#state, part, share)
    const watch = { signal: control.signal, onProgress }
    if (this.#exact || this.#tree === undefined) {
      await assign(device, { points: vectors, centers, labels, distances, merge, workspace: assignWorkspace }, watch)
      return k * part.count
    }
    const evaluated = this.#evaluated
    const [tree, checks] = [this.#tree, this.#checks]
    const order = await this.#orderOf(part)
    await searchTree(
      device,
      { points: vectors, centers, tree, checks, labels, distances, evaluated, merge, order },
      watch,
    )
    const { sum } = await tally(device, {
      count: part.count,
      values: evaluated,
      left: labels,
      sums: part.sums,
      differences: part.differences,
    })
    return sum
  }

  /** Only the CPU takes points in an order, and only where they have centres. */
  async #orderOf({ previous, count }: PointPart): Promise<DeviceBuffer | undefined> {
    const { device, labelled } = this.#state
    if (device.info.kind !== 'cpu' || !labelled) return undefined
    device.write(this.#order, rowsByLeaf(new Uint32Array(await device.read(previous), 0, count), this.#leaves))
    return this.#order
  }

  async #build(round: number): Promise<void> {
    const { device, centers, k, seed } = this.#state
    const { reseed, probe } = this.#settings
    if (probe) {
      const rowBytes = centers.stride * 4
      device.copy(slice(centers.buffer, (round % k) * rowBytes, rowBytes), slice(this.#probed.buffer, 0, rowBytes))
    }
    this.#builtFor = round
    if (this.#exact) return
    const host = await readCenters(this.#state)
    const number = streamSeed(seed, 'search', reseed ? round : 0)
    const index = await growIndex(this.#state, host, number, this.#settings)
    this.#tree = await this.#buffers.quantize(this.#buffers.upload(index), centers)
    // Each tree of a forest has all centres.
    this.#leaves = index.items.subarray(0, k)
    if (this.#checks === 0) this.#checks = await tuneChecks(this.#state, this.#tree, this.#settings.precision)
  }
}

/** What searches the centres as they stand; `host` holds the same. */
export async function growIndex(
  state: RunState,
  host: Float32Array,
  seed: number,
  { index, trees, branching }: IndexSettings,
): Promise<FlatTree> {
  const { device, centers, control } = state
  if (index === 'kd') return buildKdForest(host, centers.cols, { trees, seed })
  return buildKMeansTree(device, centers, host, { branching, seed, control: { signal: control.signal } })
}

/**
 * The fewest checks with which the share `precision` of sampled points finds its nearest centre; k if
 * looking at all centres is cheaper than that.
 */
async function tuneChecks(state: RunState, tree: DeviceTree, precision: number): Promise<number> {
  const { device, points, centers, k, seed } = state
  const scope = new BufferScope(device)
  try {
    const count = Math.min(points.rows, TUNING_SAMPLE)
    const chosen = sampleDistinct(stream(seed, 'tuning'), points.rows, count)
    const sample = allocateRows(scope, count, points.cols, 'f32', 'sample of points')
    writeRows(device, sample, await points.gather(chosen))
    const labels = scope.allocate(count * 4, 'labels of the sample')
    const distances = scope.allocate(count * 4, 'distances of the sample')
    const evaluated = scope.allocate(count * 4, 'centres looked at')
    await assign(device, { points: sample, centers, labels, distances, workspace: state.assignWorkspace })
    const nearest = new Uint32Array(await device.read(labels), 0, count).slice()
    const least = new Float32Array(await device.read(distances), 0, count).slice()
    /** The share found, or undefined if it took too many centres. */
    const recall = async (checks: number): Promise<number | undefined> => {
      await searchTree(device, { points: sample, centers, tree, checks, labels, distances, evaluated })
      const found = new Uint32Array(await device.read(labels), 0, count)
      const near = new Float32Array(await device.read(distances), 0, count)
      const cost = new Float32Array(await device.read(evaluated), 0, count)
      if (cost.reduce((sum, value) => sum + value, 0) * EXACT_ADVANTAGE > k * count) return undefined
      let hits = 0
      for (let i = 0; i < count; i++) if (found[i] === nearest[i] || near[i] <= least[i]) hits++
      return hits / count
    }
    let low = 0
    let high = 1
    for (;;) {
      const share = await recall(high)
      if (share === undefined) return k
      if (share >= precision) break
      low = high
      high *= 2
      if (high >= k) return k
    }
    while (high - low > Math.max(1, low / 16)) {
      const middle = (low + high) >> 1
      if (((await recall(middle)) ?? 0) >= precision) high = middle
      else low = middle
    }
    return high
  } finally {
    scope.free()
  }
}

/**
 * Several centres for each point (Avrithis and Kalantidis, "Approximate Gaussian mixtures"): those that a search over
 * the centres measures with a budget (setting `checks`; 0: twice as many as points remember, `memory`). The index is
 * built anew every round from another seed, so that the next search may find what one misses.
 *
 * Where there are so few centres that measuring all of them costs less than the search, the nearest are listed, as many
 * as a point remembers; and so in rounds in which points remember nothing. With the criterion `overlap` that is left out:
 * it depends on what the search misses.
 */
import { createRandom } from '../../core/random.ts'
import type { DeviceBuffer } from '../../device/contract.ts'
import { assign } from '../../kernels/assign.ts'
import type { DeviceRows } from '../../kernels/rows.ts'
import { type DeviceTree, searchTree } from '../../kernels/search-tree.ts'
import { TreeBuffers } from '../../trees/flat-tree.ts'
import type { Settings } from '../method-options.ts'
import type { PointPart } from '../points.ts'
import { type CandidateSource, type CenterLists, type RunState, readCenters } from '../run-state.ts'
import { growIndex, type IndexSettings } from './search.ts'

export function listCandidates(state: RunState): CandidateSource {
  return new CenterListSearch(state)
}

/** Centres measured, and listed, for each point. */
export function searchWidth({ checks, memory }: Settings): number {
  return (checks as number) || 2 * (memory as number)
}

/** Up to this many times `checks` centres, measuring all of them side by side takes at most about twice as long as the search. */
const EXACT_ADVANTAGE = 32
/** Where points remember nothing it is worth more: up to this many centres. */
const MOST_MEASURED = 8192

class CenterListSearch implements CandidateSource {
  readonly #width: number
  /** Centres listed where all are measured, and up to how many there may be then. */
  readonly #nearest: number
  readonly #exactUpTo: number
  readonly #index: IndexSettings
  readonly #trees: TreeBuffers
  readonly #lists: DeviceBuffer
  readonly #distances: DeviceBuffer
  readonly #looked: DeviceBuffer
  #tree: DeviceTree | undefined
  /** The round and the number of centres the tree is good for. */
  #builtFor = { round: -1, k: 0 }

  constructor({ device, scope, points, settings, room }: RunState) {
    const { index, trees, branching } = settings as unknown as IndexSettings
    const rows = Math.max(points.largestPart, room.rows)
    this.#width = searchWidth(settings)
    this.#nearest = Math.min(this.#width, settings.memory as number)
    this.#exactUpTo = settings.criterion === 'overlap' ? 0 : EXACT_ADVANTAGE * this.#width
    this.#index = { index, trees, branching }
    this.#trees = new TreeBuffers(device, scope)
    this.#lists = scope.allocate(rows * this.#width * 4, 'centres found')
    this.#distances = scope.allocate(rows * this.#width * 4, 'distances of centres found')
    this.#looked = scope.allocate(rows * 4, 'centres looked at')
  }

  /** The nearest of a list. */
  async assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number> {
    const { labels, distances } = part
    const { device, centers, control } = state
    const tree = await this.#treeFor(state, round)
    const args = { points: vectors, centers, tree, checks: this.#width, labels, distances, looked: this.#looked }
    await searchTree(device, args, { signal: control.signal })
    return this.#meanLooked(state, part.count)
  }

  async lists(
    state: RunState,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
    forgotten: boolean,
  ): Promise<CenterLists> {
    const { control, points } = state
    const onProgress =
      control.onProgress &&
      ((share: number) => control.onProgress?.((part.first + 0.5 * share * part.count) / points.rows))
    const exact = this.#exactUpTo > 0 && state.k <= (forgotten ? MOST_MEASURED : this.#exactUpTo)
    if (exact) return this.#measureAll(state, vectors, onProgress)
    await this.#treeFor(state, round)
    return this.#search(state, vectors, onProgress)
  }

  async listsOfCenters(state: RunState, round: number): Promise<CenterLists> {
    // Centres have moved; if they all stay, the points of the next round can use the same tree.
    await this.#treeFor(state, round + 1)
    return this.#search(state, state.centers)
  }

  async #measureAll(state: RunState, rows: DeviceRows, onProgress?: (share: number) => void): Promise<CenterLists> {
    const { device, centers, control, k, assignWorkspace: workspace } = state
    const [lists, distances, width] = [this.#lists, this.#distances, this.#nearest]
    await assign(
      device,
      { points: rows, centers, labels: lists, distances, m: width, workspace },
      { signal: control.signal, onProgress },
    )
    return { lists, distances, width, looked: k }
  }

  async #search(state: RunState, rows: DeviceRows, onProgress?: (share: number) => void): Promise<CenterLists> {
    const { device, centers, control } = state
    const [lists, distances, looked, width] = [this.#lists, this.#distances, this.#looked, this.#width]
    const tree = this.#tree as DeviceTree
    await searchTree(
      device,
      { points: rows, centers, tree, checks: width, labels: lists, distances, looked, width },
      { signal: control.signal, onProgress },
    )
    return { lists, distances, width, looked: await this.#meanLooked(state, rows.rows) }
  }

  async #treeFor(state: RunState, round: number): Promise<DeviceTree> {
    const { round: built, k } = this.#builtFor
    if (this.#tree && built === round && k === state.k) return this.#tree
    const seed = createRandom(state.seed).fork(round).next()
    this.#tree = this.#trees.upload(await growIndex(state, await readCenters(state), seed, this.#index))
    this.#builtFor = { round, k: state.k }
    return this.#tree
  }

  async #meanLooked({ device }: RunState, rows: number): Promise<number> {
    const looked = new Float32Array(await device.read({ buffer: this.#looked, offset: 0, bytes: rows * 4 }))
    return looked.reduce((sum, value) => sum + value, 0) / rows
  }
}

/**
 * Several centres for each point (Avrithis and Kalantidis, "Approximate Gaussian mixtures"): those that a search over
 * the centres measures with a budget (setting `checks`; 0: twice as many as points remember, `memory`). The index is
 * built anew every round from another seed, so that the next search may find what one misses.
 *
 * Where there are so few centres that measuring all of them costs less than the search, the nearest are listed, as many
 * as a point remembers; and so in rounds in which points remember nothing. With the criterion `overlap` that is left out:
 * it depends on what the search misses. Where all points are components to begin with, what was found for the components is
 * what the points of the first round look at: they are not searched for twice.
 */
import { streamSeed } from '../../core/streams.ts'
import type { DeviceBuffer } from '../../device/contract.ts'
import { assign } from '../../kernels/assign.ts'
import { allocateRows, type DeviceRows, firstRows, writeRows } from '../../kernels/rows.ts'
import { type DeviceTree, searchTree } from '../../kernels/search-tree.ts'
import { TreeBuffers } from '../../trees/flat-tree.ts'
import type { PointPart } from '../../vectors/point-part.ts'
import type { Settings } from '../method-options.ts'
import {
  type CandidateSource,
  type CenterLists,
  type ListsOfCenters,
  type RunState,
  readCenters,
  reportShare,
} from '../run-state.ts'
import { rowsByLeaf } from './leaf-order.ts'
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
/** Centres whose lists are made at a time: lists of all of them would take more memory than anything else. */
const CENTERS_AT_A_TIME = 8192

/** What a search found for every centre, where these are the points: what the search of the points would find. */
interface FoundForPoints {
  readonly round: number
  readonly lists: Uint32Array
  readonly distances: Float32Array
  readonly evaluated: Float32Array
}

class CenterListSearch implements CandidateSource {
  readonly #width: number
  /** Centres listed where all are measured, and up to how many there may be then. */
  readonly #nearest: number
  readonly #exactUpTo: number
  readonly #index: IndexSettings
  readonly #trees: TreeBuffers
  readonly #lists: DeviceBuffer
  readonly #distances: DeviceBuffer
  readonly #evaluated: DeviceBuffer
  readonly #order: DeviceBuffer
  /** Centres gathered leaf by leaf. */
  readonly #gathered: DeviceRows
  #tree: DeviceTree | undefined
  /** All centres, leaf by leaf. */
  #leaves = new Uint32Array(0)
  /** The round and the number of centres the tree is good for. */
  #builtFor = { round: -1, k: 0, forNearest: false }
  #foundForPoints: FoundForPoints | undefined

  constructor({ device, scope, points, settings, room }: RunState) {
    const { index, trees, branching } = settings as unknown as IndexSettings
    const gathered = Math.min(room.rows, CENTERS_AT_A_TIME)
    const rows = Math.max(points.largestPart, gathered)
    this.#width = searchWidth(settings)
    this.#nearest = Math.min(this.#width, settings.memory as number)
    this.#exactUpTo = settings.criterion === 'overlap' ? 0 : EXACT_ADVANTAGE * this.#width
    this.#index = { index, trees, branching }
    this.#trees = new TreeBuffers(device, scope)
    this.#lists = scope.allocate(rows * this.#width * 4, 'centres found')
    this.#distances = scope.allocate(rows * this.#width * 4, 'distances of centres found')
    this.#evaluated = scope.allocate(rows * 4, 'centres looked at')
    this.#order = scope.allocate(rows * 4, 'points by leaf')
    this.#gathered = allocateRows(scope, gathered, points.cols, 'f32', 'centres by leaf')
  }

  /** The nearest of a list. */
  async assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number> {
    const { labels, distances } = part
    const { device, centers, control } = state
    const tree = await this.#treeFor(state, round, true)
    const args = { points: vectors, centers, tree, checks: this.#width, labels, distances, evaluated: this.#evaluated }
    await searchTree(device, args, { signal: control.signal })
    return this.#totalEvaluated(state, part.count)
  }

  async lists(
    state: RunState,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
    forgotten: boolean,
  ): Promise<CenterLists> {
    const onProgress = (share: number): void => reportShare(state, part, 0.5 * share)
    const exact = this.#exactUpTo > 0 && state.k <= (forgotten ? MOST_MEASURED : this.#exactUpTo)
    if (exact) return this.#measureAll(state, vectors, onProgress)
    const found = this.#foundForPoints
    if (found?.round === round) return this.#copyFound(state, part, found)
    this.#foundForPoints = undefined
    await this.#treeFor(state, round)
    return this.#search(state, vectors, await this.#orderOf(state, part), onProgress)
  }

  async listsOfCenters(state: RunState, round: number): Promise<ListsOfCenters> {
    const { device, k } = state
    // Centres have moved; if they all stay, the points of the next round can use the same tree.
    await this.#treeFor(state, round + 1)
    const [host, width, { cols }] = [await readCenters(state), this.#width, this.#gathered]
    const lists = new Uint32Array(k * width)
    const distances = new Float32Array(k * width)
    const evaluatedBy = new Float32Array(k)
    const block = new Float32Array(this.#gathered.rows * cols)
    let evaluated = 0
    for (let first = 0; first < k; first += this.#gathered.rows) {
      const here = this.#leaves.subarray(first, first + this.#gathered.rows)
      here.forEach((center, at) => {
        block.set(host.subarray(center * cols, (center + 1) * cols), at * cols)
      })
      writeRows(device, this.#gathered, block.subarray(0, here.length * cols))
      const found = await this.#search(state, firstRows(this.#gathered, here.length))
      const bytes = here.length * width * 4
      const near = new Uint32Array(await device.read({ buffer: found.lists, offset: 0, bytes }))
      const gaps = new Float32Array(await device.read({ buffer: found.distances, offset: 0, bytes }))
      const costs = await this.#evaluatedByRow(state, here.length)
      here.forEach((center, at) => {
        lists.set(near.subarray(at * width, (at + 1) * width), center * width)
        distances.set(gaps.subarray(at * width, (at + 1) * width), center * width)
        evaluatedBy[center] = costs[at]
      })
      evaluated += found.evaluated
    }
    const samePoints = await centersArePoints(state, host)
    this.#foundForPoints = samePoints ? { round: round + 1, lists, distances, evaluated: evaluatedBy } : undefined
    return { lists, distances, width, evaluated }
  }

  /** The rows of a part. */
  #copyFound({ device }: RunState, { first, count }: PointPart, found: FoundForPoints): CenterLists {
    const [lists, distances, width] = [this.#lists, this.#distances, this.#width]
    device.write(lists, found.lists.subarray(first * width, (first + count) * width))
    device.write(distances, found.distances.subarray(first * width, (first + count) * width))
    return { lists, distances, width, evaluated: total(found.evaluated.subarray(first, first + count)) }
  }

  /** Only the CPU takes rows in an order, and only where points have centres, or are all centres themselves. */
  async #orderOf({ device, points, k, labelled }: RunState, part: PointPart): Promise<DeviceBuffer | undefined> {
    if (device.info.kind !== 'cpu' || !(labelled || k === points.rows)) return undefined
    const labels = labelled
      ? new Uint32Array(await device.read(part.previous), 0, part.count)
      : Uint32Array.from({ length: part.count }, (_, i) => part.first + i)
    device.write(this.#order, rowsByLeaf(labels, this.#leaves))
    return this.#order
  }

  async #measureAll(state: RunState, rows: DeviceRows, onProgress?: (share: number) => void): Promise<CenterLists> {
    const { device, centers, control, k, assignWorkspace: workspace } = state
    const [lists, distances, width] = [this.#lists, this.#distances, this.#nearest]
    await assign(
      device,
      { points: rows, centers, labels: lists, distances, m: width, workspace },
      { signal: control.signal, onProgress },
    )
    return { lists, distances, width, evaluated: k * rows.rows }
  }

  async #search(
    state: RunState,
    rows: DeviceRows,
    order?: DeviceBuffer,
    onProgress?: (share: number) => void,
  ): Promise<CenterLists> {
    const { device, centers, control } = state
    const [lists, distances, evaluated, width] = [this.#lists, this.#distances, this.#evaluated, this.#width]
    const tree = this.#tree as DeviceTree
    await searchTree(
      device,
      { points: rows, centers, tree, checks: width, labels: lists, distances, evaluated, width, order },
      { signal: control.signal, onProgress },
    )
    return { lists, distances, width, evaluated: await this.#totalEvaluated(state, rows.rows) }
  }

  async #treeFor(state: RunState, round: number, forNearest = false): Promise<DeviceTree> {
    const built = this.#builtFor
    if (this.#tree && built.round === round && built.k === state.k && built.forNearest === forNearest) return this.#tree
    const seed = streamSeed(state.seed, 'search', round)
    const grown = await growIndex(state, await readCenters(state), seed, this.#index)
    this.#tree = await this.#trees.quantize(this.#trees.upload(grown), state.centers, forNearest)
    // Of several trees the first comes first.
    this.#leaves = grown.items.slice(0, state.k)
    this.#builtFor = { round, k: state.k, forNearest }
    return this.#tree
  }

  async #totalEvaluated(state: RunState, rows: number): Promise<number> {
    return total(await this.#evaluatedByRow(state, rows))
  }

  async #evaluatedByRow({ device }: RunState, rows: number): Promise<Float32Array> {
    return new Float32Array(await device.read({ buffer: this.#evaluated, offset: 0, bytes: rows * 4 }))
  }
}

function total(values: Float32Array): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/** So it is in the first round of a run from all points. */
async function centersArePoints({ points, k }: RunState, centers: Float32Array): Promise<boolean> {
  if (k !== points.rows) return false
  for (let first = 0; first < k; first += CENTERS_AT_A_TIME) {
    const end = Math.min(k, first + CENTERS_AT_A_TIME)
    const rows = await points.read(first, end)
    const from = first * points.cols
    for (let i = 0; i < rows.length; i++) if (rows[i] !== centers[from + i]) return false
  }
  return true
}

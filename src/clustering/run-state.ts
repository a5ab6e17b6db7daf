/** What a run works on, and the two contracts a method is made of: where candidates come from, and what is done with them. */
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { assignWorkspaceBytes } from '../kernels/assign.ts'
import type { PointGroups } from '../kernels/move-gains.ts'
import { allocateRows, type DeviceRows, firstRows, readRows, writeRows } from '../kernels/rows.ts'
import type { MethodOption, Settings } from './method-options.ts'
import type { PointPart, PointStore } from './points.ts'
import type { ExtraFacts, StopReason } from './stats.ts'

export interface RunState {
  readonly device: Device
  readonly points: PointStore
  /** Falls during the run where the method finds the number itself. */
  k: number
  /** Centres in the points' frame, k of them; they stay on the device between rounds. */
  centers: DeviceRows
  /** The memory of the centres: as many as there may be during the run. */
  readonly room: DeviceRows
  /** Centres are kept at length one. */
  readonly unit: boolean
  readonly seed: number
  /** Options of the method, checked, with defaults. */
  readonly settings: Settings
  /** Points carry labels of a round before: not so when a run starts from centres. */
  labelled: boolean
  /** The tree whose leaves the labels are, where there is one: see trees/label-tree.ts. */
  tree: Uint32Array | undefined
  /** What the centres have besides a place, where they are those of a Gaussian mixture. */
  mixture: Mixture | undefined
  /** Weights of the points, on the host. Default: all 1. */
  readonly weights: Float32Array | undefined
  /** Of the weights as the points carry them. */
  readonly totalWeight: number
  /** The power of two that weights were multiplied by, see options.ts. */
  readonly weightScale: number
  /** Points as evidence for a mixture: see `effectivePoints` in distinct.ts. Other methods have no use for it. */
  readonly evidence: number
  readonly control: RunControl
  /** Buffers that live as long as the run. */
  readonly scope: BufferScope
  readonly assignWorkspace: DeviceBuffer
}

/** The components of a mixture of spherical Gaussians, in the order of the centres. */
export interface Mixture {
  /** Their sum is 1. */
  readonly weights: Float64Array
  /** Of one column, in the points' frame. */
  readonly variances: Float64Array
}

/** Several centres for each row: NO_LABEL where there are fewer; the distances are squared. */
export interface CenterLists {
  /** u32 [rows][width]. */
  readonly lists: DeviceBuffer
  /** f32 [rows][width]. */
  readonly distances: DeviceBuffer
  readonly width: number
  /** Mean number of centres looked at per row. */
  readonly looked: number
}

/** Numbers that a run needs to continue exactly as if it had not been interrupted, by name. */
export type ResumeArrays = Readonly<Record<string, Float64Array | Float32Array | Uint32Array>>

/** What is not in centres, labels and statistics, and cannot be derived from the seed. */
export interface Resumable {
  /** Called between rounds. */
  save?(state: RunState): ResumeArrays | Promise<ResumeArrays>
  /** What `save` gave, before the first round. */
  restore?(state: RunState, saved: ResumeArrays): void
}

/** Which centres a point looks at. Writes `labels` and `distances` of the part; `previous` holds the round before. */
export interface CandidateSource extends Resumable {
  /** Mean number of centres looked at per point. */
  assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<number>
  /**
   * Called after every round: false while other centres would be looked at next time, so that a round
   * without change (or gain) is no reason to stop. Default: true.
   */
  settled?(round: Round): boolean | Promise<boolean>
  /**
   * For updates that move points one after another: the part's points in groups that share their
   * candidates. Each of the groupings is gone through in turn, each holds every point once.
   */
  groups?(state: RunState, part: PointPart, round: number): Promise<readonly PointGroups[]>
  /**
   * For updates that weigh several centres: those of each point. Without it they look at all. Valid until the next call.
   * `forgotten`: the points remember no centres that could make up for what a search misses.
   */
  lists?(state: RunState, part: PointPart, vectors: DeviceRows, round: number, forgotten: boolean): Promise<CenterLists>
  /** The same for the centres themselves, as they stand now. */
  listsOfCenters?(state: RunState, round: number): Promise<CenterLists>
}

/** What a round came to. */
export interface Round {
  readonly iteration: number
  readonly distortion: number
  readonly moved: number
  readonly candidates: number
  /** What the method has to tell besides. */
  readonly extra?: ExtraFacts | undefined
}

/** What happens when points have chosen. */
export interface Update extends Resumable {
  /** Called before the points choose, where centres move ahead of that; when the round is stopped they are put back. */
  begin?(state: RunState, iteration: number): Promise<void>
  /** Called where points begin with labels: centres become what they are then. Default: `take`, then `finish`. */
  adopt?(state: RunState): Promise<void>
  /**
   * Lets the points of a part choose, where that is more than taking the nearest candidate. Writes
   * `labels` and `distances`; returns the mean number of centres looked at per point.
   */
  drive?(state: RunState, source: CandidateSource, part: PointPart, vectors: DeviceRows, round: number): Promise<number>
  /** Called for every part of the points, after they chose. */
  take(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void>
  /** Called when all parts were taken: centres become what they are after the round. */
  finish(state: RunState): Promise<UpdateResult>
  /** Whether the run ends after this round. Default: nothing moved, or the distortion hardly fell. */
  ended?(round: Round, last: Round | undefined, tolerance: number): StopReason | undefined
}

export interface UpdateResult {
  /** By how much the sum of weighted squared distances fell when the centres moved. */
  readonly gain: number
  /** Clusters without a point that has weight. */
  readonly empty: number
  /** Sum of weighted squared distances after the round, where the gain does not tell. */
  readonly squares?: number
  /** Centres looked at while finishing, in all. */
  readonly looked?: number
  readonly extra?: ExtraFacts
}

/** A way to cluster: a row of {@link METHODS}. */
export interface Method {
  /** One line for people. */
  readonly summary: string
  /** Options of its own. */
  readonly options: readonly MethodOption[]
  /** The start taken where none is asked for. Default: greedy k-means++ on a sample, or k-means|| for very many clusters. */
  readonly start?: StartName
  /** True where the tree the start gave stays that of the clusters, and is kept with the model. Default: false. */
  readonly keepsTree?: boolean
  /** True where every kernel it runs takes sparse rows. Default: false. */
  readonly sparse?: boolean
  /** True where clusters may be merged and split between rounds: labels and means are all there is to them. Default: false. */
  readonly relocates?: boolean
  /** True where the method finds the number of clusters: `start` then says how many it begins with. Default: false. */
  readonly findsCount?: boolean
  /**
   * Where the method finds the number of clusters: how many it begins with unless it is told. Default: all points.
   * @internal
   */
  readonly startCount?: (settings: Settings, rows: number) => number
  /**
   * The most clusters there may be during a run that begins with k. Default: k.
   * @internal
   */
  readonly mostClusters?: (settings: Settings, rows: number, k: number) => number
  /** The start taken for a number of clusters to begin with, where the method finds the number. Default: random points.
   * @internal
   */
  readonly countedStart?: (settings: Settings) => StartName | undefined
  /**
   * Bytes the update keeps for each point in one buffer, where that is more than a label.
   * @internal
   */
  readonly pointBytes?: (settings: Settings, stride: number) => number
  /** False where weights make no sense. Default: true. */
  readonly weights?: boolean
  /** @internal Which centres a point looks at. */
  readonly candidates: (state: RunState) => CandidateSource
  /** @internal What happens when it prefers one. */
  readonly update: (state: RunState) => Update
}

/** How centres, or labels, can begin. */
export type StartName = 'auto' | 'none' | 'random' | 'kpp' | 'parallel' | 'tree' | 'hkm' | 'bisecting'

export function createRunState(
  device: Device,
  points: PointStore,
  k: number,
  options: Pick<RunState, 'seed' | 'settings' | 'weights' | 'totalWeight' | 'weightScale' | 'evidence' | 'control'>,
  most = k,
): RunState {
  const scope = new BufferScope(device)
  const room = allocateRows(scope, Math.max(k, most), points.cols, 'f32', 'centres')
  device.clear(room.buffer)
  let workspace: DeviceBuffer | undefined
  return {
    device,
    points,
    k,
    centers: firstRows(room, k),
    room,
    unit: points.frame.unit,
    labelled: false,
    tree: undefined,
    mixture: undefined,
    ...options,
    scope,
    // As large as the centres and more; methods that never look at all of them do without.
    get assignWorkspace() {
      workspace ??= scope.allocate(assignWorkspaceBytes(room, points.source.sparse !== undefined), 'prepared centres')
      return workspace
    },
  }
}

/** The same run with something else in place. By prototype: a copy would ask for the workspace, and so allocate it. */
export function changedState(state: RunState, changes: Partial<RunState>): RunState {
  return Object.assign(Object.create(state) as RunState, changes)
}

/** Other centres, another number of them perhaps. */
export function replaceCenters(state: RunState, centers: Float32Array): void {
  state.k = centers.length / state.points.cols
  state.centers = firstRows(state.room, state.k)
  writeCenters(state, centers)
}

export function writeCenters(state: RunState, centers: Float32Array): void {
  writeRows(state.device, state.centers, centers)
}

export function readCenters(state: RunState): Promise<Float32Array> {
  return readRows(state.device, state.centers)
}

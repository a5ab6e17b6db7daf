/** What a run works on, and the two contracts a method is made of: where candidates come from, and what is done with them. */
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { assignWorkspaceBytes } from '../kernels/assign.ts'
import type { PointGroups } from '../kernels/move-batch.ts'
import { allocateRows, type DeviceRows, firstRows, readRows, writeRows } from '../kernels/rows.ts'
import type { SampleFacts } from '../models/facts.ts'
import type { StartName } from '../models/method-names.ts'
import type { Mixture } from '../models/mixture.ts'
import type { ResumeArrays } from '../models/resume-arrays.ts'
import type { ExtraFacts, StopReason } from '../models/stats.ts'
import type { PointPart } from '../vectors/point-part.ts'
import type { PointStore } from '../vectors/points.ts'
import type { MethodOption, Settings } from './method-options.ts'
import type { PartialSums } from './partial.ts'
import type { RowLists } from './remote-owners.ts'
import type { Team } from './team.ts'

export interface RunState {
  readonly device: Device
  /** All points, on whatever devices. */
  readonly points: PointStore
  /** Which of the run's devices this is; 0 leads. */
  readonly owner: number
  /** The points that this device owns. */
  readonly parts: readonly PointPart[]
  readonly team: Team
  /** Falls during the run where the method finds the number itself. */
  k: number
  /** Centres in the points' frame, k of them; they stay on the device between rounds. */
  centers: DeviceRows
  /** The memory of the centres: as many as there may be during the run. */
  readonly room: DeviceRows
  /** The memory of the centres as they were when the round began, where the loop keeps them. */
  began: DeviceBuffer | undefined
  /** Centres are kept at length one. */
  readonly unit: boolean
  readonly seed: number
  /** Options of the method, checked, with defaults. */
  readonly settings: Settings
  /** Points carry labels of a round before: not so when a run starts from centres. */
  labelled: boolean
  /** The sample that the run began from, if it did. */
  sample: SampleFacts | undefined
  /** The tree whose leaves the labels are, where there is one: see trees/label-tree.ts. */
  tree: Uint32Array | undefined
  /** Weights and variances of the components, if the centres are those of a Gaussian mixture. */
  mixture: Mixture | undefined
  /** Weights of the points, on the host. Default: all 1. */
  readonly weights: Float32Array | undefined
  /** Of the weights as the points carry them. */
  readonly totalWeight: number
  /** No number of a vector is larger, in the points' frame. */
  readonly largest: number
  /** The power of two that weights were multiplied by, see options.ts. */
  readonly weightScale: number
  /** Points as evidence for a mixture: see `effectivePoints` in distinct.ts. Other methods have no use for it. */
  readonly evidence: number
  /** What runs that begin from each other have made of the trees over the same points. Default: this is the first. */
  readonly treeUse?: TreeUse | undefined
  readonly control: RunControl
  /** Buffers that live as long as the run. */
  readonly scope: BufferScope
  readonly assignWorkspace: DeviceBuffer
}

/** Changed by the runs. */
export interface TreeUse {
  /** Trees there are already. */
  grown: number
  /** Number of rounds with some of all trees, in all runs. */
  rounds: number
  /** Most clusters of any of the runs: the size of leaves suits that number. */
  readonly clusters: number
}

/** Several centres for each row: NO_LABEL where there are fewer; the distances are squared. */
export interface CenterLists {
  /** u32 [rows][width]. */
  readonly lists: DeviceBuffer
  /** f32 [rows][width]. */
  readonly distances: DeviceBuffer
  readonly width: number
  /** Pairs of a row and a centre that were compared. */
  readonly evaluated: number
}

/** The same for the centres themselves, on the host. */
export interface ListsOfCenters {
  /** [k][width]. */
  readonly lists: Uint32Array
  readonly distances: Float32Array
  readonly width: number
  readonly evaluated: number
}

/** A number, or how to read it when it is wanted: what is read late is read with other things, see `Device.stage`. */
export type Counted = number | (() => Promise<number>)

export async function countOf(counted: Counted): Promise<number> {
  return typeof counted === 'number' ? counted : counted()
}

/** What is not in centres, labels and statistics, and cannot be derived from the seed. */
export interface Resumable {
  /** Called between rounds. */
  save?(state: RunState): ResumeArrays | Promise<ResumeArrays>
  /** What `save` gave, before the first round. */
  restore?(state: RunState, saved: ResumeArrays): void
}

/** Compiles ahead what its rounds will need. */
export interface Rehearsed {
  /** Calls kernels on a device that only compiles them: see device/rehearsal.ts. */
  rehearse?(state: RunState, rehearsal: Device, part: PointPart, vectors: DeviceRows): Promise<void>
}

/**
 * The candidate centres of points. Writes `labels` and `distances` of the part; `previous` has those of the previous round.
 */
export interface CandidateSource extends Resumable, Rehearsed {
  /** Returns the number of pairs of a point and a centre that were compared. */
  assign(state: RunState, part: PointPart, vectors: DeviceRows, round: number): Promise<Counted>
  /** On a leading device without points: receives the state that `endRound` and `save` depend on. */
  prepare?(state: RunState, round: number): Promise<void>
  /**
   * Called after every round. Returns false while the candidates of the next round would differ, so that a round without
   * change (or gain) is no reason to stop. Default: true.
   */
  endRound?(round: Round): boolean | Promise<boolean>
  /**
   * For updates that move points one after another: the part's points in groups that share their
   * candidates. Each of the groupings is gone through in turn, each holds every point once.
   */
  groups?(state: RunState, part: PointPart, round: number): Promise<readonly PointGroups[]>
  /**
   * For updates that weight several centres: the candidates of each point. Without it, all centres. Valid until the next
   * call. `forgotten`: the points remember no centres that could make up for what a search misses.
   */
  lists?(state: RunState, part: PointPart, vectors: DeviceRows, round: number, forgotten: boolean): Promise<CenterLists>
  /** The same for the centres themselves, as they stand now. */
  listsOfCenters?(state: RunState, round: number): Promise<ListsOfCenters>
}

/** What a round came to. */
export interface Round {
  readonly iteration: number
  readonly distortion: number
  readonly moved: number
  readonly candidates: number
  /** Statistics of the method. */
  readonly extra?: ExtraFacts | undefined
}

/** What happens when points have chosen. */
export interface Update extends Pick<Resumable, 'restore'>, Rehearsed {
  /** Called between rounds on a device of another process: what `save` of the leading device needs of its points. */
  remembered?(state: RunState): Promise<readonly RowLists[]>
  /** Called between rounds on the leading device, with the updates of the others. */
  save?(state: RunState, others: readonly Update[]): ResumeArrays | Promise<ResumeArrays>
  /** On the leading device, before the points choose: centres move ahead of that. When the round is stopped they are put back. */
  ahead?(state: RunState, source: CandidateSource, iteration: number): Promise<void>
  /** True where centres change in `finish` alone, although there is an `ahead` or an `assignPart`: no copy of them is kept then. */
  readonly centersWait?: boolean
  /** On every device, before its points choose. */
  begin?(state: RunState, source: CandidateSource, iteration: number): Promise<void>
  /** On the leading device, if the start gives labels: computes the initial centres. Default: `addPart`, then `finish`. */
  startFromLabels?(state: RunState): Promise<void>
  /**
   * Lets the points of a part choose, where that is more than taking the nearest candidate. Writes `labels` and
   * `distances`; returns the number of pairs of a point and a centre that were compared.
   */
  assignPart?(
    state: RunState,
    source: CandidateSource,
    part: PointPart,
    vectors: DeviceRows,
    round: number,
  ): Promise<Counted>
  /** On every device, before its points retreat. */
  beginRetreat?(state: RunState): void
  /**
   * Called when the objective rose: the points of a part go back to what cannot raise it. Writes `labels` and `distances`.
   * Only where points of several domains chose without knowing of each other.
   */
  retreat?(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void>
  /** True if the update must process the points once more before they are assigned, because it does not have their labels. */
  readonly stale?: boolean
  /** Forgets what was taken. */
  reset?(state: RunState): void
  /** Called for every part of a device, after its points chose. */
  addPart(state: RunState, part: PointPart, vectors: DeviceRows): Promise<void>
  /** What this device took, as a value. Only asked for where there are several devices. */
  partial(state: RunState): Promise<PartialSums>
  /** On the leading device: replaces its own partial sums by the merged ones of all devices. */
  absorb(state: RunState, merged: PartialSums): void
  /** On the leading device, after all parts: computes the centres after the round. */
  finish(state: RunState): Promise<UpdateResult>
  /** On the other devices, which have the new centres already. `news` is that of the leading device's result. */
  follow?(state: RunState, merged: PartialSums, news: unknown): Promise<void>
  /** Whether the run ends after this round. Default: no label changed, or the distortion converged. */
  ended?(round: Round, last: Round | undefined, tolerance: number): StopReason | undefined
}

export interface UpdateResult {
  /** By how much the sum of weighted squared distances fell when the centres moved. */
  readonly gain: number
  /** Clusters without a point that has weight. */
  readonly empty: number
  /** Sum of weighted squared distances after the round, where the gain does not tell. */
  readonly squares?: number
  /** Number of candidates compared while finishing, in total. */
  readonly evaluated?: number
  /** Data for the other devices in addition to the centres. */
  readonly news?: unknown
  readonly extra?: ExtraFacts
}

/** A clustering method: an entry of {@link METHODS}. */
export interface Method {
  /** One line for people. */
  readonly summary: string
  /** Method-specific options. */
  readonly options: readonly MethodOption[]
  /** The default start. Without it: greedy k-means++ on a sample, or k-means|| for very many clusters. */
  readonly start?: StartName
  /** True if the tree of the start is kept with the model. Default: false. */
  readonly keepsTree?: boolean
  /** True if the method supports sparse rows. Default: false. */
  readonly sparse?: boolean
  /**
   * True if clusters can be merged and split between rounds, because their state consists of labels and means only.
   * Default: false.
   */
  readonly relocates?: boolean
  /** True where the method finds the number of clusters: `start` then sets how many it starts with. Default: false. */
  readonly findsCount?: boolean
  /**
   * If the method finds the number of clusters: the default initial number. Default: all points.
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
  readonly bytesPerPoint?: (settings: Settings, stride: number) => number
  /** True where clusters are the components of a mixture, with widths. Default: false. */
  readonly mixture?: boolean
  /** False if the method does not support weights. Default: true. */
  readonly weights?: boolean
  /** @internal Which centres a point looks at. */
  readonly candidates: (state: RunState) => CandidateSource
  /** @internal What happens when it prefers one. */
  readonly update: (state: RunState) => Update
}

type RunSetting = Pick<
  RunState,
  'seed' | 'settings' | 'weights' | 'totalWeight' | 'largest' | 'weightScale' | 'evidence' | 'treeUse' | 'control'
>

/** The state on one of the devices that own the points. */
export function createRunState(
  team: Team,
  points: PointStore,
  owner: number,
  k: number,
  options: RunSetting,
  most = k,
): RunState {
  const device = points.devices[owner]
  const scope = new BufferScope(device)
  const room = allocateRows(scope, Math.max(k, most), points.cols, 'f32', 'centres')
  device.clear(room.buffer)
  let workspace: DeviceBuffer | undefined
  const state: RunState = {
    device,
    points,
    owner,
    parts: points.partsOn(owner),
    team,
    k,
    centers: firstRows(room, k),
    room,
    began: undefined,
    unit: points.frame.unit,
    labelled: false,
    sample: undefined,
    tree: undefined,
    mixture: undefined,
    ...options,
    scope,
    // Larger than the centres; methods that never compare with all of them do not need it.
    get assignWorkspace() {
      workspace ??= scope.allocate(assignWorkspaceBytes(room, points.source.sparse !== undefined), 'prepared centres')
      return workspace
    },
  }
  team.states.push(state)
  return state
}

/** Share of a round that is done when `share` of a part is, as the leading device sees it. */
export function reportShare({ control, parts, owner }: RunState, part: PointPart, share: number): void {
  if (owner > 0 || control.onProgress === undefined) return
  const rows = parts.reduce((sum, { count }) => sum + count, 0)
  control.onProgress((part.first - parts[0].first + share * part.count) / rows)
}

/**
 * The same run with some properties replaced. Uses the prototype, because a copy would read the workspace and thus allocate
 * it.
 */
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

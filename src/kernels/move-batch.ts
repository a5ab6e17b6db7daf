/**
 * A batch of points that may move: what the kernels of k-means# are given of it on either device, and the memory they need.
 * Points come in groups that share their candidates. members: u32 [n], points group by group; offsets: u32 [groups + 1]; a
 * batch is a run of `order`, which lists the groups.
 */

import { LEAST_GAIN, LEAST_LEFT, MORE_THAN_POINT } from '../../shaders/move-costs.ts'
import { AMONG, TURN_FACTOR } from '../../shaders/move-gains.ts'
import { type BufferScope, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { type Around, DOMAIN_FIELDS, domainValues } from './around.ts'
import { SharedConstants, VECTORS } from './declared-function.ts'
import { type MovingClusters, SUM_STRIDE } from './moving-clusters.ts'
import type { DeviceRows } from './rows.ts'

/** A scheduled move: point, both clusters, and its turns at these. Four words come before the first. */
const MOVE_WORDS = 5
const MOVE_HEADER_WORDS = 4

export const moveConstants = new SharedConstants({
  AMONG_LABELS: { type: 'u32', value: AMONG.labels },
  AMONG_ALL: { type: 'u32', value: AMONG.all },
  TURN_FACTOR: { type: 'u32', value: TURN_FACTOR },
  LEAST_GAIN: { type: 'f64', value: LEAST_GAIN },
  LEAST_LEFT: { type: 'f64', value: LEAST_LEFT },
  MORE_THAN_POINT: { type: 'f64', value: MORE_THAN_POINT },
  MOVE_WORDS: { type: 'u32', value: MOVE_WORDS },
  /** Clusters whose dot products with a sparse row are computed together. */
  MOVE_BLOCK: { type: 'u32', value: 32 },
})

/** The candidates of the points of a group: the clusters of its points, all clusters, or one list per group. */
export type Among = 'labels' | 'all' | { readonly lists: DeviceBuffer; readonly width: number }

export interface PointGroups {
  readonly members: DeviceBuffer
  readonly offsets: DeviceBuffer
  readonly groups: number
  /** Points of the largest group. */
  readonly largest: number
  readonly among: Among
  /** What the groups are made of, where that is more than the points. */
  readonly around?: Around | undefined
}

export interface MoveBatch {
  readonly points: DeviceRows
  readonly weights?: DeviceBuffer | undefined
  readonly labels: DeviceBuffer
  readonly clusters: MovingClusters
  readonly groups: PointGroups
  /** u32 [groups] */
  readonly order: DeviceBuffer
  readonly firstGroup: number
  readonly count: number
  /** Take the first move that pays instead of the best. */
  readonly first: boolean
  readonly workspace: MoveWorkspace
}

export interface MoveWorkspace {
  /** u32 [groups of a batch][largest], 0xffffffff for a point that stays or is not held here. */
  readonly proposals: DeviceBuffer
  /** u32 [groups]: pairs of a point and a cluster that were compared. */
  readonly evaluated: DeviceBuffer
  /** CPU only, for batches whose moves are worth sharing among threads. */
  readonly schedule?: MoveSchedule
  /** WebGPU only. */
  readonly gpu?: { readonly batch: DeviceBuffer; readonly candidates: DeviceBuffer }
}

/** CPU only: moves of large batches, in the order in which they are applied. See wasm/apply-moves.ts. */
export interface MoveSchedule {
  readonly moves: DeviceBuffer
  /** u32 [k][2] */
  readonly turns: DeviceBuffer
  /** Clusters of the moves, each once. */
  readonly touched: DeviceBuffer
}

/** From here on the moves of a batch are shared among threads: meeting takes longer than applying a few. */
const SCHEDULED_PLACES = 1024

/**
 * Room for so many groups in all, and batches of up to `places` points, absent ones of smaller groups included. With room to
 * collect `collected` places, batches that follow each other are collected in one pass. `clusters`: those to which the moves
 * are applied, if they are.
 */
export function createMoveWorkspace(
  device: Device,
  scope: BufferScope,
  clusters: MovingClusters | undefined,
  groups: number,
  places: number,
  collected = places,
): MoveWorkspace {
  const proposals = scope.allocate(places * 4, 'proposed moves')
  const evaluated = scope.allocate(groups * 4, 'pairs looked at')
  if (device.info.kind === 'cpu') {
    const scheduled = places >= SCHEDULED_PLACES && clusters !== undefined && clusters.sparse === undefined
    return {
      proposals,
      evaluated,
      ...(scheduled && { schedule: createMoveSchedule(device, scope, places, clusters.centers.rows) }),
    }
  }
  const room = collected * 16 <= device.info.limits.bindingBytes ? collected : places
  const batch = scope.allocate(room * 16, 'points of a batch')
  return { proposals, evaluated, gpu: { batch, candidates: scope.allocate(room * 4, 'candidates of a batch') } }
}

/** For batches of up to `places` points among k clusters. */
export function createMoveSchedule(device: Device, scope: BufferScope, places: number, k: number): MoveSchedule {
  const turns = scope.allocate(k * 8, 'turns at clusters')
  device.clear(turns)
  return {
    moves: scope.allocate((MOVE_HEADER_WORDS + places * MOVE_WORDS) * 4, 'moves in order'),
    turns,
    touched: scope.allocate(Math.min(k, 2 * places) * 4, 'clusters of the moves'),
  }
}

/** The groups of a batch: for kernels that work group by group, and for all kernels on the CPU. */
export const GROUP_FIELDS = {
  /** Rows of the domain, group by group. */
  members: reads('u32'),
  /** First member of each group, and the end of the last. */
  offsets: reads('u32'),
  /** Members of the largest group. */
  largest: 'u32',
  domainFrom: DOMAIN_FIELDS.domainFrom,
} as const

/** What proposing and applying moves are given on both devices. */
export const BATCH_FIELDS = {
  points: VECTORS,
  weights: mayRead('f32'),
  /** Vectors and centres have length one. */
  unit: 'bool',
  ...SUM_STRIDE,
} as const

/** Where candidates come from. */
export const AMONG_FIELDS = {
  /** AMONG_LABELS, AMONG_ALL, or a list for each group. */
  among: 'u32',
  /** Most candidates of a group. */
  width: 'u32',
  ...DOMAIN_FIELDS,
  /** Pairs measured in each group. */
  evaluated: writes('u32'),
} as const

/** Values of all of these. */
export function batchValues({ points, weights, labels, clusters, groups: of, count, workspace }: MoveBatch) {
  const { members, offsets, groups, largest, among, around } = of
  return {
    points,
    weights: elements(weights, points.rows),
    unit: clusters.unit,
    ...domainValues(points, labels, around),
    members: elements(members),
    offsets: elements(offsets, groups + 1),
    largest,
    among: among === 'labels' ? AMONG.labels : among === 'all' ? AMONG.all : AMONG.lists,
    width: typeof among === 'object' ? among.width : among === 'all' ? clusters.centers.rows : largest,
    labels: elements(labels, points.rows),
    proposals: elements(workspace.proposals, count * largest),
    evaluated: elements(workspace.evaluated, groups),
  }
}

/** Candidates that are listed for each group. */
export function listsOf({ groups: { among, groups } }: MoveBatch) {
  return typeof among === 'object' ? elements(among.lists, groups * among.width) : undefined
}

/** The groups of a batch, on the CPU. */
export function orderOf({ order, firstGroup, count }: MoveBatch) {
  return elements(slice(order, firstGroup * 4, count * 4))
}

export function gpuWorkspace({ gpu }: MoveWorkspace): NonNullable<MoveWorkspace['gpu']> {
  if (gpu === undefined) throw new Error('this workspace was made for another device')
  return gpu
}

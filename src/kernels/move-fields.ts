/**
 * A batch of points that may move, as the kernels of k-means# are given it: arguments that the WebAssembly functions for
 * dense and for sparse rows have in common, and their values.
 */
import { AMONG, TURN_FACTOR } from '../../shaders/move-gains.ts'
import { LEAST_GAIN, LEAST_LEFT, MORE_THAN_POINT } from '../../shaders/prices.ts'
import { type BufferScope, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { DOMAIN_FIELDS, domainValues } from './around.ts'
import { SharedConstants, VECTORS } from './declared-function.ts'
import type { Among, MoveBatch, MoveWorkspace } from './move-gains.ts'

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
})

/** The points of a batch, and the groups they come in. */
const BATCH_FIELDS = {
  points: VECTORS,
  /** Rows of the domain, group by group. */
  members: reads('u32'),
  /** First member of each group, and the end of the last. */
  offsets: reads('u32'),
  /** The groups of the batch. */
  order: reads('u32'),
  /** Members of the largest group. */
  largest: 'u32',
  /** Vectors and centres have length one. */
  unit: 'bool',
  /** Without weights every point has weight 1. */
  weights: mayRead('f32'),
} as const

function batchValues({ points, weights, clusters, groups, order, firstGroup, count }: MoveBatch) {
  const { members, offsets, largest } = groups
  return {
    points,
    members: elements(members),
    offsets: elements(offsets, groups.groups + 1),
    order: elements(slice(order, firstGroup * 4, count * 4)),
    largest,
    unit: clusters.unit,
    weights: elements(weights, points.rows),
  }
}

/** Arguments of the functions that propose moves. */
export const GAINS_FIELDS = {
  ...BATCH_FIELDS,
  ...DOMAIN_FIELDS,
  /** AMONG_LABELS, AMONG_ALL, or a list for each group. */
  among: 'u32',
  lists: mayRead('u32'),
  /** Most candidates of a group. */
  width: 'u32',
  /** Take the first move that pays instead of the best. */
  first: 'bool',
  labels: reads('u32'),
  /** [groups of the batch][largest], 0xffffffff for a point that stays. */
  proposals: writes('u32'),
  /** Pairs measured in each group. */
  looked: writes('u32'),
} as const

export function gainsValues(batch: MoveBatch) {
  const { points, labels, clusters, groups, count, first, workspace } = batch
  const { largest, among, around } = groups
  return {
    ...batchValues(batch),
    ...domainValues(points, labels, around),
    among: modeOf(among),
    lists: typeof among === 'object' ? elements(among.lists, groups.groups * among.width) : undefined,
    width: widthOf(among, clusters.centers.rows, largest),
    first,
    labels: elements(labels, points.rows),
    proposals: elements(workspace.proposals, count * largest),
    looked: elements(workspace.looked, groups.groups),
  }
}

/** CPU only: moves of large batches, in the order in which they are applied. See wasm/apply-moves.ts. */
export interface MoveSchedule {
  readonly moves: DeviceBuffer
  /** u32 [k][2] */
  readonly turns: DeviceBuffer
  /** Clusters of the moves, each once. */
  readonly touched: DeviceBuffer
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

/** Arguments of the functions that apply moves. */
export const APPLY_FIELDS = {
  ...BATCH_FIELDS,
  /** Groups of the batch. */
  groups: 'u32',
  domainFrom: DOMAIN_FIELDS.domainFrom,
  labels: writes('u32'),
  proposals: reads('u32'),
} as const

export function applyValues(batch: MoveBatch) {
  const { points, labels, groups, count, workspace } = batch
  return {
    ...batchValues(batch),
    groups: count,
    domainFrom: groups.around?.from ?? 0,
    labels: elements(labels, points.rows),
    proposals: elements(workspace.proposals, count * groups.largest),
  }
}

/** Where candidates come from, as kernels know it. */
export function modeOf(among: Among): number {
  return among === 'labels' ? AMONG.labels : among === 'all' ? AMONG.all : AMONG.lists
}

/** Most candidates of a group; `ofLabels` where they are its labels. */
export function widthOf(among: Among, k: number, ofLabels: number): number {
  return typeof among === 'object' ? among.width : among === 'all' ? k : ofLabels
}

export function gpuWorkspace({ gpu }: MoveWorkspace): NonNullable<MoveWorkspace['gpu']> {
  if (gpu === undefined) throw new Error('this workspace was made for another device')
  return gpu
}

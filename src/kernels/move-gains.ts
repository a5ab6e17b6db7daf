/**
 * move-gains: k-means# (k-means: a revisit). For every point of a batch, the cluster in which it would
 * lower the objective most, as sums and sizes stand now; `apply-moves` then does what still pays.
 *
 * Points come in groups that share their candidates. members: u32 [n], points group by group; offsets:
 * u32 [groups + 1]; a batch is a run of `order`, which lists the groups. Cost: 3 d operations a pair.
 * With `around` members may be rows that this device does not hold: nothing is proposed for those.
 */
import { centerTiles, TILE_ROWS } from '../../shaders/leaf-tiles.ts'
import { collectMoves, moveGainsShader } from '../../shaders/move-gains.ts'
import { collectGroups, moveGainsTiled } from '../../shaders/move-gains-tiled.ts'
import { THREADS } from '../../shaders/snippets.ts'
import type {
  BufferScope,
  ComputePass,
  CpuJob,
  CpuMemory,
  Device,
  DeviceBuffer,
  GpuTarget,
} from '../device/contract.ts'
import { elements, reads } from '../device/fields.ts'
import { type Around, domainOf, shareOf } from './around.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import {
  createMoveSchedule,
  GAINS_FIELDS,
  gainsValues,
  gpuWorkspace,
  type MoveSchedule,
  modeOf,
  moveConstants,
  widthOf,
} from './move-fields.ts'
import { createMovingSums, type MovingSums, sparseGainsJob, sparseGainsPasses } from './moves-sparse.ts'
import { QUANTIZED_LENGTH, quantizedFields, quantizedLayout, quantizedValues } from './quantized-centers.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, type RowType } from './rows.ts'

export const moveGainsFunction = declareFunction('moveGains', {
  args: {
    ...GAINS_FIELDS,
    points: DENSE_VECTORS,
    centers: reads('f32'),
    /** [k][2]: mass and number of points. */
    clusters: reads('f32'),
    ...quantizedFields(reads),
  },
  scratch: {
    /** Four points as integers. */
    rows: ({ points }) => 4 * Math.ceil(points.stride / 8) * 16,
    /** Dot products of four points with two centres. */
    dots: () => 32,
    /** Six numbers of each of four points. */
    lanes: () => 96,
    /** Distinct labels of a group. */
    found: ({ among, largest }) => (among === moveConstants.get('AMONG_LABELS') ? largest * 4 : 0),
    /** What each candidate asks of four points. */
    prices: ({ width }) => width * 16,
    /** Members of a group that are points of this device. */
    places: ({ largest }) => largest * 4,
  },
})

/** Which clusters the points of a group look at: those of its points, all, or a list a group. */
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

/** Clusters as moves see and change them. */
export interface MovingClusters {
  readonly centers: DeviceRows
  /** f32 [k][2]: weight (or, of unit vectors, length of the sum) and number of points. */
  readonly masses: DeviceBuffer
  /** CPU only: scales, centres as integers, their starting values. */
  readonly quantized: DeviceBuffer
  /** Of sparse rows, whose centres stay while points move. */
  readonly sparse?: MovingSums
  /** Vectors and centres have length one. */
  readonly unit: boolean
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
  /** u32 [groups]: pairs of a point and a cluster that were looked at. */
  readonly looked: DeviceBuffer
  /** CPU only, for batches whose moves are worth sharing among threads. */
  readonly schedule?: MoveSchedule
  /** WebGPU only. */
  readonly gpu?: { readonly batch: DeviceBuffer; readonly candidates: DeviceBuffer }
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
  const looked = scope.allocate(groups * 4, 'pairs looked at')
  if (device.info.kind === 'cpu') {
    const scheduled = places >= SCHEDULED_PLACES && clusters !== undefined && clusters.sparse === undefined
    return {
      proposals,
      looked,
      ...(scheduled && { schedule: createMoveSchedule(device, scope, places, clusters.centers.rows) }),
    }
  }
  const room = collected * 16 <= device.info.limits.bindingBytes ? collected : places
  const batch = scope.allocate(room * 16, 'points of a batch')
  return { proposals, looked, gpu: { batch, candidates: scope.allocate(room * 4, 'candidates of a batch') } }
}

/** For points of a type; `longest`: length of the longest point, which no centre exceeds. */
export function createMovingClusters(
  device: Device,
  scope: BufferScope,
  centers: DeviceRows,
  options: { readonly type: RowType; readonly unit: boolean; readonly longest: number },
): MovingClusters {
  const { type, unit } = options
  const longest = unit ? 1.001 : options.longest * 1.001
  const masses = scope.allocate(centers.rows * 8, 'masses of clusters')
  if (type === 'csr')
    return { centers, masses, quantized: masses, unit, sparse: createMovingSums(device, scope, centers) }
  const quantized = scope.allocate(quantizedLayout(centers).bytes, 'centres as integers')
  const scale = longest > 0 ? QUANTIZED_LENGTH / longest : 1
  // Bytes are whole numbers already.
  const pointScale = type === 'u8' && longest < QUANTIZED_LENGTH ? 1 : scale
  const worst = 0.5 * Math.sqrt(centers.stride)
  device.write(quantized, Float32Array.of(scale, pointScale, worst, QUANTIZED_LENGTH + worst))
  return { centers, masses, quantized, unit }
}

/** Groups whose points and candidates are collected for the GPU: a run of `order`. */
interface GroupRun {
  readonly firstGroup: number
  readonly count: number
}

/** Hardware takes one workgroup per group. */
export function isTiled(gpu: GpuTarget, { points }: MoveBatch): boolean {
  return gpu.tiled && points.type !== 'csr'
}

/** The passes of one batch, to be run among others. */
export function* moveGainsPasses(gpu: GpuTarget, batch: MoveBatch): Generator<ComputePass> {
  yield collectPass(gpu, batch, batch)
  if (isTiled(gpu, batch)) return yield* tiledGainsPasses(gpu, batch, 0)
  const { points, labels, clusters, groups, count } = batch
  const { largest, among } = groups
  const width = widthOf(among, clusters.centers.rows, largest)
  if (points.type === 'csr') return yield* sparseGainsPasses(gpu, batch, width)
  const domain = domainOf(points, labels, groups.around)
  const shader = moveGainsShader(denseType(points))
  const bindings = gainsBindings(batch)
  yield* rowPasses(gpu, {
    rows: count * largest,
    perRow: 1 + shareOf(points, domain) * 3 * (width + 1) * points.stride,
    atLeast: THREADS,
    pass: (first, places) => shader.pass(gpu, { ...bindings, first, places }, { items: places }),
  })
}

/** Points and candidates of a run of groups, which may be those of several batches: labels of a group then must not change in between. */
export function collectPass(gpu: GpuTarget, batch: MoveBatch, { firstGroup, count }: GroupRun): ComputePass {
  const { points, labels, clusters, groups, order, workspace } = batch
  const { members, offsets, largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const tiled = isTiled(gpu, batch)
  const { batch: places, candidates } = gpuWorkspace(workspace)
  return (tiled ? collectGroups : collectMoves).pass(
    gpu,
    {
      firstGroup,
      groups: count,
      largest,
      among: modeOf(among),
      width: widthOf(among, clusters.centers.rows, 0),
      domainFrom: domain.from,
      held: points.rows,
      members,
      offsets,
      order,
      labels: domain.labels,
      batch: places,
      candidates,
      looked: workspace.looked,
    },
    { items: count, perGroup: tiled ? 1 : THREADS, operations: count * largest * largest },
  )
}

/** Fewest groups worth a dispatch. */
const GROUPS_AT_LEAST = 64

/** Proposals of a batch whose first place is `firstPlace` of those that were collected. */
export function* tiledGainsPasses(gpu: GpuTarget, batch: MoveBatch, firstPlace: number): Generator<ComputePass> {
  const { points, labels, clusters, groups, count } = batch
  const { largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const width = widthOf(among, clusters.centers.rows, largest)
  const shader = moveGainsTiled(denseType(points), centerTiles(width))
  const bindings = gainsBindings(batch)
  yield* rowPasses(gpu, {
    rows: count,
    perRow: largest * (1 + shareOf(points, domain) * 3 * (width + 1) * points.stride),
    atLeast: GROUPS_AT_LEAST,
    pass: (firstGroup, rows) =>
      shader.pass(
        gpu,
        { ...bindings, firstGroup, groups: rows, largest, firstPlace },
        { items: rows * Math.ceil(largest / TILE_ROWS), perGroup: 1 },
      ),
  })
}

/** What both forms of the measuring pass are given. */
function gainsBindings({ points, weights, labels, clusters, groups: { among }, first, workspace }: MoveBatch) {
  const { batch, candidates } = gpuWorkspace(workspace)
  return {
    x: points.buffer,
    centers: clusters.centers.buffer,
    clusters: clusters.masses,
    batch,
    lists: typeof among === 'object' ? among.lists : candidates,
    labels,
    weights,
    proposals: workspace.proposals,
    quads: points.stride / 4,
    among: modeOf(among),
    unit: clusters.unit,
    firstGain: first,
  }
}

export function* moveGainsJobs(memory: CpuMemory, batch: MoveBatch): Generator<CpuJob> {
  const { points, labels, clusters, groups, count } = batch
  if (points.type === 'csr') return yield sparseGainsJob(memory, batch)
  const { centers, masses, quantized } = clusters
  const values = gainsValues(batch)
  const share = shareOf(points, domainOf(points, labels, groups.around))
  const perGroup = groups.largest * (1 + share * values.width * points.stride)
  yield moveGainsFunction.job(
    memory,
    {
      ...values,
      centers: elements(centers.buffer, centers.rows * centers.stride),
      clusters: elements(masses, centers.rows * 2),
      ...quantizedValues(quantized, centers),
    },
    { items: count, grain: Math.max(1, Math.min(Math.ceil(count / 8), Math.round(1e6 / perGroup))) },
  )
}

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
import { THREADS } from '../../shaders/pieces.ts'
import {
  type BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  slice,
} from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { type Around, domainArgs, domainOf, shareOf } from './around.ts'
import { createMovingSums, type MovingSums, sparseGainsJob, sparseGainsPasses } from './moves-sparse.ts'
import { quantizedLayout } from './quantized-centers.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, type RowType, rowArgs, rowsAt } from './rows.ts'

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
  /** WebGPU only. */
  readonly gpu?: { readonly batch: DeviceBuffer; readonly candidates: DeviceBuffer }
}

/**
 * Room for so many groups in all, and batches of up to `places` points, absent ones of smaller groups included. With room to
 * collect `collected` places, batches that follow each other are collected in one pass.
 */
export function createMoveWorkspace(
  device: Device,
  scope: BufferScope,
  groups: number,
  places: number,
  collected = places,
): MoveWorkspace {
  const proposals = scope.allocate(places * 4, 'proposed moves')
  const looked = scope.allocate(groups * 4, 'pairs looked at')
  if (device.info.kind === 'cpu') return { proposals, looked }
  const room = collected * 16 <= device.info.limits.bindingBytes ? collected : places
  const batch = scope.allocate(room * 16, 'points of a batch')
  return { proposals, looked, gpu: { batch, candidates: scope.allocate(room * 4, 'candidates of a batch') } }
}

/** Scaled lengths stay under this: see wasm/quantized.ts. */
const LENGTH = 30000

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
  const scale = longest > 0 ? LENGTH / longest : 1
  // Bytes are whole numbers already.
  const pointScale = type === 'u8' && longest < LENGTH ? 1 : scale
  const worst = 0.5 * Math.sqrt(centers.stride)
  device.write(quantized, Float32Array.of(scale, pointScale, worst, LENGTH + worst))
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
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { centers, masses, unit } = clusters
  const { largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const work = gpuWorkspace(workspace)
  const mode = modeOf(among)
  if (points.type === 'csr') {
    const looked = widthOf(among, centers.rows, largest)
    return yield* sparseGainsPasses(gpu, batch, { mode, width: looked })
  }
  const places = count * largest
  yield* rowPasses(gpu, {
    rows: places,
    perRow: 1 + shareOf(points, domain) * 3 * (widthOf(among, centers.rows, largest) + 1) * points.stride,
    atLeast: THREADS,
    pass: (first, rows) => ({
      shader: moveGainsShader(denseType(points)),
      bindings: [
        points.buffer,
        centers.buffer,
        masses,
        work.batch,
        typeof among === 'object' ? among.lists : work.candidates,
        labels,
        weights ?? masses,
        workspace.proposals,
      ],
      params: [first, rows, points.stride / 4, mode, unit ? 1 : 0, batch.first ? 1 : 0, weights ? 1 : 0],
      groups: gridFor(rows, THREADS, gpu.limits.workgroups),
    }),
  })
}

/** Points and candidates of a run of groups, which may be those of several batches: labels of a group then must not change in between. */
export function collectPass(gpu: GpuTarget, batch: MoveBatch, { firstGroup, count }: GroupRun): ComputePass {
  const { points, labels, clusters, groups, order, workspace } = batch
  const { members, offsets, largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const work = gpuWorkspace(workspace)
  const tiled = isTiled(gpu, batch)
  return {
    shader: tiled ? collectGroups : collectMoves,
    bindings: [members, offsets, order, domain.labels, work.batch, work.candidates, workspace.looked],
    params: [
      firstGroup,
      count,
      largest,
      modeOf(among),
      widthOf(among, clusters.centers.rows, 0),
      domain.from,
      points.rows,
    ],
    groups: gridFor(count, tiled ? 1 : THREADS, gpu.limits.workgroups),
    operations: count * largest * largest,
  }
}

/** Fewest groups worth a dispatch. */
const GROUPS_AT_LEAST = 64

/** Proposals of a batch whose first place is `firstPlace` of those that were collected. */
export function* tiledGainsPasses(gpu: GpuTarget, batch: MoveBatch, firstPlace: number): Generator<ComputePass> {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { centers, masses, unit } = clusters
  const { largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const work = gpuWorkspace(workspace)
  const width = widthOf(among, centers.rows, largest)
  const flags = [unit ? 1 : 0, batch.first ? 1 : 0, weights ? 1 : 0]
  yield* rowPasses(gpu, {
    rows: count,
    perRow: largest * (1 + shareOf(points, domain) * 3 * (width + 1) * points.stride),
    atLeast: GROUPS_AT_LEAST,
    pass: (first, rows) => ({
      shader: moveGainsTiled(denseType(points), centerTiles(width)),
      bindings: [
        points.buffer,
        centers.buffer,
        masses,
        work.batch,
        typeof among === 'object' ? among.lists : work.candidates,
        labels,
        weights ?? masses,
        workspace.proposals,
      ],
      params: [first, rows, largest, firstPlace, points.stride / 4, modeOf(among), ...flags],
      groups: gridFor(rows * Math.ceil(largest / TILE_ROWS), 1, gpu.limits.workgroups),
    }),
  })
}

export function gpuWorkspace({ gpu }: MoveWorkspace): NonNullable<MoveWorkspace['gpu']> {
  if (gpu === undefined) throw new Error('this workspace was made for another device')
  return gpu
}

export function* moveGainsJobs(memory: CpuMemory, batch: MoveBatch): Generator<CpuJob> {
  const { points, weights, labels, clusters, groups, order, firstGroup, count, workspace } = batch
  const { centers, masses, quantized, unit } = clusters
  const { members, offsets, largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const width = widthOf(among, centers.rows, largest)
  if (points.type === 'csr') return yield sparseGainsJob(memory, batch, { mode: modeOf(among), width })
  const layout = quantizedLayout(centers)
  const header = memory.address(quantized, layout.bytes)
  const share = shareOf(points, domain)
  yield {
    entry: 'moveGains',
    items: count,
    grain: Math.max(
      1,
      Math.min(Math.ceil(count / 8), Math.round(1e6 / (largest * (1 + share * width * points.stride)))),
    ),
    args: [
      ...rowArgs(memory, points),
      rowsAt(memory, centers),
      memory.address(masses, centers.rows * 8),
      header,
      header + layout.rows,
      header + layout.starts,
      memory.address(members, members.bytes),
      memory.address(offsets, (groups.groups + 1) * 4),
      memory.address(slice(order, firstGroup * 4, count * 4), count * 4),
      largest,
      modeOf(among),
      typeof among === 'object' ? memory.address(among.lists, groups.groups * among.width * 4) : 0,
      width,
      unit ? 1 : 0,
      batch.first ? 1 : 0,
      ...domainArgs(memory, points, labels, groups.around),
      weights ? memory.address(weights, points.rows * 4) : 0,
      memory.address(labels, points.rows * 4),
      memory.address(workspace.proposals, count * largest * 4),
      memory.address(workspace.looked, groups.groups * 4),
    ],
    scratchBytes: Math.ceil(points.stride / 8) * 64 + 160 + largest * 8 + width * 16,
  }
}

function modeOf(among: Among): number {
  return among === 'labels' ? 0 : among === 'all' ? 1 : 2
}

function widthOf(among: Among, k: number, ofLabels: number): number {
  return typeof among === 'object' ? among.width : among === 'all' ? k : ofLabels
}

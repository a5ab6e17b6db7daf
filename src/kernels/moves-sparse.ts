/**
 * moves-sparse: k-means# over sparse rows. What `move-gains` and `apply-moves` do when they are given
 * such rows; called through them. Clusters are held as sums of their points, column by column, so that
 * a move costs only the row's entries, whatever the number of columns.
 * Cost: 2 operations for each entry and candidate, about 8 for each entry of a row that moves, and k d to prepare.
 */
import { applyMovesSparse, CLUSTER_ROWS, clusterRows, columnSums, moveGainsSparse } from '../../shaders/moves-sparse.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { CentroidalError } from '../core/errors.ts'
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
import type { PrepareMovesArgs } from './apply-moves.ts'
import { domainArgs, domainOf, shareOf } from './around.ts'
import { entryArgs } from './assign-sparse.ts'
import type { MoveBatch, MovingClusters } from './move-gains.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, meanEntries, sparsePlaces } from './rows.ts'

/** Sums of the points of each cluster while they move; `accumulate` needs its own for the next round. */
export interface MovingSums {
  /** f32 [columns][lanes]; on a GPU three rows more: masses, squared lengths, numbers of points. */
  readonly sums: DeviceBuffer
  /** CPU only: squared lengths of the sums, f64 [k]. */
  readonly squares: DeviceBuffer
  /** Clusters side by side. */
  readonly lanes: number
}

/** Which clusters a batch looks at: the mode as shaders know it, and how many for each group. */
export interface Looking {
  readonly mode: number
  readonly width: number
}

/** Threads that share the entries of a row: a software adapter pays dearly for barriers among many. */
const MOVE_THREADS = { hardware: 32, software: 4 }

export function createMovingSums(device: Device, scope: BufferScope, centers: DeviceRows): MovingSums {
  const lanes = Math.ceil(centers.rows / 4) * 4
  const onCpu = device.info.kind === 'cpu'
  const bytes = (centers.stride + (onCpu ? 0 : CLUSTER_ROWS)) * lanes * 4
  const { bindingBytes } = device.info.limits
  if (!onCpu && bytes > bindingBytes) {
    throw new CentroidalError(
      'out-of-memory',
      `Moving points among ${centers.rows} clusters of ${centers.cols} columns takes ${bytes} bytes in one piece and the device binds at most ${bindingBytes}: use fewer clusters, lloyd, or the CPU.`,
    )
  }
  return {
    sums: scope.allocate(bytes, 'sums of moving clusters'),
    squares: scope.allocate(centers.rows * 8, 'squared lengths of sums'),
    lanes,
  }
}

function movingSums({ sparse }: MovingClusters): MovingSums {
  if (sparse === undefined) throw new Error('These clusters were made for dense rows')
  return sparse
}

export function* prepareSparsePasses(
  gpu: GpuTarget,
  { sums: given, totals, counts, clusters }: PrepareMovesArgs,
): Generator<ComputePass> {
  const { sums, lanes } = movingSums(clusters)
  const { rows: k, stride } = clusters.centers
  const quads = stride / 4
  yield {
    shader: columnSums,
    bindings: [given, sums],
    params: [k, quads, lanes / 4],
    groups: gridFor((quads * lanes) / 4, THREADS, gpu.limits.workgroups),
    operations: 2 * lanes * stride,
  }
  yield {
    shader: clusterRows,
    bindings: [given, totals, counts, sums],
    params: [k, quads, lanes, clusters.unit ? 1 : 0],
    groups: gridFor(lanes, THREADS, gpu.limits.workgroups),
    operations: 2 * k * stride,
  }
}

export function prepareSparseJob(memory: CpuMemory, { sums, totals, counts, clusters }: PrepareMovesArgs): CpuJob {
  const moving = movingSums(clusters)
  const { rows: k, stride } = clusters.centers
  return {
    entry: 'prepareMovesSparse',
    items: moving.lanes / 4,
    grain: Math.max(1, Math.round(2e4 / stride)),
    args: [
      memory.address(sums, k * stride * 4),
      memory.address(totals, k * 4),
      memory.address(counts, k * 4),
      k,
      stride,
      clusters.unit ? 1 : 0,
      memory.address(clusters.masses, k * 8),
      memory.address(moving.sums, stride * moving.lanes * 4),
      memory.address(moving.squares, k * 8),
      moving.lanes,
    ],
  }
}

/** After the pass that collects the batch. */
export function* sparseGainsPasses(gpu: GpuTarget, batch: MoveBatch, looking: Looking): Generator<ComputePass> {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { sums, lanes } = movingSums(clusters)
  const { places, columnsAt } = sparsePlaces(points)
  const domain = domainOf(points, labels, groups.around)
  const work = workspace.gpu
  if (work === undefined) throw new Error('this workspace was made for another device')
  yield* rowPasses(gpu, {
    rows: count * groups.largest,
    perRow: 1 + shareOf(points, domain) * 2 * (looking.width + 4) * meanEntries(points),
    atLeast: THREADS,
    pass: (first, rows) => ({
      shader: moveGainsSparse,
      bindings: [
        points.buffer,
        places,
        sums,
        work.batch,
        typeof groups.among === 'object' ? groups.among.lists : work.candidates,
        labels,
        weights ?? sums,
        workspace.proposals,
      ],
      params: [
        first,
        rows,
        columnsAt,
        points.stride,
        lanes / 4,
        looking.mode,
        clusters.unit ? 1 : 0,
        batch.first ? 1 : 0,
        weights ? 1 : 0,
      ],
      groups: gridFor(rows, THREADS, gpu.limits.workgroups),
    }),
  })
}

export function applySparsePass(gpu: GpuTarget, batch: MoveBatch): ComputePass {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { sums, lanes } = movingSums(clusters)
  const { places, columnsAt } = sparsePlaces(points)
  if (workspace.gpu === undefined) throw new Error('this workspace was made for another device')
  const all = count * groups.largest
  return {
    shader: applyMovesSparse(MOVE_THREADS[gpu.tiled ? 'hardware' : 'software']),
    bindings: [
      points.buffer,
      places,
      sums,
      workspace.gpu.batch,
      workspace.proposals,
      labels,
      weights ?? workspace.proposals,
    ],
    params: [all, columnsAt, points.stride, lanes, clusters.unit ? 1 : 0, weights ? 1 : 0],
    groups: [1],
    operations: all * meanEntries(points),
  }
}

export function sparseGainsJob(memory: CpuMemory, batch: MoveBatch, { mode, width }: Looking): CpuJob {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { largest, among } = groups
  const domain = domainOf(points, labels, groups.around)
  const perMember = 1 + shareOf(points, domain) * (width + 1) * meanEntries(points)
  return {
    entry: 'moveGainsSparse',
    items: count,
    grain: Math.max(1, Math.min(Math.ceil(count / 8), Math.round(5e5 / (largest * perMember)))),
    args: [
      ...clusterArgs(memory, batch),
      largest,
      mode,
      typeof among === 'object' ? memory.address(among.lists, groups.groups * among.width * 4) : 0,
      width,
      clusters.unit ? 1 : 0,
      batch.first ? 1 : 0,
      ...domainArgs(memory, points, labels, groups.around),
      weights ? memory.address(weights, points.rows * 4) : 0,
      memory.address(labels, points.rows * 4),
      memory.address(workspace.proposals, count * groups.largest * 4),
      memory.address(workspace.looked, groups.groups * 4),
    ],
    scratchBytes: 128 + largest * 8,
  }
}

export function applySparseJob(memory: CpuMemory, batch: MoveBatch): CpuJob {
  const { weights, labels, clusters, groups, count, workspace } = batch
  return {
    entry: 'applyMovesSparse',
    items: 1,
    grain: 1,
    args: [
      ...clusterArgs(memory, batch),
      count,
      groups.largest,
      clusters.unit ? 1 : 0,
      groups.around?.from ?? 0,
      weights ? memory.address(weights, batch.points.rows * 4) : 0,
      memory.address(labels, batch.points.rows * 4),
      memory.address(workspace.proposals, count * groups.largest * 4),
    ],
  }
}

/** Rows, clusters, and the groups of the batch. */
function clusterArgs(
  memory: CpuMemory,
  { points, clusters, groups: { members, offsets, groups }, order, firstGroup, count }: MoveBatch,
): number[] {
  const { sums, squares, lanes } = movingSums(clusters)
  const { rows: k, stride } = clusters.centers
  return [
    ...entryArgs(memory, points),
    memory.address(clusters.masses, k * 8),
    memory.address(sums, stride * lanes * 4),
    memory.address(squares, k * 8),
    lanes,
    memory.address(members, members.bytes),
    memory.address(offsets, (groups + 1) * 4),
    memory.address(slice(order, firstGroup * 4, count * 4), count * 4),
  ]
}

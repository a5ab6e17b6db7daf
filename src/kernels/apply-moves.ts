/**
 * apply-moves: what `move-gains` proposed for a batch, one move after the other. Each is measured again
 * against sums and sizes as they now stand and dropped unless it still pays, so the objective cannot
 * get worse, and no cluster loses its last point. Cost: about 12 d operations a proposed move.
 */
import { applyMovesShader, prepareMovesShader } from '../../shaders/apply-moves.ts'
import { applyMovesTiled } from '../../shaders/apply-moves-tiled.ts'
import { THREADS } from '../../shaders/pieces.ts'
import {
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  slice,
} from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import {
  collectPass,
  createMoveWorkspace,
  gpuWorkspace,
  isTiled,
  type MoveBatch,
  type MovingClusters,
  moveGainsJobs,
  moveGainsPasses,
  tiledGainsPasses,
} from './move-gains.ts'
import { applySparseJob, applySparsePass, prepareSparseJob, prepareSparsePasses } from './moves-sparse.ts'
import { quantizedLayout } from './quantized-centers.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

/**
 * Batch after batch: proposals of all its points at once, then its moves in order. Nothing of it meets the host. Batches of
 * one call share workspace and groups, and have no points in common.
 */
export function moveBatches(device: Device, batches: readonly MoveBatch[], control?: RunControl): Promise<void> {
  return device.run(
    {
      name: 'move',
      *webgpu(gpu) {
        if (canCollectAtOnce(gpu, batches)) return yield* collectedBatches(gpu, batches)
        for (const batch of batches) {
          yield* moveGainsPasses(gpu, batch)
          yield applyMovesPass(gpu, batch)
        }
      },
      *cpu(memory) {
        for (const batch of batches) {
          yield* moveGainsJobs(memory, batch)
          yield applyMovesJob(memory, batch)
        }
      },
    },
    control,
  )
}

/** Groups from the first of the first batch to the last of the last one, if batches follow each other. */
function runOf(batches: readonly MoveBatch[]): { firstGroup: number; count: number } | undefined {
  let end = batches[0]?.firstGroup ?? 0
  for (const { firstGroup, count } of batches) {
    if (firstGroup !== end) return undefined
    end += count
  }
  return batches.length > 0 ? { firstGroup: batches[0].firstGroup, count: end - batches[0].firstGroup } : undefined
}

/** The points and candidates of all batches fit the workspace. */
function canCollectAtOnce(gpu: GpuTarget, batches: readonly MoveBatch[]): boolean {
  const run = runOf(batches)
  if (run === undefined || !isTiled(gpu, batches[0])) return false
  const { groups, workspace } = batches[0]
  const places = run.count * groups.largest
  return places * 16 <= gpuWorkspace(workspace).batch.bytes
}

/**
 * One collecting pass for all batches, then two passes a batch. Labels of a group are still those of the beginning when its
 * batch comes, because only its own batch changes them.
 */
function* collectedBatches(gpu: GpuTarget, batches: readonly MoveBatch[]): Generator<ComputePass> {
  const run = runOf(batches)
  if (run === undefined) return
  yield collectPass(gpu, batches[0], run)
  for (const batch of batches) {
    const firstPlace = (batch.firstGroup - run.firstGroup) * batch.groups.largest
    yield* tiledGainsPasses(gpu, batch, firstPlace)
    yield applyMovesPass(gpu, batch, firstPlace)
  }
}

/** The proposals of a batch alone, for moves that are applied elsewhere. */
export function proposeMoves(device: Device, batch: MoveBatch, control?: RunControl): Promise<void> {
  return device.run(
    {
      name: 'propose-moves',
      webgpu: (gpu) => moveGainsPasses(gpu, batch),
      cpu: (memory) => moveGainsJobs(memory, batch),
    },
    control,
  )
}

export interface GivenMoves {
  /** One row for each move. */
  readonly points: DeviceRows
  readonly weights?: DeviceBuffer | undefined
  /** Clusters the points are in; those they are in afterwards. */
  readonly labels: DeviceBuffer
  /** Clusters they are to move to. */
  readonly targets: Uint32Array
  readonly clusters: MovingClusters
}

/** Moves that were proposed elsewhere, in the order of the rows. */
export async function applyGivenMoves(device: Device, moves: GivenMoves): Promise<void> {
  const { points, weights, labels, targets, clusters } = moves
  const count = points.rows
  const scope = new BufferScope(device)
  try {
    const each = Uint32Array.from({ length: count + 1 }, (_, i) => i)
    const members = scope.upload(each, 'moving points')
    const workspace = createMoveWorkspace(device, scope, count, count)
    device.write(workspace.proposals, targets)
    if (workspace.gpu)
      device.write(workspace.gpu.batch, each.subarray(0, count).reduce(placeOf, new Uint32Array(4 * count)))
    const groups = { members, offsets: members, groups: count, largest: 1, among: 'all' } as const
    const batch = {
      points,
      weights,
      labels,
      clusters,
      groups,
      order: members,
      firstGroup: 0,
      count,
      first: false,
      workspace,
    }
    await device.run({
      name: 'apply-moves',
      *webgpu(gpu) {
        yield applyMovesPass(gpu, batch)
      },
      *cpu(memory) {
        yield applyMovesJob(memory, batch)
      },
    })
  } finally {
    scope.free()
  }
}

/** A batch has four words for each place, of which the first is the point. */
function placeOf(batch: Uint32Array, point: number): Uint32Array {
  batch[4 * point] = point
  return batch
}

/** `firstPlace`: of the batch among the places that were collected. */
function applyMovesPass(gpu: GpuTarget, batch: MoveBatch, firstPlace = 0): ComputePass {
  if (batch.points.type === 'csr') return applySparsePass(gpu, batch)
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { centers, masses, unit } = clusters
  const places = count * groups.largest
  const flags = [points.stride / 4, unit ? 1 : 0, weights ? 1 : 0]
  const tiled = isTiled(gpu, batch)
  return {
    shader: tiled ? applyMovesTiled(denseType(points)) : applyMovesShader(denseType(points)),
    bindings: [
      points.buffer,
      centers.buffer,
      masses,
      gpuWorkspace(workspace).batch,
      workspace.proposals,
      labels,
      weights ?? workspace.proposals,
    ],
    params: tiled ? [places, firstPlace, ...flags] : [places, ...flags],
    groups: [1],
    operations: places * points.stride,
  }
}

function applyMovesJob(memory: CpuMemory, batch: MoveBatch): CpuJob {
  if (batch.points.type === 'csr') return applySparseJob(memory, batch)
  const { points, weights, labels, clusters, groups, order, firstGroup, count, workspace } = batch
  const { centers, masses, quantized, unit } = clusters
  const layout = quantizedLayout(centers)
  const header = memory.address(quantized, layout.bytes)
  return {
    entry: 'applyMoves',
    items: 1,
    grain: 1,
    args: [
      ...rowArgs(memory, points),
      rowsAt(memory, centers),
      memory.address(masses, centers.rows * 8),
      header,
      header + layout.rows,
      header + layout.starts,
      memory.address(groups.members, groups.members.bytes),
      memory.address(groups.offsets, (groups.groups + 1) * 4),
      memory.address(slice(order, firstGroup * 4, count * 4), count * 4),
      count,
      groups.largest,
      unit ? 1 : 0,
      groups.around?.from ?? 0,
      weights ? memory.address(weights, points.rows * 4) : 0,
      memory.address(labels, points.rows * 4),
      memory.address(workspace.proposals, count * groups.largest * 4),
    ],
  }
}

export interface PrepareMovesArgs {
  /** As `accumulate` leaves them; the centres are already the means of these. */
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  readonly counts: DeviceBuffer
  readonly clusters: MovingClusters
}

/** Masses and sizes anew: what many moves may have rounded away does not add up over rounds. */
export function prepareMoves(device: Device, args: PrepareMovesArgs): Promise<void> {
  const { sums, totals, counts, clusters } = args
  const { centers, masses, quantized, unit } = clusters
  const k = centers.rows
  return device.run({
    name: 'prepare-moves',
    *webgpu(gpu) {
      if (clusters.sparse) return yield* prepareSparsePasses(gpu, args)
      yield {
        shader: prepareMovesShader,
        bindings: [sums, totals, counts, masses],
        params: [k, centers.stride / 4, unit ? 1 : 0],
        groups: gridFor(k, THREADS, gpu.limits.workgroups),
        operations: k * centers.stride * 2,
      }
    },
    *cpu(memory) {
      if (clusters.sparse) return yield prepareSparseJob(memory, args)
      const layout = quantizedLayout(centers)
      const header = memory.address(quantized, layout.bytes)
      yield {
        entry: 'prepareMoves',
        items: k,
        grain: Math.max(1, Math.round(1e5 / centers.stride)),
        args: [
          memory.address(sums, k * centers.stride * 4),
          memory.address(totals, k * 4),
          memory.address(counts, k * 4),
          centers.stride,
          unit ? 1 : 0,
          rowsAt(memory, centers),
          memory.address(masses, centers.rows * 8),
          header,
          header + layout.rows,
          header + layout.starts,
        ],
      }
    },
  })
}

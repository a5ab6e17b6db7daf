/**
 * apply-moves: what `move-gains` proposed for a batch, one move after the other. Each is measured again
 * against sums and sizes as they now stand and dropped unless it still pays, so the objective cannot
 * get worse, and no cluster loses its last point. Cost: about 12 d operations a proposed move.
 */
import { applyMovesShader, prepareMovesShader } from '../../shaders/apply-moves.ts'
import { applyMovesTiled } from '../../shaders/apply-moves-tiled.ts'
import {
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { APPLY_FIELDS, applyValues, gpuWorkspace, type MoveSchedule } from './move-fields.ts'
import {
  collectPass,
  createMoveWorkspace,
  isTiled,
  type MoveBatch,
  type MovingClusters,
  moveGainsJobs,
  moveGainsPasses,
  tiledGainsPasses,
} from './move-gains.ts'
import { applySparseJob, applySparsePass, prepareSparseJob, prepareSparsePasses } from './moves-sparse.ts'
import { quantizedFields, quantizedValues } from './quantized-centers.ts'
import { type DeviceRows, denseType } from './rows.ts'

export const applyMovesFunction = declareFunction('applyMoves', {
  args: {
    ...APPLY_FIELDS,
    points: DENSE_VECTORS,
    centers: writes('f32'),
    /** [k][2]: mass and number of points. */
    clusters: writes('f32'),
    ...quantizedFields(writes),
  },
})

export const scheduleMovesFunction = declareFunction('scheduleMoves', {
  args: {
    members: APPLY_FIELDS.members,
    offsets: APPLY_FIELDS.offsets,
    order: APPLY_FIELDS.order,
    largest: APPLY_FIELDS.largest,
    groups: APPLY_FIELDS.groups,
    domainFrom: APPLY_FIELDS.domainFrom,
    proposals: APPLY_FIELDS.proposals,
    labels: reads('u32'),
    moves: writes('u32'),
    turns: writes('u32'),
    touched: writes('u32'),
  },
})

export const applyScheduledFunction = declareFunction('applyScheduled', {
  args: {
    points: DENSE_VECTORS,
    weights: APPLY_FIELDS.weights,
    unit: APPLY_FIELDS.unit,
    labels: writes('u32'),
    centers: writes('f32'),
    /** [k][2]: mass and number of points. */
    clusters: writes('f32'),
    moves: reads('u32'),
    turns: writes('u32'),
  },
  scratch: { touched: () => 4 },
})

export const refreshCentersFunction = declareFunction('refreshCenters', {
  args: {
    stride: 'u32',
    centers: reads('f32'),
    moves: reads('u32'),
    touched: reads('u32'),
    ...quantizedFields(writes),
  },
})

export const prepareMovesFunction = declareFunction('prepareMoves', {
  args: {
    sums: reads('f32'),
    totals: reads('f32'),
    counts: reads('u32'),
    stride: 'u32',
    unit: 'bool',
    centers: reads('f32'),
    clusters: writes('f32'),
    ...quantizedFields(writes),
  },
})

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
          yield* applyMovesJobs(memory, batch)
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
    const workspace = createMoveWorkspace(device, scope, clusters, count, count)
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
        yield* applyMovesJobs(memory, batch)
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
  const places = count * groups.largest
  const type = denseType(points)
  const args = {
    x: points.buffer,
    centers: clusters.centers.buffer,
    clusters: clusters.masses,
    batch: gpuWorkspace(workspace).batch,
    proposals: workspace.proposals,
    labels,
    weights,
    places,
    quads: points.stride / 4,
    unit: clusters.unit,
  }
  const options = { groups: [1], operations: places * points.stride } as const
  if (isTiled(gpu, batch)) return applyMovesTiled(type).pass(gpu, { ...args, firstPlace }, options)
  return applyMovesShader(type).pass(gpu, args, options)
}

function* applyMovesJobs(memory: CpuMemory, batch: MoveBatch): Generator<CpuJob> {
  if (batch.points.type === 'csr') return yield applySparseJob(memory, batch)
  const { schedule } = batch.workspace
  if (schedule) return yield* applyScheduledJobs(memory, batch, schedule)
  yield applyMovesFunction.job(memory, { ...applyValues(batch), ...clusterValues(batch.clusters) }, ONE_ITEM)
}

/** Moves depend on each other: one thread applies them all, or puts them in order. */
const ONE_ITEM = { items: 1, grain: 1 }
/** Moves of a leaf or two, which change the same clusters. */
const MOVES_AT_ONCE = 16
const CENTERS_AT_ONCE = 64

function* applyScheduledJobs(memory: CpuMemory, batch: MoveBatch, schedule: MoveSchedule): Generator<CpuJob> {
  const { points, weights, unit, labels, ...others } = applyValues(batch)
  const moves = elements(schedule.moves)
  const turns = elements(schedule.turns)
  const touched = elements(schedule.touched)
  const { centers, clusters: masses, ...quantized } = clusterValues(batch.clusters)
  yield scheduleMovesFunction.job(memory, { ...others, labels, moves, turns, touched }, ONE_ITEM)
  yield applyScheduledFunction.job(
    memory,
    { points, weights, unit, labels, centers, clusters: masses, moves, turns },
    { items: batch.count * batch.groups.largest, grain: MOVES_AT_ONCE },
  )
  yield refreshCentersFunction.job(
    memory,
    { stride: points.stride, centers, moves, touched, ...quantized },
    { items: schedule.touched.bytes / 4, grain: CENTERS_AT_ONCE },
  )
}

function clusterValues({ centers, masses, quantized }: MovingClusters) {
  return {
    centers: elements(centers.buffer, centers.rows * centers.stride),
    clusters: elements(masses, centers.rows * 2),
    ...quantizedValues(quantized, centers),
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
  const { centers, masses, unit } = clusters
  const { rows: k, stride } = centers
  return device.run({
    name: 'prepare-moves',
    *webgpu(gpu) {
      if (clusters.sparse) return yield* prepareSparsePasses(gpu, args)
      yield prepareMovesShader.pass(
        gpu,
        { sums, totals, counts, clusters: masses, k, quads: stride / 4, unit },
        { items: k, operations: k * stride * 2 },
      )
    },
    *cpu(memory) {
      if (clusters.sparse) return yield prepareSparseJob(memory, args)
      yield prepareMovesFunction.job(
        memory,
        {
          sums: elements(sums, k * stride),
          totals: elements(totals, k),
          counts: elements(counts, k),
          stride,
          unit,
          ...clusterValues(clusters),
        },
        { items: k, grain: Math.max(1, Math.round(1e5 / stride)) },
      )
    },
  })
}

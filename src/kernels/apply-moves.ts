/**
 * apply-moves: what `move-gains` proposed for a batch, one move after the other. Each is measured again
 * against sums and sizes as they now stand and dropped unless it still pays, so the objective cannot
 * get worse, and no cluster loses its last point. Cost: about 12 d operations a proposed move, or 8 for each entry of a sparse
 * row.
 */
import { applyMovesBody } from '../../shaders/apply-moves.ts'
import { APPLY_THREADS, applyMovesTiles } from '../../shaders/apply-moves-tiled.ts'
import type { ElementType } from '../core/matrix.ts'
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
import { elements, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiledOf, DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import {
  BATCH_FIELDS,
  batchValues,
  createMoveWorkspace,
  GROUP_FIELDS,
  gpuWorkspace,
  type MoveBatch,
  type MoveSchedule,
  orderOf,
} from './move-batch.ts'
import { collectPass, gainsPasses, isTiled, moveGainsJobs, moveGainsPasses } from './move-gains.ts'
import {
  clusterFields,
  clusterValues,
  DESCRIBED,
  type MovingClusters,
  shaderClusterFields,
  shaderClusterValues,
} from './moving-clusters.ts'
import { quantizedFields } from './quantized-centers.ts'
import { type DeviceRows, meanEntries } from './rows.ts'

/** Threads that apply one move after the other: for 128 columns, or the entries of a sparse row. */
const SERIAL_THREADS = 32
/** For sparse rows on software adapters, where barriers among many threads are slow. */
const FEW_THREADS = 4
/** Of both: moves depend on each other, so that one workgroup or thread applies them all, or puts them in order. */
const ONE_ITEM = { items: () => 1, grain: 1 } as const

/** Of the batch, for functions. */
const ORDERED_FIELDS = { ...GROUP_FIELDS, order: reads('u32'), groups: 'u32' } as const

export const applyMovesKernel = declareKernel('apply-moves', {
  args: { ...BATCH_FIELDS, labels: writes('u32'), proposals: reads('u32') },
  gpu: {
    args: {
      threads: compiledOf<typeof APPLY_THREADS | typeof SERIAL_THREADS | typeof FEW_THREADS>(),
      ...shaderClusterFields(writes, 'f32'),
      batch: reads('vec4u'),
      places: 'u32',
      /** Of the batch among the places that were collected. */
      firstPlace: 'u32',
    },
    // Only dense rows are moved several at a time.
    body: ({ points, threads }) =>
      threads === APPLY_THREADS ? applyMovesTiles(points as ElementType) : applyMovesBody(points),
    workgroup: ({ threads }) => threads,
    grid: () => ({ groups: 1 }),
    operations: ({ points, places }) => places * (points.type === 'csr' ? meanEntries(points) : points.stride),
    forms: [
      { points: 'f32', threads: SERIAL_THREADS },
      { points: 'u8', threads: SERIAL_THREADS },
      { points: 'csr', threads: SERIAL_THREADS },
      { points: 'f32', threads: APPLY_THREADS },
      { points: 'u8', threads: APPLY_THREADS },
    ],
  },
  cpu: {
    entry: 'applyMoves',
    args: { ...ORDERED_FIELDS, ...clusterFields(mayWrite) },
    scratch: DESCRIBED,
    ...ONE_ITEM,
  },
})

/** The moves of a batch in order, with their turns at clusters. */
export const scheduleMovesKernel = declareKernel('schedule-moves', {
  args: {
    ...ORDERED_FIELDS,
    proposals: reads('u32'),
    labels: reads('u32'),
    moves: writes('u32'),
    turns: writes('u32'),
    touched: writes('u32'),
  },
  cpu: { entry: 'scheduleMoves', ...ONE_ITEM },
})

/** Moves of a leaf or two, which change the same clusters. */
const MOVES_AT_ONCE = 16

export const applyScheduledKernel = declareKernel('apply-scheduled', {
  args: {
    points: DENSE_VECTORS,
    weights: mayRead('f32'),
    unit: 'bool',
    labels: writes('u32'),
    centers: writes('f32'),
    clusters: writes('f32'),
    moves: reads('u32'),
    turns: writes('u32'),
    places: 'host',
  },
  items: ({ places }) => places,
  cpu: { entry: 'applyScheduled', scratch: { ...DESCRIBED, touched: () => 4 }, grain: MOVES_AT_ONCE },
})

const CENTERS_AT_ONCE = 64

export const refreshCentersKernel = declareKernel('refresh-centers', {
  args: {
    centers: READ_ROWS,
    stride: 'stride',
    moves: reads('u32'),
    touched: reads('u32'),
    ...quantizedFields(mayWrite, mayRead),
    /** Most clusters that are touched. */
    most: 'host',
  },
  items: ({ most }) => most,
  cpu: { entry: 'refreshCenters', grain: CENTERS_AT_ONCE },
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
    yield* gainsPasses(gpu, batch, firstPlace)
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
  const sparse = batch.points.type === 'csr'
  return applyMovesKernel.pass(gpu, {
    ...batchValues(batch),
    ...shaderClusterValues(batch.clusters),
    threads: isTiled(gpu, batch) ? APPLY_THREADS : sparse && !gpu.tiled ? FEW_THREADS : SERIAL_THREADS,
    batch: gpuWorkspace(batch.workspace).batch,
    places: batch.count * batch.groups.largest,
    firstPlace,
  })
}

function* applyMovesJobs(memory: CpuMemory, batch: MoveBatch): Generator<CpuJob> {
  const { schedule } = batch.workspace
  if (schedule) return yield* applyScheduledJobs(memory, batch, schedule)
  yield applyMovesKernel.job(memory, { ...orderedValues(batch), ...clusterValues(batch.clusters) })
}

function* applyScheduledJobs(memory: CpuMemory, batch: MoveBatch, schedule: MoveSchedule): Generator<CpuJob> {
  const { count, groups, clusters } = batch
  const { centers, masses } = clusters
  const places = count * groups.largest
  const values = {
    ...orderedValues(batch),
    moves: elements(schedule.moves),
    turns: elements(schedule.turns),
    touched: elements(schedule.touched),
  }
  yield scheduleMovesKernel.job(memory, values)
  yield applyScheduledKernel.job(memory, {
    ...values,
    centers: elements(centers.buffer, centers.rows * centers.stride),
    clusters: elements(masses, centers.rows * 2),
    places,
  })
  yield refreshCentersKernel.job(memory, {
    ...values,
    ...clusterValues(clusters),
    centers,
    stride: centers.stride,
    most: schedule.touched.bytes / 4,
  })
}

function orderedValues(batch: MoveBatch) {
  return { ...batchValues(batch), order: orderOf(batch), groups: batch.count }
}

/**
 * moves-sparse: k-means# over sparse rows. What `move-gains` and `apply-moves` do when they are given
 * such rows; called through them. Dense and sparse rows do not share these kernels: here clusters are held as sums of
 * their points, column by column, so that a move costs only the row's entries, whatever the number of columns.
 * Cost: 2 operations for each entry and candidate, about 8 for each entry of a row that moves, and k d to prepare.
 */
import { applyMovesSparse, CLUSTER_ROWS, clusterRows, columnSums, moveGainsSparse } from '../../shaders/moves-sparse.ts'
import { THREADS } from '../../shaders/snippets.ts'
import { CentroidalError } from '../core/errors.ts'
import type {
  BufferScope,
  ComputePass,
  CpuJob,
  CpuMemory,
  Device,
  DeviceBuffer,
  GpuTarget,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import type { PrepareMovesArgs } from './apply-moves.ts'
import { domainOf, shareOf } from './around.ts'
import { declareFunction, SharedConstants } from './declared-function.ts'
import {
  APPLY_FIELDS,
  applyValues,
  GAINS_FIELDS,
  gainsValues,
  gpuWorkspace,
  modeOf,
  moveConstants,
} from './move-fields.ts'
import type { MoveBatch, MovingClusters } from './move-gains.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, meanEntries, sparseBindings } from './rows.ts'

export const sparseMoveConstants = new SharedConstants({
  /** Clusters whose dot products with a row are computed together. */
  MOVE_BLOCK: { type: 'u32', value: 32 },
})

/** Clusters as the functions know them; `access` is `reads` or `writes`. */
function clusterFields(access: typeof reads | typeof writes) {
  return {
    /** [k][2]: mass and number of points. */
    clusters: access('f32'),
    /** Sums of the points of each cluster, [columns][lanes]. */
    sums: access('f32'),
    /** Squared lengths of the sums. */
    squares: access('f64'),
    /** k rounded up to a multiple of 4. */
    lanes: 'u32',
  } as const
}

export const prepareMovesSparseFunction = declareFunction('prepareMovesSparse', {
  args: {
    /** Sums of the points of each cluster, [k][stride]. */
    given: reads('f32'),
    totals: reads('f32'),
    counts: reads('u32'),
    k: 'u32',
    stride: 'u32',
    unit: 'bool',
    ...clusterFields(writes),
  },
})

export const moveGainsSparseFunction = declareFunction('moveGainsSparse', {
  args: { ...GAINS_FIELDS, ...clusterFields(reads) },
  scratch: {
    /** Dot products with a block of clusters. */
    dots: () => sparseMoveConstants.get('MOVE_BLOCK') * 4,
    /** Distinct labels of a group. */
    found: ({ among, largest }) => (among === moveConstants.get('AMONG_LABELS') ? largest * 4 : 0),
    /** Members of a group that are points of this device. */
    places: ({ largest }) => largest * 4,
  },
})

export const applyMovesSparseFunction = declareFunction('applyMovesSparse', {
  args: { ...APPLY_FIELDS, ...clusterFields(writes) },
})

/** Sums of the points of each cluster while they move; `accumulate` needs its own for the next round. */
export interface MovingSums {
  /** f32 [columns][lanes]; on a GPU three rows more: masses, squared lengths, numbers of points. */
  readonly sums: DeviceBuffer
  /** CPU only: squared lengths of the sums, f64 [k]. */
  readonly squares: DeviceBuffer
  /** Clusters side by side. */
  readonly lanes: number
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

function clusterValues(clusters: MovingClusters) {
  const { sums, squares, lanes } = movingSums(clusters)
  const { rows: k, stride } = clusters.centers
  return {
    clusters: elements(clusters.masses, k * 2),
    sums: elements(sums, stride * lanes),
    squares: elements(squares, k),
    lanes,
  }
}

export function* prepareSparsePasses(
  gpu: GpuTarget,
  { sums: given, totals, counts, clusters }: PrepareMovesArgs,
): Generator<ComputePass> {
  const { sums, lanes } = movingSums(clusters)
  const { rows: k, stride } = clusters.centers
  const quads = stride / 4
  yield columnSums.pass(
    gpu,
    { given, sums, k, quads, laneQuads: lanes / 4 },
    { items: (quads * lanes) / 4, operations: 2 * lanes * stride },
  )
  yield clusterRows.pass(
    gpu,
    { given, totals, counts, sums, k, quads, lanes, unit: clusters.unit },
    { items: lanes, operations: 2 * k * stride },
  )
}

export function prepareSparseJob(memory: CpuMemory, { sums, totals, counts, clusters }: PrepareMovesArgs): CpuJob {
  const { rows: k, stride } = clusters.centers
  const values = clusterValues(clusters)
  return prepareMovesSparseFunction.job(
    memory,
    {
      given: elements(sums, k * stride),
      totals: elements(totals, k),
      counts: elements(counts, k),
      k,
      stride,
      unit: clusters.unit,
      ...values,
    },
    { items: values.lanes / 4, grain: Math.max(1, Math.round(2e4 / stride)) },
  )
}

/** After the pass that collects the batch. `width`: most candidates of a group. */
export function* sparseGainsPasses(gpu: GpuTarget, batch: MoveBatch, width: number): Generator<ComputePass> {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { sums, lanes } = movingSums(clusters)
  const { among } = groups
  const domain = domainOf(points, labels, groups.around)
  const work = gpuWorkspace(workspace)
  const args = {
    ...sparseBindings(points),
    sums,
    batch: work.batch,
    lists: typeof among === 'object' ? among.lists : work.candidates,
    labels,
    weights,
    proposals: workspace.proposals,
    stride: points.stride,
    laneQuads: lanes / 4,
    among: modeOf(among),
    unit: clusters.unit,
    firstGain: batch.first,
  }
  yield* rowPasses(gpu, {
    rows: count * groups.largest,
    perRow: 1 + shareOf(points, domain) * 2 * (width + 4) * meanEntries(points),
    atLeast: THREADS,
    pass: (first, places) => moveGainsSparse.pass(gpu, { ...args, first, places }, { items: places }),
  })
}

export function applySparsePass(gpu: GpuTarget, batch: MoveBatch): ComputePass {
  const { points, weights, labels, clusters, groups, count, workspace } = batch
  const { sums, lanes } = movingSums(clusters)
  const places = count * groups.largest
  return applyMovesSparse(MOVE_THREADS[gpu.tiled ? 'hardware' : 'software']).pass(
    gpu,
    {
      ...sparseBindings(points),
      sums,
      batch: gpuWorkspace(workspace).batch,
      proposals: workspace.proposals,
      labels,
      weights,
      places,
      stride: points.stride,
      lanes,
      unit: clusters.unit,
    },
    { groups: [1], operations: places * meanEntries(points) },
  )
}

export function sparseGainsJob(memory: CpuMemory, batch: MoveBatch): CpuJob {
  const { points, labels, clusters, groups, count } = batch
  const values = gainsValues(batch)
  const domain = domainOf(points, labels, groups.around)
  const perMember = 1 + shareOf(points, domain) * (values.width + 1) * meanEntries(points)
  const perGroup = groups.largest * perMember
  return moveGainsSparseFunction.job(
    memory,
    { ...values, ...clusterValues(clusters) },
    { items: count, grain: Math.max(1, Math.min(Math.ceil(count / 8), Math.round(5e5 / perGroup))) },
  )
}

export function applySparseJob(memory: CpuMemory, batch: MoveBatch): CpuJob {
  return applyMovesSparseFunction.job(
    memory,
    { ...applyValues(batch), ...clusterValues(batch.clusters) },
    { items: 1, grain: 1 },
  )
}

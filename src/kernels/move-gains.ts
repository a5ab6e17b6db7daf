/**
 * move-gains: k-means# (k-means: a revisit). For every point of a batch, the cluster in which it would
 * lower the objective most, as sums and sizes stand now; `apply-moves` then does what still pays.
 *
 * Cost: 3 d operations a pair; of sparse rows, 2 operations for each entry and candidate.
 * With `around` members may be rows that this device does not hold: nothing is proposed for those.
 */
import { centerTiles, LEAF_THREADS, TILE_ROWS } from '../../shaders/leaf-tiles.ts'
import { collectMovesBody, moveGainsBody } from '../../shaders/move-gains.ts'
import { collectGroupsBody, moveGainsTiles } from '../../shaders/move-gains-tiled.ts'
import { THREADS } from '../../shaders/snippets.ts'
import type { ElementType } from '../core/matrix.ts'
import type { ComputePass, CpuJob, CpuMemory, GpuTarget } from '../device/contract.ts'
import { mayRead, reads, writes } from '../device/fields.ts'
import { domainOf, shareOf } from './around.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, compiledOf } from './kernel-fields.ts'
import {
  AMONG_FIELDS,
  BATCH_FIELDS,
  batchValues,
  GROUP_FIELDS,
  gpuWorkspace,
  listsOf,
  type MoveBatch,
  moveConstants,
  orderOf,
} from './move-batch.ts'
import { clusterFields, clusterValues, DESCRIBED, shaderClusterFields, shaderClusterValues } from './moving-clusters.ts'
import { type DeviceRows, meanEntries } from './rows.ts'

/** Points and candidates of a run of groups, for shaders. */
export const collectMovesKernel = declareKernel('move-gains-collect', {
  args: {
    /** One workgroup per group, or one thread. */
    byGroup: compiled(true, false),
    firstGroup: 'u32',
    groups: 'u32',
    ...GROUP_FIELDS,
    ...AMONG_FIELDS,
    /** Groups in the order of batches. */
    order: reads('u32'),
    /** For each place: point, first candidate, number of candidates, slot of the first of four. */
    batch: writes('vec4u'),
    /** Distinct labels of each group. */
    candidates: writes('u32'),
  },
  gpu: {
    body: ({ byGroup }) => (byGroup ? collectGroupsBody() : collectMovesBody()),
    workgroup: ({ byGroup }) => (byGroup ? LEAF_THREADS : THREADS),
    grid: ({ byGroup, groups }) => (byGroup ? { groups } : groups),
    operations: ({ groups, largest }) => groups * largest * largest,
  },
})

interface Shape {
  readonly points: DeviceRows
  readonly width: number
  readonly largest: number
  /** Of the members that are points of this device. */
  readonly share: number
}

/** Fewest groups worth a dispatch. */
const GROUPS_AT_LEAST = 64

export const moveGainsKernel = declareKernel('move-gains', {
  args: {
    ...BATCH_FIELDS,
    among: AMONG_FIELDS.among,
    /** Take the first move that pays instead of the best. */
    firstGain: 'bool',
    largest: GROUP_FIELDS.largest,
    labels: reads('u32'),
    /** [groups of the batch][largest], 0xffffffff for a point that stays. */
    proposals: writes('u32'),
    groups: 'host',
    share: 'host',
  },
  gpu: {
    args: {
      /** Of candidates, where a workgroup measures 16 points of a group; 0: one thread a point. */
      tiles: compiledOf<0 | 1 | 2>(0, 1, 2),
      width: 'host',
      ...shaderClusterFields(reads, 'vec4f'),
      batch: reads('vec4u'),
      lists: reads('u32'),
      /** Of the batch among the places that were collected. */
      firstPlace: 'u32',
    },
    // Sparse rows are not measured in tiles.
    body: ({ points, tiles }) => (tiles === 0 ? moveGainsBody(points) : moveGainsTiles(points as ElementType, tiles)),
    workgroup: ({ tiles }) => (tiles === 0 ? THREADS : LEAF_THREADS),
    cut: {
      // Places, or groups where they are measured in tiles.
      params: ['first', 'count'],
      items: ({ tiles, groups, largest }) => (tiles === 0 ? groups * largest : groups),
      operations: (args) => (args.tiles === 0 ? 1 : args.largest) * (1 + args.share * operationsOfPoint(args)),
      atLeast: ({ tiles }) => (tiles === 0 ? THREADS : GROUPS_AT_LEAST),
    },
    grid: ({ tiles, count, largest }) => (tiles === 0 ? count : { groups: count * Math.ceil(largest / TILE_ROWS) }),
    forms: [
      { points: 'f32', tiles: 0 },
      { points: 'u8', tiles: 0 },
      { points: 'csr', tiles: 0 },
      { points: 'f32', tiles: 1 },
      { points: 'f32', tiles: 2 },
      { points: 'u8', tiles: 1 },
    ],
  },
  cpu: {
    entry: 'moveGains',
    args: {
      ...GROUP_FIELDS,
      ...AMONG_FIELDS,
      /** The groups of the batch. */
      order: reads('u32'),
      lists: mayRead('u32'),
      ...clusterFields(mayRead),
    },
    scratch: {
      ...DESCRIBED,
      /** Four points as integers. */
      rows: ({ points }) => (points.type === 'csr' ? 0 : 4 * Math.ceil(points.stride / 8) * 16),
      /** Dot products of four points with two centres, or of a sparse row with a block of clusters. */
      dots: ({ points }) => (points.type === 'csr' ? moveConstants.get('MOVE_BLOCK') * 4 : 32),
      /** Six numbers of each of four points. */
      lanes: () => 96,
      /** Distinct labels of a group. */
      found: ({ among, largest }) => (among === moveConstants.get('AMONG_LABELS') ? largest * 4 : 0),
      /** The cost of each candidate for four points. */
      costs: ({ points, width }) => (points.type === 'csr' ? 0 : width * 16),
      /** Members of a group that are points of this device. */
      places: ({ largest }) => largest * 4,
    },
    items: ({ groups }) => groups,
    grain: ({ points, largest, share, width }, groups) => {
      const sparse = points.type === 'csr'
      const perMember = sparse ? (width + 1) * meanEntries(points) : width * points.stride
      const perGroup = largest * (1 + share * perMember)
      return Math.max(1, Math.min(Math.ceil(groups / 8), Math.round((sparse ? 5e5 : 1e6) / perGroup)))
    },
  },
})

function operationsOfPoint({ points, width }: Shape): number {
  return points.type === 'csr' ? 2 * (width + 4) * meanEntries(points) : 3 * (width + 1) * points.stride
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
  yield* gainsPasses(gpu, batch)
}

/** Points and candidates of a run of groups, which may be those of several batches: labels of a group then must not change in between. */
export function collectPass(gpu: GpuTarget, batch: MoveBatch, { firstGroup, count }: GroupRun): ComputePass {
  return collectMovesKernel.pass(gpu, {
    ...batchValues(batch),
    ...gpuWorkspace(batch.workspace),
    byGroup: isTiled(gpu, batch),
    firstGroup,
    groups: count,
    order: batch.order,
  })
}

/** Proposals of a batch whose first place is `firstPlace` of those that were collected. */
export function* gainsPasses(gpu: GpuTarget, batch: MoveBatch, firstPlace = 0): Generator<ComputePass> {
  const { batch: places, candidates } = gpuWorkspace(batch.workspace)
  const values = gainsValues(batch)
  yield* moveGainsKernel.passes(gpu, {
    ...values,
    ...shaderClusterValues(batch.clusters),
    tiles: isTiled(gpu, batch) ? centerTiles(values.width) : 0,
    batch: places,
    lists: listsOf(batch) ?? candidates,
    firstPlace,
  })
}

export function* moveGainsJobs(memory: CpuMemory, batch: MoveBatch): Generator<CpuJob> {
  yield moveGainsKernel.job(memory, {
    ...gainsValues(batch),
    ...clusterValues(batch.clusters),
    order: orderOf(batch),
    lists: listsOf(batch),
  })
}

function gainsValues(batch: MoveBatch) {
  const { points, labels, groups, count, first } = batch
  const share = shareOf(points, domainOf(points, labels, groups.around))
  return { ...batchValues(batch), firstGain: first, groups: count, share }
}

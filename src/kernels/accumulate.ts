/**
 * accumulate: sums, weights and counts of points by label. No float atomics: points are sorted by label (stable), then
 * summed in that order, so that results are the same bits for any number of threads.
 *
 * labels: u32 [n]; a label of k or more belongs to no cluster. sums: f32 [k][stride], totals: f32 [k] (sum of weights),
 * counts: u32 [k]. With `add` on top of what is there, for points in several parts. A range of the rows gives the same bits
 * as these rows in a buffer of their own.
 * Cost: n d operations plus the sort; of sparse rows 2 for each entry, and a search in each row for every range of columns.
 */
import { clusterRangesBody, SUM_PIECE, sumClustersBody, sumPiecesBody } from '../../shaders/accumulate.ts'
import { THREADS } from '../../shaders/snippets.ts'
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
import { elements, mayRead, mayWrite, reads, writes } from '../device/fields.ts'
import { cutForBinding, rowsWithinOperations } from '../device/plan.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { type AnyForm, DENSE_VECTORS, inForms, VECTORS, WRITTEN_ROWS } from './kernel-fields.ts'
import { prefixSums } from './prefix-sum.ts'
import { type DeviceRows, meanEntries, type RowRange, rangeWithin, rowsPart } from './rows.ts'
import { createSortWorkspace, radixPasses, type SortWorkspace } from './sort.ts'

export const accumulateConstants = new SharedConstants({ SUM_PIECE: { type: 'u32', value: SUM_PIECE } })

/** Where each cluster begins in the order, and its pieces, [k + 1] each. */
const tableFields = (access: typeof reads | typeof writes) =>
  ({ offsets: access('u32'), pieces: access('u32') }) as const

export const sortByLabelKernel = declareKernel('sort-by-label', {
  args: { labels: reads('u32'), from: 'u32', n: 'u32', k: 'u32', ...tableFields(writes), order: writes('u32') },
  cpu: { entry: 'sortByLabel', items: () => 1, grain: 1 },
})

/** The tables on a GPU, whose keys are sorted; pieces are counts. */
export const clusterRangesKernel = declareKernel('cluster-ranges', {
  args: { n: 'u32', k: 'u32', sortedKeys: reads('u32'), ...tableFields(writes) },
  items: ({ k }) => k + 1,
  gpu: { body: clusterRangesBody, operations: ({ k }) => k * 64 },
})

const SUM_FIELDS = { weights: mayRead('f32'), order: reads('u32') } as const

/** Only on a GPU: offsets[k + 1], then pieces[k + 1]. */
const GPU_TABLES = { tables: reads('u32'), piecesAt: 'u32' } as const

/** Only on the CPU. */
const JOB_FIELDS = {
  ...tableFields(reads),
  /** Where distances are asked for: the centres, and a distance for each point. */
  centers: mayRead('f32'),
  distances: mayWrite('f32'),
} as const

/** Sums of up to SUM_PIECE bytes in 16 bits, for each column; the last four are written eight at a time. */
const byteSums = ({ points }: { readonly points: DeviceRows }): number =>
  points.type === 'u8' ? points.stride * 2 + 8 : 0

/** Of dense rows. */
export const sumPiecesKernel = declareKernel('sum-pieces', {
  args: { points: DENSE_VECTORS, ...SUM_FIELDS, k: 'u32' },
  gpu: {
    /** [piece][quads + 1] */
    args: { ...GPU_TABLES, pieces: 'u32', partials: writes('vec4f') },
    body: sumPiecesBody,
    grid: ({ pieces, points }) => (pieces * points.stride) / 4,
  },
  cpu: {
    entry: 'sumPieces',
    args: { ...JOB_FIELDS, partials: writes('f32'), partialTotals: writes('f32') },
    items: ({ partialTotals }) => partialTotals.count,
    grain: 4,
    scratch: { byteSums },
  },
})

const isDense = ({ points }: AnyForm): boolean => points !== 'csr'

export const sumClustersKernel = declareKernel('sum-clusters', {
  args: {
    points: VECTORS,
    ...SUM_FIELDS,
    /** Of columns, and columns of each. */
    ranges: 'u32',
    rangeColumns: 'u32',
    sums: WRITTEN_ROWS,
    /** Weight and number of points of each cluster, of all clusters. */
    totals: writes('f32'),
    counts: writes('u32'),
    /** On top of what is there. */
    add: 'bool',
    /** Sums of clusters without points are not written. */
    keepEmpty: 'bool',
  },
  items: ({ sums, ranges }) => sums.rows * ranges,
  gpu: {
    args: {
      ...GPU_TABLES,
      partials: inForms(isDense, reads('vec4f')),
      firstCluster: 'u32',
      clusters: 'u32',
      /** Places in the order that this pass takes. */
      first: 'u32',
      end: 'u32',
    },
    body: sumClustersBody,
    forms: [{ points: 'f32' }, { points: 'u8' }, { points: 'csr' }],
  },
  cpu: {
    entry: 'sumClusters',
    /** Of dense rows. */
    args: { ...JOB_FIELDS, partials: mayRead('f32'), partialTotals: mayRead('f32') },
    scratch: {
      byteSums,
      /** f64, for each column of a range of sparse rows. */
      columnSums: ({ points, rangeColumns }) => (points.type === 'csr' ? rangeColumns * 8 : 0),
    },
    // Never more than there is: few points in many clusters would overflow the threads' 32-bit counter.
    grain: ({ points, order, sums }, items) =>
      Math.min(items, Math.max(1, Math.round((1e5 * items) / sumOperations(points, order.count, sums.rows)))),
  },
})

export interface AccumulateArgs {
  readonly points: DeviceRows
  readonly labels: DeviceBuffer
  readonly weights?: DeviceBuffer | undefined
  readonly k: number
  /** The rows that are used, of points, labels and weights. Default: all. */
  readonly range?: RowRange | undefined
  readonly sums: DeviceBuffer
  readonly totals: DeviceBuffer
  readonly counts: DeviceBuffer
  readonly add?: boolean
  /**
   * Leaves the rows of `sums` of clusters without points as they are, instead of writing zeros; their totals and counts
   * are written as always. For few points in many clusters, where the zeros would cost more than the sums.
   */
  readonly keepEmpty?: boolean
  /**
   * CPU only, dense rows: writes the squared distance of each point to the centre of its cluster, while its row is at hand.
   * The bits are those of `assign-lists`.
   */
  readonly measured?: MeasuredTo | undefined
  readonly workspace: AccumulateWorkspace
}

export interface MeasuredTo {
  readonly centers: DeviceRows
  /** f32 [n] */
  readonly distances: DeviceBuffer
}

/** Whether `accumulate` can measure distances. */
export function measuresDistances({ info }: Device, { type }: DeviceRows): boolean {
  return info.kind === 'cpu' && type !== 'csr'
}

/** Memory for sorting and partial sums, for up to n points of `stride` columns in k clusters. Sparse rows have no partial sums. */
export interface AccumulateWorkspace {
  readonly order: DeviceBuffer
  /** Where each cluster's points begin in `order` after the call: u32 [k + 1]. */
  readonly tables: DeviceBuffer
  readonly partials: DeviceBuffer
  readonly partialTotals: DeviceBuffer
  /** Only the GPU sorts in passes. */
  readonly sort?: SortWorkspace
}

export function createAccumulateWorkspace(
  device: Device,
  scope: BufferScope,
  n: number,
  stride: number,
  k: number,
  sparse = false,
): AccumulateWorkspace {
  const pieces = sparse ? 1 : mostPieces(n)
  const common = {
    order: scope.allocate(n * 4, 'points by cluster'),
    tables: scope.allocate(2 * tableBytes(k), 'cluster ranges'),
    partials: scope.allocate(sparse ? 4 : pieces * (stride + 4) * 4, 'partial sums'),
    partialTotals: scope.allocate(pieces * 4, 'partial weights'),
  }
  if (device.info.kind === 'cpu') return common
  return { ...common, sort: createSortWorkspace(scope, n, k + 1) }
}

export function accumulate(device: Device, args: AccumulateArgs): Promise<void> {
  return device.run({
    name: 'accumulate',
    webgpu: (gpu) => accumulatePasses(gpu, args),
    cpu: (memory) => accumulateJobs(memory, args),
  })
}

/** A cluster of more than SUM_PIECE points needs at most two pieces for every SUM_PIECE points. */
export function mostPieces(n: number): number {
  return Math.ceil((2 * n) / SUM_PIECE)
}

/** Offsets and pieces share a buffer; each begins where a binding may. */
export function tableBytes(k: number): number {
  return Math.ceil(((k + 1) * 4) / 256) * 256
}

interface ColumnRanges {
  readonly ranges: number
  readonly rangeColumns: number
}

/** Threads to aim at for any k: many on hardware GPUs, few on CPU cores and software adapters. */
const WORKERS = { hardware: 4096, software: 32 }

/** More ranges than this spend their time on searching sparse rows. */
const MOST_RANGES = { hardware: 256, software: 8 }

function cutColumns({ stride }: DeviceRows, k: number, kind: 'hardware' | 'software'): ColumnRanges {
  const wanted = Math.min(MOST_RANGES[kind], Math.ceil(WORKERS[kind] / k), stride / 4)
  const rangeColumns = Math.ceil(stride / wanted)
  return { ranges: Math.ceil(stride / rangeColumns), rangeColumns }
}

function* accumulatePasses(gpu: GpuTarget, args: AccumulateArgs): Generator<ComputePass> {
  const { points, k, workspace, keepEmpty = false } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  yield* sortPasses(gpu, { labels: args.labels, from, count, k, workspace })
  const { stride } = points
  const sparse = points.type === 'csr'
  const columns = sparse
    ? cutColumns(points, k, gpu.tiled ? 'hardware' : 'software')
    : { ranges: stride / 4, rangeColumns: 4 }
  const shared = {
    ...summed(args, from + count),
    ...columns,
    ...{ order: workspace.order, tables: workspace.tables, piecesAt: tableBytes(k) / 4, partials: workspace.partials },
  }
  if (!sparse && count > SUM_PIECE) {
    yield sumPiecesKernel.pass(gpu, { ...shared, k, pieces: mostPieces(count) }, { operations: count * stride })
  }
  const perRow = sparse ? 4 * meanEntries(points) + 8 * columns.ranges : stride
  // The pieces of dense rows are those of all rows.
  const most = sparse ? rowsWithinOperations(gpu.operationsPerPass, perRow, THREADS) : count
  for (const range of cutForBinding(k, stride * 4, gpu.limits, 'sums')) {
    const clusters = range.end - range.start
    const sums = rowsPart({ buffer: args.sums, stride }, range.start, range.end)
    let first = 0
    // Without any rows there is still one pass, which writes the zeros.
    do {
      const end = Math.min(count, first + most)
      yield sumClustersKernel.pass(
        gpu,
        { ...shared, sums, firstCluster: range.start, clusters, first, end, add: args.add || first > 0, keepEmpty },
        { operations: (end - first) * perRow + (first > 0 ? 0 : clusters * stride) },
      )
      first = end
    } while (first < count)
  }
}

/** What is sorted: `count` labels from number `from` on, those of k or more behind all others. */
export interface LabelSort {
  readonly from: number
  readonly count: number
  readonly labels: DeviceBuffer
  readonly k: number
  readonly workspace: AccumulateWorkspace
}

/** Stable radix sort by label, 8 bits a pass, the last pass into `order`. */
export function* sortPasses(gpu: GpuTarget, sorting: LabelSort): Generator<ComputePass> {
  const { from, count: n, labels, k, workspace } = sorting
  const sort = workspace.sort
  if (sort === undefined) throw new Error('The workspace was made for another device')
  // Points without a cluster get key k and end up behind all others.
  const passes = Math.ceil(Math.log2(k + 1) / 8) || 1
  const sorted = { n, none: k, firstPoint: from, passes, sort, order: workspace.order }
  const keys = yield* radixPasses(gpu, { ...sorted, keys: labels })
  const { offsets, pieces } = sortedTables(sorting)
  yield clusterRangesKernel.pass(gpu, { n, k, sortedKeys: keys, offsets, pieces })
  yield* prefixSums(gpu, pieces.target, k + 1, sort.scan)
}

/** The sort on the CPU. */
export function sortJob(memory: CpuMemory, sort: LabelSort): CpuJob {
  const { from, count, labels, k } = sort
  const args = { labels: elements(labels, from + count), from, n: count, k }
  return sortByLabelKernel.job(memory, { ...args, ...sortedTables(sort) })
}

/** Where the sort leaves its results. */
export function sortedTables({ count, k, workspace: { tables, order } }: LabelSort) {
  return {
    offsets: elements(slice(tables, 0, (k + 1) * 4), k + 1),
    pieces: elements(slice(tables, tableBytes(k), (k + 1) * 4), k + 1),
    order: elements(order, count),
  }
}

function* accumulateJobs(memory: CpuMemory, args: AccumulateArgs): Generator<CpuJob> {
  const { points, k, measured, workspace, add = false, keepEmpty = false } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const sort = { labels: args.labels, from, count, k, workspace }
  yield sortJob(memory, sort)
  const { stride } = points
  const shared = {
    ...summed(args, from + count),
    ...sortedTables(sort),
    ...(measured && {
      centers: elements(measured.centers.buffer, k * stride),
      distances: elements(measured.distances, from + count),
    }),
  }
  const given = { ...shared, sums: { buffer: args.sums, rows: k, stride }, add, keepEmpty }
  if (points.type === 'csr') {
    yield sumClustersKernel.job(memory, { ...given, ...cutColumns(points, k, 'software') })
    return
  }
  const partials = {
    partials: elements(workspace.partials, mostPieces(count) * stride),
    partialTotals: elements(workspace.partialTotals, mostPieces(count)),
  }
  yield sumPiecesKernel.job(memory, { ...shared, k, ...partials })
  yield sumClustersKernel.job(memory, { ...given, ...partials, ranges: 1, rangeColumns: stride })
}

/** Arguments of the sums on both devices; `rows`: those that can be used. */
function summed({ points, weights, k, totals, counts }: AccumulateArgs, rows: number) {
  return { points, weights: elements(weights, rows), totals: elements(totals, k), counts: elements(counts, k) }
}

/** Arithmetic operations of all sums on the CPU. */
function sumOperations(points: DeviceRows, n: number, k: number): number {
  if (points.type !== 'csr') return n * points.stride
  return k * points.stride + 4 * n * meanEntries(points)
}

/**
 * accumulate: sums, weights and counts of points by label. No float atomics: points are sorted by label (stable), then
 * summed in that order, so that results are the same bits for any number of threads.
 *
 * labels: u32 [n]; a label of k or more belongs to no cluster. sums: f32 [k][stride], totals: f32 [k] (sum of weights),
 * counts: u32 [k]. With `add` on top of what is there, for points in several parts. A range of the rows gives the same bits
 * as these rows in a buffer of their own.
 * Cost: n d operations plus the sort.
 */
import {
  clusterRanges,
  DIGITS,
  RUN,
  SUM_PIECE,
  sortCount,
  sortScatter,
  sumClusters,
  sumPieces,
} from '../../shaders/accumulate.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { countTiles, SORT_TILE, scanWhole, scatterTiles } from '../../shaders/sort-tiled.ts'
import {
  type BufferPart,
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
import { cutForBinding } from '../device/plan.ts'
import { sumSparseJobs, sumSparsePasses } from './accumulate-sparse.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin } from './rows.ts'
import { scanPasses, scanWorkspaceBytes } from './scan.ts'

export const accumulateConstants = new SharedConstants({ SUM_PIECE: { type: 'u32', value: SUM_PIECE } })

export const sortFunction = declareFunction('sortByLabel', {
  args: {
    labels: reads('u32'),
    from: 'u32',
    n: 'u32',
    k: 'u32',
    offsets: writes('u32'),
    pieces: writes('u32'),
    order: writes('u32'),
  },
})

const SUM_ARGS = {
  points: DENSE_VECTORS,
  weights: mayRead('f32'),
  offsets: reads('u32'),
  pieces: reads('u32'),
  order: reads('u32'),
  /** Where distances are asked for: the centres, and a distance for each point. */
  centers: mayRead('f32'),
  distances: mayWrite('f32'),
} as const

/** Sums of up to SUM_PIECE bytes in 16 bits, for each column; the last four are written eight at a time. */
const byteSums = ({ points }: { readonly points: DeviceRows }): number =>
  points.type === 'u8' ? points.stride * 2 + 8 : 0

export const sumPiecesFunction = declareFunction('sumPieces', {
  args: { ...SUM_ARGS, k: 'u32', partials: writes('f32'), partialTotals: writes('f32') },
  scratch: { byteSums },
})

export const sumClustersFunction = declareFunction('sumClusters', {
  args: {
    ...SUM_ARGS,
    partials: reads('f32'),
    partialTotals: reads('f32'),
    sums: writes('f32'),
    totals: writes('f32'),
    counts: writes('u32'),
    add: 'bool',
    keepEmpty: 'bool',
  },
  scratch: { byteSums },
})

export interface AccumulateArgs {
  readonly points: DeviceRows
  readonly labels: DeviceBuffer
  readonly weights?: DeviceBuffer | undefined
  readonly k: number
  /** The rows that take part, of points, labels and weights alike. Default: all. */
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

/** Memory for sorting n keys with their values on a GPU. */
export interface SortWorkspace {
  readonly keys: readonly [DeviceBuffer, DeviceBuffer]
  readonly values: DeviceBuffer
  readonly digits: DeviceBuffer
  readonly scan: DeviceBuffer
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

/** `scanned`: values whose prefix sums are made besides. */
export function createSortWorkspace(scope: BufferScope, n: number, scanned = 0): SortWorkspace {
  const runs = Math.ceil(n / RUN)
  return {
    keys: [scope.allocate(n * 4, 'sort keys'), scope.allocate(n * 4, 'sort keys')],
    values: scope.allocate(n * 4, 'sort values'),
    digits: scope.allocate(DIGITS * runs * 4, 'sort digits'),
    scan: scope.allocate(scanWorkspaceBytes(Math.max(DIGITS * runs, scanned)), 'sort scan'),
  }
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

function* accumulatePasses(gpu: GpuTarget, args: AccumulateArgs): Generator<ComputePass> {
  const { points, weights, k, sums, totals, counts, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  yield* sortPasses(gpu, { labels: args.labels, from, count, k, workspace })
  if (points.type === 'csr') return yield* sumSparsePasses(gpu, args)
  const { stride } = points
  const rowBytes = stride * 4
  const operations = count * stride
  const shared = {
    quads: stride / 4,
    piecesAt: tableBytes(k) / 4,
    x: points.buffer,
    weights: elements(weights, from + count),
    order: workspace.order,
    tables: workspace.tables,
    partials: workspace.partials,
  }
  if (count > SUM_PIECE) {
    const items = mostPieces(count) * shared.quads
    yield sumPieces(denseType(points)).pass(gpu, { ...shared, k }, { items, operations })
  }
  for (const { start, end } of cutForBinding(k, rowBytes, gpu.limits, 'sums')) {
    const clusters = end - start
    yield sumClusters(denseType(points)).pass(
      gpu,
      {
        ...shared,
        firstCluster: start,
        clusters,
        add: args.add ?? false,
        keepEmpty: args.keepEmpty ?? false,
        sums: slice(sums, start * rowBytes, clusters * rowBytes),
        totals: elements(totals, k),
        counts: elements(counts, k),
      },
      { items: clusters * shared.quads, operations },
    )
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
  yield clusterRanges.pass(gpu, { n, k, sortedKeys: keys, offsets, pieces }, { items: k + 1, operations: k * 64 })
  yield* prefixSums(gpu, pieces.target, k + 1, sort.scan)
}

/** What a radix sort is given. */
export interface RadixSort {
  readonly n: number
  /** u32 [n], from number `firstPoint` on where there are no values. */
  readonly keys: DeviceBuffer
  /** u32 [n]. Default: the numbers from `firstPoint` on; larger keys than `none` then count as `none`. */
  readonly values?: DeviceBuffer
  readonly none: number
  readonly firstPoint: number
  /** Times 8 bits of the keys. */
  readonly passes: number
  readonly sort: SortWorkspace
  /** u32 [n], the values by key. */
  readonly order: DeviceBuffer
}

/** Stable, 8 bits a pass. Keys and values that are given stay as they are; the sorted keys are returned. */
export function* radixPasses(
  gpu: GpuTarget,
  { n, none, firstPoint, passes, sort, order, ...given }: RadixSort,
): Generator<ComputePass, DeviceBuffer> {
  const { tiled } = gpu
  // Without any keys one empty run still writes the tables.
  const runs = Math.max(1, Math.ceil(n / (tiled ? SORT_TILE : RUN)))
  const grid = { items: runs, perGroup: tiled ? 1 : THREADS, operations: n * 8 }
  const digits = elements(sort.digits, DIGITS * runs)
  let { keys, values } = given
  for (let pass = 0; pass < passes; pass++) {
    const numbered = values === undefined
    const params = { n, runs, shift: pass * 8, none, firstPoint, keys, counts: digits }
    const sortedKeys: DeviceBuffer = sort.keys[pass % 2]
    const sortedValues = (passes - pass) % 2 === 1 ? order : sort.values
    yield (tiled ? countTiles(numbered) : sortCount(numbered)).pass(gpu, params, grid)
    yield* prefixSums(gpu, slice(sort.digits, 0, DIGITS * runs * 4), DIGITS * runs, sort.scan)
    const scatter = tiled ? scatterTiles(numbered) : sortScatter(numbered)
    yield scatter.pass(gpu, { ...params, sortedKeys, sortedValues, values }, grid)
    keys = sortedKeys
    values = sortedValues
  }
  return keys
}

/** More values than this are scanned by many workgroups, in several passes. */
const SCANNED_BY_ONE = 2 ** 18

function* prefixSums(
  gpu: GpuTarget,
  values: DeviceBuffer | BufferPart,
  count: number,
  workspace: DeviceBuffer,
): Generator<ComputePass> {
  if (!gpu.tiled || count > SCANNED_BY_ONE) return yield* scanPasses(gpu, values, count, workspace)
  yield scanWhole.pass(gpu, { count, values: elements(values, count) }, { groups: [1], operations: count * 16 })
}

/** The sort on the CPU. */
export function sortJob(memory: CpuMemory, sort: LabelSort): CpuJob {
  const { from, count, labels, k } = sort
  return sortFunction.job(
    memory,
    { labels: elements(labels, from + count), from, n: count, k, ...sortedTables(sort) },
    { items: 1, grain: 1 },
  )
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
  const { points, weights, k, sums, totals, counts, measured, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const sort = { labels: args.labels, from, count, k, workspace }
  yield sortJob(memory, sort)
  if (points.type === 'csr') return yield* sumSparseJobs(memory, args)
  const { stride } = points
  const shared = {
    points,
    weights: elements(weights, from + count),
    ...sortedTables(sort),
    ...(measured && {
      centers: elements(measured.centers.buffer, k * stride),
      distances: elements(measured.distances, from + count),
    }),
    partials: elements(workspace.partials, mostPieces(count) * stride),
    partialTotals: elements(workspace.partialTotals, mostPieces(count)),
  }
  yield sumPiecesFunction.job(memory, { ...shared, k }, { items: mostPieces(count), grain: 4 })
  yield sumClustersFunction.job(
    memory,
    {
      ...shared,
      sums: elements(sums, k * stride),
      totals: elements(totals, k),
      counts: elements(counts, k),
      add: args.add ?? false,
      keepEmpty: args.keepEmpty ?? false,
    },
    // Never more than there is: few points in many clusters would overflow the threads' 32-bit counter.
    { items: k, grain: Math.min(k, Math.max(1, Math.round((1e5 * k) / (count * stride)))) },
  )
}

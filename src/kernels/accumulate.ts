/**
 * accumulate: sums, weights and counts of points by label. No float atomics: points are sorted by
 * label (stable), then summed in that order, so that runs repeat bit for bit whatever the threads.
 *
 * labels: u32 [n]; a label of k or more belongs to no cluster. sums: f32 [k][stride], totals: f32 [k]
 * (sum of weights), counts: u32 [k]. With `add` on top of what is there, for points in several parts.
 * A range of the rows gives the bits that these rows would give in a buffer of their own.
 * Cost: n d operations plus the sort.
 */
import {
  clusterRanges,
  DIGITS,
  PIECE,
  RUN,
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
import { cutForBinding, gridFor } from '../device/plan.ts'
import { sumSparseJobs, sumSparsePasses } from './accumulate-sparse.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin, rowArgs } from './rows.ts'
import { scanPasses, scanWorkspaceBytes } from './scan.ts'

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
  readonly workspace: AccumulateWorkspace
}

/** Memory for sorting and partial sums, for up to n points of `stride` columns in k clusters. Sparse rows have no partial sums. */
export interface AccumulateWorkspace {
  readonly order: DeviceBuffer
  /** Where each cluster's points begin in `order` after the call: u32 [k + 1]. */
  readonly tables: DeviceBuffer
  readonly partials: DeviceBuffer
  readonly partialTotals: DeviceBuffer
  /** Only the GPU sorts in passes. */
  readonly sort?: {
    readonly keys: readonly [DeviceBuffer, DeviceBuffer]
    readonly values: DeviceBuffer
    readonly digits: DeviceBuffer
    readonly scan: DeviceBuffer
  }
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
  const runs = Math.ceil(n / RUN)
  const common = {
    order: scope.allocate(n * 4, 'points by cluster'),
    tables: scope.allocate(2 * tableBytes(k), 'cluster ranges'),
    partials: scope.allocate(sparse ? 4 : pieces * (stride + 4) * 4, 'partial sums'),
    partialTotals: scope.allocate(pieces * 4, 'partial weights'),
  }
  if (device.info.kind === 'cpu') return common
  return {
    ...common,
    sort: {
      keys: [scope.allocate(n * 4, 'sort keys'), scope.allocate(n * 4, 'sort keys')],
      values: scope.allocate(n * 4, 'sort values'),
      digits: scope.allocate(DIGITS * runs * 4, 'sort digits'),
      scan: scope.allocate(scanWorkspaceBytes(Math.max(DIGITS * runs, k + 1)), 'sort scan'),
    },
  }
}

export function accumulate(device: Device, args: AccumulateArgs): Promise<void> {
  return device.run({
    name: 'accumulate',
    webgpu: (gpu) => accumulatePasses(gpu, args),
    cpu: (memory) => accumulateJobs(memory, args),
  })
}

/** A cluster of more than PIECE points needs at most two pieces for every PIECE points. */
export function mostPieces(n: number): number {
  return Math.ceil((2 * n) / PIECE)
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
  const quads = points.stride / 4
  const rowBytes = points.stride * 4
  const common = [points.buffer, weights ?? workspace.order, workspace.order, workspace.tables]
  const flags = [quads, tableBytes(k) / 4, weights ? 1 : 0, args.add ? 1 : 0, args.keepEmpty ? 1 : 0]
  if (count > PIECE) {
    yield {
      shader: sumPieces(denseType(points)),
      bindings: [...common, workspace.partials],
      params: [0, k, ...flags],
      groups: gridFor(mostPieces(count) * quads, THREADS, gpu.limits.workgroups),
      operations: count * points.stride,
    }
  }
  for (const { start, end } of cutForBinding(k, rowBytes, gpu.limits, 'sums')) {
    yield {
      shader: sumClusters(denseType(points)),
      bindings: [
        ...common,
        workspace.partials,
        slice(sums, start * rowBytes, (end - start) * rowBytes),
        totals,
        counts,
      ],
      params: [start, end - start, ...flags],
      groups: gridFor((end - start) * quads, THREADS, gpu.limits.workgroups),
      operations: count * points.stride,
    }
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
  const { tiled } = gpu
  // Without any labels one empty run still writes the ranges.
  const runs = Math.max(1, Math.ceil(n / (tiled ? SORT_TILE : RUN)))
  const grid = gridFor(runs, tiled ? 1 : THREADS, gpu.limits.workgroups)
  // Points without a cluster get key k and end up behind all others.
  const passes = Math.ceil(Math.log2(k + 1) / 8) || 1
  let keys = labels
  let values: DeviceBuffer | undefined
  for (let pass = 0; pass < passes; pass++) {
    const first = pass === 0
    const params = [n, runs, pass * 8, k, from]
    const nextKeys = sort.keys[pass % 2]
    const nextValues = (passes - pass) % 2 === 1 ? workspace.order : sort.values
    yield {
      shader: tiled ? countTiles(first) : sortCount(first),
      bindings: [keys, sort.digits],
      params,
      groups: grid,
      operations: n * 8,
    }
    yield* prefixSums(gpu, slice(sort.digits, 0, DIGITS * runs * 4), DIGITS * runs, sort.scan)
    yield {
      shader: tiled ? scatterTiles(first) : sortScatter(first),
      bindings: [keys, sort.digits, nextKeys, nextValues, ...(values ? [values] : [])],
      params,
      groups: grid,
      operations: n * 8,
    }
    keys = nextKeys
    values = nextValues
  }
  const pieces = slice(workspace.tables, tableBytes(k), (k + 1) * 4)
  yield {
    shader: clusterRanges,
    bindings: [keys, slice(workspace.tables, 0, (k + 1) * 4), pieces],
    params: [n, k],
    groups: gridFor(k + 1, THREADS, gpu.limits.workgroups),
    operations: k * 64,
  }
  yield* prefixSums(gpu, pieces, k + 1, sort.scan)
}

/** More values than this are scanned by many workgroups, in several passes. */
const SCANNED_BY_ONE = 2 ** 18

function* prefixSums(
  gpu: GpuTarget,
  values: BufferPart,
  count: number,
  workspace: DeviceBuffer,
): Generator<ComputePass> {
  if (!gpu.tiled || count > SCANNED_BY_ONE) return yield* scanPasses(gpu, values, count, workspace)
  yield { shader: scanWhole, bindings: [values], params: [count], groups: [1], operations: count * 16 }
}

/** The same on the CPU, and where it leaves the tables. */
export function sortJob(memory: CpuMemory, sort: LabelSort): CpuJob {
  const { from, count, labels, k } = sort
  const { offsets, pieces, order } = sorted(memory, sort)
  return {
    entry: 'sortByLabel',
    items: 1,
    grain: 1,
    args: [memory.address(labels, (from + count) * 4), from, count, k, offsets, pieces, order],
  }
}

export function sorted(
  memory: CpuMemory,
  { count, k, workspace: { tables, order } }: LabelSort,
): { offsets: number; pieces: number; order: number } {
  const offsets = memory.address(tables, tableBytes(k) + (k + 1) * 4)
  return { offsets, pieces: offsets + tableBytes(k), order: memory.address(order, count * 4) }
}

function* accumulateJobs(memory: CpuMemory, args: AccumulateArgs): Generator<CpuJob> {
  const { points, weights, k, sums, totals, counts, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const sort = { labels: args.labels, from, count, k, workspace }
  const { offsets, pieces, order } = sorted(memory, sort)
  yield sortJob(memory, sort)
  if (points.type === 'csr') return yield* sumSparseJobs(memory, args)
  const rows = [...rowArgs(memory, points), weights ? memory.address(weights, (from + count) * 4) : 0]
  const partials = [
    memory.address(workspace.partials, mostPieces(count) * points.stride * 4),
    memory.address(workspace.partialTotals, mostPieces(count) * 4),
  ]
  yield {
    entry: 'sumPieces',
    items: mostPieces(count),
    grain: 4,
    args: [...rows, k, offsets, pieces, order, ...partials],
    scratchBytes: points.stride * 2 + 32,
  }
  yield {
    entry: 'sumClusters',
    items: k,
    // Never more than there is: few points in many clusters would overflow the threads' 32-bit counter.
    grain: Math.min(k, Math.max(1, Math.round((1e5 * k) / (count * points.stride)))),
    args: [
      ...rows,
      offsets,
      pieces,
      order,
      ...partials,
      memory.address(sums, k * points.stride * 4),
      memory.address(totals, k * 4),
      memory.address(counts, k * 4),
      args.add ? 1 : 0,
      args.keepEmpty ? 1 : 0,
    ],
    scratchBytes: points.stride * 2 + 32,
  }
}

/**
 * accumulate-sparse: sums of sparse rows by label, after the rows were sorted by label. `accumulate` calls it for such rows. A
 * thread sums a range of the columns of one cluster; the number of ranges does not change the result.
 * Cost: 2 operations for each entry, and a search in each row for every range.
 */
import { sumSparse } from '../../shaders/accumulate-sparse.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type ComputePass, type CpuJob, type CpuMemory, type GpuTarget, slice } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { cutForBinding, rowsWithinOperations } from '../device/plan.ts'
import type { AccumulateArgs } from './accumulate.ts'
import { declareFunction, VECTORS } from './declared-function.ts'
import { meanEntries, rangeWithin, sparsePlaces } from './rows.ts'

export const sumSparseFunction = declareFunction('sumSparse', {
  args: {
    points: VECTORS,
    weights: mayRead('f32'),
    /** Where each cluster begins in the order, [k + 1]. */
    tables: reads('u32'),
    order: reads('u32'),
    ranges: 'u32',
    rangeColumns: 'u32',
    sums: writes('f32'),
    totals: writes('f32'),
    counts: writes('u32'),
    add: 'bool',
    keepEmpty: 'bool',
  },
  /** f64, for each column of a range. */
  scratch: { columnSums: ({ rangeColumns }) => rangeColumns * 8 },
})

/** Threads to aim at for any k: many on hardware GPUs, few on CPU cores and software adapters. */
const WORKERS = { hardware: 4096, software: 32 }

/** More ranges than this spend their time on searching. */
const MOST_RANGES = { hardware: 256, software: 8 }

function cutColumns(stride: number, k: number, kind: 'hardware' | 'software'): { ranges: number; width: number } {
  const wanted = Math.min(MOST_RANGES[kind], Math.ceil(WORKERS[kind] / k), stride / 4)
  const width = Math.ceil(stride / wanted)
  return { ranges: Math.ceil(stride / width), width }
}

export function* sumSparsePasses(gpu: GpuTarget, args: AccumulateArgs): Generator<ComputePass> {
  const { points, weights, k, sums, totals, counts, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const { stride } = points
  const { places, columnsAt } = sparsePlaces(points)
  const rowBytes = stride * 4
  const { ranges, width } = cutColumns(stride, k, gpu.tiled ? 'hardware' : 'software')
  const perRow = 4 * meanEntries(points) + 8 * ranges
  for (const { start, end } of cutForBinding(k, rowBytes, gpu.limits, 'sums')) {
    const clusters = end - start
    let first = 0
    // Without any rows there is still one pass, which writes the zeros.
    do {
      const rows = Math.min(count - first, rowsWithinOperations(gpu.operationsPerPass, perRow, THREADS))
      yield sumSparse.pass(
        gpu,
        {
          firstCluster: start,
          clusters,
          stride,
          columnsAt,
          ranges,
          rangeColumns: width,
          first,
          end: first + rows,
          add: args.add || first > 0,
          keepEmpty: args.keepEmpty ?? false,
          values: points.buffer,
          offsets: places,
          weights: elements(weights, from + count),
          order: workspace.order,
          tables: workspace.tables,
          sums: slice(sums, start * rowBytes, clusters * rowBytes),
          totals: elements(totals, k),
          counts: elements(counts, k),
        },
        { items: clusters * ranges, operations: rows * perRow + (first > 0 ? 0 : clusters * stride) },
      )
      first += rows
    } while (first < count)
  }
}

export function* sumSparseJobs(memory: CpuMemory, args: AccumulateArgs): Generator<CpuJob> {
  const { points, weights, k, sums, totals, counts, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const { ranges, width } = cutColumns(points.stride, k, 'software')
  const perCluster = points.stride + (4 * count * meanEntries(points)) / k
  yield sumSparseFunction.job(
    memory,
    {
      points,
      weights: elements(weights, from + count),
      tables: elements(workspace.tables, k + 1),
      order: elements(workspace.order, count),
      ranges,
      rangeColumns: width,
      sums: elements(sums, k * points.stride),
      totals: elements(totals, k),
      counts: elements(counts, k),
      add: args.add ?? false,
      keepEmpty: args.keepEmpty ?? false,
    },
    { items: k * ranges, grain: Math.min(k * ranges, Math.max(1, Math.round((1e5 * ranges) / perCluster))) },
  )
}

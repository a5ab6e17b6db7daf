/**
 * accumulate-sparse: sums of sparse rows by label, after the rows were sorted by label. What
 * `accumulate` does when it is given such rows; called through it. A worker owns a range of the columns
 * of one cluster; into how many ranges columns are cut changes nothing in the result.
 * Cost: 2 operations for each entry, and a search in each row for every range.
 */
import { sumSparse } from '../../shaders/accumulate-sparse.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type ComputePass, type CpuJob, type CpuMemory, type GpuTarget, slice } from '../device/contract.ts'
import { cutForBinding, gridFor, rowsWithinOperations } from '../device/plan.ts'
import type { AccumulateArgs } from './accumulate.ts'
import { entryArgs } from './assign-sparse.ts'
import { meanEntries, rangeWithin, sparsePlaces } from './rows.ts'

/** Workers that are worth having, whatever k: hardware GPUs want many, cores and software adapters few. */
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
  const { count } = rangeWithin(points.rows, args.range)
  const { places, columnsAt } = sparsePlaces(points)
  const rowBytes = points.stride * 4
  const { ranges, width } = cutColumns(points.stride, k, gpu.tiled ? 'hardware' : 'software')
  const perRow = 4 * meanEntries(points) + 8 * ranges
  for (const { start, end } of cutForBinding(k, rowBytes, gpu.limits, 'sums')) {
    let first = 0
    // Without any rows there is still one pass, which writes the zeros.
    do {
      const rows = Math.min(count - first, rowsWithinOperations(gpu.operationsPerPass, perRow, THREADS))
      yield {
        shader: sumSparse,
        bindings: [
          points.buffer,
          places,
          weights ?? workspace.order,
          workspace.order,
          workspace.tables,
          slice(sums, start * rowBytes, (end - start) * rowBytes),
          totals,
          counts,
        ],
        params: [
          start,
          end - start,
          points.stride,
          columnsAt,
          ranges,
          width,
          first,
          first + rows,
          weights ? 1 : 0,
          args.add || first > 0 ? 1 : 0,
          args.keepEmpty ? 1 : 0,
        ],
        groups: gridFor((end - start) * ranges, THREADS, gpu.limits.workgroups),
        operations: rows * perRow + (first > 0 ? 0 : (end - start) * points.stride),
      }
      first += rows
    } while (first < count)
  }
}

export function* sumSparseJobs(memory: CpuMemory, args: AccumulateArgs): Generator<CpuJob> {
  const { points, weights, k, sums, totals, counts, workspace } = args
  const { from, count } = rangeWithin(points.rows, args.range)
  const { ranges, width } = cutColumns(points.stride, k, 'software')
  const perCluster = points.stride + (4 * count * meanEntries(points)) / k
  yield {
    entry: 'sumSparse',
    items: k * ranges,
    grain: Math.min(k * ranges, Math.max(1, Math.round((1e5 * ranges) / perCluster))),
    args: [
      ...entryArgs(memory, points),
      weights ? memory.address(weights, (from + count) * 4) : 0,
      memory.address(workspace.tables, (k + 1) * 4),
      memory.address(workspace.order, count * 4),
      ranges,
      width,
      memory.address(sums, k * points.stride * 4),
      memory.address(totals, k * 4),
      memory.address(counts, k * 4),
      args.add ? 1 : 0,
      args.keepEmpty ? 1 : 0,
    ],
    scratchBytes: width * 8,
  }
}

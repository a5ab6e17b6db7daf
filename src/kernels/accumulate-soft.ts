/**
 * accumulate-soft: sums by component over pairs of a point and a component, each with a share. No float
 * atomics: pairs are sorted by component (stable), then summed in that order, as accumulate does.
 *
 * pairs: u32 [n][m], NO_LABEL for none; shares: f32 [n][m]; labels: u32 [n]. A pair is inner if the
 * component is the point's label, else outer. sums: f32 [k][stride + 4]: sums of share * (x - mean) by column; then
 * sums of share * |x - mean|^2, inner and outer, and of shares, inner and outer. A range of the points gives the bits that
 * these points would give in buffers of their own. Cost: 4 n m d at most, plus the sort.
 */

import { SUM_PIECE } from '../../shaders/accumulate.ts'
import { softClusters, softPieces, softTotals } from '../../shaders/accumulate-soft.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type BufferScope, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { alignmentRows, cutRows, gridFor, rowsWithin } from '../device/plan.ts'
import {
  type AccumulateWorkspace,
  createAccumulateWorkspace,
  mostPieces,
  sortedTables,
  sortJob,
  sortPasses,
  tableBytes,
} from './accumulate.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin, rowArgs, rowsAt } from './rows.ts'

export interface AccumulateSoftArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly m: number
  /** The points that take part, with their pairs, shares and labels. Default: all. */
  readonly range?: RowRange | undefined
  readonly pairs: DeviceBuffer
  readonly shares: DeviceBuffer
  readonly labels: DeviceBuffer
  readonly sums: DeviceBuffer
  /** On top of what is there, for points in several parts. */
  readonly add?: boolean
  readonly workspace: AccumulateWorkspace
}

/** Parts of totals that wait on a GPU at a time: more components are summed in several passes. */
const WAITING_BYTES = 2 ** 23
/** As many sums as end where a binding may begin, whatever the stride. */
const LEAST_WAITING = 16

/** Bytes of the sums of k components. */
export function softSumsBytes({ rows, stride }: { rows: number; stride: number }): number {
  return rows * (stride + 4) * 4
}

/** The most bytes of any one buffer that a pair needs while it is summed. */
export function softPairBytes(stride: number): number {
  return Math.max(4, (2 * pieceBytes(stride)) / SUM_PIECE)
}

/** A GPU has totals for every 4 columns of a piece. */
function pieceBytes(stride: number): number {
  return stride * 8
}

/** Memory for sorting and partial sums, for up to `pairs` pairs of points of `stride` columns and k components. */
export function createSoftWorkspace(
  device: Device,
  scope: BufferScope,
  pairs: number,
  stride: number,
  k: number,
): AccumulateWorkspace {
  const pieces = mostPieces(pairs)
  const bytes =
    device.info.kind === 'cpu'
      ? softSumsBytes({ rows: pieces, stride })
      : totalsAt(pairs, stride) + waitingComponents(k, stride) * stride * 4
  return {
    // Its own partial sums have another form.
    ...createAccumulateWorkspace(device, scope, pairs, stride, k, true),
    partials: scope.allocate(bytes, 'partial sums'),
  }
}

/** Where parts of totals begin behind the partial sums, in bytes: where a binding may. */
function totalsAt(pairs: number, stride: number): number {
  return Math.ceil((mostPieces(pairs) * pieceBytes(stride)) / 256) * 256
}

function waitingComponents(k: number, stride: number): number {
  return Math.min(k, Math.max(LEAST_WAITING, Math.floor(WAITING_BYTES / (stride * 4))))
}

export function accumulateSoft(device: Device, args: AccumulateSoftArgs): Promise<void> {
  const { points, centers, m, pairs, shares, labels, sums, workspace } = args
  const k = centers.rows
  const range = rangeWithin(points.rows, args.range)
  const from = range.from * m
  const count = range.count * m
  const sort = { from, count, labels: pairs, k, workspace }
  const add = args.add ? 1 : 0
  return device.run({
    name: 'accumulate-soft',
    *webgpu(gpu) {
      yield* sortPasses(gpu, sort)
      const quads = points.stride / 4
      const common = [points.buffer, centers.buffer, shares, labels, workspace.order, workspace.tables]
      const waitAt = totalsAt(count, points.stride)
      const flags = [quads, tableBytes(k) / 4, m, add, waitAt / 16]
      const operations = 4 * count * points.stride
      if (count > SUM_PIECE) {
        yield {
          shader: softPieces(denseType(points)),
          bindings: [...common, workspace.partials],
          params: [0, k, ...flags],
          groups: gridFor(mostPieces(count) * quads, THREADS, gpu.limits.workgroups),
          operations,
        }
      }
      const { bindingBytes, bindingAlignment } = gpu.limits
      const rowBytes = softSumsBytes({ rows: 1, stride: points.stride })
      const most = Math.min(rowsWithin(bindingBytes, rowBytes, 'sums'), waitingComponents(k, points.stride))
      for (const { start, end } of cutRows(k, most, alignmentRows(rowBytes, bindingAlignment))) {
        const here = end - start
        const out = slice(sums, start * rowBytes, here * rowBytes)
        yield {
          shader: softClusters(denseType(points)),
          bindings: [...common, workspace.partials, out],
          params: [start, here, ...flags],
          groups: gridFor(here * quads, THREADS, gpu.limits.workgroups),
          operations: (operations * here) / k,
        }
        yield {
          shader: softTotals,
          bindings: [slice(workspace.partials, waitAt, here * points.stride * 4), out],
          params: [here, quads, add],
          groups: gridFor(here, THREADS, gpu.limits.workgroups),
          operations: here * points.stride,
        }
      }
    },
    *cpu(memory) {
      const tables = sortedTables(sort)
      const offsets = memory.address(tables.offsets.target, (k + 1) * 4)
      const pieces = memory.address(tables.pieces.target, (k + 1) * 4)
      const order = memory.address(tables.order.target, count * 4)
      const rows = [...rowArgs(memory, points), rowsAt(memory, centers)]
      const shared = [
        m,
        memory.address(shares, (from + count) * 4),
        memory.address(labels, (range.from + range.count) * 4),
        offsets,
        pieces,
        order,
      ]
      const partials = memory.address(
        workspace.partials,
        softSumsBytes({ rows: mostPieces(count), stride: points.stride }),
      )
      yield sortJob(memory, sort)
      yield {
        entry: 'softPieces',
        items: mostPieces(count),
        grain: 4,
        args: [...rows, k, ...shared, partials],
        scratchBytes: 12,
      }
      yield {
        entry: 'softClusters',
        items: k,
        grain: Math.min(k, Math.max(1, Math.round((1e5 * k) / (count * points.stride)))),
        args: [...rows, ...shared, partials, memory.address(sums, softSumsBytes(centers)), add],
        scratchBytes: 12,
      }
    },
  })
}

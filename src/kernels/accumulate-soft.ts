/**
 * accumulate-soft: sums by component over pairs of a point and a component, each with a share. No float
 * atomics: pairs are sorted by component (stable), then summed in that order, as accumulate does.
 *
 * pairs: u32 [n][m], NO_LABEL for none; shares: f32 [n][m]; labels: u32 [n]. A pair is inner if the
 * component is the point's label, else outer. sums: f32 [k][stride / 4][12]: inner and outer sums of
 * share * (x - mean), 4 columns each; then sums of share * |x - mean|^2 and of shares, inner and outer.
 * These last stand in any of the 12s and are to be added up. Cost: 4 n m d at most, plus the sort.
 */

import { PIECE } from '../../shaders/accumulate.ts'
import { softClusters, softPieces } from '../../shaders/accumulate-soft.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type BufferScope, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import {
  type AccumulateWorkspace,
  createAccumulateWorkspace,
  mostPieces,
  sorted,
  sortJob,
  sortPasses,
  tableBytes,
} from './accumulate.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

export interface AccumulateSoftArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly m: number
  readonly pairs: DeviceBuffer
  readonly shares: DeviceBuffer
  readonly labels: DeviceBuffer
  readonly sums: DeviceBuffer
  /** On top of what is there, for points in several parts. */
  readonly add?: boolean
  readonly workspace: AccumulateWorkspace
}

/** Bytes of the sums of k components. */
export function softSumsBytes({ rows, stride }: { rows: number; stride: number }): number {
  return rows * stride * 12
}

/** The most bytes of any one buffer that a pair needs while it is summed. */
export function softPairBytes(stride: number): number {
  return Math.max(4, (2 * stride * 12) / PIECE)
}

/** Memory for sorting and partial sums, for up to `pairs` pairs of points of `stride` columns and k components. */
export function createSoftWorkspace(
  device: Device,
  scope: BufferScope,
  pairs: number,
  stride: number,
  k: number,
): AccumulateWorkspace {
  return createAccumulateWorkspace(device, scope, pairs, 3 * stride, k)
}

export function accumulateSoft(device: Device, args: AccumulateSoftArgs): Promise<void> {
  const { points, centers, m, pairs, shares, labels, sums, workspace } = args
  const k = centers.rows
  const count = points.rows * m
  const sort = { count, labels: pairs, k, workspace }
  const add = args.add ? 1 : 0
  return device.run({
    name: 'accumulate-soft',
    *webgpu(gpu) {
      yield* sortPasses(gpu, sort)
      const quads = points.stride / 4
      const common = [points.buffer, centers.buffer, shares, labels, workspace.order, workspace.tables]
      const flags = [quads, tableBytes(k) / 4, m, add]
      const operations = 4 * count * points.stride
      if (count > PIECE) {
        yield {
          shader: softPieces(denseType(points)),
          bindings: [...common, workspace.partials],
          params: [0, k, ...flags],
          groups: gridFor(mostPieces(count) * quads, THREADS, gpu.limits.workgroups),
          operations,
        }
      }
      const rowBytes = points.stride * 12
      for (const { start, end } of cutForBinding(k, rowBytes, gpu.limits, 'sums')) {
        yield {
          shader: softClusters(denseType(points)),
          bindings: [...common, workspace.partials, slice(sums, start * rowBytes, (end - start) * rowBytes)],
          params: [start, end - start, ...flags],
          groups: gridFor((end - start) * quads, THREADS, gpu.limits.workgroups),
          operations,
        }
      }
    },
    *cpu(memory) {
      const { offsets, pieces, order } = sorted(memory, sort)
      const rows = [...rowArgs(memory, points), rowsAt(memory, centers)]
      const shared = [
        m,
        memory.address(shares, count * 4),
        memory.address(labels, points.rows * 4),
        offsets,
        pieces,
        order,
      ]
      const partials = memory.address(workspace.partials, mostPieces(count) * points.stride * 12)
      yield sortJob(memory, sort)
      yield {
        entry: 'softPieces',
        items: mostPieces(count),
        grain: 4,
        args: [...rows, k, ...shared, partials],
      }
      yield {
        entry: 'softClusters',
        items: k,
        grain: Math.min(k, Math.max(1, Math.round((1e5 * k) / (count * points.stride)))),
        args: [...rows, ...shared, partials, memory.address(sums, softSumsBytes(centers)), add],
      }
    },
  })
}

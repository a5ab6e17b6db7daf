/**
 * shares: responsibilities, exp(log - evidence) times the weight of the point, 0 below 2^-110, as
 * smaller ones would soon round to zero. Small as they are, they say how wide a component may grow.
 *
 * `sharesOfLists` turns the logs of `respond` into shares in place, f32 [n][m], and gives the label (the
 * first of the list) with its squared distance. evidence: f32 [n] is the log of the sum over the list,
 * unless it is `given`.
 * `sharesOfAll` takes `count` components from `first` on: pairs u32 [n][count], NO_LABEL where the
 * share is 0, and shares f32 [n][count]. Cost: 3 n count d.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { sharesOfAllShader, sharesOfListsShader } from '../../shaders/shares.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin, rowArgs, rowsAt } from './rows.ts'

/** Shares below this are none. */
export const LEAST_SHARE = 2 ** -110

export interface SharesOfListsArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly weights?: DeviceBuffer | undefined
  readonly m: number
  readonly best: DeviceBuffer
  /** Logs before, shares after. */
  readonly logs: DeviceBuffer
  readonly evidence: DeviceBuffer
  readonly given?: boolean
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
}

export interface SharesOfAllArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly scales: DeviceBuffer
  readonly weights?: DeviceBuffer | undefined
  readonly first: number
  readonly count: number
  readonly evidence: DeviceBuffer
  readonly pairs: DeviceBuffer
  readonly shares: DeviceBuffer
  /** The rows whose shares are wanted. Default: all. */
  readonly range?: RowRange | undefined
}

export function sharesOfLists(device: Device, args: SharesOfListsArgs): Promise<void> {
  const { points, centers, weights, m, best, logs, evidence, labels, distances } = args
  const given = args.given ? 1 : 0
  return device.run({
    name: 'shares-of-lists',
    *webgpu(gpu) {
      yield* rowPasses(gpu, {
        rows: points.rows,
        perRow: 3 * points.stride + 16 * m,
        atLeast: THREADS,
        pass: (first, count) => ({
          shader: sharesOfListsShader(denseType(points)),
          bindings: [points.buffer, centers.buffer, weights ?? best, best, logs, evidence, labels, distances],
          params: [first, count, points.stride / 4, m, weights ? 1 : 0, given],
          groups: gridFor(count, THREADS, gpu.limits.workgroups),
        }),
      })
    },
    *cpu(memory) {
      yield {
        entry: 'sharesOfLists',
        items: points.rows,
        grain: Math.max(16, Math.round(5e5 / (points.stride + 16 * m))),
        args: [
          ...rowArgs(memory, points),
          rowsAt(memory, centers),
          weights ? memory.address(weights, points.rows * 4) : 0,
          memory.address(best, points.rows * m * 4),
          memory.address(logs, points.rows * m * 4),
          m,
          memory.address(evidence, points.rows * 4),
          given,
          memory.address(labels, points.rows * 4),
          memory.address(distances, points.rows * 4),
        ],
      }
    },
  })
}

export function sharesOfAll(device: Device, args: SharesOfAllArgs): Promise<void> {
  const { points, centers, scales, weights, first, count, evidence, pairs, shares } = args
  const { from, count: taken } = rangeWithin(points.rows, args.range)
  const bytes = (from + taken) * 4
  return device.run({
    name: 'shares-of-all',
    *webgpu(gpu) {
      const most = Math.floor((gpu.limits.workgroups ** 2 * THREADS) / count)
      for (let at = 0; at < taken; at += most) {
        yield* rowPasses(gpu, {
          rows: Math.min(most, taken - at),
          perRow: 3 * count * points.stride,
          atLeast: Math.max(1, Math.floor(THREADS / count)),
          pass: (row, rows) => ({
            shader: sharesOfAllShader(denseType(points)),
            bindings: [points.buffer, centers.buffer, scales, weights ?? scales, evidence, pairs, shares],
            params: [from + at + row, rows, points.stride / 4, first, count, weights ? 1 : 0],
            groups: gridFor(rows * count, THREADS, gpu.limits.workgroups),
          }),
        })
      }
    },
    *cpu(memory) {
      yield {
        entry: 'sharesOfAll',
        items: taken,
        grain: Math.max(1, Math.round(5e5 / (count * points.stride))),
        args: [
          ...rowArgs(memory, points),
          rowsAt(memory, centers),
          memory.address(scales, centers.rows * 8),
          weights ? memory.address(weights, bytes) : 0,
          first,
          count,
          memory.address(evidence, bytes),
          memory.address(pairs, bytes * count),
          memory.address(shares, bytes * count),
          from,
        ],
      }
    },
  })
}

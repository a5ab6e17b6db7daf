/**
 * shares: responsibilities, exp(log - evidence) times the weight of the point, 0 below LEAST_SHARE.
 *
 * `sharesOfLists` turns the logs of `respond` into shares in place, f32 [n][m], and writes the label (the first of the list)
 * and its squared distance. evidence: f32 [n] is the log of the sum over the list, unless it is `given`.
 * `sharesOfAll` takes `count` components from component `first` on: pairs u32 [n][count], NO_LABEL where the share is 0, and
 * shares f32 [n][count]. Cost: 3 n count d.
 */

import { sharesOfAllBody, sharesOfListsBody } from '../../shaders/shares.ts'
import { THREADS } from '../../shaders/snippets.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, type RowRange, rangeWithin } from './rows.ts'

/** Shares below this are 0: smaller ones would soon round to zero. Small as they are, they say how wide a component may grow. */
export const LEAST_SHARE = 2 ** -110

export const sharesConstants = new SharedConstants({ LEAST_SHARE: { type: 'f32', value: LEAST_SHARE } })

export const sharesOfListsKernel = declareKernel('shares-of-lists', {
  args: {
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    weights: mayRead('f32'),
    best: reads('u32'),
    logs: writes('f32'),
    m: 'u32',
    evidence: writes('f32'),
    given: 'bool',
    labels: writes('u32'),
    distances: writes('f32'),
  },
  items: ({ points }) => points.rows,
  gpu: {
    body: sharesOfListsBody,
    cut: { params: ['firstRow', 'rows'], operations: ({ points, m }) => 3 * points.stride + 16 * m },
    constants: [sharesConstants],
  },
  cpu: { entry: 'sharesOfLists', grain: ({ points, m }) => Math.max(16, Math.round(5e5 / (points.stride + 16 * m))) },
})

export const sharesOfAllKernel = declareKernel('shares-of-all', {
  args: {
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    /** Of all components. */
    scales: reads('vec2f'),
    weights: mayRead('f32'),
    first: 'u32',
    count: 'u32',
    evidence: reads('f32'),
    /** [n][count] */
    pairs: writes('u32'),
    /** [n][count] */
    shares: writes('f32'),
  },
  gpu: {
    args: { firstRow: 'u32', rows: 'u32' },
    body: sharesOfAllBody,
    grid: ({ rows, count }) => rows * count,
    constants: [sharesConstants],
  },
  cpu: {
    entry: 'sharesOfAll',
    /** The first point that is used, and their number. */
    args: { from: 'u32', taken: 'u32' },
    items: ({ taken }) => taken,
    grain: ({ points, count }) => Math.max(1, Math.round(5e5 / (count * points.stride))),
  },
})

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
  const { points, centers, weights, m, best, logs, evidence, given = false, labels, distances } = args
  const { rows } = points
  return sharesOfListsKernel.run(device, {
    points,
    centers,
    m,
    given,
    weights: elements(weights, rows),
    best: elements(best, rows * m),
    logs: elements(logs, rows * m),
    evidence: elements(evidence, rows),
    labels: elements(labels, rows),
    distances: elements(distances, rows),
  })
}

export function sharesOfAll(device: Device, args: SharesOfAllArgs): Promise<void> {
  const { points, centers, scales, weights, first, count, evidence, pairs, shares } = args
  const { from, count: taken } = rangeWithin(points.rows, args.range)
  const used = from + taken
  const shared = {
    points,
    centers,
    scales: elements(scales, centers.rows),
    first,
    count,
    weights: elements(weights, used),
    evidence: elements(evidence, used),
    pairs: elements(pairs, used * count),
    shares: elements(shares, used * count),
  }
  return device.run({
    name: 'shares-of-all',
    *webgpu(gpu) {
      const most = Math.floor((gpu.limits.workgroups ** 2 * THREADS) / count)
      for (let at = 0; at < taken; at += most) {
        yield* rowPasses(gpu, {
          rows: Math.min(most, taken - at),
          perRow: 3 * count * points.stride,
          atLeast: Math.max(1, Math.floor(THREADS / count)),
          pass: (row, rows) => sharesOfAllKernel.pass(gpu, { ...shared, firstRow: from + at + row, rows }),
        })
      }
    },
    *cpu(memory) {
      yield sharesOfAllKernel.job(memory, { ...shared, from, taken })
    },
  })
}

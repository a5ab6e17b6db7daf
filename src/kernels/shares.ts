/**
 * shares: responsibilities, exp(log - evidence) times the weight of the point, 0 below LEAST_SHARE.
 *
 * `sharesOfLists` turns the logs of `respond` into shares in place, f32 [n][m], and writes the label (the first of the list)
 * and its squared distance. evidence: f32 [n] is the log of the sum over the list, unless it is `given`.
 * `sharesOfAll` takes `count` components from component `first` on: pairs u32 [n][count], NO_LABEL where the share is 0, and
 * shares f32 [n][count]. Cost: 3 n count d.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { LEAST_SHARE, sharesOfAllShader, sharesOfListsShader } from '../../shaders/shares.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'
import { elements, mayRead, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin } from './rows.ts'

export const sharesConstants = new SharedConstants({ LEAST_SHARE: { type: 'f32', value: LEAST_SHARE } })

export const sharesOfListsFunction = declareFunction('sharesOfLists', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    weights: mayRead('f32'),
    best: reads('u32'),
    logs: writes('f32'),
    m: 'u32',
    evidence: writes('f32'),
    given: 'bool',
    labels: writes('u32'),
    distances: writes('f32'),
  },
})

export const sharesOfAllFunction = declareFunction('sharesOfAll', {
  args: {
    points: DENSE_VECTORS,
    centers: reads('f32'),
    scales: reads('f32'),
    weights: mayRead('f32'),
    first: 'u32',
    count: 'u32',
    evidence: reads('f32'),
    pairs: writes('u32'),
    shares: writes('f32'),
    /** The first point that takes part. */
    from: 'u32',
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
  const { rows, stride } = points
  const shared = {
    m,
    given,
    weights: elements(weights, rows),
    best: elements(best, rows * m),
    logs: elements(logs, rows * m),
    evidence: elements(evidence, rows),
    labels: elements(labels, rows),
    distances: elements(distances, rows),
  }
  return device.run({
    name: 'shares-of-lists',
    *webgpu(gpu) {
      const shader = sharesOfListsShader(denseType(points))
      const rowArgs = { x: points.buffer, centers: centers.buffer, quads: stride / 4 }
      yield* rowPasses(gpu, {
        rows,
        perRow: 3 * stride + 16 * m,
        atLeast: THREADS,
        pass: (firstRow, count) => shader.pass(gpu, { ...shared, ...rowArgs, firstRow, rows: count }, { items: count }),
      })
    },
    *cpu(memory) {
      yield sharesOfListsFunction.job(
        memory,
        { ...shared, points, centers: elements(centers.buffer, centers.rows * stride) },
        { items: rows, grain: Math.max(16, Math.round(5e5 / (stride + 16 * m))) },
      )
    },
  })
}

export function sharesOfAll(device: Device, args: SharesOfAllArgs): Promise<void> {
  const { points, centers, scales, weights, first, count, evidence, pairs, shares } = args
  const { from, count: taken } = rangeWithin(points.rows, args.range)
  const { stride } = points
  const used = from + taken
  const shared = {
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
      const shader = sharesOfAllShader(denseType(points))
      const rowArgs = { x: points.buffer, centers: centers.buffer, quads: stride / 4 }
      const most = Math.floor((gpu.limits.workgroups ** 2 * THREADS) / count)
      for (let at = 0; at < taken; at += most) {
        yield* rowPasses(gpu, {
          rows: Math.min(most, taken - at),
          perRow: 3 * count * stride,
          atLeast: Math.max(1, Math.floor(THREADS / count)),
          pass: (row, rows) =>
            shader.pass(
              gpu,
              { ...shared, ...rowArgs, scales: elements(scales, centers.rows), firstRow: from + at + row, rows },
              { items: rows * count },
            ),
        })
      }
    },
    *cpu(memory) {
      yield sharesOfAllFunction.job(
        memory,
        {
          ...shared,
          points,
          centers: elements(centers.buffer, centers.rows * stride),
          scales: elements(scales, centers.rows * 2),
          from,
        },
        { items: taken, grain: Math.max(1, Math.round(5e5 / (count * stride))) },
      )
    },
  })
}

/**
 * accumulate-soft: sums by component over pairs of a point and a component, each with a share. No float atomics: pairs are
 * sorted by component (stable), then summed in that order, as accumulate does.
 *
 * pairs: u32 [n][m], NO_LABEL for none; shares: f32 [n][m]; labels: u32 [n]. A pair is inner if the component is the point's
 * label, else outer. sums: f32 [k][stride + 4]: sums of share * (x - mean) by column; then sums of share * |x - mean|^2, inner
 * and outer, and of shares, inner and outer. A range of the points gives the same bits as these points in buffers of their
 * own. Cost: 4 n m d at most, plus the sort.
 */
import { SUM_PIECE } from '../../shaders/accumulate.ts'
import { softClusters, softPieces, softTotals } from '../../shaders/accumulate-soft.ts'
import { type BufferScope, type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { alignmentRows, cutRows, rowsWithin } from '../device/plan.ts'
import {
  type AccumulateWorkspace,
  createAccumulateWorkspace,
  mostPieces,
  sortedTables,
  sortJob,
  sortPasses,
  tableBytes,
} from './accumulate.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { type DeviceRows, denseType, type RowRange, rangeWithin } from './rows.ts'

const SUM_ARGS = {
  points: DENSE_VECTORS,
  centers: reads('f32'),
  m: 'u32',
  shares: reads('f32'),
  labels: reads('u32'),
  offsets: reads('u32'),
  pieces: reads('u32'),
  order: reads('u32'),
} as const

const SUM_SCRATCH = {
  /** Where the result of touching rows goes. */
  touched: () => 4,
  /** Squared distances of two pairs, f32. */
  squares: () => 8,
}

export const softPiecesFunction = declareFunction('softPieces', {
  args: { ...SUM_ARGS, k: 'u32', partials: writes('f32') },
  scratch: SUM_SCRATCH,
})

export const softClustersFunction = declareFunction('softClusters', {
  args: { ...SUM_ARGS, partials: reads('f32'), sums: writes('f32'), add: 'bool' },
  scratch: SUM_SCRATCH,
})

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
  const add = args.add ?? false
  const { stride } = points
  return device.run({
    name: 'accumulate-soft',
    *webgpu(gpu) {
      yield* sortPasses(gpu, sort)
      const quads = stride / 4
      const waitAt = totalsAt(count, stride)
      const { order, tables, partials } = workspace
      const shared = {
        quads,
        piecesAt: tableBytes(k) / 4,
        m,
        x: points.buffer,
        centers: centers.buffer,
        shares: elements(shares, from + count),
        labels: elements(labels, range.from + range.count),
        order,
        tables,
        partials,
      }
      const operations = 4 * count * stride
      if (count > SUM_PIECE) {
        const items = mostPieces(count) * quads
        yield softPieces(denseType(points)).pass(gpu, { ...shared, k }, { items, operations })
      }
      const { bindingBytes, bindingAlignment } = gpu.limits
      const rowBytes = softSumsBytes({ rows: 1, stride })
      const most = Math.min(rowsWithin(bindingBytes, rowBytes, 'sums'), waitingComponents(k, stride))
      for (const { start, end } of cutRows(k, most, alignmentRows(rowBytes, bindingAlignment))) {
        const components = end - start
        const out = slice(sums, start * rowBytes, components * rowBytes)
        yield softClusters(denseType(points)).pass(
          gpu,
          { ...shared, first: start, components, add, totalsAt: waitAt / 16, out },
          { items: components * quads, operations: (operations * components) / k },
        )
        const parts = slice(partials, waitAt, components * stride * 4)
        yield softTotals.pass(
          gpu,
          { components, quads, add, parts, out },
          { items: components, operations: components * stride },
        )
      }
    },
    *cpu(memory) {
      yield sortJob(memory, sort)
      const shared = {
        points,
        centers: elements(centers.buffer, k * stride),
        m,
        shares: elements(shares, from + count),
        labels: elements(labels, range.from + range.count),
        ...sortedTables(sort),
        partials: elements(workspace.partials, softSumsBytes({ rows: mostPieces(count), stride }) / 4),
      }
      yield softPiecesFunction.job(memory, { ...shared, k }, { items: mostPieces(count), grain: 4 })
      yield softClustersFunction.job(
        memory,
        { ...shared, sums: elements(sums, softSumsBytes(centers) / 4), add },
        { items: k, grain: Math.min(k, Math.max(1, Math.round((1e5 * k) / (count * stride)))) },
      )
    },
  })
}

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
import { softClustersBody, softPiecesBody, softTotalsBody } from '../../shaders/accumulate-soft.ts'
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
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { type DeviceRows, type RowRange, rangeWithin } from './rows.ts'

/** What summing pieces and clusters takes. */
const SUM_FIELDS = {
  points: DENSE_VECTORS,
  centers: READ_ROWS,
  /** Pairs of a point. */
  m: 'u32',
  shares: reads('f32'),
  labels: reads('u32'),
  order: reads('u32'),
  /** Of pieces; on a GPU also parts of totals. */
  partials: writes('vec4f'),
  /** Pairs that are used. */
  pairs: 'host',
} as const

/** A GPU has both in one buffer: offsets[k + 1], then pieces[k + 1]. */
const GPU_TABLES = {
  tables: reads('u32'),
  /** Where the pieces begin. */
  piecesAt: 'u32',
} as const
const CPU_TABLES = { offsets: reads('u32'), pieces: reads('u32') } as const

const SUM_SCRATCH = {
  /** Where the result of touching rows goes. */
  touched: () => 4,
  /** Squared distances of two pairs, f32. */
  squares: () => 8,
}

const operations = ({ pairs, points }: { readonly pairs: number; readonly points: DeviceRows }): number =>
  4 * pairs * points.stride

export const softPiecesKernel = declareKernel('soft-pieces', {
  args: { ...SUM_FIELDS, k: 'u32' },
  items: ({ pairs }) => mostPieces(pairs),
  gpu: {
    args: GPU_TABLES,
    body: softPiecesBody,
    grid: ({ pairs, points }) => (mostPieces(pairs) * points.stride) / 4,
    operations,
  },
  cpu: { entry: 'softPieces', args: CPU_TABLES, scratch: SUM_SCRATCH, grain: 4 },
})

export const softClustersKernel = declareKernel('soft-clusters', {
  args: {
    ...SUM_FIELDS,
    /** On top of what is there. */
    add: 'bool',
  },
  items: ({ centers }) => centers.rows,
  gpu: {
    args: {
      ...GPU_TABLES,
      /** Of this pass. */
      first: 'u32',
      components: 'u32',
      /** Where the parts of totals begin after the partial sums. */
      totalsAt: 'u32',
      /** [components of this pass][quads + 1] */
      out: writes('vec4f'),
    },
    body: softClustersBody,
    grid: ({ components, points }) => (components * points.stride) / 4,
    operations: ({ components, centers, ...all }) => (operations(all) * components) / centers.rows,
  },
  cpu: {
    entry: 'softClusters',
    args: { ...CPU_TABLES, sums: writes('f32') },
    scratch: SUM_SCRATCH,
    grain: ({ pairs, points }, k) => Math.min(k, Math.max(1, Math.round((1e5 * k) / (pairs * points.stride)))),
  },
})

/** Adds up the parts of totals; the CPU has none. */
export const softTotalsKernel = declareKernel('soft-totals', {
  args: {
    components: 'u32',
    stride: 'stride',
    add: 'bool',
    /** [components of this pass][quads] */
    parts: reads('vec4f'),
    /** [components of this pass][quads + 1] */
    out: writes('vec4f'),
  },
  items: ({ components }) => components,
  gpu: { body: softTotalsBody, operations: ({ components, stride }) => components * stride },
})

export interface AccumulateSoftArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly m: number
  /** The points that are used, with their pairs, shares and labels. Default: all. */
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
  const { points, centers, m, pairs, shares, labels, sums, workspace, add = false } = args
  const k = centers.rows
  const range = rangeWithin(points.rows, args.range)
  const from = range.from * m
  const count = range.count * m
  const sort = { from, count, labels: pairs, k, workspace }
  const { stride } = points
  const shared = {
    ...{ points, centers, m, pairs: count },
    shares: elements(shares, from + count),
    labels: elements(labels, range.from + range.count),
  }
  return device.run({
    name: 'accumulate-soft',
    *webgpu(gpu) {
      yield* sortPasses(gpu, sort)
      const waitAt = totalsAt(count, stride)
      const { order, tables, partials } = workspace
      const given = { ...shared, order, tables, partials, piecesAt: tableBytes(k) / 4 }
      if (count > SUM_PIECE) yield softPiecesKernel.pass(gpu, { ...given, k })
      const { bindingBytes, bindingAlignment } = gpu.limits
      const rowBytes = softSumsBytes({ rows: 1, stride })
      const most = Math.min(rowsWithin(bindingBytes, rowBytes, 'sums'), waitingComponents(k, stride))
      for (const { start, end } of cutRows(k, most, alignmentRows(rowBytes, bindingAlignment))) {
        const pass = { components: end - start, add, out: slice(sums, start * rowBytes, (end - start) * rowBytes) }
        yield softClustersKernel.pass(gpu, { ...given, ...pass, first: start, totalsAt: waitAt / 16 })
        const parts = slice(partials, waitAt, pass.components * stride * 4)
        yield softTotalsKernel.pass(gpu, { ...pass, stride, parts })
      }
    },
    *cpu(memory) {
      yield sortJob(memory, sort)
      const partials = elements(workspace.partials, softSumsBytes({ rows: mostPieces(count), stride }) / 16)
      const given = { ...shared, ...sortedTables(sort), partials }
      yield softPiecesKernel.job(memory, { ...given, k })
      yield softClustersKernel.job(memory, { ...given, sums: elements(sums, softSumsBytes(centers) / 4), add })
    },
  })
}

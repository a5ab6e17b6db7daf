/**
 * assign-sparse: the nearest or m nearest of all centres for every sparse row. What `assign` does when it is given such
 * rows; called through it.
 *
 * Distances are exact to rounding against |x|^2 + |c|^2: in 64 bits on the CPU, in 32 on the GPU, where
 * a distance below about 1e-6 |c|^2 may come out as what differs at the entries alone.
 * Cost: 2 k operations for each entry, and k d to prepare the centres.
 */
import {
  assignSparseMany,
  assignSparseManyPrivate,
  assignSparseShader,
  panelColumns,
  panelStarts,
} from '../../shaders/assign-sparse.ts'
import { THREADS } from '../../shaders/pieces.ts'
import {
  type BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type GpuTarget,
  slice,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { cutRows, rowsWithin } from '../device/plan.ts'
import type { AssignArgs } from './assign.ts'
import { squaresJob } from './center-squares.ts'
import { declareFunction, SharedConstants, VECTORS } from './declared-function.ts'
import { listCapacity, PANEL, packCentersJob } from './panels.ts'
import { allocateHeaps } from './row-heaps.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, meanEntries, sparseBindings } from './rows.ts'

const BINDING_ALIGNMENT = 256
/** Centres of a wide panel on the CPU. */
const WIDE_PANEL = 32
/** Slices this many for the rows at least, so that threads share well. */
const SLICES = 64
/** A slice keeps m places of 8 bytes a row while the panels pass. */
const MOST_PLACES = 8192

export const assignSparseConstants = new SharedConstants({ WIDE_PANEL: { type: 'u32', value: WIDE_PANEL } })

export const packWideFunction = declareFunction('packWide', {
  args: { centers: reads('f32'), stride: 'u32', count: 'u32', packed: writes('f32') },
})

const FIELDS = {
  points: VECTORS,
  /** Centres of a panel. */
  lanes: 'u32',
  packed: reads('f32'),
  centers: reads('f32'),
  squares: reads('f64'),
  firstLabel: 'u32',
  count: 'u32',
  labels: writes('u32'),
  distances: writes('f32'),
  merge: 'bool',
} as const

/** The scores of a row against a panel. */
const SCORES = { scores: () => WIDE_PANEL * 4 }

export const assignSparseFunction = declareFunction('assignSparse', {
  args: FIELDS,
  /** The best score and centre of each row of a slice. */
  scratch: { ...SCORES, bests: (_args, { grain }) => grain * 8 },
})

export const assignSparseManyFunction = declareFunction('assignSparseMany', {
  args: { ...FIELDS, m: 'u32' },
  /** m scores and centres of each row of a slice. */
  scratch: { ...SCORES, lists: ({ m }, { grain }) => grain * m * 8 },
})

/** Panels, and behind them on the CPU the squared lengths of the centres. */
export function sparseWorkspaceBytes(centers: { rows: number; stride: number }): number {
  const panels = Math.ceil(centers.rows / PANEL)
  return Math.max(packedBytes(centers) + centers.rows * 8, panels * alignedPanelBytes(centers.stride))
}

/** Centres of a panel on the CPU: wide ones read whole cache lines at a column, which pays when they fill. */
function lanesFor(k: number): number {
  return k > WIDE_PANEL / 2 ? WIDE_PANEL : PANEL
}

function packedBytes({ rows, stride }: { rows: number; stride: number }): number {
  const lanes = lanesFor(rows)
  return Math.ceil(rows / lanes) * lanes * (stride + 1) * 4
}

function alignedPanelBytes(stride: number): number {
  return Math.ceil(((stride + 1) * PANEL * 4) / BINDING_ALIGNMENT) * BINDING_ALIGNMENT
}

export function* assignSparsePasses(
  gpu: GpuTarget,
  scope: BufferScope,
  args: AssignArgs,
  m: number,
): Generator<ComputePass> {
  const { points, centers, labels, distances, workspace } = args
  const quads = centers.stride / 4
  const rowBytes = centers.stride * 4
  const panelBytes = alignedPanelBytes(centers.stride)
  const panelQuads = panelBytes / 16
  const all = Math.ceil(centers.rows / PANEL)
  // Pairs of panels: the bytes of 16 rows of whole quads begin where a binding may.
  const most = 2 * rowsWithin(gpu.limits.bindingBytes, 2 * panelBytes, 'prepared centres')
  const heaps = m > 1 && gpu.tiled ? allocateHeaps(scope, gpu.limits, points.rows, m) : undefined
  for (const { start, end } of cutRows(all, most, 2)) {
    const first = start * PANEL
    const here = Math.min(centers.rows, end * PANEL) - first
    const panelCount = end - start
    const panels = slice(workspace, start * panelBytes, panelCount * panelBytes)
    const shape = {
      centers: slice(centers.buffer, first * rowBytes, here * rowBytes),
      panels,
      centerCount: here,
      quads,
      panelQuads,
    }
    const operations = 2 * here * centers.stride
    const places = panelCount * PANEL
    yield panelStarts.pass(gpu, { ...shape, places }, { items: places, operations })
    yield panelColumns.pass(gpu, { ...shape, panelCount }, { items: panelCount * quads, operations })
    const common = {
      ...sparseBindings(points),
      panels,
      labels,
      distances,
      panelQuads,
      panelCount,
      firstCenter: (args.firstLabel ?? 0) + first,
      merge: first > 0 || (args.merge ?? false),
    }
    yield* rowPasses(gpu, {
      rows: points.rows,
      perRow: 2 * (here + PANEL + m) * meanEntries(points),
      atLeast: THREADS,
      atMost: heaps?.rows,
      pass: (firstRow, rows) => {
        const range = { ...common, firstRow, rows }
        const options = {
          items: rows,
          share: (first + (here * (firstRow + rows)) / points.rows) / centers.rows,
        }
        if (m === 1) return assignSparseShader.pass(gpu, range, options)
        if (!heaps) return assignSparseManyPrivate(listCapacity(m)).pass(gpu, { ...range, m }, options)
        return assignSparseMany.pass(gpu, { ...range, m, heaps: heaps.buffer, heapStride: rows }, options)
      },
    })
  }
}

export function* assignSparseJobs(memory: CpuMemory, args: AssignArgs, m: number): Generator<CpuJob> {
  const { points, centers, labels, distances, workspace } = args
  const { buffer, rows: count, stride } = centers
  const lanes = lanesFor(count)
  const packed = slice(workspace, 0, packedBytes(centers))
  const squares = slice(workspace, packed.bytes, count * 8)
  if (lanes === PANEL) {
    yield packCentersJob(memory, { centers: buffer, stride, count, norms: true, packed })
  } else {
    yield packWideFunction.job(
      memory,
      { centers: elements(buffer, count * stride), stride, count, packed: elements(packed) },
      { items: Math.ceil(count / WIDE_PANEL), grain: 1 },
    )
  }
  yield squaresJob(memory, centers, squares)
  const common = {
    points,
    lanes,
    packed: elements(packed),
    centers: elements(buffer, count * stride),
    squares: elements(squares, count),
    firstLabel: args.firstLabel ?? 0,
    count,
    labels: elements(labels, points.rows * m),
    distances: elements(distances, points.rows * m),
    merge: args.merge ?? false,
  }
  const items = { items: points.rows, grain: sliceRows(points, count, m) }
  yield m > 1
    ? assignSparseManyFunction.job(memory, { ...common, m }, items)
    : assignSparseFunction.job(memory, common, items)
}

/**
 * A million operations or more: a panel of many columns does not stay in a cache for long, so its
 * columns should be met several times by the rows of a slice once it is there.
 */
function sliceRows(points: DeviceRows, k: number, m: number): number {
  const entries = meanEntries(points)
  const enough = Math.round(2e6 / (2 * k * entries))
  const reused = Math.min((4 * points.stride) / entries, points.rows / SLICES)
  return Math.ceil(Math.max(1, Math.min(Math.max(4, enough, reused), MOST_PLACES / m)))
}

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
import { cutRows, gridFor, rowsWithin } from '../device/plan.ts'
import type { AssignArgs } from './assign.ts'
import { squaresJob } from './center-squares.ts'
import { listCapacity, PANEL, packCentersJob } from './panels.ts'
import { allocateHeaps } from './row-heaps.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, meanEntries, rowsAt, sparsePlaces } from './rows.ts'

const BINDING_ALIGNMENT = 256
const WIDE = 32
/** Slices this many for the rows at least, so that threads share well. */
const SLICES = 64
/** A slice keeps m places of 8 bytes a row while the panels pass. */
const MOST_PLACES = 8192

/** Panels, and behind them on the CPU the squared lengths of the centres. */
export function sparseWorkspaceBytes(centers: { rows: number; stride: number }): number {
  const panels = Math.ceil(centers.rows / PANEL)
  return Math.max(packedBytes(centers) + centers.rows * 8, panels * alignedPanelBytes(centers.stride))
}

/** Centres of a panel on the CPU: wide ones read whole cache lines at a column, which pays when they fill. */
function lanesFor(k: number): number {
  return k > WIDE / 2 ? WIDE : PANEL
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
  const { places, columnsAt } = sparsePlaces(points)
  const quads = centers.stride / 4
  const rowBytes = centers.stride * 4
  const panelBytes = alignedPanelBytes(centers.stride)
  const all = Math.ceil(centers.rows / PANEL)
  // Pairs of panels: the bytes of 16 rows of whole quads begin where a binding may.
  const most = 2 * rowsWithin(gpu.limits.bindingBytes, 2 * panelBytes, 'prepared centres')
  const heaps = m > 1 && gpu.tiled ? allocateHeaps(scope, gpu.limits, points.rows, m) : undefined
  const many = heaps ? assignSparseMany : assignSparseManyPrivate(listCapacity(m))
  for (const { start, end } of cutRows(all, most, 2)) {
    const first = start * PANEL
    const here = Math.min(centers.rows, end * PANEL) - first
    const count = end - start
    const rows = slice(centers.buffer, first * rowBytes, here * rowBytes)
    const panels = slice(workspace, start * panelBytes, count * panelBytes)
    const shape = [here, quads, panelBytes / 16]
    yield {
      shader: panelStarts,
      bindings: [rows, panels],
      params: [...shape, count * PANEL],
      groups: gridFor(count * PANEL, THREADS, gpu.limits.workgroups),
      operations: 2 * here * centers.stride,
    }
    yield {
      shader: panelColumns,
      bindings: [rows, panels],
      params: [...shape, count],
      groups: gridFor(count * quads, THREADS, gpu.limits.workgroups),
      operations: 2 * here * centers.stride,
    }
    yield* rowPasses(gpu, {
      rows: points.rows,
      perRow: 2 * (here + PANEL + m) * meanEntries(points),
      atLeast: THREADS,
      atMost: heaps?.rows,
      pass: (row, rows) => ({
        shader: m > 1 ? many : assignSparseShader,
        bindings: [points.buffer, places, panels, labels, distances, ...(heaps ? [heaps.buffer] : [])],
        params: [
          row,
          rows,
          columnsAt,
          panelBytes / 16,
          count,
          (args.firstLabel ?? 0) + first,
          first > 0 || args.merge ? 1 : 0,
          m,
          rows,
        ],
        groups: gridFor(rows, THREADS, gpu.limits.workgroups),
        share: (first + (here * (row + rows)) / points.rows) / centers.rows,
      }),
    })
  }
}

export function* assignSparseJobs(memory: CpuMemory, args: AssignArgs, m: number): Generator<CpuJob> {
  const { points, centers, labels, distances, workspace } = args
  const start = rowsAt(memory, centers)
  const packed = memory.address(workspace, packedBytes(centers) + centers.rows * 8)
  const squares = packed + packedBytes(centers)
  const lanes = lanesFor(centers.rows)
  if (lanes === PANEL) yield packCentersJob(start, centers.stride, centers.rows, true, packed)
  else {
    yield {
      entry: 'packWide',
      items: Math.ceil(centers.rows / WIDE),
      grain: 1,
      args: [start, centers.stride, centers.rows, packed],
    }
  }
  yield squaresJob(memory, centers, slice(workspace, packedBytes(centers), centers.rows * 8))
  const grain = sliceRows(points, centers.rows, m)
  yield {
    entry: m > 1 ? 'assignSparseMany' : 'assignSparse',
    items: points.rows,
    grain,
    args: [
      ...entryArgs(memory, points),
      lanes,
      packed,
      start,
      squares,
      args.firstLabel ?? 0,
      centers.rows,
      memory.address(labels, points.rows * m * 4),
      memory.address(distances, points.rows * m * 4),
      ...(m > 1 ? [m] : []),
      args.merge ? 1 : 0,
    ],
    scratchBytes: WIDE * 4 + grain * m * 8,
  }
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

/** Values, places, where the columns begin, and the stride of whatever is dense. */
export function entryArgs(memory: CpuMemory, points: DeviceRows): number[] {
  const { places, columnsAt, entries } = sparsePlaces(points)
  return [
    memory.address(points.buffer, entries * 4),
    memory.address(places, (columnsAt + entries) * 4),
    columnsAt,
    points.stride,
  ]
}

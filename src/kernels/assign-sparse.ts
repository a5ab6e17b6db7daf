/**
 * assign-sparse: the nearest or m nearest of all centres for every sparse row. What `assign` does when it is given such
 * rows; called through it.
 *
 * Distances are exact to rounding against |x|^2 + |c|^2: in 64 bits on the CPU, in 32 on the GPU, where
 * a distance below about 1e-6 |c|^2 may come out as what differs at the entries alone.
 * Cost: 2 k operations for each entry, and k d to prepare the centres.
 */
import {
  assignSparseBody,
  assignSparseHeaps,
  assignSparsePrivate,
  panelColumnsBody,
  panelStartsBody,
} from '../../shaders/assign-sparse.ts'
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
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiledOf, READ_ROWS, VECTORS } from './kernel-fields.ts'
import { PANEL, packCentersJob } from './panels.ts'
import { allocateHeaps, HEAP_FIELDS, heapArgs } from './row-heaps.ts'
import { type DeviceRows, meanEntries, rowsPart } from './rows.ts'

const BINDING_ALIGNMENT = 256
/** Centres of a wide panel on the CPU. */
const WIDE_PANEL = 32
/** Slices this many for the rows at least, so that threads share well. */
const SLICES = 64
/** A slice keeps m places of 8 bytes a row while the panels pass. */
const MOST_PLACES = 8192

export const assignSparseConstants = new SharedConstants({ WIDE_PANEL: { type: 'u32', value: WIDE_PANEL } })

export const packWideKernel = declareKernel('pack-wide', {
  args: { centers: READ_ROWS, stride: 'stride', count: 'u32', packed: writes('f32') },
  items: ({ count }) => Math.ceil(count / WIDE_PANEL),
  cpu: { entry: 'packWide', grain: 1 },
})

/** Of the panels on a GPU. */
const PANEL_FIELDS = { centers: READ_ROWS, stride: 'stride', centerCount: 'u32', panelQuads: 'u32' } as const
const packOperations = ({ centerCount, stride }: { readonly centerCount: number; readonly stride: number }) =>
  2 * centerCount * stride

export const panelStartsKernel = declareKernel('panel-starts', {
  args: { ...PANEL_FIELDS, panels: writes('f32'), places: 'u32' },
  items: ({ places }) => places,
  gpu: { body: panelStartsBody, operations: packOperations },
})

export const panelColumnsKernel = declareKernel('panel-columns', {
  args: { ...PANEL_FIELDS, panels: writes('vec4f'), panelCount: 'u32' },
  items: ({ panelCount, stride }) => (panelCount * stride) / 4,
  gpu: { body: panelColumnsBody, operations: packOperations },
})

const FIELDS = {
  points: VECTORS,
  centers: READ_ROWS,
  /** Centres of the panels, and the label of the first of them. */
  centerCount: 'u32',
  firstLabel: 'u32',
  /** Keep what is there unless a centre is strictly nearer. */
  merge: 'bool',
  labels: writes('u32'),
  distances: writes('f32'),
} as const

/** Panels of 8. */
const PASS_FIELDS = { panels: reads('vec4f'), panelQuads: 'u32', panelCount: 'u32' } as const

const JOB_FIELDS = {
  /** Centres of a panel. */
  lanes: 'u32',
  packed: reads('f32'),
  squares: reads('f64'),
} as const

interface Shape {
  readonly points: DeviceRows
  readonly centerCount: number
  readonly m?: number
}

const items = ({ points }: Shape): number => points.rows
const grain = ({ points, centerCount, m = 1 }: Shape): number => sliceRows(points, centerCount, m)
const operations = ({ points, centerCount, m = 1 }: Shape): number =>
  2 * (centerCount + PANEL + m) * meanEntries(points)

/** The scores of a row against a panel. */
const SCORES = { scores: () => WIDE_PANEL * 4 }

export const assignSparseKernel = declareKernel('assign-sparse', {
  args: FIELDS,
  items,
  gpu: {
    args: PASS_FIELDS,
    body: assignSparseBody,
    cut: { params: ['firstRow', 'rows'], operations },
    forms: [{ points: 'csr' }],
  },
  cpu: {
    entry: 'assignSparse',
    args: JOB_FIELDS,
    /** The best score and centre of each row of a slice. */
    scratch: { ...SCORES, bests: (_args, { grain }) => grain * 8 },
    grain,
  },
})

export const assignSparseManyKernel = declareKernel('assign-sparse-many', {
  args: { ...FIELDS, m: 'u32' },
  items,
  gpu: {
    /** `capacity`: of lists in private memory, for software adapters; 0: heaps in a buffer. */
    args: { ...PASS_FIELDS, capacity: compiledOf<number>(0), ...HEAP_FIELDS },
    body: ({ capacity }) => (capacity > 0 ? assignSparsePrivate(capacity) : assignSparseHeaps()),
    cut: { params: ['firstRow', 'rows'], operations },
    forms: [{ points: 'csr', capacity: 0 }],
  },
  cpu: {
    entry: 'assignSparseMany',
    args: JOB_FIELDS,
    /** m scores and centres of each row of a slice. */
    scratch: { ...SCORES, lists: ({ m }, { grain }) => grain * m * 8 },
    grain,
  },
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
  const { stride } = centers
  const panelBytes = alignedPanelBytes(stride)
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
    const part = rowsPart(centers, first, first + here)
    const shape = { centers: part, panels, centerCount: here, stride, panelQuads }
    yield panelStartsKernel.pass(gpu, { ...shape, places: panelCount * PANEL })
    yield panelColumnsKernel.pass(gpu, { ...shape, panelCount })
    const common = {
      ...{ points, centers: part, panels, labels, distances, panelQuads, panelCount, centerCount: here },
      firstLabel: (args.firstLabel ?? 0) + first,
      merge: first > 0 || (args.merge ?? false),
    }
    const options = {
      atMost: heaps?.rows,
      share: (done: number) => (first + (here * done) / points.rows) / centers.rows,
    }
    if (m === 1) yield* assignSparseKernel.passes(gpu, common, options)
    else yield* assignSparseManyKernel.passes(gpu, { ...common, m, ...heapArgs(heaps, m) }, options)
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
    yield packWideKernel.job(memory, { centers, stride, count, packed: elements(packed) })
  }
  yield squaresJob(memory, centers, squares)
  const common = {
    points,
    lanes,
    packed: elements(packed),
    centers,
    squares: elements(squares, count),
    firstLabel: args.firstLabel ?? 0,
    centerCount: count,
    labels: elements(labels, points.rows * m),
    distances: elements(distances, points.rows * m),
    merge: args.merge ?? false,
  }
  yield m > 1 ? assignSparseManyKernel.job(memory, { ...common, m }) : assignSparseKernel.job(memory, common)
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

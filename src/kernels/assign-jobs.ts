/** The jobs of assign on the CPU, for dense rows: the nearest by 16-bit integers or by floats, and the m nearest. */
import { type BufferPart, type CpuJob, type CpuMemory, slice } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import type { AssignArgs } from './assign.ts'
import { DENSE_VECTORS, declareFunction, SharedConstants } from './declared-function.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { HEADER_BYTES, measureCentersJob } from './quantized-centers.ts'
import type { DeviceRows } from './rows.ts'

/** Groups of four points that are packed at a time, and the floats they may take: half of a first-level cache. */
const MOST_GROUPS = 8
const BLOCK_FLOATS = 4096

/** From here on most scores are taken in 16-bit integers, which then pays for a second packing. */
const QUANTIZED_FROM = { centers: 64, stride: 16 }
/** Groups of four points whose integer scores are compared at a time: their scores of a chunk stay in a second-level cache. */
const QUANTIZED_GROUPS = 8
const QUANTIZED_CHUNK_PANELS = 128

export const assignConstants = new SharedConstants({
  QUANTIZED_GROUPS: { type: 'u32', value: QUANTIZED_GROUPS },
  QUANTIZED_CHUNK_PANELS: { type: 'u32', value: QUANTIZED_CHUNK_PANELS },
})

const POINT_BYTES = QUANTIZED_GROUPS * 4 * 4

const FIELDS = {
  points: DENSE_VECTORS,
  /** Packed by packCenters. */
  panels: reads('f32'),
  centers: reads('f32'),
  firstLabel: 'u32',
  count: 'u32',
  labels: writes('u32'),
  distances: writes('f32'),
  merge: 'bool',
  blockGroups: 'u32',
} as const

interface Block {
  readonly points: DeviceRows
  readonly blockGroups: number
}

const BLOCK_SCRATCH = {
  /** 4 points against a panel. */
  scores: () => 4 * PANEL * 4,
  /** The packed points of a block. */
  block: ({ points, blockGroups }: Block) => blockGroups * points.stride * 16,
}

const NEAREST_SCRATCH = {
  ...BLOCK_SCRATCH,
  /** Four scores and four centres of each point of a block. */
  best: ({ blockGroups }: Block) => blockGroups * 4 * 32,
}

export const assignNearestFunction = declareFunction('assignNearest', { args: FIELDS, scratch: NEAREST_SCRATCH })

export const assignNearestManyFunction = declareFunction('assignNearestMany', {
  args: { ...FIELDS, m: 'u32' },
  scratch: {
    ...BLOCK_SCRATCH,
    /** m scores and centres of each point of a block. */
    lists: ({ blockGroups, m }) => blockGroups * 4 * m * 8,
  },
})

/** Quantized panels: 8 starting values, 32 bytes of notes, then pairs of columns of 8 centres, as i16. */
function quantizedPanelBytes(stride: number): number {
  return 64 + stride * 16
}

export const packQuantizedFunction = declareFunction('packQuantized', {
  args: { centers: reads('f32'), stride: 'u32', count: 'u32', header: reads('f32'), quantized: writes('i16') },
  /** Rounding errors of four centres. */
  scratch: { errors: () => 16 },
})

export const assignQuantizedFunction = declareFunction('assignQuantized', {
  args: {
    ...FIELDS,
    /** Scale of the centres, and the length of the longest. */
    header: reads('f32'),
    quantized: reads('i16'),
  },
  scratch: {
    ...NEAREST_SCRATCH,
    /** Rounding errors of four points. */
    errors: () => 16,
    /** The scale of each group. */
    scales: () => QUANTIZED_GROUPS * 4,
    /** Of each point: by how much its scores may miss. */
    margins: () => POINT_BYTES,
    /** Of each point: the best scores so far, in four lanes. */
    running: () => POINT_BYTES * 4,
    bestDistance: () => POINT_BYTES,
    bestIndex: () => POINT_BYTES,
    /** Points as i16, packed in groups. */
    rows: ({ points }) => QUANTIZED_GROUPS * points.stride * 8,
    /** Of each point: four scores for each panel of a chunk. */
    chunkScores: () => QUANTIZED_GROUPS * 4 * QUANTIZED_CHUNK_PANELS * 16,
  },
})

/** Bytes of the workspace: panels, and behind them those of integers where they are used. */
export function assignJobsBytes(centers: { rows: number; stride: number }): number {
  return panelsBytes(centers) + quantizedBytes(centers)
}

function quantizedBytes({ rows, stride }: { rows: number; stride: number }): number {
  if (rows < QUANTIZED_FROM.centers || stride < QUANTIZED_FROM.stride) return 0
  return HEADER_BYTES + Math.ceil(rows / PANEL) * quantizedPanelBytes(stride)
}

export function* assignJobs(memory: CpuMemory, args: AssignArgs, m: number): Generator<CpuJob> {
  const { points, centers, workspace } = args
  const { rows: count, stride } = centers
  const panels = slice(workspace, 0, panelsBytes(centers))
  yield packCentersJob(memory, { centers: centers.buffer, stride, count, norms: true, packed: panels })
  const blockGroups = Math.min(MOST_GROUPS, Math.max(1, Math.floor(BLOCK_FLOATS / (points.stride * 4))))
  // About a million operations a slice, in whole blocks, so that threads share well and rarely meet.
  const block = blockGroups * 4
  const grain = Math.max(1, Math.round(2e6 / Math.max(1, 2 * count * points.stride * block))) * block
  const items = points.rows
  const common = {
    points,
    panels: elements(panels),
    centers: elements(centers.buffer, count * stride),
    firstLabel: args.firstLabel ?? 0,
    count,
    labels: elements(args.labels, points.rows * m),
    distances: elements(args.distances, points.rows * m),
    merge: args.merge ?? false,
    blockGroups,
  }
  if (m > 1) {
    yield assignNearestManyFunction.job(memory, { ...common, m }, { items, grain })
  } else if (quantizedBytes(centers) === 0 || points.rows < QUANTIZED_GROUPS * 4) {
    yield assignNearestFunction.job(memory, common, { items, grain })
  } else {
    const { header, quantized } = quantizedParts(args)
    yield measureCentersJob(memory, centers, header)
    const integers = { header: elements(header), quantized: elements(quantized, quantized.bytes / 2) }
    yield packQuantizedFunction.job(
      memory,
      { centers: common.centers, stride, count, ...integers },
      { items: Math.ceil(count / PANEL), grain: 64 },
    )
    const whole = QUANTIZED_GROUPS * 4
    yield assignQuantizedFunction.job(
      memory,
      { ...common, ...integers },
      { items, grain: Math.ceil(grain / whole) * whole },
    )
  }
}

function quantizedParts({ centers, workspace }: AssignArgs): { header: BufferPart; quantized: BufferPart } {
  const begin = panelsBytes(centers)
  return {
    header: slice(workspace, begin, HEADER_BYTES),
    quantized: slice(workspace, begin + HEADER_BYTES, quantizedBytes(centers) - HEADER_BYTES),
  }
}

/** The jobs of assign on the CPU, for dense rows: the nearest by 16-bit integers or by floats, and the m nearest. */
import { type BufferPart, type CpuJob, type CpuMemory, slice } from '../device/contract.ts'
import { elements } from '../device/fields.ts'
import type { AssignArgs } from './assign.ts'
import {
  assignKernel,
  assignManyKernel,
  assignQuantizedKernel,
  packQuantizedKernel,
  QUANTIZED_GROUPS,
  quantizedPanelBytes,
} from './assign-kernels.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { HEADER_BYTES, measureCentersJob } from './quantized-centers.ts'

/** Groups of four points that are packed at a time, and the floats they may take: half of a first-level cache. */
const MOST_GROUPS = 8
const BLOCK_FLOATS = 4096

/** From here on most scores are taken in 16-bit integers, which then pays for a second packing. */
const QUANTIZED_FROM = { centers: 64, stride: 16 }
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
  const common = {
    points,
    panels: elements(panels),
    centers,
    firstLabel: args.firstLabel ?? 0,
    centerCount: count,
    labels: elements(args.labels, points.rows * m),
    distances: elements(args.distances, points.rows * m),
    merge: args.merge ?? false,
    blockGroups,
  }
  if (m > 1) {
    yield assignManyKernel.job(memory, { ...common, m })
  } else if (quantizedBytes(centers) === 0 || points.rows < QUANTIZED_GROUPS * 4) {
    yield assignKernel.job(memory, common)
  } else {
    const { header, quantized } = quantizedParts(args)
    yield measureCentersJob(memory, centers, header)
    const integers = { header: elements(header), quantized: elements(quantized, quantized.bytes / 2) }
    yield packQuantizedKernel.job(memory, { centers, stride, count, ...integers })
    yield assignQuantizedKernel.job(memory, { ...common, ...integers })
  }
}

function quantizedParts({ centers, workspace }: AssignArgs): { header: BufferPart; quantized: BufferPart } {
  const begin = panelsBytes(centers)
  return {
    header: slice(workspace, begin, HEADER_BYTES),
    quantized: slice(workspace, begin + HEADER_BYTES, quantizedBytes(centers) - HEADER_BYTES),
  }
}

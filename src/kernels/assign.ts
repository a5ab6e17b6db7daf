/**
 * assign: the nearest, or the m nearest, of all centres for every point.
 *
 * labels: u32 [n][m], distances: f32 [n][m] squared, best first. Ties go to the lowest index.
 * Scores x . c - |c|^2 / 2 choose the winner with an error of the order of d * 2^-24 * |x| |c|
 * (centre the data if it lies far from zero); the distance of the winner is exact to rounding.
 * Cost: 2 n k d operations.
 */
import { assignMany, assignManyPrivate } from '../../shaders/assign-many.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { badOption } from '../core/errors.ts'
import {
  BufferScope,
  type ComputePass,
  type CpuJob,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  slice,
} from '../device/contract.ts'
import { cutForBinding, gridFor } from '../device/plan.ts'
import { assignNearestPasses, startsPass } from './assign-forms.ts'
import { assignSparseJobs, assignSparsePasses, sparseWorkspaceBytes } from './assign-sparse.ts'
import { packedBytes } from './assign-workspace.ts'
import { listCapacity, PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { allocateHeaps } from './row-heaps.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

export interface AssignArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly labels: DeviceBuffer
  readonly distances: DeviceBuffer
  /** How many to find for each point. Default 1. */
  readonly m?: number
  /** Keep what labels and distances hold unless a centre is strictly nearer. Default false. */
  readonly merge?: boolean
  /** The label of the first centre; the others follow. Default 0. */
  readonly firstLabel?: number
  /** Memory for prepared centres, `assignWorkspaceBytes` long, used by this call alone. */
  readonly workspace: DeviceBuffer
}

/** Longest lists; those of sparse rows are in a thread's private memory on software adapters. */
export const MOST_NEAREST = 256
/** Software adapters keep longer lists in heaps too, which are then faster than sorted lists. */
const MOST_PRIVATE = 32
const MAX_GROUPS = 8
const BLOCK_FLOATS = 4096

/** From here on the CPU takes most scores in 16-bit integers, which then pays for a second packing. */
const QUANTIZED_FROM = { centers: 64, stride: 16 }
const QUANTIZED_HEADER = 64
const QUANTIZED_POINTS = 32
const QUANTIZED_CHUNK = 128

/** `sparse`: for points that are sparse rows. */
export function assignWorkspaceBytes(centers: { rows: number; stride: number }, sparse = false): number {
  if (sparse) return sparseWorkspaceBytes(centers)
  // The CPU packs centres into panels of 8. A GPU needs their norms; the hardware forms pack them too.
  return Math.max(panelsBytes(centers) + quantizedBytes(centers), packedBytes(centers))
}

function quantizedBytes({ rows, stride }: { rows: number; stride: number }): number {
  if (rows < QUANTIZED_FROM.centers || stride < QUANTIZED_FROM.stride) return 0
  return QUANTIZED_HEADER + Math.ceil(rows / PANEL) * (64 + stride * 16)
}

export async function assign(device: Device, args: AssignArgs, control?: RunControl): Promise<void> {
  const m = args.m ?? 1
  if (!Number.isInteger(m) || m < 1 || m > MOST_NEAREST) {
    throw badOption('m', m, `give a whole number from 1 to ${MOST_NEAREST}.`)
  }
  const sparse = args.points.type === 'csr'
  const scope = new BufferScope(device)
  const work = {
    name: 'assign',
    webgpu: (gpu: GpuTarget) =>
      sparse
        ? assignSparsePasses(gpu, scope, args, m)
        : m > 1
          ? assignManyPasses(gpu, scope, args, m)
          : assignNearestPasses(gpu, args),
    cpu: (memory: CpuMemory) => (sparse ? assignSparseJobs(memory, args, m) : assignJobs(memory, args, m)),
  }
  try {
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

/** The m nearest, one thread per point. */
function* assignManyPasses(gpu: GpuTarget, scope: BufferScope, args: AssignArgs, m: number): Generator<ComputePass> {
  const { points, centers, labels, distances, workspace } = args
  const firstLabel = args.firstLabel ?? 0
  const type = denseType(points)
  const heaps = gpu.tiled || m > MOST_PRIVATE ? allocateHeaps(scope, gpu.limits, points.rows, m) : undefined
  const shader = heaps ? assignMany(type) : assignManyPrivate(type, listCapacity(m))
  const rowBytes = centers.stride * 4
  for (const range of cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')) {
    const here = range.end - range.start
    const part = slice(centers.buffer, range.start * rowBytes, here * rowBytes)
    const starts = slice(workspace, 0, here * 4)
    yield startsPass(gpu, part, centers.stride, starts)
    const merge = range.start > 0 || args.merge ? 1 : 0
    yield* rowPasses(gpu, {
      rows: points.rows,
      perRow: 2 * here * points.stride,
      atLeast: THREADS * 4,
      atMost: heaps?.rows,
      pass: (row, rows) => ({
        shader,
        bindings: [points.buffer, part, starts, labels, distances, ...(heaps ? [heaps.buffer] : [])],
        params: [row, rows, points.stride / 4, here, firstLabel + range.start, merge, m, rows],
        groups: gridFor(rows, THREADS, gpu.limits.workgroups),
        share: (range.start + (here * (row + rows)) / points.rows) / centers.rows,
      }),
    })
  }
}

function* assignJobs(memory: CpuMemory, args: AssignArgs, m: number): Generator<CpuJob> {
  const { points, centers, labels, distances, workspace } = args
  const count = centers.rows
  const start = rowsAt(memory, centers)
  const quantize = m === 1 && quantizedBytes(centers) > 0 && points.rows >= QUANTIZED_POINTS
  const packed = memory.address(workspace, panelsBytes(centers) + (quantize ? quantizedBytes(centers) : 0))
  yield packCentersJob(start, centers.stride, count, true, packed)
  const merge = args.merge ? 1 : 0
  const groups = Math.min(MAX_GROUPS, Math.max(1, Math.floor(BLOCK_FLOATS / (points.stride * 4))))
  const common = [
    ...rowArgs(memory, points),
    packed,
    start,
    args.firstLabel ?? 0,
    count,
    memory.address(labels, points.rows * m * 4),
    memory.address(distances, points.rows * m * 4),
  ]
  // About a million operations a slice, in whole blocks, so that threads share well and rarely meet.
  const block = groups * 4
  const grain = Math.max(1, Math.round(2e6 / Math.max(1, 2 * count * points.stride * block))) * block
  const blockBytes = groups * points.stride * 16
  const nearestBytes = 128 + MAX_GROUPS * 128 + blockBytes
  if (m > 1) {
    const scratchBytes = 128 + blockBytes + block * m * 8
    yield { entry: 'assignNearestMany', items: points.rows, grain, args: [...common, m, merge], scratchBytes }
  } else if (!quantize) {
    yield { entry: 'assignNearest', items: points.rows, grain, args: [...common, merge], scratchBytes: nearestBytes }
  } else {
    const header = packed + panelsBytes(centers)
    const quantized = header + QUANTIZED_HEADER
    const from = [start, centers.stride, count, header]
    yield { entry: 'measureCenters', items: 1, grain: 1, args: from }
    yield {
      entry: 'packQuantized',
      items: Math.ceil(count / PANEL),
      grain: 64,
      args: [...from, quantized],
      scratchBytes: 16,
    }
    const [x, kind, stride, ...others] = common
    yield {
      entry: 'assignQuantized',
      items: points.rows,
      grain: Math.ceil(grain / QUANTIZED_POINTS) * QUANTIZED_POINTS,
      args: [x, kind, stride, header, quantized, ...others, merge],
      scratchBytes: QUANTIZED_POINTS * (32 + QUANTIZED_CHUNK * 16 + points.stride * 2) + nearestBytes,
    }
  }
}

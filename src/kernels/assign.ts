/**
 * assign: the nearest, or the m nearest, of all centres for every point.
 *
 * labels: u32 [n][m], distances: f32 [n][m] squared, best first. Ties go to the lowest index.
 * Scores x . c - |c|^2 / 2 choose the winner with an error of the order of d * 2^-24 * |x| |c|
 * (centre the data if it lies far from zero); the distance of the winner is exact to rounding.
 * Cost: 2 n k d operations.
 */
import { badOption } from '../core/errors.ts'
import {
  BufferScope,
  type ComputePass,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  slice,
} from '../device/contract.ts'
import { cutForBinding } from '../device/plan.ts'
import { assignNearestPasses, startsPass } from './assign-forms.ts'
import { assignJobs, assignJobsBytes } from './assign-jobs.ts'
import { assignManyKernel } from './assign-kernels.ts'
import { assignSparseJobs, assignSparsePasses, sparseWorkspaceBytes } from './assign-sparse.ts'
import { packedBytes } from './assign-workspace.ts'
import { allocateHeaps, heapArgs } from './row-heaps.ts'
import { type DeviceRows, rowsPart } from './rows.ts'

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

/** `sparse`: for points that are sparse rows. */
export function assignWorkspaceBytes(centers: { rows: number; stride: number }, sparse = false): number {
  if (sparse) return sparseWorkspaceBytes(centers)
  // The CPU packs centres into panels of 8. A GPU needs their norms; the hardware forms pack them too.
  return Math.max(assignJobsBytes(centers), packedBytes(centers))
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
  const heaps = gpu.tiled || m > MOST_PRIVATE ? allocateHeaps(scope, gpu.limits, points.rows, m) : undefined
  for (const range of cutForBinding(centers.rows, centers.stride * 4, gpu.limits, 'centres')) {
    const centerCount = range.end - range.start
    const part = rowsPart(centers, range.start, range.end)
    const starts = slice(workspace, 0, centerCount * 4)
    yield startsPass(gpu, part, starts)
    yield* assignManyKernel.passes(
      gpu,
      {
        ...{ points, centers: part, starts, labels, distances, centerCount, m },
        firstLabel: (args.firstLabel ?? 0) + range.start,
        merge: range.start > 0 || (args.merge ?? false),
        ...heapArgs(heaps, m),
      },
      {
        atMost: heaps?.rows,
        share: (done) => (range.start + (centerCount * done) / points.rows) / centers.rows,
      },
    )
  }
}

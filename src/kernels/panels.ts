/** What the kernels that score against all centres share: panels of 8 centres, in the order they are read in, and lists of the m best. */
import type { CpuJob } from '../device/contract.ts'

export const PANEL = 8

/** Bytes of centres packed by `packCentersJob`. */
export function panelsBytes({ rows, stride }: { rows: number; stride: number }): number {
  return Math.ceil(rows / PANEL) * (stride + 1) * PANEL * 4
}

/** `norms`: scores begin at -|c|^2 / 2 instead of 0. */
export function packCentersJob(start: number, stride: number, count: number, norms: boolean, packed: number): CpuJob {
  return {
    entry: 'packCenters',
    items: Math.ceil(count / PANEL),
    grain: 64,
    args: [start, stride, count, norms ? 1 : 0, packed],
    scratchBytes: 32,
  }
}

/** Places of a sorted list of m in a GPU thread's private memory: few sizes, so that few shaders are compiled. */
export function listCapacity(m: number): number {
  let capacity = 4
  while (capacity < m) capacity *= 2
  return capacity
}

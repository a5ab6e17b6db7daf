/** Centres in panels of 8, the order in which the CPU's micro-kernel and the kernels of sparse rows read them. */
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

/** Shared by kernels that score against all centres: panels of 8 centres, in the order they are read in, and lists of the m best. */
import type { BufferPart, CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { elements, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { READ_ROWS } from './kernel-fields.ts'

/** Centres of a panel. */
export const PANEL = 8

export const panelConstants = new SharedConstants({ PANEL: { type: 'u32', value: PANEL } })

export const packCentersKernel = declareKernel('pack-centers', {
  args: { centers: READ_ROWS, stride: 'stride', count: 'u32', norms: 'bool', packed: writes('f32') },
  items: ({ count }) => Math.ceil(count / PANEL),
  cpu: { entry: 'packCenters', scratch: { rows: () => PANEL * 4 }, grain: 64 },
})

/** Bytes of centres packed by `packCentersJob`. */
export function panelsBytes({ rows, stride }: { rows: number; stride: number }): number {
  return Math.ceil(rows / PANEL) * (stride + 1) * PANEL * 4
}

export interface PackCentersArgs {
  /** f32 [count][stride] */
  readonly centers: DeviceBuffer | BufferPart
  readonly stride: number
  readonly count: number
  /** Scores begin at -|c|^2 / 2 instead of 0. */
  readonly norms: boolean
  /** `panelsBytes` long. */
  readonly packed: DeviceBuffer | BufferPart
}

export function packCentersJob(memory: CpuMemory, { centers, stride, count, norms, packed }: PackCentersArgs): CpuJob {
  return packCentersKernel.job(memory, {
    centers: { buffer: centers, rows: count, stride },
    stride,
    count,
    norms,
    packed: elements(packed, panelsBytes({ rows: count, stride }) / 4),
  })
}

/** Places of a sorted list of m in a GPU thread's private memory: few sizes, so that few shaders are compiled. */
export function listCapacity(m: number): number {
  let capacity = 4
  while (capacity < m) capacity *= 2
  return capacity
}

/** Shared by kernels that score against all centres: panels of 8 centres, in the order they are read in, and lists of the m best. */
import type { BufferPart, CpuJob, CpuMemory, DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareFunction, SharedConstants } from './declared-function.ts'

/** Centres of a panel. */
export const PANEL = 8

export const panelConstants = new SharedConstants({ PANEL: { type: 'u32', value: PANEL } })

export const packCentersFunction = declareFunction('packCenters', {
  args: { centers: reads('f32'), stride: 'u32', count: 'u32', norms: 'bool', packed: writes('f32') },
  scratch: { rows: () => PANEL * 4 },
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
  return packCentersFunction.job(
    memory,
    {
      centers: elements(centers, count * stride),
      stride,
      count,
      norms,
      packed: elements(packed, panelsBytes({ rows: count, stride }) / 4),
    },
    { items: Math.ceil(count / PANEL), grain: 64 },
  )
}

/** Places of a sorted list of m in a GPU thread's private memory: few sizes, so that few shaders are compiled. */
export function listCapacity(m: number): number {
  let capacity = 4
  while (capacity < m) capacity *= 2
  return capacity
}

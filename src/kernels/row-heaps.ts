/** Memory for the heaps of shaders/row-heaps.ts: a dispatch takes as many rows as there is room for. */
import type { BufferScope, DeviceBuffer, DeviceLimits } from '../device/contract.ts'
import { writes } from '../device/fields.ts'
import { inForms } from './kernel-fields.ts'
import { listCapacity } from './panels.ts'

/** Of kernels whose forms without private lists (`capacity` 0) keep heaps of `m` entries. */
export const HEAP_FIELDS = {
  /** [place][row of the pass] */
  heaps: inForms(({ capacity }) => capacity === 0, writes('vec2u')),
} as const

/** Enough rows to fill a large GPU with the longest heaps, and small against what points take. */
const MOST_BYTES = 64 * 2 ** 20
const ENTRY_BYTES = 8

export interface RowHeaps {
  readonly buffer: DeviceBuffer
  /** Rows a dispatch may take. */
  readonly rows: number
}

/** Heaps of `length` entries for up to `rows` rows. */
export function allocateHeaps(scope: BufferScope, limits: DeviceLimits, rows: number, length: number): RowHeaps {
  const most = Math.min(MOST_BYTES, limits.bindingBytes, limits.bufferBytes)
  const here = Math.max(1, Math.min(rows, Math.floor(most / (length * ENTRY_BYTES))))
  return { buffer: scope.reuse(here * length * ENTRY_BYTES, 'heaps of rows'), rows: here }
}

/** Values of `HEAP_FIELDS` and `capacity`: without heaps lists are private. */
export function heapArgs(heaps: RowHeaps | undefined, m: number) {
  return { heaps: heaps?.buffer, capacity: heaps ? 0 : listCapacity(m) }
}

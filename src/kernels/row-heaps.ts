/** Memory for the heaps of shaders/row-heaps.ts: a dispatch takes as many rows as there is room for. */
import type { BufferScope, DeviceBuffer, DeviceLimits } from '../device/contract.ts'

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

/** How much of the memory of this process vectors may fill. */
import { platform } from '#platform'

/** The least a device keeps, however little there is: smaller pieces would be all overhead. */
const LEAST = 2 ** 26

/** At most `bytes`; less where the machine, or the container the process runs in, has less to spare. */
export function spareMemory(bytes: number, process: ProcessMemory = measure()): number {
  const { limit, inUse = 0 } = process
  if (limit === undefined) return bytes
  // Half of what is left: centres, codes and whatever is read from files need room beside the vectors.
  return Math.min(bytes, Math.max(LEAST, Math.floor((limit - inUse) / 2)))
}

/** Bytes, as far as known. */
export interface ProcessMemory {
  readonly limit: number | undefined
  readonly inUse: number | undefined
}

function measure(): ProcessMemory {
  return { limit: platform.memoryLimit(), inUse: platform.memoryInUse() }
}

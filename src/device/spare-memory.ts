/** How much of the memory of this process vectors may fill. */
import { platform } from '#platform'

/** The least a device keeps, however little there is: smaller pieces would be all overhead. */
const LEAST = 2 ** 26

/** At most `bytes`; less where the machine, or the container the process runs in, has less to spare. */
export function spareMemory(
  bytes: number,
  limit: number | undefined = platform.memoryLimit(),
  inUse: number | undefined = platform.memoryInUse(),
): number {
  if (limit === undefined) return bytes
  // Half of what is left: centres, codes and whatever is read from files need room beside the vectors.
  const spare = Math.floor((limit - (inUse ?? 0)) / 2)
  return Math.min(bytes, Math.max(LEAST, spare))
}

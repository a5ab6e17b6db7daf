/**
 * Keeps what GPU drivers write to stderr from the terminal. They write to the file descriptor itself, which Node cannot
 * redirect: so it is closed, and its number is given to another file, which works because the lowest free number is always
 * taken. That is safe only where no other thread opens files at that moment, as in this program; the library leaves the
 * descriptors of its callers alone.
 */
import { closeSync, constants, openSync } from 'node:fs'

const STDERR = 2

/** Does the work while writes to the descriptor of stderr go nowhere. Text that `process.stderr` writes to a terminal still arrives. */
export async function withQuietDrivers<T>(work: () => Promise<T>): Promise<T> {
  const restore = process.env.CENTROIDAL_DEBUG === '1' ? undefined : silence()
  try {
    return await work()
  } finally {
    restore?.()
  }
}

/** Undefined where stderr cannot be opened a second time, as with sockets, or where there is no /proc. */
function silence(): (() => void) | undefined {
  // Node gives a terminal a descriptor of its own when the stream is made; afterwards it would take /dev/null for a file.
  void process.stderr
  let kept: number
  try {
    kept = openSync(`/proc/self/fd/${STDERR}`, constants.O_WRONLY | constants.O_APPEND | constants.O_NOCTTY)
  } catch {
    return undefined
  }
  replace('/dev/null')
  return () => {
    replace(`/proc/self/fd/${kept}`)
    closeSync(kept)
  }
}

function replace(path: string): void {
  closeSync(STDERR)
  openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOCTTY)
}

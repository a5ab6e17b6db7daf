/** How much the page takes, and what it says about more. */
import { CentroidalError } from '../../src/index.ts'

/** Numbers are held twice, by the page and by the device: with this much of them a phone still copes. */
export const MOST_BYTES = 128 * 2 ** 20
export const MOST_ROWS = 1_000_000

export const megabytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20).toLocaleString('en')} MB`

export function tooLarge(name: string, fact: string): CentroidalError {
  return new CentroidalError(
    'out-of-memory',
    `"${name}" ${fact}: this page takes ${megabytes(MOST_BYTES)} and ${MOST_ROWS.toLocaleString('en')} rows. ` +
      `Give it a part, or cluster the whole with the command line: centroidal cluster "${name}".`,
  )
}

/** Results with NaN or infinities are never returned. */
import { CentroidalError } from '../core/errors.ts'

/** `what` names the numbers in the error, for example "the centres". */
export function requireFiniteResult(values: ArrayLike<number>, what: string): void {
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i])) continue
    throw new CentroidalError(
      'bad-data',
      `The result holds ${values[i]} in ${what}: the vectors or weights span too many orders of magnitude for 32-bit arithmetic; remove outliers or rescale the columns.`,
    )
  }
}

/** Models with NaN or infinities are never handed out: what a run must not exceed, and the last check of its result. */
import { badOption, CentroidalError } from '../core/errors.ts'
import type { Frame } from './frame.ts'
import type { Settings } from './method-options.ts'

/** The largest standard deviation in the frame: its square, and what that is multiplied by, stay finite in 32 bits. */
const LARGEST_DEVIATION = 2 ** 48

/** Widths of mixtures in the input's units, against the size of the data. */
export function requireWidths(settings: Settings, { scale }: Frame): void {
  for (const name of ['sigma', 'floor']) {
    const value = settings[name]
    if (typeof value !== 'number' || value * scale <= LARGEST_DEVIATION) continue
    const most = Number((LARGEST_DEVIATION / scale).toPrecision(3))
    throw badOption(name, value, `for vectors of this size give at most ${most}.`)
  }
}

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

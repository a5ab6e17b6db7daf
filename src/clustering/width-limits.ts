/** Limits of the widths of mixtures, so that 32-bit arithmetic stays finite. */
import { badOption } from '../core/errors.ts'
import type { Frame } from '../vectors/frame.ts'
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

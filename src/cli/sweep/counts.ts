/** Numbers of clusters from text: a range such as 10..1000, or a list such as 10,20,50. */
import type { SweepOptions } from '../../index.ts'
import { badValue } from '../option-values.ts'

const CURE = 'give a range such as 10..1000, or comma-separated numbers such as 10,20,50.'

export function parseCounts(text: string): SweepOptions['k'] {
  const range = /^([^.]+)\.\.([^.]+)$/.exec(text)
  if (range) {
    const [from, to] = [numberOf(range[1], text), numberOf(range[2], text)]
    if (from > to)
      throw badValue('--k', text, `a range goes from the smaller number to the larger, as in ${to}..${from}.`)
    return { from, to }
  }
  return text.split(',').map((one) => numberOf(one, text))
}

function numberOf(one: string, text: string): number {
  const value = /^\d+(e\d{1,3})?$/i.test(one) ? Number(one) : Number.NaN
  if (!(value >= 1 && value <= Number.MAX_SAFE_INTEGER)) throw badValue('--k', text, CURE)
  return value
}

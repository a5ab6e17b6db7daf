/**
 * What `method: 'auto'` means: exact k-means while looking at every centre is cheap, moves among the
 * clusters of neighbours where it is not. From about a hundred clusters on the latter ends lower and
 * sooner; a round that takes no time anyway may as well be exact.
 */
import type { MethodName } from './presets.ts'

export interface MethodChoice {
  readonly method: MethodName
  /** For people. */
  readonly reason: string
}

const MANY_CLUSTERS = 100
/** Operations of a round over every centre: some hundredths of a second. */
const CHEAP_ROUND = 2e9

export function chooseMethod(k: number, rows: number, cols: number, sparse: boolean): MethodChoice {
  if (sparse) return { method: 'lloyd', reason: 'chosen by auto: exact, because the rows are sparse' }
  if (k < MANY_CLUSTERS) {
    return { method: 'lloyd', reason: `chosen by auto: exact, because there are fewer than ${MANY_CLUSTERS} clusters` }
  }
  const operations = 2 * rows * k * cols
  if (operations < CHEAP_ROUND) {
    return { method: 'lloyd', reason: 'chosen by auto: exact, because a round over every centre is cheap here' }
  }
  const amount = `${Number((operations / 1e9).toPrecision(2)).toLocaleString('en')} billion operations`
  return {
    method: 'closures-sharp',
    reason: `chosen by auto: looking at every centre would cost ${amount} a round`,
  }
}

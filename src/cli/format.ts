/** Numbers, times and reasons as people read them. */
import { METHODS, type MethodName, type ModelFacts, type StartName } from '../index.ts'

const plain = new Intl.NumberFormat('en', { maximumSignificantDigits: 6 })
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** Six digits are more than anybody compares by eye. */
export function number(value: number): string {
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-3 || size >= 1e12)) return value.toExponential(4)
  return size >= 1e6 ? whole.format(value) : plain.format(value)
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${whole.format(value)} ${value === 1 ? one : many}`
}

export function percent(share: number, digits = 0): string {
  return `${(share * 100).toFixed(digits)}%`
}

/** The share with as many digits as it needs: 0.01 %, not 0.0100 %. */
export function percentExact(share: number): string {
  return `${plain.format(share * 100)}%`
}

export function duration(seconds: number): string {
  // Never print 0.0 s.
  if (seconds < 9.95) return `${Math.max(0.1, seconds).toFixed(1)} s`
  const rounded = Math.round(seconds)
  if (rounded < 60) return `${rounded} s`
  if (rounded < 3600) return `${Math.floor(rounded / 60)} min ${rounded % 60} s`
  return `${Math.floor(rounded / 3600)} h ${Math.floor((rounded % 3600) / 60)} min`
}

/** Where tenths of a second are too coarse: two digits below ten seconds. */
export function fineDuration(seconds: number): string {
  return seconds > 0 && seconds < 9.95 ? `${Number(seconds.toPrecision(2))} s` : duration(seconds)
}

export function bytes(value: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let unit = 0
  let size = value
  for (; size >= 1000 && unit < units.length - 1; unit++) size /= 1024
  return `${unit === 0 ? size : Number(size.toPrecision(3))} ${units[unit]}`
}

/** Why a run ended, to follow "stopped after 12 rounds: ". */
export function stopWords({
  stopped,
  options,
  iterations,
}: Pick<ModelFacts, 'stopped' | 'options' | 'iterations'>): string {
  const extra = iterations[iterations.length - 1]?.extra
  switch (stopped) {
    case 'converged':
      return extra?.logLikelihood === undefined ? 'no point changed its cluster' : 'the log-likelihood did not change'
    case 'tolerance':
      return extra?.logLikelihood === undefined
        ? `the last one lowered the distortion by less than ${percentExact(Number(options.tolerance))}`
        : `the log-likelihood changed by less than ${plain.format(Number(options.tolerance))} per column`
    case 'iterations':
      return `that was the limit (--iterations ${options.iterations})`
    case 'seconds':
      return `the time limit was reached (--seconds ${options.seconds})`
    case 'aborted':
      return 'it was interrupted'
  }
}

/** leafSize is --leaf-size on the command line. */
export function flagName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

const START_WORDS: Readonly<Record<StartName, string>> = {
  auto: 'centres chosen by greedy k-means++ on a sample, or by k-means|| for very many clusters',
  'random-labels': 'a random label for every vector',
  random: 'random vectors',
  kpp: 'centres chosen by greedy k-means++ on a sample',
  'kpp-parallel': 'centres chosen by k-means||',
  tree: 'the cells of a partition tree',
  sample: 'a clustering of a sample',
  hkm: 'the leaves of a hierarchical k-means tree',
  bisecting: 'clusters split in two until there are k',
}

/** The start of the run: the given one, or the default of the method. */
export function startName({ method, options }: Pick<ModelFacts, 'method' | 'options'>): string {
  const { start } = options
  if (start === 'auto' && METHODS[method as MethodName]?.findsCount && !spreadsCenters(options)) return 'all'
  return start === 'auto' ? (METHODS[method as MethodName]?.start ?? 'auto') : String(start)
}

/** Mixtures begin with vectors as they come by the paper's criterion, and with centres that are well spread by BIC. */
function spreadsCenters({ settings }: ModelFacts['options']): boolean {
  return (settings as { readonly criterion?: unknown } | undefined)?.criterion === 'bic'
}

/** To follow "from ". */
export function startWords(facts: Pick<ModelFacts, 'method' | 'options' | 'sample'>): string {
  if (facts.sample) {
    const { rows, rounds } = facts.sample
    return `a clustering of a sample of ${count(rows, 'vector')} (${count(rounds, 'round')})`
  }
  const name = startName(facts)
  if (name === 'all') return 'all vectors'
  if (/^\d+$/.test(name)) {
    return spreadsCenters(facts.options) ? `${name} ${START_WORDS.auto}` : count(Number(name), 'random vector')
  }
  if (name === 'given') return 'the given centres'
  // The name comes from a file: "constructor" is no start.
  return Object.hasOwn(START_WORDS, name) ? START_WORDS[name as StartName] : name
}

/** Why this method was chosen automatically; empty if it was given. */
export function methodReason({ options }: Pick<ModelFacts, 'options'>): string {
  return typeof options.methodReason === 'string' ? options.methodReason : ''
}

/** Options of the method as flags; empty if it has none. */
export function settingsWords({ options }: Pick<ModelFacts, 'options'>): string {
  return Object.entries(options.settings ?? {})
    .map(([name, value]) => {
      if (typeof value === 'boolean') return value ? flagName(name) : `no ${flagName(name)}`
      return `${flagName(name)} ${typeof value === 'number' ? number(value) : value}`
    })
    .join(', ')
}

/** Whether the number of candidates differs noticeably between rounds. */
export function candidatesVary({ iterations }: Pick<ModelFacts, 'iterations'>): boolean {
  let [least, most] = [Infinity, -Infinity]
  for (const { candidates, extra } of iterations) {
    // Looking for clusters to relocate adds a few.
    if (extra?.relocated !== undefined) continue
    least = Math.min(least, candidates)
    most = Math.max(most, candidates)
  }
  return most > least * 1.01
}

/** Whether the same command repeats the result. If a time limit or Ctrl-C stopped the run, the number of rounds may differ. */
export function repeatWords(stopped: string, result: string): string {
  return stopped === 'seconds' || stopped === 'aborted'
    ? 'The run was stopped by the time limit or by hand: the same command may run more or fewer rounds, but each of them gives the same result.'
    : `The same command on the same device gives the same ${result}, bit for bit.`
}

/** To follow "evaluated ". */
export function candidateWords(facts: Pick<ModelFacts, 'iterations' | 'k'>): string {
  const { iterations, k } = facts
  // Looking for overlaps can make it a little more than all.
  const few = (value: number): string => number(Number(Math.min(value, k).toPrecision(3)))
  const last = iterations[iterations.length - 1].candidates
  if (!candidatesVary(facts))
    return last >= k ? `all ${count(k, 'centre')} per vector` : `${few(last)} of ${count(k, 'centre')} per vector`
  return `${few(last)} of ${count(k, 'centre')} per vector in the last round, ${number(Number(iterations[0].candidates.toPrecision(3)))} in the first`
}

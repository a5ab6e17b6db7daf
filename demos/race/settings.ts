/** What the controls of the race say. */
import type { ClusterOptions } from '../../src/index.ts'
import { DIGIT_COUNT } from '../data/digits.ts'
import type { MethodFacts } from '../engine/methods-task.ts'
import { startFor } from '../engine/starts.ts'
import { element } from '../shell/dom.ts'
import { fitField, readField } from '../shell/number-field.ts'
import { readQuery, writeQuery } from '../shell/query.ts'
import { MADE_UP, type MadeUp } from './vectors.ts'

export interface Settings {
  readonly data: MadeUp | 'digits'
  readonly n: number
  readonly k: number
  readonly seed: number
  readonly rounds: number
  readonly seconds: number
  readonly axis: 'log' | 'linear'
  /** Methods that run, with commas between, or 'all'. */
  readonly methods: string
}

const MOST_VECTORS = 100_000

export const DEFAULTS = {
  data: 'sift',
  /** 0: as many as suit the device. */
  n: 0,
  /** 0: as many as suit the device. */
  k: 0,
  seed: 1,
  rounds: 30,
  seconds: 30,
  axis: 'log',
  methods: 'lloyd,closures-sharp',
} as const

const NUMBERS = ['n', 'k', 'seed', 'rounds', 'seconds'] as const

export function settingsFromAddress(): Settings {
  const read: Record<string, string | number> = { ...readQuery(DEFAULTS) }
  if (![...MADE_UP, 'digits'].includes(String(read.data))) read.data = DEFAULTS.data
  if (read.axis !== 'linear') read.axis = DEFAULTS.axis
  limitNumber(String(read.data))
  for (const name of NUMBERS) {
    if (read[name] !== 0 || name === 'seed') read[name] = fitField(name, Number(read[name]))
  }
  return read as unknown as Settings
}

/** There are only so many digits. */
function limitNumber(data: string): void {
  element('n', HTMLInputElement).max = String(data === 'digits' ? DIGIT_COUNT : MOST_VECTORS)
}

export function showSettings(settings: Settings): void {
  for (const name of Object.keys(DEFAULTS)) {
    if (name === 'methods') continue
    const control = element(name) as HTMLInputElement | HTMLSelectElement
    control.value = String(settings[name as keyof Settings])
  }
}

export function settingsFromForm(methods: string, complain: (sentence: string) => void): Settings {
  const data = element('data', HTMLSelectElement).value
  limitNumber(data)
  const read: Record<string, string | number> = { data, axis: element('axis', HTMLSelectElement).value, methods }
  for (const name of NUMBERS) read[name] = readField(name, complain)
  writeQuery(read, DEFAULTS)
  return read as unknown as Settings
}

/** What the library is asked for: the same start for all that take one. */
export function raceOptions({ name, findsCount }: MethodFacts, settings: Settings): ClusterOptions {
  const { k, seed, rounds, seconds } = settings
  const common = { method: name, seed, iterations: rounds, seconds }
  if (findsCount) return { ...common, start: k }
  return { ...common, k, start: startFor(name, 'random') }
}

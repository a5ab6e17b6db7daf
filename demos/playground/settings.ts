/** What the controls say: read from the address at first, from the form afterwards, and written back to the address. */
import type { ClusterOptions, MethodName } from '../../src/index.ts'
import { startFor } from '../engine/starts.ts'
import { element } from '../shell/dom.ts'
import { fitField, readField } from '../shell/number-field.ts'
import { readQuery, writeQuery } from '../shell/query.ts'
import { SHAPES, type Shape } from './points.ts'

/** In the order of the list. */
export const PLAYGROUND_METHODS = [
  'lloyd',
  'sharp',
  'closures',
  'closures-sharp',
  'akm',
  'rakm',
  'hkm',
  'bisecting',
  'canopy',
  'minibatch',
  'lvq',
  'agm',
  'egm',
  'gmm',
] as const satisfies readonly MethodName[]

/** These find how many clusters there are, and begin with this many points as in the paper's figure 1. */
export const FINDS_COUNT: readonly MethodName[] = ['agm', 'egm']
export const FIRST_COMPONENTS = 50

const MIXTURES: readonly MethodName[] = ['gmm', 'egm', 'agm']
/** Points move one after another, and centres follow at once: there are no two phases. */
const MOVING: readonly MethodName[] = ['sharp', 'closures-sharp', 'minibatch', 'lvq']
const WITH_LEAVES: readonly MethodName[] = ['closures', 'closures-sharp']

export const isMixture = (method: MethodName): boolean => MIXTURES.includes(method)
export const movesAtOnce = (method: MethodName): boolean => MOVING.includes(method)
export const usesLeaves = (method: MethodName): boolean => WITH_LEAVES.includes(method)

export const PACES = { slow: 900, steady: 280, full: 0 } as const

export interface Settings {
  readonly shape: Shape | 'draw'
  readonly n: number
  readonly seed: number
  readonly method: MethodName
  readonly beside: MethodName | 'none'
  readonly k: number
  readonly start: 'random' | 'kpp' | 'auto'
  readonly pace: keyof typeof PACES
  readonly cells: boolean
  readonly lit: boolean
  readonly leaves: boolean
  readonly circles: boolean
}

const DEFAULTS = {
  shape: 'blobs',
  /** 0: as many as suit the device. */
  n: 0,
  seed: 1,
  method: 'lloyd',
  beside: 'none',
  k: 12,
  start: 'random',
  pace: 'steady',
  cells: true,
  lit: true,
  leaves: false,
  circles: true,
} as const

const CHOICES: Readonly<Record<string, readonly string[]>> = {
  shape: [...SHAPES, 'draw'],
  method: PLAYGROUND_METHODS,
  beside: ['none', ...PLAYGROUND_METHODS],
  start: ['random', 'kpp', 'auto'],
  pace: Object.keys(PACES),
}

const NUMBERS = ['n', 'seed', 'k'] as const

/** From the address, with sense made of what makes none. */
export function settingsFromAddress(): Settings {
  const read: Record<string, string | number | boolean> = { ...readQuery(DEFAULTS) }
  for (const [name, choices] of Object.entries(CHOICES)) {
    if (!choices.includes(String(read[name]))) read[name] = DEFAULTS[name as keyof typeof DEFAULTS]
  }
  for (const name of NUMBERS) {
    if (name !== 'n' || read.n !== 0) read[name] = fitField(name, Number(read[name]))
  }
  return read as unknown as Settings
}

/** Puts settings into the form. */
export function showSettings(settings: Settings): void {
  for (const [name, value] of Object.entries(settings)) {
    const control = element(name)
    if (control instanceof HTMLInputElement && control.type === 'checkbox') control.checked = value === true
    else (control as HTMLInputElement | HTMLSelectElement).value = String(value)
  }
}

/** Reads the form. A number that is out of range is brought into it, and `complain` hears a sentence. */
export function settingsFromForm(complain: (sentence: string) => void): Settings {
  const read: Record<string, string | number | boolean> = {}
  for (const name of Object.keys(DEFAULTS)) {
    const control = element(name)
    if (control instanceof HTMLInputElement && control.type === 'checkbox') read[name] = control.checked
    else if (control instanceof HTMLInputElement) read[name] = readField(name, complain)
    else read[name] = (control as HTMLSelectElement).value
  }
  writeQuery(read, DEFAULTS)
  return read as unknown as Settings
}

/** Disables the controls that none of the shown methods uses. */
export function disableIgnored({ method, beside, shape }: Settings): void {
  const shown = beside === 'none' ? [method] : [method, beside]
  const uses: Readonly<Record<string, (method: MethodName) => boolean>> = {
    k: (one) => !FINDS_COUNT.includes(one),
    start: (one) => !FINDS_COUNT.includes(one) && startFor(one, 'random') === 'random',
    cells: (one) => !isMixture(one),
    circles: isMixture,
    leaves: usesLeaves,
    n: () => shape !== 'draw',
  }
  for (const [id, used] of Object.entries(uses)) {
    ;(element(id) as HTMLInputElement | HTMLSelectElement).disabled = !shown.some(used)
  }
}

/** What the library is asked for. */
export function clusterOptions(method: MethodName, { k, seed, start }: Settings, n: number): ClusterOptions {
  if (FINDS_COUNT.includes(method)) return { method, seed, start: Math.min(n, FIRST_COMPONENTS) }
  return { method, seed, k, start: startFor(method, start) }
}

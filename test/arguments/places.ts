/** How the table of calls is written down: arguments, the options inside them, and what is right for each. */
import type { DeviceLimits, SaveOptions } from '../../src/index.ts'
import { type Kind, TAKEN } from './values.ts'

/** What a place takes: a kind of argument, or vectors, a device, a signal. */
export type Place = Kind | 'vectors' | 'device' | 'signal'

export interface Argument {
  readonly name: string
  readonly place: Place
  /** What is given while another argument is wrong. */
  readonly right: unknown
  /** Names of more values that are taken, and of those that are not although others of the kind are. */
  readonly also?: readonly string[]
  readonly not?: readonly string[]
  /** Names of values that are right and take long: a signal stops such a call. */
  readonly skip?: readonly string[]
  /** The options inside it. */
  readonly options?: Readonly<Record<string, Omit<Argument, 'name' | 'right'>>>
}

export interface Call {
  // biome-ignore lint/suspicious/noExplicitAny: arguments are wrong on purpose
  readonly call: (...values: any[]) => unknown
  readonly arguments: readonly Argument[]
}

export type OptionsOf<T> = { readonly [K in keyof T]-?: Place | Omit<Argument, 'name' | 'right'> }

export function options<T extends object>(right: T, of: OptionsOf<T>, required = false): Argument {
  const inner = Object.entries<Place | Omit<Argument, 'name' | 'right'>>(of).map(([name, place]) => [
    name,
    typeof place === 'string' ? { place } : place,
  ])
  const place = required ? 'none' : 'options'
  return { name: 'options', place, right, also: required ? [] : ['undefined'], options: Object.fromEntries(inner) }
}

export const argument = (name: string, place: Place, right: unknown, more: Partial<Argument> = {}): Argument => ({
  name,
  place,
  right,
  ...more,
})

export const optional = ['undefined']
export const LARGE = { not: ['2^31', '2^53 - 1'] }
/** Takes a moment to be refused: tried where it is counted, not in every function that counts by it. */
export const ENDLESS = { skip: ['endless iterable'] }
export const HUGE = { not: ['2^53 - 1'] }

/** Options that many calls share. */
export const WATCH = { device: 'device', signal: 'signal', onProgress: 'callback' } as const
/** Where something is saved, and where nothing is to be found. */
export const saveOptions = options<SaveOptions>({}, { files: 'options' })
export const folder = argument('folder', 'path', 'folder')
export const missing = argument('folder', 'none', undefined, { skip: TAKEN.path })
/** Limits of a device. */
export const limits: OptionsOf<DeviceLimits> = {
  bufferBytes: 'whole',
  bindingBytes: 'whole',
  memoryBytes: 'whole',
  totalBytes: 'whole',
  partBytes: 'whole',
  workgroups: 'none',
  bindingAlignment: 'none',
}

/**
 * Checks of what callers pass in, made before any work begins. A check takes a value and the words that name it in
 * errors; it returns the value with its type, or throws a CentroidalError that names the thing, the value and the cure.
 */
import { badArgument, CentroidalError, capital, show } from './errors.ts'
import { meantName } from './nearest-name.ts'

export type Check<T> = (value: unknown, thing: string) => T

/** One check for each option of an interface. A name that is missing or unknown does not compile. */
export type OptionChecks<T> = { readonly [K in keyof T]-?: Check<Exclude<T[K], undefined>> }

/** Options as `optionsOf` returns them: what is there is not undefined. */
export type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/**
 * The options a caller gave to `where`, checked. Every option is read once, into a new object, so that what was checked
 * is what is used. Undefined means the default; `required` options must be there.
 */
export function optionsOf<T extends object>(
  where: string,
  given: unknown,
  checks: OptionChecks<T>,
  required: readonly (keyof T & string)[] = [],
): Given<T> {
  const options = recordOf(given === undefined ? {} : given, `the options of ${where}`)
  return checkedOptions(where, options, checks, required, 'option ')
}

/** Options inside an option, such as `limits.workgroups`. */
export function optionGroup<T extends object>(checks: OptionChecks<T>): Check<Given<T>> {
  return (value, thing) => checkedOptions(thing, recordOf(value, thing), checks, [], `${thing}.`)
}

function checkedOptions<T extends object>(
  where: string,
  options: Record<string, unknown>,
  checks: OptionChecks<T>,
  required: readonly (keyof T & string)[],
  prefix: string,
): Given<T> {
  const names = Object.keys(checks) as (keyof T & string)[]
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(checks, name)) continue
    const value = options[name]
    if (value !== undefined) throw badArgument(prefix + shortName(name), value, unknownCure(name, where, names))
  }
  const found: Partial<Given<T>> = {}
  for (const name of names) {
    const value = options[name]
    if (value === undefined && !required.includes(name)) continue
    found[name] = checks[name](value, prefix + name) as Given<T>[typeof name]
  }
  return found as Given<T>
}

function unknownCure(name: string, where: string, names: readonly string[]): string {
  const near = meantName(name, names)
  const instead = near === undefined ? `${where} takes ${names.join(', ')}.` : `did you mean ${near}?`
  return `there is no such option; ${instead}`
}

function shortName(name: string): string {
  return name.length > 40 ? `${name.slice(0, 40)}...` : name
}

/** A plain object of named values. */
export function recordOf(value: unknown, thing: string, what = 'options'): Record<string, unknown> {
  // A Map, a Promise or an array has other tags, and no options.
  if (Object.prototype.toString.call(value) === '[object Object]') return value as Record<string, unknown>
  const verb = thing.startsWith('the options') ? 'are' : 'is'
  throw new CentroidalError('bad-option', `${capital(thing)} ${verb} ${show(value)}: give an object of ${what}.`)
}

/** Whole numbers up to this are exact. */
const LARGEST = Number.MAX_SAFE_INTEGER

export function whole(least: number, most = LARGEST): Check<number> {
  return (value, thing) => {
    if (Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most) return value as number
    const open = most === LARGEST && !(typeof value === 'number' && value > LARGEST)
    throw badArgument(
      thing,
      value,
      open ? `give a whole number, ${least} or more.` : `give a whole number from ${least} to ${most}.`,
    )
  }
}

export function real(least: number, most = Number.POSITIVE_INFINITY): Check<number> {
  return (value, thing) => {
    if (typeof value === 'number' && value >= least && value <= most) return value
    const range = most === Number.POSITIVE_INFINITY ? `, ${least} or more` : ` from ${least} to ${most}`
    throw badArgument(thing, value, `give a number${range}.`)
  }
}

export function choice<const T extends string>(names: readonly T[]): Check<T> {
  return (value, thing) => {
    if ((names as readonly unknown[]).includes(value)) return value as T
    throw badArgument(thing, value, `give one of ${names.join(', ')}.`)
  }
}

export function flag(value: unknown, thing: string): boolean {
  if (typeof value === 'boolean') return value
  throw badArgument(thing, value, 'give true or false.')
}

// The parameters of a callback cannot be checked at run time.
export function callback<F extends (...values: never[]) => unknown>(value: unknown, thing: string): F {
  if (typeof value === 'function') return value as F
  throw badArgument(thing, value, 'give a function.')
}

export function abortSignal(value: unknown, thing: string): AbortSignal {
  const signal = value as AbortSignal | null
  const fits =
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.throwIfAborted === 'function' &&
    typeof signal.addEventListener === 'function'
  if (fits) return signal
  throw badArgument(thing, value, 'give the signal of an AbortController.')
}

/** No file system takes longer paths. */
const LONGEST_PATH = 4096

/** The path of a file or folder. */
export function path(value: unknown, thing: string): string {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST_PATH) return value
  if (typeof value === 'string' && value !== '')
    throw badArgument(thing, value, 'the path is too long; give a shorter one.')
  throw badArgument(thing, value, 'give a path as a string.')
}

// biome-ignore lint/suspicious/noExplicitAny: a constructor of anything
export function instance<T>(type: abstract new (...values: any[]) => T, cure: string): Check<T> {
  return (value, thing) => {
    if (value instanceof type) return value
    throw badArgument(thing, value, cure)
  }
}

/** What a number in a list has to be; `words` complete "give ..." in errors. */
export interface NumberKind {
  readonly fits: (value: number) => boolean
  readonly words: string
}

export const ANY_NUMBER: NumberKind = { fits: () => true, words: 'numbers' }
export const WHOLE_NUMBER: NumberKind = { fits: Number.isSafeInteger, words: 'whole numbers' }
export const COUNT: NumberKind = {
  fits: (value) => value >= 0 && value < Number.POSITIVE_INFINITY,
  words: 'finite numbers, 0 or more',
}

/** An array, a typed array or another list of numbers. Holes, null and text inside it are refused. */
export function numberList(value: unknown, thing: string, kind: NumberKind = ANY_NUMBER): ArrayLike<number> {
  const list = value as ArrayLike<unknown> | null
  if (typeof list !== 'object' || list === null || !isCount(list.length)) {
    throw badData(`${capital(thing)} is ${show(value)}: give an array of ${kind.words}.`)
  }
  refuseDetached(list, thing)
  if (ArrayBuffer.isView(list) && kind === ANY_NUMBER && !isBigIntArray(list)) return list as ArrayLike<number>
  const { length } = list
  for (let i = 0; i < length; i++) {
    const element = list[i]
    if (typeof element === 'number' && kind.fits(element)) continue
    throw badData(`Entry ${i} of ${thing} is ${show(element)}: give ${kind.words}.`)
  }
  return list as ArrayLike<number>
}

export function isBigIntArray(list: unknown): boolean {
  return list instanceof BigInt64Array || list instanceof BigUint64Array
}

/** An array whose buffer was transferred looks empty, and cannot be iterated over. */
function refuseDetached(value: unknown, thing: string): void {
  if (!ArrayBuffer.isView(value) || value instanceof DataView || value.byteLength > 0) return
  try {
    new Uint8Array(value.buffer)
  } catch {
    throw badData(`The buffer of ${thing} was transferred to another thread: give an array that holds its numbers.`)
  }
}

function isCount(length: unknown): boolean {
  return Number.isSafeInteger(length) && Number(length) >= 0
}

/** About as many as a Set can hold. */
const MOST_IN_SET = 16_000_000

/** The different numbers of an array, a Set or another iterable. An iterable that never ends is refused. */
export function numberSet(value: unknown, thing: string, kind: NumberKind = ANY_NUMBER): Set<number> {
  const iterable = value as Iterable<unknown> | null
  if (typeof iterable !== 'object' || typeof iterable?.[Symbol.iterator] !== 'function') {
    throw badData(`${capital(thing)} is ${show(value)}: give an array or a Set of ${kind.words}.`)
  }
  refuseDetached(iterable, thing)
  const found = new Set<number>()
  let count = 0
  for (const element of iterable) {
    if (typeof element !== 'number' || !kind.fits(element)) {
      throw badData(`Entry ${count} of ${thing} is ${show(element)}: give ${kind.words}.`)
    }
    if (++count > MOST_IN_SET) throw badData(`${capital(thing)} has more than ${MOST_IN_SET} numbers: give fewer.`)
    found.add(element)
  }
  return found
}

/** An array (not an array-like object), such as one of lists. Its elements are still to be checked. */
export function list(value: unknown, thing: string, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw badData(`${capital(thing)} is ${show(value)}: give an array of ${what}.`)
}

/** Whole numbers as the files and kernels take them. */
export function uint32Array(value: unknown, thing: string): Uint32Array {
  refuseDetached(value, thing)
  if (value instanceof Uint32Array) return value
  throw badData(`${capital(thing)} is ${show(value)}: give a Uint32Array, such as Uint32Array.from(list).`)
}

export function badData(message: string): CentroidalError {
  return new CentroidalError('bad-data', message)
}

/** A whole number of rows and at least one column. */
export function checkShape(rows: unknown, cols: unknown, what: string): void {
  if (isSize(rows, 0) && isSize(cols, 1)) return
  throw badData(
    `Invalid ${what} shape: ${show(rows)} x ${show(cols)}. Give whole numbers of at most ${LARGEST_SIZE}, and at least one column.`,
  )
}

/** Rows and columns are numbered in 32 bits. */
const LARGEST_SIZE = 0xffffffff

function isSize(value: unknown, least: number): boolean {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= LARGEST_SIZE
}

/**
 * Schemas of the JSON files in saved folders. A schema takes a value and its position, such as "run/model.json: k", and
 * gives it back with its type, or fails with a sentence.
 */
import { CentroidalError, show } from '../core/errors.ts'

export type Schema<T> = (value: unknown, at: string) => T

/** The type that a schema checks for. */
export type Checked<S> = S extends Schema<infer T> ? T : never

/** How errors about saved folders end; what comes from elsewhere is cured otherwise. */
export const SAVE_AGAIN = ': save the folder again.'

export function wrongValue(at: string, value: unknown, needed: string): CentroidalError {
  return new CentroidalError('bad-file', `${at} is ${show(value)}, where ${needed} is expected${SAVE_AGAIN}`)
}

export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Schema<number> {
  return (value, at) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
    const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`
    throw wrongValue(at, value, `a whole number, ${range},`)
  }
}

/** Finite. */
export function real(least = Number.NEGATIVE_INFINITY): Schema<number> {
  return (value, at) => {
    if (typeof value === 'number' && Number.isFinite(value) && value >= least) return value
    throw wrongValue(
      at,
      value,
      least === Number.NEGATIVE_INFINITY ? 'a finite number' : `a finite number, ${least} or more,`,
    )
  }
}

export function text(pattern?: RegExp): Schema<string> {
  return (value, at) => {
    if (typeof value === 'string' && (pattern?.test(value) ?? true)) return value
    throw wrongValue(at, value, pattern ? `a text like ${pattern.source}` : 'a text')
  }
}

export function choice<const T extends string | boolean>(...allowed: readonly T[]): Schema<T> {
  return (value, at) => {
    if ((allowed as readonly unknown[]).includes(value)) return value as T
    throw wrongValue(at, value, `one of ${allowed.join(', ')}`)
  }
}

export function list<T>(item: Schema<T>, length?: number): Schema<T[]> {
  return (value, at) => {
    if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
      throw wrongValue(at, value, `an array${length === undefined ? '' : ` of ${length}`}`)
    }
    return value.map((entry, i) => item(entry, `${at}[${i}]`))
  }
}

export function optional<T>(schema: Schema<T>): Schema<T | undefined> {
  return (value, at) => (value === undefined ? undefined : schema(value, at))
}

/** Anything JSON can say. Who uses the values checks them. */
export const plainObject: Schema<Readonly<Record<string, unknown>>> = (value, at) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw wrongValue(at, value, 'an object')
}

type Fields = Readonly<Record<string, Schema<unknown>>>
type MayMiss<F extends Fields> = { [K in keyof F]: undefined extends Checked<F[K]> ? K : never }[keyof F]

/** Fields whose schema is optional may be missing. */
export type CheckedRecord<F extends Fields> = { readonly [K in Exclude<keyof F, MayMiss<F>>]: Checked<F[K]> } & {
  readonly [K in MayMiss<F>]?: Exclude<Checked<F[K]>, undefined>
}

/** An object of these fields and no others. */
export function record<const F extends Fields>(fields: F): Schema<CheckedRecord<F>> {
  return (value, at) => {
    const given = plainObject(value, at)
    const stranger = Object.keys(given).find((name) => !Object.hasOwn(fields, name))
    if (stranger !== undefined) {
      throw new CentroidalError('bad-file', `${at} has an unknown field ${JSON.stringify(stranger)}${SAVE_AGAIN}`)
    }
    const checked: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(fields)) {
      const own = Object.hasOwn(given, name) ? given[name] : undefined
      const found = schema(own, at.endsWith(':') ? `${at} ${name}` : `${at}.${name}`)
      if (found !== undefined) checked[name] = found
    }
    return checked as CheckedRecord<F>
  }
}

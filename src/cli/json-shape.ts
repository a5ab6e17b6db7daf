/** Checks parsed JSON against the shape it should have: types, ranges and lengths, field by field. */

/** Returns the value if it has the shape; `at` names it in the error, such as "iterations[3].seconds". */
export type Shape<T> = (value: unknown, at: string) => T

export class ShapeError extends Error {
  /** "seconds is text, expected a number": to be put into a sentence. */
  constructor(at: string, value: unknown, expected: string) {
    super(`${at} is ${described(value)}, expected ${expected}`)
  }
}

/** Short whatever the value is: lists and objects may be large or deeply nested. */
function described(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'string')
    return value.length > 40 ? `a text of ${value.length} characters` : JSON.stringify(value)
  return String(value)
}

export function number(least: number, most: number): Shape<number> {
  return (value, at) => {
    if (typeof value === 'number' && value >= least && value <= most) return value
    throw new ShapeError(at, value, `a number from ${least} to ${most}`)
  }
}

export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER): Shape<number> {
  return (value, at) => {
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
    throw new ShapeError(at, value, `a whole number from ${least} to ${most}`)
  }
}

export function text(longest: number): Shape<string> {
  return (value, at) => {
    if (typeof value === 'string' && value.length <= longest) return value
    throw new ShapeError(at, value, `text of at most ${longest} characters`)
  }
}

/** One line that is safe to print: control characters could rewrite what a terminal shows. */
export function line(longest: number): Shape<string> {
  const short = text(longest)
  return (value, at) => {
    const checked = short(value, at)
    if (/\p{Cc}/u.test(checked)) throw new ShapeError(at, checked, 'text without control characters')
    return checked
  }
}

export function oneOf<T extends string>(...names: readonly T[]): Shape<T> {
  return (value, at) => {
    const found = names.find((name) => name === value)
    if (found === undefined) throw new ShapeError(at, value, `one of ${names.join(', ')}`)
    return found
  }
}

export function list<T>(item: Shape<T>, least: number, most: number): Shape<T[]> {
  return (value, at) => {
    if (!Array.isArray(value) || value.length < least || value.length > most) {
      throw new ShapeError(at, value, least === most ? `a list of ${most}` : `a list of ${least} to ${most}`)
    }
    return value.map((element, i) => item(element, `${at}[${i}]`))
  }
}

type Fields<T> = { readonly [K in keyof T]-?: Shape<T[K]> }

/** Fields without a shape are dropped. */
export function object<T>(fields: Fields<T>): Shape<T> {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ShapeError(at || 'the whole', value, 'an object')
    }
    const result: Record<string, unknown> = {}
    for (const [name, shape] of Object.entries(fields) as [keyof T & string, Shape<T[keyof T]>][]) {
      // Own keys only: "constructor" of an object without such a field is not a value from the file.
      const own = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
      const checked = shape(own, at === '' ? name : `${at}.${name}`)
      if (checked !== undefined) result[name] = checked
    }
    return result as T
  }
}

export function optional<T>(shape: Shape<T>): Shape<T | undefined> {
  return (value, at) => (value === undefined ? undefined : shape(value, at))
}

/** Any of the shapes; the error names what is expected. */
export function either<A, B>(first: Shape<A>, second: Shape<B>, expected: string): Shape<A | B> {
  return (value, at) => {
    for (const shape of [first, second]) {
      try {
        return shape(value, at)
      } catch (error) {
        if (!(error instanceof ShapeError)) throw error
      }
    }
    throw new ShapeError(at, value, expected)
  }
}

/** Option values from text, strictly: what is not exactly a value is refused with a cure, never guessed at. */
import { CentroidalError } from '../index.ts'
import { suggestion } from './nearest-name.ts'

export function badValue(flag: string, text: string, cure: string): CentroidalError {
  return new CentroidalError('bad-option', `Option ${flag} is ${JSON.stringify(text)}: ${cure}`)
}

function tooLarge(flag: string, text: string, most: number): CentroidalError {
  return badValue(flag, text, `the largest value is ${most}; give a smaller one.`)
}

/** For example 12 or 1e6, but not 12.5, 0x10, "12 " or an empty string. */
export function wholeNumber(
  flag: string,
  what: string,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): (text: string) => number {
  return (text) => {
    const value = /^\d+(e\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
    if (value > most) throw tooLarge(flag, text, most)
    if (!(value >= least)) throw badValue(flag, text, `give a whole number${what && ` of ${what}`}, ${least} or more.`)
    return value
  }
}

export function realNumber(flag: string, what: string, most: number = Number.MAX_VALUE): (text: string) => number {
  return (text) => {
    const value = /^(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i.test(text) ? Number(text) : Number.NaN
    if (value > most) throw tooLarge(flag, text, most)
    if (Number.isNaN(value)) throw badValue(flag, text, `give a number${what && ` of ${what}`}, 0 or more.`)
    return value
  }
}

const UNITS = ['KB', 'MB', 'GB', 'TB']

/** 1GB or 512 MB, in bytes: a GB is 1024 MB. `hint` is added where the unit is missing. */
export function byteSize(flag: string, least: number, hint = ''): (text: string) => number {
  return (text) => {
    const [, amount, unit] = /^(\d+\.?\d*)\s*([KMGT]i?B?)$/i.exec(text) ?? []
    if (amount === undefined) throw badValue(flag, text, `give a size with its unit, such as 1GB or 512MB${hint}.`)
    const power = UNITS.findIndex((name) => name[0] === unit[0].toUpperCase()) + 1
    const bytes = Math.floor(Number(amount) * 1024 ** power)
    if (bytes < least) throw badValue(flag, text, `give at least ${least / 1024 ** 2}MB.`)
    if (bytes > Number.MAX_SAFE_INTEGER) throw badValue(flag, text, 'give a smaller size.')
    return bytes
  }
}

export function oneOf<T extends string>(flag: string, names: readonly T[]): (text: string) => T {
  return (text) => {
    if (!(names as readonly string[]).includes(text)) throw badValue(flag, text, suggestion(text, names))
    return text as T
  }
}

export interface ImageShape {
  readonly width: number
  readonly height: number
}

/** 28x28: width by height. */
export function imageShape(flag: string): (text: string) => ImageShape {
  return (text) => {
    const [, width, height] = /^(\d{1,5})[x×](\d{1,5})$/i.exec(text) ?? []
    if (!(Number(width) > 0 && Number(height) > 0)) {
      throw badValue(flag, text, 'give width x height in pixels, such as 28x28.')
    }
    return { width: Number(width), height: Number(height) }
  }
}

/**
 * Every error that users can cause or encounter is a CentroidalError. Its message names what is wrong, the value, and what
 * to do. The command line prints the message and exits with 2.
 */

/**
 * The kind of error, for programs that handle them differently.
 *
 * - `bad-option`: an invalid option or argument.
 * - `bad-data`: vectors that cannot be clustered: NaN, wrong width, too few distinct rows.
 * - `bad-file`: a file that is missing, truncated, or in an unexpected format.
 * - `no-device`: the requested device is not available.
 * - `device-lost`: the device was closed, or stopped working (GPU lost, thread ended, kernel failed): open another one.
 * - `out-of-memory`: the device does not have enough memory.
 */
export type ErrorCode = 'bad-option' | 'bad-data' | 'bad-file' | 'no-device' | 'device-lost' | 'out-of-memory'

/**
 * The error class of the library. Its message names what is wrong, the value, and what to do.
 *
 * @example
 * ```ts
 * import { CentroidalError, cluster } from 'centroidal'
 *
 * let code: string | undefined
 * try {
 *   await cluster([[1, 2], [3, 4]], { k: 3 })
 * } catch (error) {
 *   if (!(error instanceof CentroidalError)) throw error
 *   console.log(error.message)
 *   code = error.code
 * }
 * code // => 'bad-option'
 * ```
 */
export class CentroidalError extends Error {
  /** Which kind of error it is. */
  readonly code: ErrorCode

  /** @internal The library makes these. */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CentroidalError'
    this.code = code
  }
}

export function badOption(name: string, value: unknown, cure: string): CentroidalError {
  return badArgument(`option ${name}`, value, cure)
}

/** An invalid argument or option: `thing` is its name in the message, such as `option k`. */
export function badArgument(thing: string, value: unknown, cure: string): CentroidalError {
  return new CentroidalError('bad-option', `${capital(thing)} is ${show(value)}: ${cure}`)
}

/** Longer strings are shortened in messages. */
const LONGEST_SHOWN = 80

/** A value as it reads best inside a sentence. Never fails, whatever the value is. */
export function show(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > LONGEST_SHOWN
        ? `${JSON.stringify(value.slice(0, LONGEST_SHOWN))}... (${value.length} characters)`
        : JSON.stringify(value)
    case 'bigint': {
      const digits = String(value)
      return digits.length > LONGEST_SHOWN ? `a bigint of ${digits.length} digits` : `${digits}n`
    }
    case 'function':
      return 'a function'
    case 'object':
      return value === null ? 'null' : showObject(value)
    default:
      return shortened(String(value))
  }
}

function showObject(value: object): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  const name: unknown = value.constructor?.name
  if (typeof name !== 'string' || name === '' || name === 'Object') return 'an object'
  const count = ArrayBuffer.isView(value) && 'length' in value ? ` of ${String(value.length)}` : ''
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${shortened(name)}${count}`
}

function shortened(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text
}

/** With a capital letter, to begin a sentence. */
export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

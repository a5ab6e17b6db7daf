/**
 * Every error a user can cause or meet is a CentroidalError: one sentence that names the thing,
 * the value and what would do. The command line prints that sentence and exits with 2.
 */

/**
 * What went wrong, for programs that want to tell the cases apart.
 *
 * - `bad-option`: an option or argument that cannot be.
 * - `bad-data`: vectors that cannot be clustered: NaN, wrong width, too few distinct rows.
 * - `bad-file`: a file that is missing, truncated, or not what its name says.
 * - `no-device`: the asked-for device is not there.
 * - `device-lost`: the device went away while it worked.
 * - `out-of-memory`: the device cannot hold what is needed.
 */
export type ErrorCode = 'bad-option' | 'bad-data' | 'bad-file' | 'no-device' | 'device-lost' | 'out-of-memory'

/**
 * Every error a caller can cause or meet: one sentence that names the thing, the value and what would do.
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
  return new CentroidalError('bad-option', `Option ${name} is ${show(value)}: ${cure}`)
}

/** A value as it reads best inside a sentence. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? `an array of ${value.length}` : (value.constructor?.name ?? 'an object')
  }
  return String(value)
}

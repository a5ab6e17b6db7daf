/** Shared judgements: which errors are acceptable, and when two results are the same. */
import { CentroidalError } from '../src/index.ts'
import { Failure } from './area.ts'

/** Thrown by callbacks and getters of a case: it belongs to the caller and may pass through. */
export class OwnError extends Error {}

/** Words that only reach a message by mistake. */
const SLIPS = /\bundefined\b|\[object \w+\]|\bbyte NaN\b|NaN (x|to|bytes|rows)|\bto NaN\b|: function|\bnull\b is not/

/** Passes for errors a caller should get; anything else is a failure. `told` and `given` are texts of the case itself. */
export function acceptError(error: unknown, { abort = false, own = false, told = '', given = '' } = {}): void {
  if (error instanceof Failure) throw error
  if (own && error instanceof OwnError) return
  if (abort && (error as Error)?.name === 'AbortError') return
  if (!(error instanceof CentroidalError)) {
    const name = error instanceof Error ? error.constructor.name : typeof error
    throw new Failure('raw error', `${name}: ${(error as Error)?.message ?? String(error)}`, { cause: error })
  }
  // "Option k is undefined" is right where undefined was given.
  const message = error.message.replaceAll(/\bis undefined\b/g, '')
  const slip = SLIPS.exec(told === '' ? message : message.replaceAll(told, ''))
  // A value that was given may be repeated.
  const repeated = ['undefined', 'NaN'].some((word) => slip?.[0].includes(word) && given.includes(word))
  if (slip && !repeated) throw new Failure('bad message', `"${slip[0]}" in: ${error.message}`)
  if (error.message.length > 2000) throw new Failure('bad message', `a message of ${error.message.length} characters`)
}

/** The value, or undefined where a proper error was thrown. */
export async function attempt<T>(
  action: () => T | Promise<T>,
  accepted: Parameters<typeof acceptError>[1] = {},
): Promise<{ readonly value: T } | { readonly error: Error }> {
  try {
    return { value: await action() }
  } catch (error) {
    acceptError(error, accepted)
    return { error: error as Error }
  }
}

/** Arrays and objects as bits: two results are the same if and only if their texts are. */
export function bitsOf(value: unknown): string {
  if (ArrayBuffer.isView(value)) {
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return `${value.constructor.name}:${bytes.toString('base64')}`
  }
  if (Array.isArray(value)) return `[${value.map(bitsOf).join()}]`
  if (typeof value === 'object' && value !== null) {
    const parts = Object.entries(value).map(([name, part]) => `${name}:${bitsOf(part)}`)
    // The order of names means nothing.
    return `{${parts.sort().join()}}`
  }
  return Object.is(value, -0) ? '-0' : String(value)
}

/** Names the parts in which two results differ. */
export function differences(a: Record<string, unknown>, b: Record<string, unknown>): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].filter((name) => bitsOf(a[name]) !== bitsOf(b[name]))
}

/** Fails unless both are the same to the last bit. */
export function requireSame(a: Record<string, unknown>, b: Record<string, unknown>, what: string): void {
  const names = differences(a, b)
  if (names.length === 0) return
  const [name] = names
  throw new Failure(
    'wrong result',
    `${what}: ${names.join(', ')} differ; ${name} is ${show(b[name])}, not ${show(a[name])}`,
  )
}

export function show(value: unknown): string {
  if (ArrayBuffer.isView(value)) {
    const numbers = Array.from(value as unknown as ArrayLike<number>).slice(0, 8)
    return `${value.constructor.name}[${numbers.join(', ')}${(value as unknown as ArrayLike<number>).length > 8 ? ', ...' : ''}]`
  }
  try {
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
    return text.length > 160 ? `${text.slice(0, 160)}...` : text
  } catch {
    return typeof value
  }
}

/** Fails on NaN and infinities. */
export function requireFinite(numbers: ArrayLike<number> | undefined, what: string): void {
  for (let i = 0; i < (numbers?.length ?? 0); i++) {
    const value = numbers?.[i] as number
    if (!Number.isFinite(value)) throw new Failure('wrong result', `${what}: number ${i} is ${value}`)
  }
}

/**
 * Values as bytes, for a store: JSON with typed arrays beside it. Layout: the length of the JSON text in 4 bytes, the text,
 * then the arrays, each at a multiple of 8. What is decoded is data from outside: callers check it.
 */
import { CentroidalError } from '../core/errors.ts'

const KINDS = {
  u8: Uint8Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const

type Kind = keyof typeof KINDS
type Values = InstanceType<(typeof KINDS)[Kind]>

const ALIGNMENT = 8
/** The key that marks what JSON cannot hold. */
const MARK = '$'

export function encode(value: unknown): Uint8Array {
  const arrays: Values[] = []
  const text = JSON.stringify(value, (_key, entry: unknown) => {
    if (typeof entry === 'number' && !Number.isFinite(entry)) return { [MARK]: String(entry) }
    if (!ArrayBuffer.isView(entry)) return entry
    const kind = (Object.keys(KINDS) as Kind[]).find((name) => entry instanceof KINDS[name])
    if (kind === undefined) throw new TypeError(`${entry.constructor.name} cannot be sent`)
    const values = entry as Values
    arrays.push(values)
    return { [MARK]: kind, length: values.length }
  })
  const header = new TextEncoder().encode(text ?? 'null')
  let size = aligned(4 + header.length)
  for (const { byteLength } of arrays) size = aligned(size + byteLength)
  const bytes = new Uint8Array(size)
  new DataView(bytes.buffer).setUint32(0, header.length, true)
  bytes.set(header, 4)
  let at = aligned(4 + header.length)
  for (const { buffer, byteOffset, byteLength } of arrays) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at)
    at = aligned(at + byteLength)
  }
  return bytes
}

/** `what` names the bytes in errors. */
export function decode(bytes: Uint8Array, what: string): unknown {
  const damaged = (): CentroidalError => new CentroidalError('bad-data', `${what} is damaged: start the run again.`)
  if (bytes.length < 4) throw damaged()
  // Arrays are views, which begin at multiples of their elements.
  const own = bytes.byteOffset % ALIGNMENT === 0 ? bytes : bytes.slice()
  const view = new DataView(own.buffer, own.byteOffset, own.byteLength)
  const length = view.getUint32(0, true)
  if (4 + length > own.length) throw damaged()
  let at = aligned(4 + length)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(own.subarray(4, 4 + length))
    return restored(JSON.parse(text))
  } catch (error) {
    if (error instanceof CentroidalError) throw error
    throw damaged()
  }

  /** In the order in which the arrays were met when encoding. */
  function restored(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(restored)
    if (Object.hasOwn(value, MARK)) return special(value as Record<string, unknown>)
    // No prototype: a field named __proto__ is a field.
    const fields: Record<string, unknown> = Object.create(null)
    for (const [name, field] of Object.entries(value)) fields[name] = restored(field)
    return fields
  }

  function special({ [MARK]: kind, length: count }: Record<string, unknown>): unknown {
    if (kind === 'Infinity' || kind === '-Infinity' || kind === 'NaN') return Number(kind)
    if (typeof kind !== 'string' || !Object.hasOwn(KINDS, kind)) throw damaged()
    const Values = KINDS[kind as Kind]
    if (typeof count !== 'number' || !Number.isSafeInteger(count) || count < 0) throw damaged()
    const end = at + count * Values.BYTES_PER_ELEMENT
    if (end > own.length) throw damaged()
    const values = new Values(own.buffer as ArrayBuffer, own.byteOffset + at, count)
    at = aligned(end)
    return values
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}

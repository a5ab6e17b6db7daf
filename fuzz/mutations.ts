/** Ways to damage bytes and JSON. */
import type { Draw } from './draw.ts'

/** One damage, and what it is. */
export interface Damaged {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly how: string
}

/** Texts that parsers trip over. */
const TOKENS = [
  'nan', 'NaN', 'inf', '-inf', '1e999', '-1', '0', '1e-400', '', ' ', '\n', '\r\n', '\t', ',', ';', '"', "'", '\0', '\u2028', '\ufeff',
  '(', ')', '()', '(0,)', '(0, 3)', '(3, 0)', '(-1, 3)', '(1e3, 2)', '(9999999999999999999, 1)', '(4294967296, 4294967296)', '(2L, 3L)',
  "'<f4'", "'>f4'", "'<f8'", "'<i8'", "'|u1'", "'|O'", "'__proto__'", "'constructor'", "'toString'", "'hasOwnProperty'", 'True', 'None',
  "[('a', '<f4')]", 'shape', 'descr', 'fortran_order', '2147483647', '4294967295', '18446744073709551615', '0x10', '1_000', '١', '1,5',
] // biome-ignore format: a table reads better in few lines

/** Numbers of 1 to 8 bytes that sizes should not be. */
const SIZES = [0, 1, 2, 3, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]

/** Damages bytes once. */
export function damage(draw: Draw, bytes: Uint8Array, text = false): Damaged {
  const size = bytes.length
  const kind = draw.below(text ? 10 : 9)
  const out = Uint8Array.from(bytes)
  const at = draw.below(Math.max(size, 1))
  if (size === 0 || kind === 0) return { bytes: draw.bytes(draw.below(64)), how: 'random bytes' }
  if (kind === 1) {
    out[at] ^= 1 << draw.below(8)
    return { bytes: out, how: `a bit of byte ${at} flipped` }
  }
  if (kind === 2) {
    out[at] = draw.pick([0, 255, 127, 128, 10, 32, 39, 44, 45, 46, draw.below(256)])
    return { bytes: out, how: `byte ${at} set to ${out[at]}` }
  }
  if (kind === 3) return { bytes: out.slice(0, at), how: `cut at byte ${at}` }
  if (kind === 4) {
    return { bytes: joined(out, draw.bytes(draw.between(1, 40))), how: 'random bytes at the end' }
  }
  if (kind === 5) {
    const count = draw.between(1, Math.min(16, size))
    return { bytes: joined(out.slice(0, at), out.slice(at + count)), how: `${count} bytes removed at ${at}` }
  }
  if (kind === 6) {
    const from = draw.below(size)
    const piece = out.slice(from, from + draw.between(1, 64))
    return {
      bytes: joined(out.slice(0, at), piece, out.slice(at)),
      how: `${piece.length} bytes copied from ${from} to ${at}`,
    }
  }
  if (kind === 7) {
    const width = draw.pick([1, 2, 4, 8])
    const place = Math.max(0, Math.min(at, size - width))
    const value = draw.pick(SIZES)
    const view = new DataView(out.buffer)
    for (let i = 0; i < width && place + i < size; i++) view.setUint8(place + i, Math.floor(value / 256 ** i) & 255)
    return { bytes: out, how: `${width} bytes at ${place} set to ${value}` }
  }
  const token = new TextEncoder().encode(draw.pick(TOKENS))
  // Over what is there, or between.
  const skipped = draw.chance(0.5) ? token.length : 0
  return {
    bytes: joined(out.slice(0, at), token, out.slice(at + skipped)),
    how: `${JSON.stringify(new TextDecoder().decode(token))} at byte ${at}`,
  }
}

export function joined(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    out.set(part, at)
    at += part.length
  }
  return out
}

/** Values that JSON can hold and readers rarely expect. */
export function nastyJson(draw: Draw, old: unknown): unknown {
  const near = typeof old === 'number' ? [old + 1, old - 1, -old, old * 2, old + 0.5, old / 2, String(old)] : []
  const switched = typeof old === 'boolean' ? [!old] : []
  const plain = [
    null,
    -1,
    0,
    1,
    2,
    1.5,
    1e308,
    1e-320,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    -(2 ** 53),
    true,
    false,
    '',
    'x',
    [],
    {},
  ]
  const odd = [
    '__proto__',
    'constructor',
    'nan',
    '../secret',
    '\0',
    'a'.repeat(5000),
    [null],
    [[]],
    { length: 5 },
    { text: '<b>' },
  ]
  const deep = [nested(200), Array.from({ length: 3000 }, (_, i) => i), { toString: 1 }, { valueOf: 'x' }]
  return draw.pick<unknown>([...near, ...near, ...switched, ...plain, ...odd, ...deep])
}

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

/** Edits a JSON value in one random place: replaces, removes, adds or swaps, or puts a given value there. */
export function editJson(draw: Draw, root: Record<string, unknown>, given?: unknown): string {
  const places = placesOf(root)
  const { holder, key, path } = draw.pick(places)
  const action = given === undefined ? draw.below(10) : 9
  if (action === 0) {
    if (Array.isArray(holder)) holder.splice(Number(key), 1)
    else delete (holder as Record<string, unknown>)[key]
    return `${path} removed`
  }
  if (action === 1) {
    const name = draw.pick(['__proto__', 'constructor', 'extra', '../secret', ''])
    Object.defineProperty(holder, name, {
      value: nastyJson(draw, 0),
      enumerable: true,
      configurable: true,
      writable: true,
    })
    return `${path}: ${JSON.stringify(name)} added beside it`
  }
  if (action === 2) {
    const other = draw.pick(places)
    const kept = other.holder[other.key as never] as unknown
    ;(other.holder as Record<string, unknown>)[other.key] = holder[key as never]
    ;(holder as Record<string, unknown>)[key] = kept
    return `${path} and ${other.path} swapped`
  }
  const value = given ?? nastyJson(draw, holder[key as never])
  ;(holder as Record<string, unknown>)[key] = value
  return `${path} = ${JSON.stringify(value)?.slice(0, 80)}`
}

interface Place {
  readonly holder: Record<string, unknown> | unknown[]
  readonly key: string
  readonly path: string
}

/** Every value of a JSON tree, few of long arrays. */
function placesOf(holder: Record<string, unknown> | unknown[], path = ''): Place[] {
  const keys = Object.keys(holder)
  const kept = Array.isArray(holder) && keys.length > 6 ? [...keys.slice(0, 3), ...keys.slice(-2)] : keys
  return kept.flatMap((key) => {
    const value = (holder as Record<string, unknown>)[key]
    const own: Place = { holder, key, path: `${path}/${key}` }
    const inner =
      typeof value === 'object' && value !== null ? placesOf(value as Record<string, unknown>, own.path) : []
    return [own, ...inner]
  })
}

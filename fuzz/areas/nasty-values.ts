/** Values that do not belong where they are put, by what is expected there. */
import { matrix, openDevice, sparseMatrix } from '../../src/index.ts'
import type { Draw } from '../draw.ts'
import { OwnError } from '../judge.ts'

/** What a place takes. */
export type Expected =
  | 'whole'
  | 'real'
  | 'switch'
  | 'text'
  | 'location'
  | 'function'
  | 'signal'
  | 'device'
  | 'vectors'
  | 'numbers'
  | 'words'
  | 'options'
  | 'other'

/** A value, and whether it must be refused. Undefined: it may be accepted or refused. */
export interface Nasty {
  readonly value: unknown
  readonly text: string
  readonly refused: boolean | undefined
}

const thrower = new Proxy(
  {},
  {
    get: () => {
      throw new OwnError('of a proxy')
    },
    has: () => {
      throw new OwnError('of a proxy')
    },
    ownKeys: () => {
      throw new OwnError('of a proxy')
    },
  },
)

const NUMBERS = [
  0, -0, 1, -1, 2, 0.5, -1.5, 1e-320, 1e21, 1e38, 3.5e38, 1e300, -1e300, 2 ** 31, 2 ** 32, 2 ** 32 + 5, 2 ** 53, 2 ** 53 + 2, 255, 256, 257,
  Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY,
] // biome-ignore format: a table

/** Values of types that no argument of the library has. */
function strange(draw: Draw): Nasty {
  return draw.pick<() => Nasty>([
    () => ({ value: null, text: 'null', refused: true }),
    () => ({ value: Symbol('x'), text: 'a symbol', refused: true }),
    () => ({ value: 7n, text: '7n', refused: true }),
    () => ({ value: new Date(0), text: 'a date', refused: true }),
    () => ({ value: new Map(), text: 'a map', refused: undefined }),
    () => ({ value: Object.create(null), text: 'an object without prototype', refused: undefined }),
    () => ({ value: thrower, text: 'a proxy that throws', refused: undefined }),
    () => ({ value: { valueOf: () => 3 }, text: 'an object with valueOf', refused: undefined }),
    () => ({ value: Promise.resolve(3), text: 'a promise', refused: true }),
    () => ({ value: new WeakMap(), text: 'a weak map', refused: true }),
    () => ({ value: /x/, text: 'a regular expression', refused: true }),
    () => ({ value: new ArrayBuffer(8), text: 'an ArrayBuffer', refused: true }),
  ])()
}

const TEXTS = [
  '',
  'x',
  '3',
  '-1',
  'NaN',
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'a'.repeat(10_000),
  '\0',
  '\u202e',
]

/** A value for a place that expects something. */
export async function nastyFor(draw: Draw, expected: Expected): Promise<Nasty> {
  if (draw.chance(0.15)) {
    const odd = strange(draw)
    // Objects of any kind are read as options, by their own keys.
    return expected === 'options' || expected === 'other'
      ? { ...odd, refused: odd.value === null ? true : undefined }
      : odd
  }
  const number = draw.pick(NUMBERS)
  const text = draw.pick(TEXTS)
  const asNumber = (refused: boolean | undefined): Nasty => ({ value: number, text: String(number), refused })
  const asText = (refused: boolean | undefined): Nasty => ({
    value: text,
    text: JSON.stringify(text.slice(0, 40)),
    refused,
  })
  switch (expected) {
    case 'whole':
      return draw.chance(0.7)
        ? asNumber(Number.isInteger(number) ? undefined : true)
        : draw.pick([asText(true), boxed(draw), list()])
    case 'real':
      return draw.chance(0.7)
        ? asNumber(Number.isNaN(number) ? true : undefined)
        : draw.pick([asText(true), boxed(draw), list()])
    case 'switch':
      return draw.pick([asNumber(true), asText(true), boxed(draw), list()])
    case 'text':
      return draw.pick([asText(true), asText(true), asNumber(true), list(), boxed(draw)])
    case 'location':
      return draw.pick([
        asNumber(true),
        list(),
        asText(undefined),
        { value: new URL('http://x/y.npy'), text: 'a URL', refused: true },
      ])
    case 'function':
      return draw.pick([asNumber(true), asText(true), list(), { value: {}, text: '{}', refused: true }])
    case 'signal':
      return draw.pick([
        asNumber(true),
        asText(true),
        list(),
        { value: { aborted: 1 }, text: '{ aborted: 1 }', refused: true },
      ])
    case 'device':
      return nastyDevice(draw, asNumber(true), asText(true))
    case 'vectors':
      return nastyVectors(draw)
    case 'numbers':
      return nastyList(draw)
    case 'words':
      return draw.pick([asNumber(true), asText(true), ...floats()])
    case 'options':
      return draw.pick([asNumber(true), asText(true), { value: { bogus: 1 }, text: '{ bogus: 1 }', refused: true }])
    default:
      return draw.pick([
        asNumber(undefined),
        asText(undefined),
        list('maybe'),
        { value: {}, text: '{}', refused: undefined },
      ])
  }
}

function boxed(draw: Draw): Nasty {
  return draw.pick([
    { value: {}, text: '{}', refused: true },
    { value: () => 3, text: 'a function', refused: true },
    { value: Object(3), text: 'Object(3)', refused: true },
  ])
}

function list(refused: true | 'maybe' = true): Nasty {
  return { value: [3], text: '[3]', refused: refused === true ? true : undefined }
}

function floats(): Nasty[] {
  return [
    { value: Float32Array.of(1.5, 2), text: 'a Float32Array', refused: true },
    { value: new Uint8Array(3), text: 'a Uint8Array', refused: undefined },
    { value: new BigInt64Array(2), text: 'a BigInt64Array', refused: true },
    { value: {}, text: '{}', refused: true },
  ]
}

async function nastyDevice(draw: Draw, number: Nasty, text: Nasty): Promise<Nasty> {
  if (draw.chance(0.2)) {
    const device = await openDevice({ kind: 'cpu', shared: false })
    await device.close()
    return { value: device, text: 'a closed device', refused: true }
  }
  return draw.pick<Nasty>([
    number,
    text,
    list(),
    { value: { kind: 'gpu' }, text: "{ kind: 'gpu' }", refused: true },
    { value: { kind: 'cpu', threads: draw.pick([0, -1, 1.5, 1e9, Number.NaN, '2']) }, text: 'threads', refused: true },
    {
      value: { kind: 'cpu', shared: false, memoryBytes: draw.pick([Number.NaN, -1, '5', {}]) },
      text: 'memoryBytes',
      refused: true,
    },
    { value: { kind: 'cpu', bogus: 1 }, text: '{ bogus: 1 }', refused: true },
    { value: { info: {}, allocate: 1 }, text: 'half a device', refused: true },
  ])
}

function nastyList(draw: Draw): Nasty {
  return draw.pick<Nasty>([
    { value: 5, text: '5', refused: true },
    { value: 'abc', text: '"abc"', refused: true },
    { value: {}, text: '{}', refused: true },
    { value: [], text: '[]', refused: undefined },
    { value: { length: -1 }, text: '{ length: -1 }', refused: true },
    { value: { length: 2 ** 40 }, text: '{ length: 2 ** 40 }', refused: true },
    { value: [0, 1, 'a'], text: "[0, 1, 'a']", refused: true },
    { value: [null, 1], text: '[null, 1]', refused: true },
    { value: [1, undefined], text: '[1, undefined]', refused: true },
    { value: [1n], text: '[1n]', refused: true },
    { value: [Symbol('x')], text: '[a symbol]', refused: true },
    { value: new BigInt64Array(3), text: 'a BigInt64Array', refused: true },
    { value: [Number.NaN, -1, 1e300], text: '[NaN, -1, 1e300]', refused: undefined },
    { value: [-1, 0, 1], text: '[-1, 0, 1]', refused: undefined },
  ])
}

function nastyVectors(draw: Draw): Nasty {
  const source = (parts: object): object => ({
    rows: 4,
    cols: 2,
    type: 'f32',
    name: 'odd',
    read: async () => new Float32Array(8),
    ...parts,
  })
  return draw.pick<() => Nasty>([
    () => ({ value: 5, text: '5', refused: true }),
    () => ({ value: 'abc', text: '"abc"', refused: true }),
    () => ({ value: {}, text: '{}', refused: true }),
    () => ({ value: [[]], text: '[[]]', refused: true }),
    () => ({ value: [1, 2], text: '[1, 2]', refused: true }),
    () => ({ value: [[1, 2], [3, null]], text: '[[1, 2], [3, null]]', refused: true }),
    () => ({ value: [[1, 2], [3, '']], text: "[[1, 2], [3, '']]", refused: true }),
    () => ({ value: [[1, 2], [3]], text: '[[1, 2], [3]]', refused: true }),
    () => ({ value: [[1, 2], null], text: '[[1, 2], null]', refused: true }),
    // biome-ignore lint/suspicious/noSparseArray: holes are what is tried
    () => ({ value: [[1, 2], , [3, 4]], text: '[[1, 2], , [3, 4]]', refused: true }),
    () => ({ value: [[1n, 2n]], text: '[[1n, 2n]]', refused: true }),
    () => ({ value: [[Symbol('x'), 2]], text: '[[a symbol, 2]]', refused: true }),
    () => ({ value: [[Number.NaN, 1], [2, 3]], text: '[[NaN, 1], [2, 3]]', refused: undefined }),
    () => ({ value: { rows: 3, cols: 2, data: new Float32Array(5) }, text: '5 numbers for 3 x 2', refused: true }),
    () => ({ value: { rows: -1, cols: -2, data: new Float32Array(2) }, text: '-1 x -2', refused: true }),
    () => ({ value: { rows: '3', cols: 2, data: new Float32Array(6) }, text: "rows '3'", refused: true }),
    () => ({ value: { rows: 3, cols: 2, data: new Float64Array(6) }, text: 'a Float64Array', refused: false }),
    () => ({ value: { rows: 3, cols: 2, data: [1, 2, 3, 4, 5, 6] }, text: 'data as a plain array', refused: false }),
    () => ({ value: { rows: 3, cols: 2, data: detached() }, text: 'a detached buffer', refused: true }),
    () => ({ value: source({ cols: 0 }), text: 'a source of 0 columns', refused: true }),
    () => ({ value: source({ rows: 2.5 }), text: 'a source of 2.5 rows', refused: true }),
    () => ({ value: source({ rows: Number.NaN }), text: 'a source of NaN rows', refused: true }),
    () => ({ value: source({ rows: -3 }), text: 'a source of -3 rows', refused: true }),
    () => ({ value: source({ type: 'constructor' }), text: "a source of type 'constructor'", refused: true }),
    () => ({ value: source({ read: async () => new Float32Array(3) }), text: 'a source that gives too few', refused: true }),
    () => ({ value: source({ read: async () => undefined }), text: 'a source that gives undefined', refused: true }),
    () => ({ value: source({ read: async () => 'abcdefgh' }), text: 'a source that gives text', refused: true }),
    () => ({ value: source({ read: () => Promise.reject(new OwnError('of read')) }), text: 'a source that rejects', refused: undefined }),
    () => ({ value: { ...sparseMatrix({ offsets: [0, 1], columns: [0], values: [1] }, 1, 2), offsets: Uint32Array.of(0, 9) }, text: 'offsets beyond the end', refused: true }),
    () => ({ value: matrix(new Float32Array(0), 0, 2), text: 'no rows', refused: undefined }),
  ])() // biome-ignore format: a table
}

function detached(): Float32Array {
  const data = new Float32Array(6)
  structuredClone(data.buffer, { transfer: [data.buffer] })
  return data
}

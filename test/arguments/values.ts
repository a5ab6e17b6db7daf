/** Values that callers pass by mistake, and which of them each kind of argument takes. */

/** Thrown by the getters below: an error of the caller's own passes through. */
export class CallersError extends Error {}

function detached(): Float32Array {
  const array = new Float32Array(4)
  structuredClone(array.buffer, { transfer: [array.buffer] })
  return array
}

/** Without its second entry. */
function withHole<T>(...values: T[]): T[] {
  delete values[1]
  return values
}

function* endless(): Generator<number> {
  for (;;) yield 1
}

const throwing = (): object =>
  new Proxy(
    {},
    {
      get() {
        throw new CallersError('thrown by a getter')
      },
      ownKeys() {
        throw new CallersError('thrown by a getter')
      },
    },
  )

/** Made anew for each call, as some can be used once only. */
export const WRONG: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  true: () => true,
  false: () => false,
  zero: () => 0,
  'minus one': () => -1,
  half: () => 0.5,
  NaN: () => Number.NaN,
  Infinity: () => Number.POSITIVE_INFINITY,
  '-Infinity': () => Number.NEGATIVE_INFINITY,
  '2^31': () => 2 ** 31,
  '2^53 - 1': () => 2 ** 53 - 1,
  '1e300': () => 1e300,
  'empty text': () => '',
  'text of a number': () => '3',
  text: () => 'abc',
  'text constructor': () => 'constructor',
  'text __proto__': () => '__proto__',
  'text toString': () => 'toString',
  'long text': () => 'x'.repeat(1e6),
  'text with a zero byte': () => 'a\0b',
  symbol: () => Symbol('s'),
  bigint: () => 10n,
  'long bigint': () => 10n ** 5000n,
  'empty array': () => [],
  'array of text': () => ['a', 'b'],
  'array with null': () => [1, null],
  'array with a hole': () => withHole(1, 2, 3),
  'array of NaN': () => [Number.NaN],
  'array of bigints': () => [1n, 2n],
  'array of symbols': () => [Symbol('s')],
  object: () => ({}),
  'object without a prototype': () => Object.create(null),
  'frozen object': () => Object.freeze({}),
  'object with odd constructor': () => ({ constructor: { name: Symbol('s') } }),
  'object with own __proto__': () => JSON.parse('{"__proto__": {"k": 1}}'),
  'object of an unknown option': () => ({ nonsense: 1 }),
  'endless array-like': () => ({ length: 1e12 }),
  'negative array-like': () => ({ length: -1 }),
  'throwing proxy': throwing,
  function: () => () => {},
  date: () => new Date(0),
  'regular expression': () => /x/,
  map: () => new Map(),
  set: () => new Set(['a']),
  promise: () => Promise.resolve(1),
  'endless iterable': endless,
  'Float64Array of NaN': () => Float64Array.of(Number.NaN),
  BigInt64Array: () => new BigInt64Array(2),
  DataView: () => new DataView(new ArrayBuffer(8)),
  ArrayBuffer: () => new ArrayBuffer(8),
  'detached array': detached,
}

/** Names of the values above that are right for a kind of argument, or that callers may give for it. */
export const TAKEN = {
  /** Nothing of the list is right. */
  none: [],
  whole: ['2^31', '2^53 - 1'],
  'whole or zero': ['zero', '2^31', '2^53 - 1'],
  real: ['zero', 'half', 'Infinity', '2^31', '2^53 - 1', '1e300'],
  share: ['zero', 'half'],
  flag: ['true', 'false'],
  callback: ['function'],
  options: ['object', 'object without a prototype', 'frozen object'],
  path: ['text of a number', 'text', 'text constructor', 'text __proto__', 'text toString'],
  text: [
    'text of a number',
    'text',
    'text constructor',
    'text __proto__',
    'text toString',
    'long text',
    'text with a zero byte',
  ],
  numbers: ['empty array', 'array of NaN', 'Float64Array of NaN'],
  'whole numbers': ['empty array'],
} satisfies Record<string, readonly (keyof typeof WRONG)[]>

export type Kind = keyof typeof TAKEN

/** Vectors with something wrong inside. None is taken anywhere. */
export const WRONG_VECTORS: Readonly<Record<string, () => unknown>> = {
  'null in a row': () => [
    [1, 2],
    [3, null],
  ],
  'empty text in a row': () => [
    [1, 2],
    [3, ''],
  ],
  'text in a row': () => [
    [1, 2],
    ['3', 4],
  ],
  'undefined in a row': () => [
    [1, 2],
    [3, undefined],
  ],
  'a bigint in a row': () => [
    [1, 2],
    [3, 4n],
  ],
  'true in a row': () => [
    [1, 2],
    [3, true],
  ],
  'an array in a row': () => [
    [1, 2],
    [3, [4]],
  ],
  'NaN in a row': () => [
    [1, 2],
    [3, Number.NaN],
  ],
  'a hole in a row': () => [[1, 2, 3], withHole(1, 2, 3)],
  'a missing row': () => withHole([1, 2], [3, 4], [5, 6]),
  'a row of null': () => [[1, 2], null],
  'rows of text': () => ['ab', 'cd'],
  'a row of bigints': () => [[1, 2], new BigInt64Array(2)],
  'empty rows': () => [[], []],
  'data of 16-bit integers': () => ({ data: new Int16Array(4), rows: 2, cols: 2 }),
  'data of the wrong length': () => ({ data: new Float32Array(5), rows: 2, cols: 2 }),
  'detached data': () => ({ data: detached(), rows: 2, cols: 2 }),
  'no columns': () => ({ data: new Float32Array(0), rows: 2, cols: 0 }),
  'rows that are text': () => ({ data: new Float32Array(4), rows: '2', cols: 2 }),
  'rows without end': () => ({ data: new Float32Array(4), rows: Number.POSITIVE_INFINITY, cols: 2 }),
  'columns beyond measure': () => ({ data: new Float32Array(0), rows: 0, cols: 1e300 }),
  'a sparse matrix of nonsense': () => ({
    rows: 2,
    cols: 2,
    offsets: 'ab',
    columns: new Uint32Array(1),
    values: new Float32Array(1),
  }),
  'a source without columns': () => source({ cols: 0 }),
  'a source of half a row': () => source({ rows: 0.5 }),
  'a source without a type': () => source({ type: undefined }),
  'a source of another type': () => source({ type: 'constructor' }),
  'a source that reads nothing': () => source({ read: async () => undefined }),
  'a source that reads too little': () => source({ read: async () => new Float32Array(1) }),
  'a source that reads doubles': () => source({ read: async () => new Float64Array(8) }),
  'a source that cannot be closed': () => source({ close: 3 }),
  'a source of nonsense': () => source({ sparse: 'abc' }),
}

function source(change: object): object {
  return { rows: 4, cols: 2, type: 'f32', name: 'four rows', read: async () => new Float32Array(8), ...change }
}

/** Signals with something wrong. */
export const WRONG_SIGNALS: Readonly<Record<string, () => unknown>> = {
  'a controller': () => new AbortController(),
  'an object like a signal': () => ({ aborted: false }),
}

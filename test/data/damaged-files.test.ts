/** Files of every format, damaged at random: the reader gives data, or one CentroidalError whose sentence makes sense. */
import { describe, expect, test } from 'vitest'
import type { ByteSource } from '../../src/core/bytes.ts'
import { CentroidalError } from '../../src/core/errors.ts'
import { createRandom, type Random } from '../../src/core/random.ts'
import { sparseMatrix } from '../../src/core/sparse.ts'
import { clutoBytes, readCluto } from '../../src/data/cluto.ts'
import { readAs } from '../../src/data/convert.ts'
import { openCsv } from '../../src/data/csv.ts'
import { npyBytes, npyHeader, openNpy } from '../../src/data/npy.ts'
import { npzBytes, readNpz } from '../../src/data/npz.ts'
import type { Table } from '../../src/data/table.ts'
import { openVecs, vecsEncoder } from '../../src/data/vecs.ts'
import { fuzzSeed } from './fuzz-seed.ts'
import { concat, encoded, memorySource } from './memory-source.ts'

const CASES = 300
const SEED = fuzzSeed('damaged-files.test.ts')

const text = (content: string): Uint8Array => new TextEncoder().encode(content)
const M = sparseMatrix(
  { offsets: [0, 2, 2, 4, 7], columns: [1, 4, 0, 2, 0, 1, 3], values: [1.5, -2, 3, 0.25, 1, 1, 1] },
  4,
  5,
)
const floats = Float32Array.from({ length: 24 }, (_, i) => i / 3)

async function readTable(table: Promise<Table>): Promise<void> {
  const opened = await table
  await opened.read(0, opened.rows)
  await readAs(opened, 'f32', 0, opened.rows)
}

const FORMATS: Record<string, { files: Uint8Array[]; read(source: ByteSource): Promise<unknown> }> = {
  npy: {
    files: [
      concat(npyHeader([6, 4], 'f32'), new Uint8Array(floats.buffer)),
      concat(npyBytes('<i8', '(3,)'), new Uint8Array(BigInt64Array.of(1n, -2n, 3n).buffer)),
      npyHeader([0, 4], 'f32'),
    ],
    read: (source) => readTable(openNpy(source)),
  },
  npz: { files: [npzBytes(M)], read: readNpz },
  fvecs: { files: [encoded(vecsEncoder('fvecs', 4), floats)], read: (source) => readTable(openVecs(source, 'fvecs')) },
  bvecs: {
    files: [encoded(vecsEncoder('bvecs', 3), Uint8Array.of(1, 2, 3, 4, 5, 6))],
    read: (source) => readTable(openVecs(source, 'bvecs')),
  },
  csv: {
    files: [text('1,2,3\n4,5,6\n'), text('a b\n1 2\n\n# c\n3 4'), text('\ufeffx;y\r\n"1";"2.5e3"\r\nnan;-inf\r\n')],
    read: (source) => readTable(openCsv(source)),
  },
  mat: { files: [clutoBytes(M), text('2 3\n1 2 3\n4 5 6\n')], read: readCluto },
}

const WORDS = [
  ...['NaN', '-1', '0', '1e999', 'Infinity', '99999999999999999999', '9'.repeat(400), '4294967296', '0x10', '1,', '\n'],
  ...['__proto__', 'constructor', 'toString', '>f4', '<f2', '<i8', '|O', '(', '()', '(0,)', '(1, 2, 3)', '(4L,)'],
  ...[
    '(1 2,)',
    '(-4,)',
    '(0, 99999999999999999999)',
    `(0, ${'9'.repeat(400)})`,
    'True',
    '\0',
    '"',
    "'",
    ';',
    '\t',
    '#',
  ],
].map(text)
const NUMBERS = [0, -1, 1, 0x7fffffff, -0x80000000, 0xffff]

function damage(good: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  let bytes: Uint8Array = good.slice()
  for (let times = random.below(3); times >= 0; times--) {
    const at = random.below(bytes.length + 1)
    const [start, rest] = [bytes.slice(0, at), bytes.slice(at)]
    switch (random.below(7)) {
      case 0:
        if (at < bytes.length) bytes[at] ^= 1 << random.below(8)
        break
      case 1:
        bytes = start
        break
      case 2:
        bytes = concat(start, bytes.slice(random.below(bytes.length + 1)))
        break
      case 3:
        bytes = concat(start, other.slice(random.below(other.length)))
        break
      case 4:
        bytes = concat(start, WORDS[random.below(WORDS.length)], rest)
        break
      case 5:
        bytes = concat(start, WORDS[random.below(WORDS.length)], rest.slice(random.below(8)))
        break
      default:
        if (rest.length >= 4) new DataView(bytes.buffer).setInt32(at, NUMBERS[random.below(NUMBERS.length)], true)
    }
  }
  return bytes
}

/** A complaint about how the file was refused, if there is one. */
async function complaint(
  read: (source: ByteSource) => Promise<unknown>,
  bytes: Uint8Array,
): Promise<string | undefined> {
  try {
    await read(memorySource('x', bytes))
    return undefined
  } catch (error) {
    if (!(error instanceof CentroidalError)) return `raw ${(error as Error).stack}`
    // What is quoted from the file may say anything.
    const own = error.message.replace(/"(?:[^"\\]|\\.)*"|shape \([^)]*\)/g, '')
    if (/NaN|undefined|\[object/.test(own)) return error.message
    return error.message.length > 700 ? `${error.message.length} characters` : undefined
  }
}

const everyFile = Object.values(FORMATS).flatMap(({ files }) => files)

test.each(Object.keys(FORMATS))('%s, damaged at random', async (format) => {
  const { files, read } = FORMATS[format]
  const random = createRandom(SEED)
  for (let i = 0; i < CASES; i++) {
    const bytes = damage(files[i % files.length], everyFile[random.below(everyFile.length)], random)
    expect(await complaint(read, bytes), `case ${i}: ${JSON.stringify(Buffer.from(bytes).toString('latin1'))}`).toBe(
      undefined,
    )
  }
})

test('headers of .npy with any type and shape', async () => {
  const { read } = FORMATS.npy
  for (const description of WORDS.map((word) => new TextDecoder().decode(word))) {
    for (const shape of ['(2, 2)', description]) {
      const bytes = concat(npyBytes(shape === description ? '<f4' : description, shape), new Uint8Array(16))
      expect(await complaint(read, bytes), description).toBe(undefined)
    }
  }
})

describe('text that would take far more time or memory than it has bytes', () => {
  const refusal = async (name: string, content: Uint8Array): Promise<string> => {
    const { read } = FORMATS[name]
    const error: unknown = await read(memorySource('x', content)).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(CentroidalError)
    return (error as CentroidalError).message
  }

  test('a long first row and many short ones', async () => {
    const content = text(`${'1,'.repeat(300_000)}1\n${'1\n'.repeat(300_000)}`)
    expect(await refusal('csv', content)).toMatch(/line 2: expected 300001 numbers, as in line 1, found 1/)
  })

  test('a cell of very many digits that is no number', async () => {
    expect(await refusal('csv', text(`1\n${'1'.repeat(1_000_000)}x\n`))).toMatch(/line 2, column 1/)
  }, 5000)

  test('a first row of millions of cells', async () => {
    const table = await openCsv(
      memorySource(
        'x',
        new Uint8Array(6_000_001).fill(0x31).map((_, i) => (i % 2 ? 0x2c : 0x31)),
      ),
    )
    expect([table.rows, table.cols]).toEqual([1, 3_000_001])
  })

  test('one row with a number too many, millions of times', async () => {
    expect(await refusal('mat', text(`1 2\n${'1 '.repeat(1_000_000)}\n`))).toMatch(
      /line 2: there are more than 2 numbers/,
    )
  })
})

/** Files of every format, damaged at random: the reader gives data, or one CentroidalError whose sentence makes sense. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { describe, expect, inject, test } from 'vitest'
import type { ByteSource } from '../../src/core/bytes.ts'
import { CentroidalError } from '../../src/core/errors.ts'
import { createRandom, type Random } from '../../src/core/random.ts'
import { type SparseMatrix, sparseMatrix } from '../../src/core/sparse.ts'
import { openArrow } from '../../src/data/arrow.ts'
import { clutoBytes, readCluto } from '../../src/data/cluto.ts'
import { readAs } from '../../src/data/convert.ts'
import { openCsv } from '../../src/data/csv.ts'
import { gunzipped } from '../../src/data/gzip.ts'
import { openHdf5 } from '../../src/data/hdf5.ts'
import { openJsonl } from '../../src/data/jsonl.ts'
import { npyBytes, npyHeader, openNpy } from '../../src/data/npy.ts'
import { npzBytes, readNpz } from '../../src/data/npz.ts'
import { openParquet } from '../../src/data/parquet.ts'
import { openSafetensors } from '../../src/data/safetensors.ts'
import type { Table } from '../../src/data/table.ts'
import { openVecs, vecsEncoder } from '../../src/data/vecs.ts'
import { concat, encoded, memorySource } from './memory-source.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const CASES = 300
const SEED = inject('testSeed')

const text = (content: string): Uint8Array => new TextEncoder().encode(content)
const M = sparseMatrix(
  { offsets: [0, 2, 2, 4, 7], columns: [1, 4, 0, 2, 0, 1, 3], values: [1.5, -2, 3, 0.25, 1, 1, 1] },
  4,
  5,
)
const floats = Float32Array.from({ length: 24 }, (_, i) => i / 3)

async function readTable(table: Promise<Table | SparseMatrix>): Promise<void> {
  const opened = await table
  if (!('read' in opened)) return
  try {
    await opened.read(0, opened.rows)
    await opened.names?.()
  } finally {
    await opened.close()
  }
  await readAs(opened, 'f32', 0, opened.type === 'f64' ? opened.rows : 0)
}

const golden = (name: string): Uint8Array => new Uint8Array(readFileSync(new URL(`golden/${name}`, import.meta.url)))

let files = 0

/** HDF5 is read by a library that opens the file itself. It may keep a damaged file open and find it again by its name. */
async function readHdf5(source: ByteSource): Promise<void> {
  const file = path(`damaged-${files++}.h5`)
  await writeFile(file, await source.read(0, source.size))
  await readTable(openHdf5({ ...source, path: file }))
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
  npz: {
    files: [npzBytes(M), golden('sparse-coo.npz'), golden('arrays.npz')],
    read: (source) => readTable(readNpz(source, { dataset: source.size % 2 ? undefined : 'train' })),
  },
  fvecs: { files: [encoded(vecsEncoder('fvecs', 4), floats)], read: (source) => readTable(openVecs(source, 'fvecs')) },
  bvecs: {
    files: [encoded(vecsEncoder('bvecs', 3), Uint8Array.of(1, 2, 3, 4, 5, 6))],
    read: (source) => readTable(openVecs(source, 'bvecs')),
  },
  csv: {
    files: [text('1,2,3\n4,5,6\n'), text('a b\n1 2\n\n# c\n3 4'), text('\ufeffx;y\r\n"1";"2.5e3"\r\nnan;-inf\r\n')],
    read: (source) => readTable(openCsv(source)),
  },
  jsonl: {
    files: [text('[1, 2]\n[3, 4]\n'), golden('embeddings.jsonl')],
    read: (source) => readTable(openJsonl(source)),
  },
  safetensors: { files: [golden('one.safetensors')], read: (source) => readTable(openSafetensors(source)) },
  parquet: {
    files: ['polars-snappy', 'polars-zstd', 'duckdb-lists', 'duckdb-groups'].map((name) => golden(`${name}.parquet`)),
    read: (source) => readTable(openParquet(source)),
  },
  arrow: {
    files: ['polars-long-lz4.arrow', 'polars-zstd.arrow', 'lists.arrow', 'lists.arrows', 'mixed.arrow'].map(golden),
    read: (source) => readTable(openArrow(source)),
  },
  hdf5: { files: [golden('benchmark.hdf5'), golden('chunked.h5')], read: readHdf5 },
  gz: {
    files: [golden('npy-float64.npy.gz')],
    read: async (source) => readTable(openNpy(await gunzipped(source))),
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

describe('files that were cut', () => {
  test.each(Object.keys(FORMATS).filter((format) => !['csv', 'mat', 'jsonl', 'fvecs', 'bvecs'].includes(format)))(
    '%s',
    async (format) => {
      const { files, read } = FORMATS[format]
      for (const file of files) {
        // The last bytes of an Arrow stream only say that it ends.
        const last = format === 'arrow' ? [] : [file.length - 1]
        for (const length of [0, 1, 7, Math.floor(file.length / 2), ...last]) {
          const error: unknown = await read(memorySource('x', file.slice(0, length))).catch((error: unknown) => error)
          expect(error, `${format}, ${length} of ${file.length} bytes`).toBeInstanceOf(CentroidalError)
        }
      }
    },
  )
})

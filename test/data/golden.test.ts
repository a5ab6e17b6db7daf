/** Files that other software wrote: see golden/make.py and golden/make-columns.mjs, which say what they hold. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { cluster, openVectors, type ReadOptions, readIntegers, readSparse, readVectors } from '../../src/index.ts'
import { failure } from './failure.ts'

const FOLDER = fileURLToPath(new URL('golden', import.meta.url))
const golden = (name: string): string => join(FOLDER, name)

const A = Array.from({ length: 15 }, (_, i) => i - 4 + 0.5)
const WHOLE = A.map(Math.floor)
const NAMES = ['ant', 'bee, the', 'c"at', 'dög', 'elk']

async function read(name: string, options: ReadOptions = {}) {
  const source = await openVectors(golden(name), options)
  const data = Array.from(await source.read(0, source.rows))
  // Rows by themselves, backwards, are the same.
  for (let row = source.rows - 1; row >= 0; row--) {
    expect(Array.from(await source.read(row, row + 1))).toEqual(data.slice(row * source.cols, (row + 1) * source.cols))
  }
  const { rows, cols, notes = [] } = source
  const names = await source.names?.()
  await source.close?.()
  return { rows, cols, data, notes, names }
}

describe('NumPy', () => {
  test.each([
    ...['float16', 'float32', 'float64', 'fortran', 'big-endian'].map((name) => [name, A] as const),
    ...['int8', 'int16', 'int32', 'int64', 'big-endian-fortran'].map((name) => [name, WHOLE] as const),
    ...['uint8', 'uint16', 'uint32', 'uint64'].map((name) => [name, WHOLE.map((value) => value + 4)] as const),
    ['bool', WHOLE.map((value) => Number(value > 3))] as const,
  ])('%s', async (name, data) => {
    expect(await read(`npy-${name}.npy`)).toEqual({ rows: 5, cols: 3, data, notes: [], names: undefined })
  })

  test('float16 to the last bit, subnormal and infinite numbers too', async () => {
    const { data } = await read('npy-half-special.npy')
    expect(data).toEqual([2 ** -24, -(2 ** -24), 65504, Infinity, -Infinity, Number.NaN, -0, 0.333251953125])
  })

  test('no rows', async () => {
    expect(await read('npy-0-rows.npy')).toMatchObject({ rows: 0, cols: 3 })
    expect(await failure(() => cluster([], { k: 1 }))).toMatch(/is empty/)
  })

  test('complex numbers are refused', async () => {
    expect(await failure(() => read('npy-complex.npy'))).toMatch(/values of type "<c8".*astype\(np\.float32\)/)
  })

  test('labels of any type', async () => {
    for (const name of ['int8', 'int64', 'big-endian-fortran', 'float16']) {
      if (name === 'float16')
        expect(await failure(() => readIntegers(golden('npy-float16.npy')))).toMatch(/whole number/)
      else expect(Array.from((await readIntegers(golden(`npy-${name}.npy`))).data)).toEqual(WHOLE)
    }
  })
})

describe('.npz', () => {
  test('several arrays, of which one is named', async () => {
    expect((await read('arrays.npz#train')).data).toEqual(A)
    expect((await read('arrays.npz', { dataset: 'test' })).data).toEqual(A.slice(0, 6))
    expect(await failure(() => read('arrays.npz'))).toMatch(/several arrays.*train, test.*arrays\.npz#train/)
    expect(await failure(() => read('arrays.npz#query'))).toMatch(/no array "query".*train, test/)
  })

  test('one array, compressed', async () => {
    expect((await read('one-array.npz')).data).toEqual(A)
    expect(await failure(() => readSparse(golden('one-array.npz')))).toMatch(/contains dense rows/)
  })

  test.each(['csr', 'csc', 'coo'])('sparse, %s', async (format) => {
    const m = await readSparse(golden(`sparse-${format}.npz`))
    expect([m.rows, m.cols]).toEqual([3, 5])
    expect([...m.offsets]).toEqual([0, 2, 2, 4])
    expect([...m.columns]).toEqual([1, 4, 0, 2])
    expect([...m.values]).toEqual([1.5, -2, 3, 0.25])
  })

  test('another sparse format', async () => {
    expect(await failure(() => readSparse(golden('sparse-bsr.npz')))).toMatch(/format "bsr".*tocsr\(\)/)
  })
})

describe('HDF5', () => {
  test('of ann-benchmarks: train, or what is named', async () => {
    expect(await read('benchmark.hdf5')).toMatchObject({ rows: 5, cols: 3, data: A })
    expect((await read('benchmark.hdf5#test')).data).toEqual(A.slice(0, 6))
    expect([...(await readIntegers(golden('benchmark.hdf5#neighbors'))).data]).toEqual([0, 1, 1, 0])
    expect(await failure(() => read('benchmark.hdf5#queries'))).toMatch(/no dataset "queries".*train \(5 x 3\)/)
  })

  test('chunks, compression, groups', async () => {
    expect(await read('chunked.h5')).toMatchObject({ rows: 5, cols: 3, data: A })
    expect((await read('chunked.h5#deep/vectors')).data).toEqual(A)
  })

  test('no rows', async () => {
    expect(await read('empty.h5')).toMatchObject({ rows: 0, cols: 3 })
  })

  test('types', async () => {
    expect((await read('types.h5#f8')).data).toEqual(A)
    expect((await read('types.h5#i1')).data).toEqual(WHOLE)
    expect((await read('types.h5#i8')).data).toEqual(WHOLE)
    expect(await failure(() => read('types.h5#f2'))).toMatch(/float16: save it as float32/)
    expect(await failure(() => read('types.h5#words'))).toMatch(/no dataset "words" of numbers/)
    expect(await failure(() => read('types.h5'))).toMatch(/several datasets.*choose one/)
  })
})

describe('safetensors', () => {
  test('the tensor of two dimensions, or what is named', async () => {
    expect((await read('one.safetensors')).data).toEqual(A)
    expect((await read('one.safetensors#bias')).data).toEqual([0, 0, 0])
    expect(await failure(() => read('types.safetensors'))).toMatch(/holds 5 tensors of two dimensions: choose one/)
    expect(await failure(() => read('one.safetensors#w'))).toMatch(/no tensor "w".*weight \(5 x 3\), bias \(3\)/)
  })

  test('types', async () => {
    for (const name of ['bf16', 'f16']) expect((await read(`types.safetensors#${name}`)).data).toEqual(A)
    for (const name of ['i8', 'i64']) expect((await read(`types.safetensors#${name}`)).data).toEqual(WHOLE)
    expect(await failure(() => read('types.safetensors#cube'))).toMatch(/3 dimensions/)
    expect(await failure(() => read('types.safetensors#f8'))).toMatch(/"F8_E4M3": convert it to float32/)
  })
})

describe('pandas', () => {
  test('an index is not part of the vectors, and that is said', async () => {
    const index = 'The first column is an index: it is not part of the vectors.'
    expect(await read('pandas-index.csv')).toEqual({ rows: 5, cols: 3, data: A, notes: [index], names: undefined })
    expect(await read('pandas-index.csv.gz')).toMatchObject({ data: A, notes: [index] })
    const { data, notes } = await read('pandas-index-numbered.csv')
    expect(data).toEqual(A)
    expect(notes).toContain(index)
  })

  test('a header of numbers is a header', async () => {
    const { data, notes } = await read('pandas-numbered.csv')
    expect(data).toEqual(A)
    expect(notes).toEqual(['The first line (0,1,2) was read as a header.'])
    expect((await read('pandas-numbered.csv', { header: false })).rows).toBe(6)
  })

  test('a column of names', async () => {
    for (const file of [
      'pandas-named.csv',
      'pandas-named-index.csv',
      'pandas-named-and-index.csv',
      'pandas-records.jsonl',
    ]) {
      expect(await read(file), file).toMatchObject({ rows: 5, cols: 3, data: A, names: NAMES })
    }
  })

  test('chosen columns', async () => {
    const picked = A.flatMap((_, i) => (i % 3 === 0 ? [A[i + 2], A[i]] : []))
    for (const file of [
      'pandas-index.csv',
      'pandas-named.csv',
      'pandas-records.jsonl',
      'polars-snappy.parquet',
      'polars-lz4.arrow',
    ])
      expect((await read(file, { columns: ['z', 'x'] })).data, file).toEqual(picked)
    expect((await read('npy-float32.npy', { columns: [2, 0] })).data).toEqual(picked)
    expect((await read('arrays.jsonl', { columns: ['2', '0'] })).data).toEqual(picked)
    expect((await read('npy-float32.npy', { columns: ['0-2'] })).data).toEqual(A)
    expect(await failure(() => read('pandas-index.csv', { columns: ['w'] }))).toMatch(
      /no column "w": its columns are 0, "x", "y", "z"/,
    )
    expect(await failure(() => read('npy-float32.npy', { columns: [3] }))).toMatch(
      /no column 3: its columns are 0 to 2/,
    )
    expect(await failure(() => read('pandas-named.csv', { columns: ['name'] }))).toMatch(
      /"name".*does not hold numbers/,
    )
  })

  test('no rows', async () => {
    expect(await failure(() => read('pandas-0-rows.csv'))).toMatch(/has a header line but no rows/)
  })
})

describe('JSON lines', () => {
  test('arrays, and objects with a vector', async () => {
    expect((await read('arrays.jsonl')).data).toEqual(A)
    expect(await read('embeddings.jsonl')).toMatchObject({
      data: A,
      names: ['doc0', 'doc1', 'doc2', 'doc3', 'doc4'],
      notes: ['Column "id" holds text and names the rows.', 'Not part of the vectors: "page".'],
    })
    expect((await read('embeddings.jsonl', { columns: ['page'] })).data).toEqual([0, 1, 2, 3, 4])
  })
})

describe('Parquet', () => {
  test.each(['uncompressed', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli'])('of Polars, %s', async (compression) => {
    expect(await read(`polars-${compression}.parquet`)).toMatchObject({ rows: 5, cols: 3, data: A, names: NAMES })
  })

  test('a column of lists, of DuckDB', async () => {
    expect(await read('duckdb-lists.parquet')).toMatchObject({ rows: 5, cols: 3, data: A, names: NAMES })
  })

  test('several row groups', async () => {
    const source = await openVectors(golden('duckdb-groups.parquet'))
    const row = (i: number): number[] => [Math.floor(i / 500), i % 10]
    expect([source.rows, source.cols]).toEqual([5000, 2])
    expect(Array.from(await source.read(0, 5000))).toEqual(Array.from({ length: 5000 }, (_, i) => row(i)).flat())
    expect(Array.from(await source.read(2047, 2049))).toEqual([...row(2047), ...row(2048)])
    expect(Array.from(await source.read(4999, 5000))).toEqual(row(4999))
  })

  test('missing values, no rows, nested lists, lists of several lengths', async () => {
    expect(await failure(() => read('duckdb-nulls.parquet'))).toMatch(/row 0: column "y" holds no value/)
    expect(await read('duckdb-0-rows.parquet')).toMatchObject({ rows: 0, cols: 2 })
    expect(await failure(() => read('duckdb-nested.parquet'))).toMatch(/vectors in 2 columns, "a" and "b": choose one/)
    expect((await read('duckdb-nested.parquet', { columns: ['a'] })).data).toEqual([1, 2])
    expect(await failure(() => read('duckdb-nested.parquet', { columns: ['nested'] }))).toMatch(/does not hold numbers/)
    expect(await failure(() => read('duckdb-ragged.parquet'))).toMatch(
      /row 1: .* a vector of 1 numbers, and row 0 one of 2/,
    )
  })
})

describe('Arrow', () => {
  test.each(['uncompressed', 'lz4', 'zstd'])('of Polars, %s', async (compression) => {
    expect(await read(`polars-${compression}.arrow`)).toMatchObject({ rows: 5, cols: 3, data: A, names: NAMES })
  })

  test.each(['lz4', 'zstd'])('long enough for %s to pack', async (compression) => {
    const { rows, data } = await readVectors(golden(`polars-long-${compression}.arrow`))
    expect(rows).toBe(3000)
    expect(Array.from(data)).toEqual(Array.from({ length: 3000 }, (_, i) => [i % 7, i % 5]).flat())
  })

  test('lists in two batches, as file and as stream; lists of a fixed size', async () => {
    for (const name of ['lists.arrow', 'lists.arrows'])
      expect(await read(name)).toMatchObject({ data: A, names: NAMES })
    expect((await read('fixed.feather')).data).toEqual(A)
  })

  test('mixed types, missing values, no rows', async () => {
    expect(await read('mixed.arrow')).toMatchObject({ data: [1, 1, 1, 2, -2, 0, 3, 3, 1], names: ['a', 'b', 'a'] })
    expect(await failure(() => read('nulls.arrow'))).toMatch(/row 1: column "x" holds no value/)
    expect(await read('0-rows.arrow')).toMatchObject({ rows: 0, cols: 1 })
  })
})

describe('64-bit floats', () => {
  test('far from zero are clustered by all their digits', async () => {
    const source = await openVectors(golden('npy-far.npy'))
    expect(await failure(() => source.read(0, 4))).toMatch(
      /Column 0 of ".*npy-far\.npy" goes from 1699999998.9999 to 1700000001.0001, where 32-bit floats are 128 apart/,
    )
    const { labels } = await cluster(source, { k: 2, device: 'cpu' })
    expect([labels[0] === labels[1], labels[2] === labels[3], labels[0] !== labels[2]]).toEqual([true, true, true])
  })

  test('a packed .npy keeps them', async () => {
    const source = await openVectors(golden('npy-float64.npy.gz'))
    expect(Array.from(await source.read64!(0, 5))).toEqual(A)
  })
})

test('a format that is not read says which are', async () => {
  expect(await failure(() => openVectors('table.xlsx'))).toMatch(
    /"table\.xlsx" has no extension of a supported format: \.npy .*\.parquet .*\.safetensors.* \.gz\./,
  )
  const bytes = await readFile(golden('npy-float32.npy'))
  const file = new File([bytes], 'numbers.bin')
  expect((await readVectors(file, { format: 'npy' })).rows).toBe(5)
})

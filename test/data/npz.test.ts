import { zipSync } from 'fflate'
import { describe, expect, test } from 'vitest'
import { type SparseMatrix, sparseMatrix } from '../../src/core/sparse.ts'
import { npyHeader } from '../../src/data/npy.ts'
import { npzBytes, readNpz } from '../../src/data/npz.ts'
import { failure } from './failure.ts'
import { concat, memorySource } from './memory-source.ts'
import { fromScipy } from './scipy-files.ts'

const read = (bytes: Uint8Array) => readNpz(memorySource('docs.npz', bytes)) as Promise<SparseMatrix>

const M = {
  rows: 3,
  cols: 5,
  offsets: Uint32Array.of(0, 2, 2, 4),
  columns: Uint32Array.of(1, 4, 0, 2),
  values: Float32Array.of(1.5, -2, 3, 0.25),
}

describe('files of SciPy', () => {
  test.each(['csr, compressed', 'csr, stored'] as const)('reads %s', async (name) => {
    expect(await read(fromScipy(name))).toEqual(M)
  })

  test('reads int64 and float64, sorts columns and adds those that occur twice', async () => {
    expect(await read(fromScipy('int64 and float64'))).toEqual({
      rows: 2,
      cols: 4,
      offsets: Uint32Array.of(0, 2, 3),
      columns: Uint32Array.of(1, 3, 1),
      values: Float32Array.of(1, 2, 7.5),
    })
  })

  test('reads bytes', async () => {
    expect((await read(fromScipy('bytes'))).values).toEqual(Float32Array.of(1, 2, 3, 0))
  })

  test('reads csc', async () => {
    expect(await read(fromScipy('csc'))).toEqual(M)
  })
})

test('what is written is read again, the same bytes each time', async () => {
  expect(await read(npzBytes(M))).toEqual(M)
  expect(npzBytes(M)).toEqual(npzBytes(M))
  const empty = sparseMatrix({ offsets: [0, 0], columns: [], values: [] }, 1, 3)
  expect(await read(npzBytes(empty))).toEqual(empty)
})

describe('broken files', () => {
  test('cut anywhere, it is an error that names the file', async () => {
    const whole = fromScipy('csr, compressed')
    for (let length = 0; length < whole.length; length += 7) {
      expect(await failure(() => read(whole.slice(0, length)))).toMatch(/^bad-file: "docs\.npz/)
    }
  })

  test('no zip at all', async () => {
    expect(await failure(() => read(new TextEncoder().encode('hello')))).toMatch(
      /"docs\.npz" cannot be unpacked \(there is no zip directory at its end\): .*not a zip archive/,
    )
  })

  const whole = (...numbers: number[]): Uint8Array =>
    concat(npyHeader([numbers.length], 'i32'), new Uint8Array(Int32Array.from(numbers).buffer))
  const csr = concat(npyHeader([3], 'u8'), new TextEncoder().encode('csr'))
  const good = {
    'format.npy': csr,
    'shape.npy': whole(2, 3),
    'indptr.npy': whole(0, 1, 2),
    'indices.npy': whole(0, 2),
    'data.npy': whole(5, 6),
  }
  test.each([
    [{ 'shape.npy': whole(2) }, /has shape \(2\): two dimensions/],
    [{ 'shape.npy': whole(3, 3) }, /"docs\.npz" has 3 offsets for 3 rows: 4 are needed/],
    [{ 'indptr.npy': whole(0, 1, 3) }, /offsets of "docs\.npz" go from 0 to 3: .* number of values, 2/],
    [{ 'indptr.npy': whole(0, 5, 2) }, /Row 1 of "docs\.npz" goes from entry 5 to 2/],
    [{ 'indices.npy': whole(0, 3) }, /Row 1 of "docs\.npz" has an entry in column 3: they go from 0 to 2/],
    [{ 'indices.npy': whole(0, -1) }, /column -1/],
    [{ 'indices.npy': whole(0) }, /1 columns for 2 values/],
    [{ 'data.npy': whole(5, 6).slice(0, -1) }, /"docs\.npz, data\.npy" should end at byte/],
    [
      { 'data.npy': concat(npyHeader([2], 'f32'), new Uint8Array(Float32Array.of(1, Number.NaN).buffer)) },
      /Row 1 of "docs\.npz" holds NaN in column 2/,
    ],
  ])('%#', async (change, sentence) => {
    expect(await read(zipSync(good))).toMatchObject({ rows: 2, cols: 3 })
    expect(await failure(() => read(zipSync({ ...good, ...change })))).toMatch(sentence)
  })
})

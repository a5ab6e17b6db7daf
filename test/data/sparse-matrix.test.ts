import { describe, expect, test } from 'vitest'
import { toSource } from '../../src/core/matrix.ts'
import { denseRows, pickRows, sparseMatrix } from '../../src/core/sparse.ts'
import { failure } from './failure.ts'

const parts = { offsets: [0, 2, 2, 3], columns: [0, 2, 1], values: [1, 2, 3] }

test('arrays that are as they should be are not copied', () => {
  const given = {
    offsets: Uint32Array.from(parts.offsets),
    columns: Uint32Array.from(parts.columns),
    values: Float32Array.from(parts.values),
  }
  const m = sparseMatrix(given, 3, 3)
  expect(m.offsets).toBe(given.offsets)
  expect(m.columns).toBe(given.columns)
  expect(m.values).toBe(given.values)
})

test('columns come into order, and those that occur twice are added', () => {
  const m = sparseMatrix({ offsets: [0, 4, 4, 6], columns: [2, 0, 2, 1, 1, 0], values: [1, 2, 3, 4, 5, 6] }, 3, 3)
  expect(m.offsets).toEqual(Uint32Array.of(0, 3, 3, 5))
  expect(m.columns).toEqual(Uint32Array.of(0, 1, 2, 0, 1))
  expect(m.values).toEqual(Float32Array.of(2, 4, 4, 6, 5))
})

test('rows are picked and filled up', () => {
  const m = sparseMatrix(parts, 3, 3)
  const picked = pickRows(m, [2, 0, 2])
  expect(picked.offsets).toEqual(Uint32Array.of(0, 1, 3, 4))
  expect(denseRows(picked, 0, 3)).toEqual(Float32Array.of(0, 3, 0, 1, 0, 2, 0, 3, 0))
  expect(denseRows(picked, 1, 2)).toEqual(Float32Array.of(1, 0, 2))
})

test('a source of sparse rows holds them', async () => {
  const m = sparseMatrix(parts, 3, 3)
  const source = toSource(m)
  expect(source.sparse).toEqual(m)
  expect(await source.read(1, 3)).toEqual(Float32Array.of(0, 0, 0, 0, 3, 0))
})

describe('what cannot be', () => {
  test.each([
    [{}, 3, 0, /Invalid sparse matrix shape: 3 x 0/],
    [{}, 2.5, 3, /Invalid sparse matrix shape: 2.5 x 3/],
    [{ values: [1] }, 3, 3, /3 columns for 1 values/],
    [{ offsets: [0, 3] }, 3, 3, /2 offsets for 3 rows: 4 are needed/],
    [{ offsets: [1, 2, 2, 3] }, 3, 3, /go from 1 to 3/],
    [{ offsets: [0, 2, 1, 3] }, 3, 3, /Row 1 of the input goes from entry 2 to 1/],
    [{ offsets: [0, 0.5, 2, 3] }, 3, 3, /0.5/],
    [{ columns: [0, 3, 1] }, 3, 3, /Row 0 of the input has an entry in column 3: they go from 0 to 2/],
    [{ columns: [0, 2, -1] }, 3, 3, /Row 2 .* column -1/],
    [{ columns: [0, 1.5, 1] }, 3, 3, /column 1.5/],
    [{ values: [1, 2, Number.NaN] }, 3, 3, /Row 2 of the input holds NaN in column 1: remove or fix the row/],
    [{ values: [1, 1e39, 3] }, 3, 3, /Row 0 of the input holds Infinity in column 2/],
    [{ columns: [0, 0, 1], values: [3e38, 3e38, 1] }, 3, 3, /Row 0 of the input holds Infinity in column 0/],
  ])('%#: %o', async (change, rows, cols, sentence) => {
    expect(await failure(() => sparseMatrix({ ...parts, ...change }, rows, cols))).toMatch(sentence)
  })
})

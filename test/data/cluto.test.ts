import { describe, expect, test } from 'vitest'
import { clutoBytes, readCluto } from '../../src/data/cluto.ts'
import { failure } from './failure.ts'
import { memorySource } from './memory-source.ts'

const read = (text: string | Uint8Array) => readCluto(memorySource('docs.mat', text))

const M = {
  rows: 3,
  cols: 5,
  offsets: Uint32Array.of(0, 2, 2, 4),
  columns: Uint32Array.of(1, 4, 0, 2),
  values: Float32Array.of(1.5, -2, 3, 0.1),
}

test('reads sparse rows, columns from 1, an empty line for an empty row', async () => {
  expect(await read('3 5 4\n2 1.5 5 -2\n\n 1 3e0  3 0.1')).toEqual(M)
  expect(await read('3 5 4\r\n5 -2 2 1.5\r\n\r\n1 3 3 .1\r\n\r\n\n')).toEqual(M)
})

test('reads dense rows', async () => {
  expect(await read('2 3\n1 2 3\n4 5 6.5\n')).toEqual({ rows: 2, cols: 3, data: Float32Array.of(1, 2, 3, 4, 5, 6.5) })
})

test('what is written is read again', async () => {
  expect(new TextDecoder().decode(clutoBytes(M))).toBe('3 5 4\n2 1.5 5 -2\n\n1 3 3 0.1\n')
  const values = Float32Array.of(1 / 3, 1e-30, 16777217, -0.1)
  expect(await read(clutoBytes({ ...M, values }))).toEqual({ ...M, values })
})

describe('broken files', () => {
  test.each([
    ['', /"docs\.mat" is empty/],
    ['MATLAB 5.0 MAT-file', /file of MATLAB, not of CLUTO: .*save_npz/],
    ['hello\n', /line 1: "hello" is not a finite number/],
    ['3\n', /line 1: found "3": it gives rows, columns/],
    ['1 0 0\n', /line 1: found/],
    ['2 5 9000\n1 2\n', /line 1: 2 rows and 9000 entries do not fit the file/],
    ['9000 5\n1 2\n', /line 1: 9000 x 5 numbers do not fit the file/],
    ['2 5 2\n1 2 3 4\n', /ends after 1 rows and its first line says 2/],
    ['1 5 1\n1 2 3\n', /line 2: column 3 has no value: pairs/],
    ['1 5 1\n0 2\n', /line 2: column 0 does not exist: columns go from 1 to 5/],
    ['1 5 1\n6 2\n', /line 2: column 6/],
    ['1 5 1\n1 2 2 2\n', /line 2: there are more than the 1 entries/],
    ['1 5 2\n1 2     \n', /has 1 entries and its first line says 2/],
    ['1 5 1\n1 nan\n', /line 2: "nan" is not a finite number/],
    ['1 5 1\n1 1e99\n', /line 2: "1e99" is not a finite number of 32 bits/],
    ['1 5 1\n1 2\n1 2\n', /line 3: there are more lines than the 1 rows/],
    ['1 2\n1\n', /line 2: there are 1 numbers, 2 are needed/],
    ['1 2\n1 1e99\n', /line 2: "1e99" is not a finite number of 32 bits/],
    ['1 2\n1 2 3\n', /line 2: there are more than 2 numbers, 2 are needed/],
  ])('%j', async (text, sentence) => {
    expect(await failure(() => read(text))).toMatch(sentence)
  })
})

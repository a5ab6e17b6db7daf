import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { VectorSource } from '../../src/core/matrix.ts'
import { matrix } from '../../src/core/matrix.ts'
import { npyEncoder } from '../../src/data/npy.ts'
import { openVectors, readIntegers, readVectors } from '../../src/data/read.ts'
import { writeLabels, writeNeighbors, writeVectors } from '../../src/data/write.ts'
import { fc } from '../properties.ts'
import { failure } from './failure.ts'
import { encoded } from './memory-source.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()

async function saveNpy(name: string, shape: readonly number[], type: 'f64' | 'i32' | 'f32', values: number[]) {
  const data =
    type === 'f64' ? Float64Array.from(values) : type === 'i32' ? Int32Array.from(values) : Float32Array.from(values)
  await writeFile(path(name), encoded(npyEncoder(shape, type), data))
  return path(name)
}

describe('vectors', () => {
  test.each(['fvecs', 'npy', 'csv', 'tsv'])('floats round trip through .%s', async (extension) => {
    const file = path(`floats.${extension}`)
    const shaped = fc
      .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 5 }))
      .chain(([rows, cols]) =>
        fc.float32Array({ minLength: rows * cols, maxLength: rows * cols }).map((data) => matrix(data, rows, cols)),
      )
    await fc.assert(
      fc.asyncProperty(shaped, async (shape) => {
        const { rows, cols, data } = shape
        // Text is read as 64-bit numbers, and refused where 32 bits would lose differences: here columns spread far.
        const spread = [...Array(cols).fill(3e38), ...Array(cols).fill(-3e38)]
        const isText = extension === 'csv' || extension === 'tsv'
        const vectors = isText ? matrix(Float32Array.from([...spread, ...data]), rows + 2, cols) : shape
        await writeVectors(file, vectors)
        expect(await readVectors(file)).toEqual(vectors)
      }),
      { numRuns: 25 },
    )
  })

  test('rows of .npy are read into memory of the caller', async () => {
    const numbers = Float32Array.from({ length: 30 }, (_, i) => i / 2)
    await writeVectors(path('into.npy'), matrix(numbers, 10, 3))
    await writeVectors(path('into-bytes.npy'), matrix(Uint8Array.from(numbers), 10, 3))
    for (const [name, into] of [
      ['into.npy', new Float32Array(9)],
      ['into-bytes.npy', new Uint8Array(9)],
    ] as const) {
      const source = await openVectors(path(name))
      try {
        await source.readInto?.(4, into)
        expect(into).toEqual(await source.read(4, 7))
        await expect(source.readInto?.(8, into)).rejects.toThrow('Rows 8 to 11')
      } finally {
        await source.close?.()
      }
    }
    // Numbers that have to be converted are not.
    const doubles = await openVectors(await saveNpy('into-f64.npy', [2, 2], 'f64', [1, 2, 3, 4]))
    expect(doubles.readInto).toBeUndefined()
    await doubles.close?.()
  })

  test('bytes stay bytes through .bvecs and .npy, and become floats through .fvecs', async () => {
    const vectors = matrix(Uint8Array.of(0, 1, 2, 255), 2, 2)
    for (const extension of ['bvecs', 'npy']) {
      await writeVectors(path(`bytes.${extension}`), vectors)
      expect(await readVectors(path(`bytes.${extension}`))).toEqual(vectors)
    }
    await writeVectors(path('bytes.fvecs'), vectors)
    expect(await readVectors(path('bytes.fvecs'))).toEqual(matrix(Float32Array.of(0, 1, 2, 255), 2, 2))
  })

  test('whole floats fit in bytes', async () => {
    await writeVectors(path('whole.bvecs'), matrix(Float32Array.of(0, 7, 255, 1), 2, 2))
    expect(await readVectors(path('whole.bvecs'))).toEqual(matrix(Uint8Array.of(0, 7, 255, 1), 2, 2))
  })

  test('integers become floats', async () => {
    await writeVectors(path('i.ivecs'), matrix(Float32Array.of(-5, 16777216), 1, 2))
    expect((await readVectors(path('i.ivecs'))).data).toEqual(Float32Array.of(-5, 16777216))
  })

  test('64-bit floats are rounded to 32 bits', async () => {
    const file = await saveNpy('f8.npy', [2, 1], 'f64', [0.1, -Infinity])
    expect((await readVectors(file)).data).toEqual(Float32Array.of(0.1, -Infinity))
  })

  test('64-bit numbers in memory are written with all digits, or refused', async () => {
    const wide = { data: Float64Array.of(0.1, 1.7e9 + 0.5), rows: 1, cols: 2 }
    for (const [name, input] of [
      ['wide.npy', wide],
      ['wide.csv', [[0.1, 1.7e9 + 0.5]]],
    ] as const) {
      await writeVectors(path(name), input)
      const source = await openVectors(path(name))
      expect(Array.from((await source.read64?.(0, 1)) ?? [])).toEqual([0.1, 1.7e9 + 0.5])
      await source.close?.()
    }
    expect(await failure(() => writeVectors(path('wide.fvecs'), wide))).toMatch(
      /is 0\.1, which cannot be kept as a 32-bit/,
    )
    await writeVectors(path('wide.fvecs'), wide, { float32: true })
    expect((await readVectors(path('wide.fvecs'))).data).toEqual(Float32Array.of(0.1, 1.7e9))
    await writeVectors(path('exact.npy'), [[0.5, 3]])
    const exact = await openVectors(path('exact.npy'))
    expect(exact.read64).toBeUndefined()
    await exact.close?.()
  })

  test.each(['csv', 'tsv'])('a first row 0,1,2 is no header in what is written as .%s', async (extension) => {
    const file = path(`counts.${extension}`)
    await writeVectors(file, [[0, 1, 2], [7, 8, 9]]) // biome-ignore format: rows
    expect(Array.from((await readVectors(file)).data)).toEqual([0, 1, 2, 7, 8, 9])
    await writeNeighbors(file, Uint32Array.of(0, 1, 5, 2), 2)
    expect(Array.from((await readIntegers(file)).data)).toEqual([0, 1, 5, 2])
    await writeFile(file, extension === 'csv' ? '0,1\n1,0\n' : '0\t1\n1\t0\n')
    expect((await readIntegers(file)).rows).toBe(2)
    expect((await readVectors(file)).rows).toBe(1)
  })

  test('a file: URL', async () => {
    await writeVectors(path('url.csv'), matrix(Float32Array.of(1), 1, 1))
    expect((await readVectors(pathToFileURL(path('url.csv')))).data).toEqual(Float32Array.of(1))
  })

  test('no rows', async () => {
    const none = matrix(new Float32Array(0), 0, 4)
    await writeVectors(path('none.npy'), none)
    expect(await readVectors(path('none.npy'))).toEqual(none)
    expect(await failure(() => writeVectors('none.csv', none))).toBe(
      'bad-data: "none.csv" would be empty, as the input has no rows: a .csv file needs at least one.',
    )
  })

  test('from one file to another, in pieces, with progress', async () => {
    const cols = 512
    const rows = 5000
    const data = Float32Array.from({ length: rows * cols }, (_, i) => i % 256)
    await writeVectors(path('large.npy'), matrix(data, rows, cols))
    const source = await openVectors(path('large.npy'))
    const steps: number[] = []
    await writeVectors(path('large.bvecs'), source, { onProgress: (share) => steps.push(share) })
    await source.close?.()
    expect(steps).toEqual([2048 / rows, 4096 / rows, 1])
    const copied = await readVectors(path('large.bvecs'))
    expect(copied.data.every((value, i) => value === data[i])).toBe(true)
    expect(copied.data.length).toBe(data.length)
  })

  test('converted reads in pieces equal the whole', async () => {
    const cols = 300
    const rows = 5000
    const file = await saveNpy(
      'wide.npy',
      [rows, cols],
      'f64',
      Array.from({ length: rows * cols }, (_, i) => i / 8),
    )
    const source = await openVectors(file)
    const whole = await source.read(0, rows)
    expect(whole.findIndex((value, i) => value !== Math.fround(i / 8))).toBe(-1)
    expect(await source.read(3499, 3501)).toEqual(whole.slice(3499 * cols, 3501 * cols))
    expect(await failure(() => source.read(0, rows + 1))).toContain('it has 5000 rows')
    await source.close?.()
  })
})

describe('values that do not fit', () => {
  test('64-bit floats beyond 32 bits', async () => {
    const file = await saveNpy('huge.npy', [2, 2], 'f64', [1, 2, 3, -1e39])
    expect(await failure(() => readVectors(file))).toBe(
      `bad-data: Row 1, column 1 of "${file}" is -1e+39, which cannot be kept as a 32-bit float.`,
    )
  })

  test('integers that a float would round', async () => {
    const file = await saveNpy('odd.npy', [2, 1], 'i32', [1, 16777217])
    expect(await failure(() => readVectors(file))).toBe(
      `bad-data: Row 1, column 0 of "${file}" is 16777217, which cannot be kept as a 32-bit float.`,
    )
  })

  test.each([
    ['bvecs', [1, 2, 256], 'is 256, which cannot be kept as a byte (a whole number from 0 to 255).'],
    ['bvecs', [1, 2, -1], 'is -1, which cannot be kept as a byte (a whole number from 0 to 255).'],
    ['bvecs', [1, 2, 0.5], 'is 0.5, which cannot be kept as a byte (a whole number from 0 to 255).'],
    ['bvecs', [1, 2, Number.NaN], 'is NaN, which cannot be kept as a byte (a whole number from 0 to 255).'],
    ['ivecs', [1, 2, 2 ** 31], 'is 2147483648, which cannot be kept as a whole number from -2147483648 to 2147483647.'],
  ])('floats into .%s %j', async (extension, values, sentence) => {
    const file = path(`unfit.${extension}`)
    expect(await failure(() => writeVectors(file, matrix(Float32Array.from(values), 3, 1)))).toBe(
      `bad-data: Row 2, column 0 of the input ${sentence}`,
    )
    expect((await readdir(dirname(file))).filter((name) => name.startsWith('unfit'))).toEqual([])
  })

  test('a source that fails half-way leaves the old file as it was', async () => {
    const file = path('kept.csv')
    await writeVectors(file, matrix(Float32Array.of(1), 1, 1))
    const failing: VectorSource = {
      rows: 3_000_000,
      cols: 1,
      type: 'f32',
      name: 'a bad source',
      read: async (start, end) => {
        if (start > 0) throw new Error('gone')
        return new Float32Array(end - start)
      },
    }
    await expect(writeVectors(file, failing)).rejects.toThrow('gone')
    expect(await readFile(file, 'utf8')).toBe('1\n')
    expect((await readdir(dirname(file))).filter((name) => name.startsWith('kept'))).toEqual(['kept.csv'])
  })
})

describe('integers', () => {
  test.each(['npy', 'ivecs', 'csv', 'tsv'])('labels round trip through .%s', async (extension) => {
    const file = path(`labels.${extension}`)
    const labels = Uint32Array.of(0, 3, 2_147_483_647, 3)
    await writeLabels(file, labels)
    const { rows, cols, data } = await readIntegers(file)
    expect([rows, cols]).toEqual([4, 1])
    expect([...data]).toEqual([...labels])
  })

  test.each(['npy', 'csv'])('labels of 32 bits round trip through .%s', async (extension) => {
    const labels = Uint32Array.of(0, 4_294_967_295)
    await writeLabels(path(`big.${extension}`), labels)
    expect((await readIntegers(path(`big.${extension}`))).data).toEqual(labels)
  })

  test('labels too large for ivecs', async () => {
    expect(await failure(() => writeLabels(path('big.ivecs'), Uint32Array.of(0, 2 ** 31)))).toBe(
      'bad-data: Row 1, column 0 of the labels is 2147483648, which cannot be kept as a whole number from -2147483648 to 2147483647.',
    )
  })

  test('bytes, floats and negative numbers', async () => {
    await writeVectors(path('u1.npy'), matrix(Uint8Array.of(9, 255), 1, 2))
    expect(await readIntegers(path('u1.npy'))).toEqual({ rows: 1, cols: 2, data: Uint32Array.of(9, 255) })
    const whole = await saveNpy('whole.npy', [1, 2], 'f32', [-3, 5])
    expect(await readIntegers(whole)).toEqual({ rows: 1, cols: 2, data: Int32Array.of(-3, 5) })
  })

  test.each([
    [[1, 2.5], 'Row 0, column 1', '2.5'],
    [[1, 2, 3, Number.NaN], 'Row 1, column 1', 'NaN'],
    [[1, 2 ** 32], 'Row 0, column 1', '4294967296'],
    [[1, -(2 ** 31) - 1], 'Row 0, column 1', '-2147483649'],
    [[-1, 2 ** 31], 'Row 0, column 1', '2147483648'],
    [[2 ** 31, -1], 'Row 0, column 1', '-1'],
  ])('%j are not whole numbers of 32 bits', async (values, where, value) => {
    const file = await saveNpy('float.npy', [values.length / 2, 2], 'f64', values)
    expect(await failure(() => readIntegers(file))).toBe(
      `bad-data: ${where} of "${file}" is ${value}, which cannot be kept as a whole number of 32 bits, all of them signed or all unsigned.`,
    )
  })
})

test('a missing file and a wrong extension are told apart', async () => {
  expect(await failure(() => openVectors(path('missing.npy')))).toContain('there is no such file')
  expect(await failure(() => openVectors(path('missing.xyz')))).toContain('has no extension of a supported format')
})

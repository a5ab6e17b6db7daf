/** Several files as one set of vectors, names of rows, and numbers of 64 bits, through the doors everybody uses. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  adjustedRandIndex,
  cluster,
  loadModel,
  matrix,
  openVectors,
  readVectors,
  silhouette,
  sparseMatrix,
  sweep,
  writeVectors,
} from '../../src/index.ts'
import { byName } from '../../src/platform/file-patterns.ts'
import { failure } from './failure.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const rowsOf = (...values: number[]) => matrix(Float32Array.from(values), values.length / 2, 2)

describe('several files', () => {
  test('a list keeps its order; folders and patterns go by name, numbers by their value', async () => {
    await mkdir(path('parts/deep'), { recursive: true })
    await writeVectors(path('parts/part-10.npy'), rowsOf(5, 6))
    await writeVectors(path('parts/part-2.csv'), rowsOf(1, 2, 3, 4))
    await writeVectors(path('parts/deep/part-1.fvecs'), rowsOf(7, 8))
    await writeFile(path('parts/README.md'), 'not vectors')
    const data = async (location: string | string[]) => Array.from((await readVectors(location)).data)
    expect(await data([path('parts/part-10.npy'), path('parts/part-2.csv')])).toEqual([5, 6, 1, 2, 3, 4])
    expect(await data(path('parts'))).toEqual([1, 2, 3, 4, 5, 6])
    expect(await data(path('parts/part-*'))).toEqual([1, 2, 3, 4, 5, 6])
    expect(await data(path('parts/part-1?.npy'))).toEqual([5, 6])
    expect(await data(path('parts/**/part-[12]*'))).toEqual([7, 8, 1, 2, 3, 4, 5, 6])
    expect(await data([path('parts/deep'), path('parts/part-2.csv')])).toEqual([7, 8, 1, 2, 3, 4])
  })

  test('rows are read across the files, in any order', async () => {
    const source = await openVectors([path('parts'), path('parts/deep')])
    expect([source.rows, source.cols]).toEqual([4, 2])
    expect(source.name).toMatch(/part-2\.csv and 2 more/)
    expect(Array.from(await source.read(1, 4))).toEqual([3, 4, 5, 6, 7, 8])
    expect(Array.from(await source.read(0, 1))).toEqual([1, 2])
    expect(Array.from(await source.read64!(1, 3))).toEqual([3, 4, 5, 6])
    await source.close?.()
  })

  test('a file whose name has the characters of a pattern', async () => {
    await writeVectors(path('odd[1].npy'), rowsOf(1, 2))
    expect((await readVectors(path('odd[1].npy'))).rows).toBe(1)
  })

  test('sparse files together', async () => {
    await writeVectors(path('a.npz'), sparseMatrix({ offsets: [0, 1], columns: [1], values: [2] }, 1, 3))
    await writeVectors(path('b.npz'), sparseMatrix({ offsets: [0, 0, 2], columns: [0, 2], values: [3, 4] }, 2, 3))
    const { sparse } = await openVectors([path('a.npz'), path('b.npz')])
    expect([sparse?.rows, [...sparse!.offsets], [...sparse!.columns]]).toEqual([3, [0, 1, 1, 3], [1, 0, 2]])
  })

  test('what cannot be put together', async () => {
    await writeVectors(path('wide.npy'), matrix(new Float32Array(3), 1, 3))
    expect(await failure(() => openVectors([path('wide.npy'), path('parts')]))).toMatch(
      /part-2\.csv" has 2 columns and ".*wide\.npy" 3: files that are read together must have the same number of columns/,
    )
    expect(await failure(() => openVectors([path('wide.npy'), path('a.npz')]))).toMatch(
      /is sparse and others are dense/,
    )
    await mkdir(path('bare'))
    expect(await failure(() => openVectors(path('bare')))).toMatch(
      /bare" matches no file of vectors: give files that end in \.npy/,
    )
    expect(await failure(() => openVectors(path('none-*.npy')))).toMatch(/matches no file of vectors/)
    expect(await failure(() => openVectors([]))).toMatch(/give at least one file/)
  })

  test('names are compared by digits and letters', () => {
    const names = ['b', 'a10', 'a9', 'a', 'a09', 'a9b']
    expect([...names].sort(byName)).toEqual(['a', 'a09', 'a9', 'a9b', 'a10', 'b'])
  })

  test('names of rows, where only some files have them', async () => {
    await writeFile(path('named.csv'), 'name,x,y\nant,1,2\nbee,3,4\n')
    const source = await openVectors([path('named.csv'), path('parts/part-10.npy')])
    expect(await source.names?.()).toEqual(['ant', 'bee', ''])
  })
})

describe('numbers of 64 bits', () => {
  /** Two groups around 1.7e9, a unit apart: 32-bit floats there are 128 apart. */
  const far = Array.from({ length: 60 }, (_, i) => [1.7e9 + (i % 2) * 2 + Math.sin(i) / 10, 1.7e9 + Math.cos(i) / 10])
  const groups = far.map((_, i) => i % 2)
  const csv = (): string => `${far.map((row) => row.join(',')).join('\n')}\n`

  test('are clustered, assigned, saved and scored by all their digits', async () => {
    await writeFile(path('far.csv'), csv())
    const source = await openVectors(path('far.csv'))
    const model = await cluster(source, { k: 2, device: 'cpu', seed: 1 })
    expect(adjustedRandIndex(model.labels, groups)).toBe(1)
    expect(model.distortion).toBeGreaterThan(0.005)
    expect(model.distortion).toBeLessThan(0.015)
    expect(await model.predict(source, { device: 'cpu' })).toEqual(model.labels)
    await model.save(path('far'))
    const loaded = await loadModel(path('far'))
    expect(await loaded.predict(far, { device: 'cpu' })).toEqual(model.labels)
    expect(await silhouette(source, model.labels)).toBeGreaterThan(0.8)
  })

  test('in arrays too', async () => {
    for (const input of [far, far.map((row) => Float64Array.from(row))]) {
      expect(adjustedRandIndex((await cluster(input, { k: 2, device: 'cpu' })).labels, groups)).toBe(1)
    }
    const { steps } = await sweep(far, { k: [2, 3], device: 'cpu', seeds: 1 })
    expect(steps[0].silhouette).toBeGreaterThan(0.8)
  })

  test('are refused where they would be rounded, with the cure', async () => {
    await writeFile(path('far.csv'), csv())
    expect(await failure(() => readVectors(path('far.csv')))).toMatch(
      /^bad-data: Column [01] of ".*far\.csv" goes from .*, where 32-bit floats are 128 apart: .*Subtract an offset/,
    )
  })

  test('that spread as far as they are large are rounded as usual', async () => {
    await writeFile(path('near.csv'), '0.1,1700000000.5\n0.7,-3\n')
    expect(Array.from((await readVectors(path('near.csv'))).data)).toEqual([0.1, 1.7e9, 0.7, -3].map(Math.fround))
  })

  test('a column that hardly varies beside others does no harm', async () => {
    const same = [
      [0.1, 5],
      [0.1, 7],
      [0.1 + 1e-12, 9],
    ]
    expect((await cluster(same, { k: 3, device: 'cpu' })).labels.length).toBe(3)
    await writeFile(path('same.csv'), `${same.map((row) => row.join(',')).join('\n')}\n`)
    expect((await readVectors(path('same.csv'))).rows).toBe(3)
  })

  test('are written in 64 bits, or refused, or rounded where that is asked for', async () => {
    await writeFile(path('wide.csv'), '0.1,1.5\n1e-30,3\n')
    const source = await openVectors(path('wide.csv'))
    await writeVectors(path('wide64.npy'), source)
    const read = await openVectors(path('wide64.npy'))
    expect(Array.from(await read.read64!(0, 2))).toEqual([0.1, 1.5, 1e-30, 3])
    await writeVectors(path('wide64.csv'), read)
    expect(Array.from(await (await openVectors(path('wide64.csv'))).read64!(0, 2))).toEqual([0.1, 1.5, 1e-30, 3])
    expect(await failure(() => writeVectors(path('wide.fvecs'), source))).toMatch(
      /Row 0, column 0 of .*wide\.csv is 0\.1, which cannot be kept as a 32-bit float\. Write 64-bit floats as \.npy or \.csv, or round them with the option float32\.$/,
    )
    await writeVectors(path('wide.fvecs'), source, { float32: true })
    expect((await readVectors(path('wide.fvecs'))).data[0]).toBe(Math.fround(0.1))
  })
})

test('.gz is written and read, with the same bytes each time', async () => {
  for (const name of ['a.npy.gz', 'a.csv.gz', 'a.fvecs.gz']) {
    await writeVectors(path(name), rowsOf(1, 2, 3, 4.5))
    expect(Array.from((await readVectors(path(name))).data)).toEqual([1, 2, 3, 4.5])
  }
  await writeVectors(path('s.npz.gz'), sparseMatrix({ offsets: [0, 1], columns: [1], values: [2] }, 1, 3))
  expect((await openVectors(path('s.npz.gz'))).sparse?.values).toEqual(Float32Array.of(2))
})

test('inputs that look like vectors and are not', async () => {
  const call = (input: unknown) => failure(() => cluster(input as number[][], { k: 1 }))
  expect(await call([1, 2, 3])).toMatch(/is an array of 3 numbers: give an array of arrays, one for each vector/)
  expect(await call({ data: new Int16Array(4), rows: 2, cols: 2 })).toMatch(
    /is an object whose data is an Int16Array of 4, which is not taken: give it as Float32Array\.from\(data\)/,
  )
  expect(await call(new Float32Array(4))).toMatch(/is a Float32Array of 4 without a shape/)
  expect(await call([[]])).toMatch(/Row 0 of the input is empty/)
  await writeVectors(path('none.npy'), matrix(new Float32Array(0), 0, 3))
  const none = await openVectors(join(path('none.npy')))
  expect(await failure(() => cluster(none, { k: 1 }))).toMatch(/none\.npy has no rows: give at least one vector/)
})

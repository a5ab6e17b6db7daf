/** Sparse files through the doors everybody uses. */
import { readFile, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import {
  cluster,
  loadModel,
  matrix,
  openVectors,
  readSparse,
  readVectors,
  sparseMatrix,
  writeVectors,
} from '../../src/index.ts'
import { failure } from './failure.ts'
import { temporaryFolder } from './temporary-folder.ts'

const path = temporaryFolder()
const m = sparseMatrix({ offsets: [0, 2, 3, 3], columns: [0, 3, 1], values: [1, 2, 0.5] }, 3, 4)

test('.npz and .mat are written, read and converted', async () => {
  for (const name of ['a.npz', 'a.mat']) {
    await writeVectors(path(name), m)
    expect(await readSparse(path(name))).toEqual(m)
    const source = await openVectors(path(name))
    expect(source.sparse).toEqual(m)
    expect(await source.read(0, 2)).toEqual(Float32Array.of(1, 0, 0, 2, 0, 0.5, 0, 0))
    await writeVectors(path(`${name}.npy`), source)
    expect((await readVectors(path(`${name}.npy`))).data).toEqual(Float32Array.of(1, 0, 0, 2, 0, 0.5, 0, 0, 0, 0, 0, 0))
  }
})

test('dense and sparse are not mixed up', async () => {
  await writeVectors(path('b.npz'), m)
  expect(await failure(() => readVectors(path('b.npz')))).toMatch(/b\.npz" contains sparse rows.*readSparse/)
  await writeVectors(path('b.npy'), matrix(new Float32Array(2), 1, 2))
  expect(await failure(() => readSparse(path('b.npy')))).toMatch(/b\.npy" contains dense rows.*readVectors/)
  expect(await failure(() => writeVectors(path('c.npz'), matrix(new Float32Array(2), 1, 2)))).toMatch(
    /c\.npz" is a file of sparse rows, and the input has dense rows: write them as \.npy/,
  )
  await writeFile(path('dense.mat'), '2 2\n1 2\n3 4\n')
  expect((await readVectors(path('dense.mat'))).data).toEqual(Float32Array.of(1, 2, 3, 4))
  expect(await failure(() => readSparse(path('dense.mat')))).toMatch(/dense\.mat" contains dense rows/)
  expect(await failure(() => openVectors(path('missing.npz')))).toMatch(/missing\.npz/)
})

test('a model of sparse rows is saved, loaded, gone on from, and predicts', async () => {
  const model = await cluster(m, { k: 2, device: 'cpu', iterations: 1 })
  await model.save(path('model'))
  const loaded = await loadModel(path('model'))
  expect(loaded.centers.data).toEqual(model.centers.data)
  expect(await loaded.predict(m, { device: 'cpu' })).toEqual(model.labels)
  const rest = await cluster(m, { k: 2, device: 'cpu', resume: loaded, iterations: 9 })
  expect(rest.labels).toEqual(model.labels)
  expect(JSON.parse(await readFile(path('model/model.json'), 'utf8'))).toMatchObject({ rows: 3, cols: 4 })
})

/** The Python scripts of docs/python.md, where Python has NumPy: they read what was saved, and find what the library finds. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  cluster,
  type Device,
  type Matrix,
  nearest,
  openDevice,
  type QuantizerOptions,
  trainQuantizer,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { sectionsOf } from './markdown.ts'

const PYTHON = 'python3'
const hasNumpy = spawnSync(PYTHON, ['-c', 'import numpy']).status === 0
const scripts = sectionsOf('docs/python.md').flatMap(({ blocks }) => blocks.map(({ code }) => code))
const path = temporaryFolder()
const { vectors } = blobs({ rows: 120, cols: 10, clusters: 12, seed: 6 })
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

async function printed(script: string, folder: string, ...files: [string, Matrix][]): Promise<number[]> {
  for (const [name, data] of files) await writeVectors(path(name), data)
  writeFileSync(path('script.py'), script)
  const done = spawnSync(PYTHON, [path('script.py'), folder, ...files.map(([name]) => path(name))])
  expect(done.stderr.toString()).toBe('')
  return done.stdout.toString().trim().split(' ').map(Number)
}

test('there is a script for each kind of folder', () => {
  expect(scripts.map((code) => code.split('\n')[0])).toEqual([
    '# python3 assign.py run vectors.npy',
    '# python3 search.py quantizer codes.npy queries.npy',
  ])
})

describe.skipIf(!hasNumpy)('with NumPy', () => {
  test.each(['euclidean', 'cosine'] as const)('the clusters of a model by %s', async (metric) => {
    const model = await cluster(vectors, { k: 6, metric, device })
    await model.save(path('run'))
    expect(await printed(scripts[0], path('run'), ['vectors.npy', vectors])).toEqual(
      Array.from(await model.predict(vectors, { device })),
    )
  })

  test.each<[string, QuantizerOptions]>([
    ['pq, 8 bits, subspaces of two widths', { type: 'pq', m: 3, codewords: 100 }],
    ['pq, 4 bits', { type: 'pq', m: 5, codewords: 16 }],
    ['ck, 2 bits, fewer dimensions', { type: 'ck', m: 3, codewords: 4, rank: 6 }],
    ['ok, 1 bit', { type: 'ok', m: 9 }],
  ])('the nearest codes of a quantizer: %s', async (_, options) => {
    const quantizer = await trainQuantizer(vectors, { ...options, device })
    await quantizer.save(path('quantizer'))
    const codes = await quantizer.encode(vectors, { device })
    const found = await printed(scripts[1], path('quantizer'), ['codes.npy', codes], ['queries.npy', vectors])
    const restored = await quantizer.decode(codes, { device })
    const { distances } = await nearest(vectors, restored, { device })
    // Vectors with the same code are equally near: the distance is what must be the same.
    found.forEach((row, query) => {
      let sum = 0
      for (let j = 0; j < 10; j++) sum += (vectors.data[query * 10 + j] - restored.data[row * 10 + j]) ** 2
      expect(sum).toBeCloseTo(distances[query], 3)
    })
  })
})

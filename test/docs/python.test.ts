/** The Python scripts of docs/python.md, where Python has NumPy: they read what was saved, and find what the library finds. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  buildIndex,
  CodeIndex,
  cluster,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  type QuantizerOptions,
  trainQuantizer,
  VectorLists,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { pythonWith } from '../python.ts'
import { sectionsOf } from './markdown.ts'

const python = pythonWith('numpy')
const scripts = sectionsOf('docs/python.md').flatMap(({ blocks }) => blocks.map(({ code }) => code))
const path = temporaryFolder()
const { vectors } = blobs({ rows: 120, cols: 10, clusters: 12, seed: 6 })
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

/** `# python3 search.py ...` names the script. */
const nameOf = (script: string): string => /^# python3 (\S+)/.exec(script)?.[1] ?? ''

async function printed(
  script: string,
  folder: string,
  files: [string, Matrix][],
  ...more: string[]
): Promise<number[]> {
  for (const [name, data] of files) await writeVectors(path(name), data)
  for (const code of scripts) writeFileSync(path(nameOf(code)), code)
  const done = spawnSync(python ?? '', [path(nameOf(script)), folder, ...files.map(([name]) => path(name)), ...more])
  expect(done.stderr.toString()).toBe('')
  return done.stdout.toString().trim().split(' ').map(Number)
}

test('there is a script for each kind of folder', () => {
  expect(scripts.map((code) => code.split('\n')[0])).toEqual([
    '# python3 assign.py run vectors.npy',
    '# python3 search.py quantizer codes.npy queries.npy',
    '# python3 index.py index queries.npy 8',
    '# python3 images.py photos.index 7',
  ])
})

describe.skipIf(python === undefined)('with NumPy', () => {
  test.each(['euclidean', 'cosine'] as const)('the clusters of a model by %s', async (metric) => {
    const model = await cluster(vectors, { k: 6, metric, device })
    await model.save(path('run'))
    expect(await printed(scripts[0], path('run'), [['vectors.npy', vectors]])).toEqual(
      Array.from(await model.predict(vectors, { device })),
    )
  })

  test.each<[string, QuantizerOptions]>([
    ['pq, 8 bits, subspaces of two widths', { type: 'pq', m: 3, codewords: 100 }],
    ['pq, 4 bits', { type: 'pq', m: 5, codewords: 16 }],
    ['ck, 2 bits, fewer dimensions', { type: 'ck', m: 3, codewords: 4, rank: 6 }],
    ['ok, 1 bit', { type: 'ok', m: 9 }],
    ['pq, more than 256 codewords', { type: 'pq', m: 2, codewords: 300 }],
  ])('the nearest codes of a quantizer: %s', async (_, options) => {
    const learned = options.codewords === 300 ? blobs({ rows: 400, cols: 10, clusters: 12 }).vectors : vectors
    const quantizer = await trainQuantizer(learned, { ...options, device })
    await quantizer.save(path('quantizer'))
    const codes = await quantizer.encode(vectors, { device })
    const found = await printed(scripts[1], path('quantizer'), [
      ['codes.npy', codes],
      ['queries.npy', vectors],
    ])
    const restored = await quantizer.decode(codes, { device })
    const { distances } = await nearest(vectors, restored, { device })
    // Vectors with the same code are equally near: the distance is what must be the same.
    found.forEach((row, query) => {
      let sum = 0
      for (let j = 0; j < 10; j++) sum += (vectors.data[query * 10 + j] - restored.data[row * 10 + j]) ** 2
      expect(sum).toBeCloseTo(distances[query], 3)
    })
  })

  const ids = Uint32Array.from({ length: 120 }, (_, i) => 5 * i)
  const made: [string, () => Promise<CodeIndex | InvertedFile | VectorLists>][] = [
    ['an index of codes', () => CodeIndex.train(vectors, { type: 'ck', m: 3, codewords: 64, device })],
    ['an index of codes by cosine', () => CodeIndex.train(vectors, { type: 'pq', m: 5, metric: 'cosine', codewords: 64, device })],
    ['an inverted file', async () => InvertedFile.train(vectors, await clusters('euclidean'), { type: 'pq', m: 4, codewords: 64, device })],
    ['an inverted file by cosine', async () => InvertedFile.train(vectors, await clusters('cosine'), { type: 'ck', m: 4, codewords: 64, device })],
    ['an inverted file by inner product', async () => InvertedFile.train(vectors, await clusters('euclidean'), { type: 'pq', m: 5, codewords: 64, metric: 'inner-product', device })],
    ['lists of vectors', async () => new VectorLists(await clusters('euclidean'))],
  ] // biome-ignore format: a line each
  const clusters = (metric: 'euclidean' | 'cosine') => cluster(vectors, { k: 8, metric, device })

  test.each(made)('%s, with changes', async (name, make) => {
    const index = await make()
    const folder = path(name)
    await index.add(vectors, { ids, device })
    await index.save(folder)
    // Once in the files of the first save, and once in those of changes.
    index.remove([0, 35])
    await index.add(matrix(vectors.data.slice(0, 20), 2, 10), { ids: [9001, 9002], device })
    await index.save(folder)
    const found = await printed(scripts[2], folder, [['queries.npy', vectors]], '3')
    const probe = index instanceof CodeIndex ? {} : { probe: 3 }
    const ours = await index.search(vectors, { nearest: 20, ...probe, device })
    found.forEach((id, query) => {
      const place = ours.labels.subarray(20 * query, 20 * query + 20).indexOf(id)
      const [best, distance] = [ours.distances[20 * query], ours.distances[20 * query + place]]
      expect(place, `query ${query}`).toBeGreaterThanOrEqual(0)
      expect(Math.abs(distance - best)).toBeLessThan(1e-3 * (1 + Math.abs(best)))
    })
  })

  test('an index of images', async () => {
    const images = Uint32Array.from({ length: 120 }, (_, row) => Math.floor(row / 10) + 3)
    const index = await buildIndex(await clusters('euclidean'), vectors, images, { device })
    await index.save(path('photos.index'))
    const [{ images: ours, scores }] = await index.searchAll(
      matrix(vectors.data.slice(400, 500), 10, 10),
      new Uint32Array(10),
      { device },
    )
    const found = await printed(scripts[3], path('photos.index'), [], '7')
    expect(found.length).toBe(12)
    // Images that are equally alike may change places.
    expect(scores[ours.indexOf(found[0])]).toBeCloseTo(scores[0], 5)
    expect(scores[ours.indexOf(found[1])]).toBeCloseTo(scores[1], 5)
  })
})

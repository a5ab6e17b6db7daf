/** What the comments of options and results promise, where no other test holds them to it. */
import { readdir } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { searchWidth } from '../../src/clustering/candidates/lists.ts'
import { resolveSettings } from '../../src/clustering/method-options.ts'
import {
  blobs,
  cluster,
  type Device,
  InvertedFile,
  METHODS,
  matrix,
  openDevice,
  type QuantizerOptions,
  sweep,
  trainQuantizer,
  VectorLists,
} from '../../src/index.ts'
import { modelOfCenters } from '../../src/models/centers-only.ts'
import { failure } from '../data/failure.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const path = temporaryFolder()
const { vectors } = blobs({ rows: 200, cols: 6, clusters: 7, seed: 2 })
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

describe('signal', () => {
  test('before the first round has ended, calls are rejected with its reason', async () => {
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(cluster(vectors, { k: 3, device, signal })).rejects.toThrow('too late')
    await expect(trainQuantizer(vectors, { type: 'pq', m: 2, codewords: 4, device, signal })).rejects.toThrow(
      'too late',
    )
  })

  test('later, what was reached is the result', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const onIteration = (): void => controller.abort()
    const common = { device, signal, tolerance: 0 }
    const model = await cluster(vectors, { k: 3, ...common, onIteration })
    expect([model.facts.stopped, model.facts.iterations.length]).toEqual(['aborted', 1])
    const other = new AbortController()
    const quantizer = await trainQuantizer(vectors, {
      ...{ type: 'pq', m: 2, codewords: 8, device, signal: other.signal, tolerance: 0 },
      onIteration: () => other.abort(),
    })
    expect([quantizer.facts.stopped, quantizer.facts.iterations.length]).toEqual(['aborted', 1])
    const third = new AbortController()
    const swept = await sweep(vectors, { k: [2, 3, 4], device, signal: third.signal, onStep: () => third.abort() })
    expect(swept.steps.length).toBe(1)
  })
})

test('agm searches twice as many components for a point as it remembers, unless checks says how many', () => {
  const settings = resolveSettings('agm', METHODS.agm.options, { memory: 7 })
  expect(searchWidth(settings)).toBe(14)
  expect(searchWidth({ ...settings, checks: 9 })).toBe(9)
})

test.each<[QuantizerOptions, string[]]>([
  [{ type: 'pq', m: 2, codewords: 4 }, []],
  [{ type: 'pq', m: 2, codewords: 4, order: 'random' }, ['rotation.npy']],
  [{ type: 'ck', m: 2, codewords: 4 }, ['rotation.npy']],
  [{ type: 'ck', m: 2, codewords: 4, rank: 4 }, ['offset.npy', 'rotation.npy']],
  [{ type: 'ok', m: 4 }, ['offset.npy', 'rotation.npy']],
  [{ type: 'itq', m: 4 }, ['offset.npy', 'rotation.npy']],
])('a quantizer %j is saved as books.npy, model.json and %j', async (options, more) => {
  const quantizer = await trainQuantizer(vectors, { ...options, device })
  const folder = path(JSON.stringify(options))
  await quantizer.save(folder)
  expect((await readdir(folder)).sort()).toEqual(['books.npy', 'model.json', ...more].sort())
})

test('centres by cosine have length one, and others are in the units of the input', async () => {
  const far = matrix(
    vectors.data.map((value) => value + 100),
    200,
    6,
  )
  const lengths = async (metric: 'cosine' | 'euclidean'): Promise<number[]> => {
    const { centers } = await cluster(far, { k: 3, metric, device })
    return [0, 1, 2].map((row) => Math.hypot(...centers.data.subarray(row * 6, row * 6 + 6)))
  }
  for (const length of await lengths('cosine')) expect(length).toBeCloseTo(1, 5)
  for (const length of await lengths('euclidean')) expect(length).toBeGreaterThan(200)
})

test('matrix takes 64-bit numbers, and refuses those that 32-bit floats cannot tell apart', () => {
  expect(matrix(Float64Array.of(0.5, 1.5), 1, 2).data).toEqual(Float32Array.of(0.5, 1.5))
  expect(() => matrix(Float64Array.of(1.7e9, 1.7e9 + 1, 1.7e9 + 2), 3, 1)).toThrow(
    /^Column 0 of the matrix goes from 1700000000/,
  )
})

test('data without a shape is said to be that', async () => {
  const shapeless = { data: new Float64Array(4) } as unknown as number[][]
  expect(await failure(() => cluster(shapeless, { k: 2, device }))).toBe(
    'bad-data: The input is an object whose data is a Float64Array of 4, without rows and cols: give a Matrix ({ data, rows, cols }), a SparseMatrix, an array of arrays of numbers, or a source with read(start, end).',
  )
})

test('probe says what its limit is', async () => {
  const few = await cluster(vectors, { k: 5, device })
  const file = await InvertedFile.train(vectors, few, { type: 'pq', m: 2, codewords: 4, device })
  expect(await failure(() => file.search(vectors, { probe: 6 }))).toBe(
    'bad-option: Option probe is 6: give at most 5: there are only 5 clusters.',
  )
  const many = modelOfCenters(matrix(Float32Array.from({ length: 4096 }, (_, i) => i), 4096, 1), 'euclidean') // biome-ignore format: one line
  const lists = new VectorLists(many)
  await lists.add([[3]], { device })
  expect(await failure(() => lists.search([[3]], { probe: 300 }))).toBe(
    'bad-option: Option probe is 300: give at most 256: a query looks into no more clusters than that.',
  )
})

/** Exact search by every metric, against distances computed here; and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toSource } from '../../src/core/matrix.ts'
import {
  CodeIndex,
  cluster,
  createRandom,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  openVectors,
  rerank,
  trainQuantizer,
} from '../../src/index.ts'
import { rerankKept } from '../../src/search/rerank.ts'

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

function drawn(rows: number, cols: number, seed: number, offset = 0): Matrix<Float32Array> {
  const random = createRandom(seed)
  return matrix(
    Float32Array.from({ length: rows * cols }, () => random.normal() + offset),
    rows,
    cols,
  )
}

const DISTANCES = {
  euclidean: (a: Float32Array, b: Float32Array) => a.reduce((sum, x, j) => sum + (x - b[j]) ** 2, 0),
  cosine: (a: Float32Array, b: Float32Array) => 1 - dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)),
  'inner-product': (a: Float32Array, b: Float32Array) => -dot(a, b),
} as const

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, x, j) => sum + x * b[j], 0)
}

const rowOf = ({ data, cols }: Matrix<Float32Array>, row: number): Float32Array =>
  data.subarray(row * cols, (row + 1) * cols)

describe.each(['euclidean', 'cosine', 'inner-product'] as const)('by %s', (metric) => {
  test.each([
    [1, 1, 3, 1, 0],
    [17, 33, 5, 4, 0],
    [9, 120, 31, 10, 3],
    // Fewer rows than are asked for.
    [3, 2, 2, 5, 0],
  ])('%i queries among %i x %i, %i of each', async (queries, rows, cols, m, offset) => {
    const [asked, among] = [drawn(queries, cols, 1, offset), drawn(rows, cols, 2, offset)]
    const found = await nearest(asked, among, { m, metric, device })
    for (let query = 0; query < queries; query++) {
      const exact = Array.from({ length: rows }, (_, row) => DISTANCES[metric](rowOf(asked, query), rowOf(among, row)))
      const best = exact.toSorted((a, b) => a - b)
      for (let i = 0; i < m; i++) {
        const label = found.labels[query * m + i]
        if (i >= rows) expect(label).toBe(0xffffffff)
        else {
          // A neighbour as near as the true one counts as the same.
          expect(exact[label]).toBeCloseTo(best[i], 3)
          expect(found.distances[query * m + i]).toBeCloseTo(exact[label], 3)
        }
      }
    }
  })
})

test('cosine does not see lengths, inner products do', async () => {
  const among = [[10, 0], [1, 1], [0, 3]] // biome-ignore format: points
  const first = async (metric: 'euclidean' | 'cosine' | 'inner-product'): Promise<number> =>
    (await nearest([[0.9, 1]], among, { metric, device })).labels[0]
  expect(await first('euclidean')).toBe(1)
  expect(await first('cosine')).toBe(1)
  expect(await first('inner-product')).toBe(0)
})

test('an option that does not exist is refused, and the nearest one is named', async () => {
  const vectors = [[1, 2]]
  const refused = (options: object): Promise<string> =>
    nearest(vectors, vectors, { ...options, device }).then(
      () => 'taken',
      (error: Error) => error.message,
    )
  expect(await refused({ k: 3 })).toMatch(/Option k is 3: there is no such option; did you mean m\?/)
  expect(await refused({ n_neighbors: 3 })).toMatch(/did you mean m\?/)
  expect(await refused({ metrik: 'cosine' })).toMatch(/did you mean metric\?/)
  expect(await refused({ metric: 'manhattan' })).toMatch(/give one of euclidean, cosine, inner-product/)
  expect(await refused({ m: 257 })).toMatch(/from 1 to 256/)
})

test('re-ranking reads rows near a candidate only', async () => {
  const vectors = drawn(100_000, 2, 3)
  const read: [number, number][] = []
  const source = {
    ...{ rows: 100_000, cols: 2, type: 'f32' as const, name: 'the vectors' },
    read: async (start: number, end: number) => {
      read.push([start, end])
      return vectors.data.subarray(start * 2, end * 2)
    },
  }
  const candidates = { m: 3, labels: Uint32Array.of(7, 99_999, 20), distances: new Float32Array(3) }
  const query = matrix(vectors.data.slice(40, 42), 1, 2)
  const { labels, distances } = await rerank(candidates, query, source, 2)
  expect([labels[0], distances[0]]).toEqual([20, 0])
  expect(read).toEqual([
    [7, 21],
    [99_999, 100_000],
  ])
})

test('indexes re-ranked by a file read what lies near candidates, and nothing of the rest', async () => {
  const rows = 20_000
  const cols = 8
  const vectors = drawn(rows, cols, 4)
  const bytes = new Uint8Array(rows * (4 + 4 * cols))
  const view = new DataView(bytes.buffer)
  for (let i = 0; i < rows; i++) {
    view.setInt32(i * (4 + 4 * cols), cols, true)
    for (let j = 0; j < cols; j++) {
      view.setFloat32(i * (4 + 4 * cols) + 4 + 4 * j, vectors.data[i * cols + j], true)
    }
  }
  let read = 0
  class Counting extends File {
    override slice(start = 0, end = this.size, type?: string): Blob {
      read += end - start
      return super.slice(start, end, type)
    }
  }
  const source = await openVectors(new Counting([bytes], 'base.fvecs'))
  const shape = { type: 'pq', m: 4, codewords: 16, iterations: 2, sample: 2000, device } as const
  const codes = new CodeIndex(await trainQuantizer(vectors, shape))
  await codes.add(vectors, { device })
  const model = await cluster(vectors, { k: 8, iterations: 1, device })
  const file = await InvertedFile.train(vectors, model, shape)
  await file.add(vectors, { device })
  const query = matrix(vectors.data.slice(0, cols), 1, cols)
  const asked = { nearest: 3, candidates: 20, device } as const
  for (const index of [codes, file]) {
    const inMemory = await index.search(query, { ...asked, rerank: vectors })
    read = 0
    expect(await index.search(query, { ...asked, rerank: source })).toEqual(inMemory)
    // 20 rows, and what lies between two that are hardly apart.
    expect(read).toBeGreaterThanOrEqual(20 * 4 * cols)
    expect(read).toBeLessThan(20 * 17 * (4 + 4 * cols))
    await index.close()
  }
})

test('re-ranking by kept vectors reads each candidate once', async () => {
  const vectors = drawn(100, 2, 5)
  const asked: number[] = []
  const kept = {
    cols: 2,
    read(id: number, out: Float32Array): boolean {
      asked.push(id)
      out.set(vectors.data.subarray(2 * id, 2 * id + 2))
      return id !== 50
    },
  }
  const labels = Uint32Array.of(7, 50, 20, 3, 0xffffffff, 9)
  const queries = toSource(matrix(vectors.data.slice(40, 44), 2, 2), 'the queries')
  const found = await rerankKept('euclidean', { m: 3, labels }, queries, kept, 2)
  expect(asked).toEqual([7, 50, 20, 3, 9])
  expect([found.labels[0], found.distances[0]]).toEqual([20, 0])
  expect([...found.labels].sort()).toEqual([20, 3, 7, 9])
})

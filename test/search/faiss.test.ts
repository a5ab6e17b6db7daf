/** Files for faiss: the bytes of small ones, and, where Python has faiss, that it opens them and finds the same neighbours. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  CodeIndex,
  cluster,
  type Device,
  faissBytes,
  InvertedFile,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  type QuantizerOptions,
  readFaiss,
  type SearchMetric,
  trainQuantizer,
  VectorLists,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { pythonWith } from '../python.ts'

const python = pythonWith('faiss')
const path = temporaryFolder()
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

test('vectors are a flat index, byte by byte', () => {
  const bytes = faissBytes(matrix(Float32Array.of(1, 2, 3, 4, 5, 6), 3, 2))
  const view = new DataView(bytes.buffer)
  expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe('IxF2')
  expect([view.getInt32(4, true), view.getBigInt64(8, true)]).toEqual([2, 3n])
  expect([bytes[32], view.getInt32(33, true), view.getBigInt64(37, true)]).toEqual([1, 1, 6n])
  expect(Array.from({ length: 6 }, (_, i) => view.getFloat32(45 + 4 * i, true))).toEqual([1, 2, 3, 4, 5, 6])
  expect(bytes.length).toBe(45 + 24)
})

test('what faiss cannot hold is refused', async () => {
  const { vectors } = blobs({ rows: 50, cols: 7, clusters: 5 })
  const model = await cluster(vectors, { k: 4, device })
  const narrow = await InvertedFile.train(vectors, model, { type: 'ck', m: 2, rank: 4, codewords: 4, device })
  expect(() => faissBytes(narrow)).toThrow(/needs a quantizer that keeps all 7 dimensions, and this one keeps 4/)
  expect(() => faissBytes(narrow, { metric: 'cosine' })).toThrow(/the index is searched by euclidean; leave it out/)
})

const SCRIPT = `
import sys, numpy, faiss
index = faiss.read_index(sys.argv[1])
if len(sys.argv) > 6:
    faiss.extract_index_ivf(index).nprobe = int(sys.argv[6])
queries = numpy.load(sys.argv[2])
distances, labels = index.search(queries, int(sys.argv[3]))
labels.astype('<i8').tofile(sys.argv[4])
distances.astype('<f4').tofile(sys.argv[5])
`

async function searchedByFaiss(bytes: Uint8Array, queries: Matrix, m: number, probe?: number) {
  writeFileSync(path('index.faiss'), bytes)
  await writeVectors(path('queries.npy'), queries)
  const files = ['index.faiss', 'queries.npy'].map(path)
  const lists = probe === undefined ? [] : [String(probe)]
  const done = spawnSync(python ?? '', ['-c', SCRIPT, ...files, String(m), path('labels'), path('distances'), ...lists])
  expect(done.stderr.toString()).toBe('')
  const numbers = readFileSync(path('labels'))
  const labels = Array.from({ length: numbers.length / 8 }, (_, i) => Number(numbers.readBigInt64LE(8 * i)))
  const floats = readFileSync(path('distances'))
  return { labels, distances: Array.from({ length: floats.length / 4 }, (_, i) => floats.readFloatLE(4 * i)) }
}

describe.skipIf(python === undefined)('faiss opens', () => {
  const { vectors } = blobs({ rows: 300, cols: 16, clusters: 20, seed: 4 })
  const queries = matrix(vectors.data.slice(0, 16 * 12), 12, 16)

  test('vectors', async () => {
    const ours = await nearest(queries, vectors, { m: 5, device })
    const found = await searchedByFaiss(faissBytes(vectors), queries, 5)
    expect(found.labels).toEqual(Array.from(ours.labels))
  })

  const far = matrix(
    vectors.data.map((value, i) => value + 300 * (1 + (i % 16))),
    300,
    16,
  )
  test.each<[string, QuantizerOptions, Matrix, boolean]>([
    ['pq of 8 bits', { type: 'pq', m: 4 }, vectors, false],
    ['pq of 4 bits with ids', { type: 'pq', m: 4, codewords: 16 }, vectors, true],
    ['ck', { type: 'ck', m: 4, codewords: 16 }, vectors, false],
    ['ck of fewer dimensions with ids', { type: 'ck', m: 4, codewords: 16, rank: 8 }, vectors, true],
    ['ok', { type: 'ok', m: 8 }, vectors, false],
    ['pq far from zero', { type: 'pq', m: 4, codewords: 16 }, far as Matrix, false],
    ['ck far from zero', { type: 'ck', m: 4, codewords: 16 }, far as Matrix, false],
    ['pq of uneven subspaces', { type: 'pq', m: 5, codewords: 16 }, vectors, true],
    ['pq of 9 codewords', { type: 'pq', m: 4, codewords: 9 }, vectors, false],
  ])('%s', async (_, options, base, named) => {
    const index = new CodeIndex(await trainQuantizer(base, { ...options, device }))
    const ids = named ? Uint32Array.from({ length: 300 }, (_, i) => 1000 + 3 * i) : undefined
    await index.add(base, { ids, device })
    const asked = matrix(base.data.slice(0, 16 * 12), 12, 16)
    const ours = await index.search(asked, { nearest: 20, device })
    const found = await searchedByFaiss(faissBytes(index), asked, 20)
    // Many vectors share a code: what must be the same is how far the neighbours are, and to whom they belong.
    const restored = await index.quantizer.decode(index.codes, { device })
    const rowOf = (id: number): number => (named ? (id - 1000) / 3 : id)
    const distanceTo = (query: number, id: number): number => {
      let sum = 0
      for (let j = 0; j < 16; j++) sum += (asked.data[query * 16 + j] - restored.data[rowOf(id) * 16 + j]) ** 2
      return sum
    }
    for (let i = 0; i < 12 * 20; i++) {
      const query = Math.floor(i / 20)
      const scale = 1e-3 * (1 + ours.distances[i])
      expect(Math.abs(distanceTo(query, found.labels[i]) - distanceTo(query, ours.labels[i]))).toBeLessThan(scale)
    }
  })

  const inner = matrix(vectors.data.map((value) => value + 0.1) as Float32Array, 300, 16)
  test.each<[string, SearchMetric, QuantizerOptions | 'flat', number]>([
    ['IVF-PQ', 'euclidean', { type: 'pq', m: 4, codewords: 16 }, 5],
    ['IVF-PQ of uneven subspaces', 'euclidean', { type: 'pq', m: 3, codewords: 8 }, 5],
    ['IVF-ck', 'euclidean', { type: 'ck', m: 4 }, 5],
    ['IVF-ck by inner product', 'inner-product', { type: 'ck', m: 4, codewords: 16 }, 5],
    ['IVF-PQ by cosine', 'cosine', { type: 'pq', m: 8, codewords: 16 }, 20],
    ['IVF-flat', 'euclidean', 'flat', 3],
    ['IVF-flat by inner product', 'inner-product', 'flat', 3],
    ['IVF-flat by cosine', 'cosine', 'flat', 3],
  ])('%s', async (_, metric, type, probe) => {
    const model = await cluster(inner, { k: 20, metric: metric === 'cosine' ? metric : 'euclidean', device })
    const index =
      type === 'flat'
        ? new VectorLists(model, { metric })
        : await InvertedFile.train(inner, model, { ...type, metric, device })
    const ids = Uint32Array.from({ length: 300 }, (_, i) => 5 + 2 * i)
    await index.add(inner, { ids, device })
    index.remove([5, 9])
    const ours = await index.search(queries, { nearest: 20, probe, device })
    const bytes = faissBytes(index)
    const found = await searchedByFaiss(bytes, queries, 20, probe)
    const read = await readFaiss(new File([bytes], 'index.faiss'))
    if (read.kind !== 'lists' && read.kind !== 'vector-lists') throw new Error(read.kind)
    const again = await read.index.search(queries, { nearest: 20, probe, device })
    // Many vectors share a code: they come in any order.
    const sign = { euclidean: 1, cosine: 2, 'inner-product': -1 }[metric]
    ours.distances.forEach((distance, i) => {
      const slack = 1e-3 * (1 + Math.abs(distance))
      expect(Math.abs(found.distances[i] - sign * distance)).toBeLessThan(2 * slack)
      expect(Math.abs(again.distances[i] - distance)).toBeLessThan(slack)
    })
    const same = ours.labels.filter((label, i) => label === found.labels[i] && label === again.labels[i])
    expect(same.length).toBeGreaterThan((type === 'flat' ? 0.98 : 0.5) * ours.labels.length)
  })
})

/** Files for faiss: the bytes of small ones, and, where Python has faiss, that it opens them and finds the same neighbours. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  CodeIndex,
  type Device,
  faissBytes,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  type QuantizerOptions,
  trainQuantizer,
  writeVectors,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const PYTHON = '/usr/bin/python3'
const hasFaiss = spawnSync(PYTHON, ['-c', 'import faiss']).status === 0
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
  const uneven = await trainQuantizer(vectors, { type: 'pq', m: 2, codewords: 16, device })
  expect(() => faissBytes(new CodeIndex(uneven))).toThrow(/needs subspaces of the same width: 7 dimensions/)
  const odd = await trainQuantizer(vectors, { type: 'pq', m: 7, codewords: 9, device })
  expect(() => faissBytes(new CodeIndex(odd))).toThrow(/needs 2, 4, 16 or 256 codewords, not 9/)
})

const SCRIPT = `
import sys, numpy, faiss
index = faiss.read_index(sys.argv[1])
queries = numpy.load(sys.argv[2])
distances, labels = index.search(queries, int(sys.argv[3]))
labels.astype('<i8').tofile(sys.argv[4])
distances.astype('<f4').tofile(sys.argv[5])
`

async function searchedByFaiss(bytes: Uint8Array, queries: Matrix, m: number) {
  writeFileSync(path('index.faiss'), bytes)
  await writeVectors(path('queries.npy'), queries)
  const files = ['index.faiss', 'queries.npy'].map(path)
  const done = spawnSync(PYTHON, ['-c', SCRIPT, ...files, String(m), path('labels'), path('distances')])
  expect(done.stderr.toString()).toBe('')
  const numbers = readFileSync(path('labels'))
  const labels = Array.from({ length: numbers.length / 8 }, (_, i) => Number(numbers.readBigInt64LE(8 * i)))
  const floats = readFileSync(path('distances'))
  return { labels, distances: Array.from({ length: floats.length / 4 }, (_, i) => floats.readFloatLE(4 * i)) }
}

describe.skipIf(!hasFaiss)('faiss opens', () => {
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
})

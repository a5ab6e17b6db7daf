/** Files that faiss wrote (test/data/golden/make-faiss.py): they are read, and searches find what they find there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CodeIndex,
  type Device,
  type FaissContents,
  faissBytes,
  InvertedFile,
  loadQuantizer,
  matrix,
  nearest,
  openDevice,
  readFaiss,
  VectorLists,
} from '../../src/index.ts'
import { failure } from '../data/failure.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'

const FOLDER = new URL('../data/golden/', import.meta.url)
const file = (name: string): string => fileURLToPath(new URL(`faiss-${name}.faiss`, FOLDER))
const golden = JSON.parse(readFileSync(new URL('faiss.json', FOLDER), 'utf8'))
const queries = matrix(Float32Array.from(golden.queries), 6, 8)
const path = temporaryFolder()
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

async function search(read: FaissContents) {
  if (read.kind === 'vectors') {
    const found = await nearest(queries, read.vectors, { m: 5, metric: read.metric, device })
    return { ...found, labels: found.labels.map((label) => read.ids?.[label] ?? label) }
  }
  if (read.kind === 'codes') return read.index.search(queries, { nearest: 5, device })
  return read.index.search(queries, { nearest: 5, probe: 3, device })
}

/** As faiss tells distances: 1 - cosine is half the squared distance, and inner products have their own sign. */
function asThere(kind: string, distance: number): number {
  if (!Number.isFinite(distance)) return Number.NaN
  if (kind.includes('inner')) return -distance
  return kind.includes('normalized') ? 2 * distance : distance
}

/** Vectors with the same code are equally far, in any order. */
function expectSame(kind: string, found: { labels: Uint32Array; distances: Float32Array }, shift = 0): void {
  const { labels, distances } = golden.searches[kind] as { labels: number[]; distances: number[] }
  const places = Array.from(found.labels, (label, i) => {
    const told = labels[i]
    const missing = label === 0xffffffff
    if (missing || told === -1) return missing === (told === -1)
    return Math.abs(asThere(kind, found.distances[i]) - shift - distances[i]) < 1e-3 * (1 + Math.abs(distances[i]))
  })
  expect(places, kind).not.toContain(false)
  const sameLabels = Array.from(found.labels).filter((label, i) => label === labels[i] || labels[i] === -1).length
  expect(sameLabels, kind).toBeGreaterThanOrEqual(labels.length / 2)
}

describe('faiss wrote', () => {
  test.each(Object.keys(golden.searches).filter((kind) => kind !== 'opq-fewer'))('%s', async (kind) => {
    const read = await readFaiss(file(kind))
    expectSame(kind, await search(read))
    // Written and read once more, it is the same.
    const bytes = read.kind === 'vectors' ? faissBytes(read.vectors, { metric: read.metric }) : faissBytes(read.index)
    writeFileSync(path('again.faiss'), bytes)
    const again = await readFaiss(path('again.faiss'))
    expect(again.kind).toBe(read.kind)
    const found = await search(again)
    expectSame(kind, again.kind === 'vectors' ? { ...found, labels: renumbered(read, found.labels) } : found)
  })

  /** Vectors are written without ids. */
  function renumbered(read: FaissContents, labels: Uint32Array): Uint32Array {
    return read.kind === 'vectors' ? labels.map((label) => read.ids?.[label] ?? label) : labels
  }

  test('fewer dimensions: what they leave out is part of the distances here', async () => {
    const found = await search(await readFaiss(file('opq-fewer')))
    const { labels, distances } = golden.searches['opq-fewer']
    for (let i = 0; i < 30; i += 5) {
      const left = found.distances[i] - distances[i]
      expect(left).toBeGreaterThan(-1e-3)
      for (let j = i; j < i + 5; j++) expect(found.distances[j] - left).toBeCloseTo(distances[j], 2)
    }
    expect(Array.from(found.labels).filter((label, i) => label === labels[i]).length).toBeGreaterThan(14)
  })
})

test('what was read is added to, saved and loaded', async () => {
  const lists = await readFaiss(file('ivf-opq'))
  if (lists.kind !== 'lists') throw new Error(lists.kind)
  expect(await lists.index.add(queries, { device })).toEqual(Uint32Array.from({ length: 6 }, (_, i) => 837 + i))
  await lists.index.save(path('lists'))
  expect((await InvertedFile.load(path('lists'))).size).toBe(126)
  const codes = await readFaiss(file('opq'))
  if (codes.kind !== 'codes') throw new Error(codes.kind)
  await codes.index.save(path('codes'))
  expect((await CodeIndex.load(path('codes'))).size).toBe(120)
  await codes.index.quantizer.save(path('quantizer'))
  expect((await loadQuantizer(path('quantizer'))).distortion).toBeNaN()
  const flat = await readFaiss(new File([readFileSync(file('ivf-flat'))], 'lists.faiss'))
  if (flat.kind !== 'vector-lists') throw new Error(flat.kind)
  await flat.index.save(path('flat'))
  expect((await VectorLists.load(path('flat'))).ids).toEqual(flat.index.ids)
})

describe('refused in a sentence', () => {
  const whole = readFileSync(file('ivf-opq'))
  const changed = (change: (bytes: Uint8Array) => Uint8Array): Promise<string> =>
    failure(() => readFaiss(new File([change(new Uint8Array(whole)).slice()], 'changed.faiss')))

  test('files that are cut, longer, or of another kind', async () => {
    for (const length of [0, 3, 30, 200, whole.length - 1]) {
      expect(await changed((bytes) => bytes.subarray(0, length))).toMatch(/^bad-file: "changed\.faiss" ends at byte/)
    }
    expect(await changed((bytes) => new Uint8Array([...bytes, 1]))).toMatch(/goes on for 1 bytes after its end/)
    expect(await changed((bytes) => bytes.fill(72, 0, 4))).toMatch(/faiss calls "HHHH": IndexFlat, IndexPQ/)
    expect(await failure(() => readFaiss(path('nowhere.faiss')))).toMatch(/^bad-file: Cannot read .*nowhere/)
  })

  test('any byte changed: an index or a sentence', async () => {
    for (let at = 0; at < whole.length; at += 7) {
      const bytes = new Uint8Array(whole)
      bytes[at] ^= 0xff
      const outcome = await failure(() => readFaiss(new File([bytes], 'changed.faiss'))).catch(() => 'bad-file: read')
      expect(outcome, `byte ${at}`).toMatch(/^bad-(file|data): /)
    }
  })
})

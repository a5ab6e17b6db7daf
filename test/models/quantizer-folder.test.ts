/** Quantizers and indexes saved and loaded: the same answers, and folders that are not right are refused. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CodeIndex,
  cluster,
  type Device,
  InvertedFile,
  loadQuantizer,
  matrix,
  openDevice,
  type QuantizerOptions,
  trainQuantizer,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { slanted } from '../quantize/checks.ts'

const path = temporaryFolder()
let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 })
})
afterAll(() => device.close())

const vectors = slanted(120, 6, 1, 500)
const queries = slanted(5, 6, 2, 500)
const KINDS: Record<string, QuantizerOptions> = {
  pq: { type: 'pq', m: 2, codewords: 20 },
  ck: { type: 'ck', m: 3, codewords: 8 },
  narrow: { type: 'ck', m: 2, codewords: 8, rank: 3 },
  ok: { type: 'ok', m: 5 },
  itq: { type: 'itq', m: 4 },
  wide: { type: 'pq', m: 2, codewords: 110 },
}

describe('quantizers', () => {
  test.each(Object.keys(KINDS))('%s keeps its answers', async (kind) => {
    const quantizer = await trainQuantizer(vectors, { iterations: 3, device, ...KINDS[kind] })
    await quantizer.save(path(kind))
    const loaded = await loadQuantizer(path(kind))
    expect(loaded.codec).toEqual(quantizer.codec)
    expect(loaded.facts).toEqual(quantizer.facts)
    expect(loaded.distortion).toBe(quantizer.distortion)
    const codes = await quantizer.encode(vectors, { device })
    expect(await loaded.encode(vectors, { device })).toEqual(codes)
    expect(await loaded.decode(codes, { device })).toEqual(await quantizer.decode(codes, { device }))
    expect(await loaded.search(codes, queries, { device })).toEqual(await quantizer.search(codes, queries, { device }))
  })

  test('the folder is NumPy files and JSON', async () => {
    const quantizer = await trainQuantizer(vectors, { iterations: 2, device, ...KINDS.narrow })
    await quantizer.save(path('files'))
    expect((await readdir(path('files'))).sort()).toEqual(['books.npy', 'model.json', 'offset.npy', 'rotation.npy'])
    expect(JSON.parse(await readFile(path('files/model.json'), 'utf8'))).toMatchObject({
      format: 'centroidal quantizer',
      version: 2,
      type: 'ck',
      m: 2,
      codewords: 8,
      rank: 3,
      cols: 6,
    })
  })

  test('files of two saves, later versions and other models are refused', async () => {
    const first = await trainQuantizer(vectors, { iterations: 1, device, ...KINDS.ck })
    const second = await trainQuantizer(vectors, { iterations: 1, seed: 5, device, ...KINDS.ck })
    await first.save(path('first'))
    await second.save(path('second'))
    await writeFile(path('second/books.npy'), await readFile(path('first/books.npy')))
    await expect(loadQuantizer(path('second'))).rejects.toThrow(
      /books\.npy does not have the checksum it was saved with/,
    )
    const facts = JSON.parse(await readFile(path('first/model.json'), 'utf8'))
    await writeFile(path('first/model.json'), JSON.stringify({ ...facts, version: 99 }))
    await expect(loadQuantizer(path('first'))).rejects.toThrow(/format version 99, this centroidal reads version 2/)
    await (await cluster(vectors, { k: 3, device })).save(path('clusters'))
    await expect(loadQuantizer(path('clusters'))).rejects.toThrow(/does not belong to a quantizer/)
    await expect(loadQuantizer(path('nowhere'))).rejects.toThrow(/nowhere/)
  })
})

describe('indexes', () => {
  test('a flat one keeps its answers', async () => {
    const quantizer = await trainQuantizer(vectors, { iterations: 2, device, ...KINDS.ok })
    const index = new CodeIndex(quantizer)
    await index.add(vectors, { ids: Array.from({ length: 120 }, (_, i) => i * 3), device })
    index.remove([0, 9, 300])
    await index.save(path('index'))
    const loaded = await CodeIndex.load(path('index'))
    expect(loaded.ids).toEqual(index.ids)
    for (const distance of ['asymmetric', 'symmetric', 'hamming'] as const) {
      expect(await loaded.search(queries, { distance, device })).toEqual(
        await index.search(queries, { distance, device }),
      )
    }
  })

  test('an inverted file keeps its answers, empty too', async () => {
    const model = await cluster(vectors, { k: 5, seed: 2, device })
    const file = await InvertedFile.train(vectors, model, { iterations: 2, device, ...KINDS.ck })
    await file.save(path('empty'))
    expect((await InvertedFile.load(path('empty'))).size).toBe(0)
    await file.add(vectors, { device })
    file.remove([1, 2])
    await file.save(path('file'))
    const loaded = await InvertedFile.load(path('file'))
    const asked = { nearest: 7, probe: 3, device }
    expect(await loaded.search(queries, asked)).toEqual(await file.search(queries, asked))
    // What is added to the loaded one is numbered on.
    expect(await loaded.add(matrix(vectors.data.subarray(0, 6), 1, 6), { device })).toEqual(Uint32Array.of(120))
  })
})

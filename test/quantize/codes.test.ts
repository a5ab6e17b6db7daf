import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CodeIndex,
  type Device,
  type Matrix,
  matrix,
  openDevice,
  type Quantizer,
  type QuantizerOptions,
  rerank,
  trainQuantizer,
} from '../../src/index.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'
import { fc } from '../properties.ts'
import { expectClose, expectSame } from '../tolerance.ts'
import { byteBlobs, meanSquaredDistance, order, slanted, squaredDistance, variance } from './checks.ts'

const KINDS: Record<string, QuantizerOptions> = {
  pq: { type: 'pq', m: 3, codewords: 7 },
  'pq, random': { type: 'pq', m: 3, codewords: 20, order: 'random' },
  ck: { type: 'ck', m: 3, codewords: 16 },
  'ck, of rank 4': { type: 'ck', m: 2, codewords: 5, rank: 4 },
  'ck, two subspaces': { type: 'ck', m: 2, codewords: 9 },
  ok: { type: 'ok', m: 7 },
  itq: { type: 'itq', m: 5 },
}
const NONE = 0xffffffff

/** Numbers of a code row, one a subspace, written a second time. */
function codesOf(quantizer: Quantizer, codes: Matrix, i: number): number[] {
  const { m, codewords } = quantizer.facts
  const bits = codewords <= 2 ? 1 : codewords <= 4 ? 2 : codewords <= 16 ? 4 : 8
  return Array.from({ length: m }, (_, s) => {
    const bit = s * bits
    return (codes.data[i * codes.cols + (bit >> 3)] >> (bit & 7)) & (2 ** bits - 1)
  })
}

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(name, () => {
    let device: Device
    const trained = new Map<string, Quantizer>()
    const vectors = slanted(180, 8, 1)
    const queries = slanted(9, 8, 2)
    beforeAll(async () => {
      device = await openDevice(options)
      for (const [kind, given] of Object.entries(KINDS)) {
        trained.set(kind, await trainQuantizer(vectors, { iterations: 5, tolerance: 0, seed: 1, device, ...given }))
      }
    })
    afterAll(() => device.close())
    const quantizerOf = (kind: string): Quantizer => trained.get(kind) as Quantizer

    /** Lists against brute force over the decoded base; queries as they are, or decoded too. */
    function checkRanking(
      found: { m: number; labels: Uint32Array; distances: Float32Array },
      points: Matrix,
      base: Matrix,
      ids: ArrayLike<number> = Array.from({ length: base.rows }, (_, i) => i),
    ): void {
      const slack = 2e-5 * (variance(base) + 1)
      for (let query = 0; query < points.rows; query++) {
        const best = order(points, query, base)
        const there = Math.min(found.m, base.rows)
        const labels = Array.from(found.labels.subarray(query * found.m, (query + 1) * found.m))
        expect(new Set(labels.slice(0, there)).size).toBe(there)
        expect(labels.slice(there).every((label) => label === NONE)).toBe(true)
        const rows = labels.slice(0, there).map((label) => Array.from(ids).indexOf(label))
        const own = rows.map((row) => squaredDistance(points, query, base, row))
        const bound = (i: number): number => slack + 2e-5 * best[i].distance
        expectClose(
          own,
          best.slice(0, there).map(({ distance }) => distance),
          bound,
        )
        expectClose(found.distances.subarray(query * found.m, query * found.m + there), own, bound)
      }
    }

    test.each(Object.keys(KINDS))('%s: a code is the nearest codeword of every subspace', async (kind) => {
      const quantizer = quantizerOf(kind)
      const { codec } = quantizer
      const codes = await quantizer.encode(vectors, { device })
      expect(codes).toMatchObject({ rows: 180, cols: quantizer.codeBytes })
      const { ranges, rotation, books, codewords } = codec
      const width = books.length / ((ranges.length - 1) * codewords)
      for (let i = 0; i < vectors.rows; i += 7) {
        const turned = Array.from({ length: ranges[ranges.length - 1] }, (_, t) => {
          if (!rotation) return vectors.data[i * 8 + t]
          let dot = 0
          for (let j = 0; j < 8; j++) dot += rotation[t * 8 + j] * vectors.data[i * 8 + j]
          return dot
        })
        codesOf(quantizer, codes, i).forEach((code, s) => {
          const distances = Array.from({ length: codewords }, (_, j) => {
            let sum = 0
            for (let t = ranges[s]; t < ranges[s + 1]; t++) {
              sum += (turned[t] - books[(s * codewords + j) * width + t - ranges[s]]) ** 2
            }
            return sum
          })
          expect(distances[code]).toBeLessThanOrEqual(Math.min(...distances) + 1e-5 * (1 + Math.max(...distances)))
        })
      }
    })

    test.each(Object.keys(KINDS))('%s: tables give the distances to what codes stand for', async (kind) => {
      const quantizer = quantizerOf(kind)
      const codes = await quantizer.encode(vectors, { device })
      const decoded = await quantizer.decode(codes, { device })
      const found = await quantizer.search(codes, queries, { nearest: 12, device })
      checkRanking(found, queries, decoded)
      const own = await quantizer.decode(await quantizer.encode(queries, { device }), { device })
      checkRanking(await quantizer.search(codes, queries, { nearest: 12, distance: 'symmetric', device }), own, decoded)
    })

    test.each(['ok', 'itq'])('%s: Hamming distances count bits', async (kind) => {
      const quantizer = quantizerOf(kind)
      const codes = await quantizer.encode(vectors, { device })
      const asked = await quantizer.encode(queries, { device })
      const found = await quantizer.search(codes, queries, { nearest: 30, distance: 'hamming', device })
      for (let query = 0; query < queries.rows; query++) {
        const mine = codesOf(quantizer, asked, query)
        const all = Array.from({ length: codes.rows }, (_, id) => ({
          id,
          distance: codesOf(quantizer, codes, id).filter((bit, s) => bit !== mine[s]).length,
        })).sort((a, b) => a.distance - b.distance || a.id - b.id)
        const best = all.slice(0, 30)
        expectSame(
          found.labels.subarray(query * 30, (query + 1) * 30),
          best.map(({ id }) => id),
        )
        expectSame(
          found.distances.subarray(query * 30, (query + 1) * 30),
          best.map(({ distance }) => distance),
        )
      }
    })

    test('two subspaces as one codebook: the word is that of the nearest of all centres', async () => {
      const quantizer = quantizerOf('ck, two subspaces')
      expect(quantizer.words).toBe(81)
      const words = await quantizer.predict(vectors, { device })
      const every = matrix(
        Uint8Array.from({ length: 81 }, (_, word) => Math.floor(word / 9) | ((word % 9) << 4)),
        81,
        1,
      )
      const centers = await quantizer.decode(every, { device })
      for (let i = 0; i < vectors.rows; i++) {
        const [best] = order(vectors, i, centers)
        expect(squaredDistance(vectors, i, centers, words[i])).toBeLessThanOrEqual(best.distance * (1 + 1e-4) + 1e-5)
      }
      await expect(quantizerOf('itq').predict(vectors, { device })).resolves.toHaveLength(180)
    })

    test('more than 256 codewords', async () => {
      const many = slanted(400, 4, 5)
      const quantizer = await trainQuantizer(many, { type: 'pq', m: 2, codewords: 300, iterations: 2, device })
      expect(quantizer.codeBytes).toBe(8)
      const codes = await quantizer.encode(many, { device })
      const decoded = await quantizer.decode(codes, { device })
      expect(meanSquaredDistance(many, decoded)).toBeLessThan(0.1 * variance(many))
      checkRanking(await quantizer.search(codes, slanted(3, 4, 6), { nearest: 5, device }), slanted(3, 4, 6), decoded)
    })

    test('bytes, odd widths, any number to find: search is brute force', async () => {
      const shapes = fc.record({
        cols: fc.integer({ min: 2, max: 7 }),
        m: fc.integer({ min: 1, max: 2 }),
        codewords: fc.integer({ min: 1, max: 19 }),
        type: fc.constantFrom('pq' as const, 'ck' as const),
        nearest: fc.integer({ min: 1, max: 60 }),
        rows: fc.integer({ min: 1, max: 50 }),
      })
      await fc.assert(
        fc.asyncProperty(shapes, async ({ cols, m, codewords, type, nearest, rows }) => {
          const learn = byteBlobs(40, cols, 3)
          const base = byteBlobs(rows, cols, 4)
          const asked = byteBlobs(5, cols, 5)
          const quantizer = await trainQuantizer(learn, { type, m, codewords, iterations: 2, device })
          const codes = await quantizer.encode(base, { device })
          const decoded = await quantizer.decode(codes, { device })
          checkRanking(await quantizer.search(codes, asked, { nearest, device }), asked, decoded)
        }),
        { numRuns: name === 'webgpu' ? 5 : 12 },
      )
    })

    test('an index keeps ids through adding and removing', async () => {
      const quantizer = quantizerOf('ck')
      const index = new CodeIndex(quantizer)
      expect((await index.search(queries, { nearest: 3, device })).labels.every((label) => label === NONE)).toBe(true)
      const half = (from: number, to: number): Matrix => matrix(vectors.data.subarray(from * 8, to * 8), to - from, 8)
      expectSame(
        await index.add(half(0, 60), { device }),
        Array.from({ length: 60 }, (_, i) => i),
      )
      const ids = Array.from({ length: 120 }, (_, i) => 5000 - i)
      await index.add(half(60, 180), { ids, device })
      const whole = await index.search(queries, { nearest: 8, device })
      const flat = await quantizer.search(await quantizer.encode(vectors, { device }), queries, { nearest: 8, device })
      expectSame(
        whole.labels,
        Array.from(flat.labels, (at) => (at < 60 ? at : 5000 - (at - 60))),
      )
      const gone = whole.labels.filter((_, i) => i % 8 === 0)
      expect(index.remove(gone)).toBe(new Set(gone).size)
      expect(index.remove(gone)).toBe(0)
      const rest = await index.search(queries, { nearest: 8, device })
      for (const id of gone) expect(rest.labels).not.toContain(id)
      const kept = Array.from(index.ids)
      const decoded = await quantizer.decode(index.codes, { device })
      checkRanking(rest, queries, decoded, kept)
      await expect(index.add(half(0, 1), { ids: [kept[3]], device })).rejects.toThrow(/is already in use/)
      await expect(index.add(half(0, 2), { ids: [1], device })).rejects.toThrow(/one for each of the 2 vectors/)
    })

    test('re-ranking gives exact distances', async () => {
      const index = new CodeIndex(quantizerOf('ck'))
      await index.add(vectors, { device })
      const found = await index.search(queries, { nearest: 5, rerank: vectors, candidates: 180, device })
      for (let query = 0; query < queries.rows; query++) {
        const best = order(queries, query, vectors).slice(0, 5)
        expectSame(
          found.labels.subarray(query * 5, query * 5 + 5),
          best.map(({ id }) => id),
        )
        expectClose(
          found.distances.subarray(query * 5, query * 5 + 5),
          best.map(({ distance }) => distance),
          (i) => 1e-6 * best[i].distance,
        )
      }
      await expect(index.search(queries, { candidates: 5, device })).rejects.toThrow(
        /give the vectors as option rerank/,
      )
      const few = matrix(vectors.data.subarray(0, 80), 10, 8)
      await expect(rerank(found, queries, few)).rejects.toThrow(/only 10 rows/)
    })

    test('what does not fit is refused', async () => {
      const quantizer = quantizerOf('pq')
      const codes = await quantizer.encode(vectors, { device })
      const wide = slanted(3, 9, 1)
      await expect(quantizer.encode(wide, { device })).rejects.toThrow(/has 9 columns and the quantizer 8/)
      await expect(quantizer.search(codes, queries, { nearest: 0, device })).rejects.toThrow(/Option nearest is 0/)
      await expect(quantizer.search(codes, queries, { distance: 'hamming', device })).rejects.toThrow(
        /requires codes of bits/,
      )
      await expect(quantizer.decode(vectors, { device })).rejects.toThrow(/do not match this quantizer/)
      const strange = matrix(codes.data.map(() => 255) as Uint8Array, codes.rows, codes.cols)
      await expect(quantizer.search(strange, queries, { device })).rejects.toThrow(/holds code 15, .* has 7 codewords/)
      const holes = matrix(Float32Array.of(Number.NaN, 1, 1, 1, 1, 1, 1, 1), 1, 8)
      await expect(quantizer.encode(holes, { device })).rejects.toThrow(/holds NaN in column 0/)
    })
  })
}

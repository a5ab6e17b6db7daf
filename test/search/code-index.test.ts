/** An index of codes that stays on a device: searches that come together, between changes, and after closing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CodeIndex,
  createRandom,
  type Device,
  type Matrix,
  matrix,
  nearest,
  normalize,
  openDevice,
  type Quantizer,
  type RankedCodes,
  trainQuantizer,
} from '../../src/index.ts'
import { searchPart } from '../../src/quantize/flat-search.ts'
import { finishDistances, rankedBuffer } from '../../src/quantize/ranked.ts'
import { CodeStore } from '../../src/search/code-store.ts'
import { ResidentCodes } from '../../src/search/resident-codes.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { slanted } from '../quantize/checks.ts'
import { expectClose, expectSame } from '../tolerance.ts'

const path = temporaryFolder()
const COLS = 8
const NONE = 0xffffffff

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`a resident index of codes on ${name}`, () => {
    const few = name.startsWith('cpu') ? 1 : 20
    const rows = 1200
    const vectors = slanted(rows, COLS, 1)
    const part = (from: number, to: number): Matrix =>
      matrix(vectors.data.slice(from * COLS, to * COLS), to - from, COLS)
    let device: Device
    let quantizer: Quantizer

    beforeAll(async () => {
      device = await openDevice(options)
      quantizer = await trainQuantizer(vectors, { type: 'ck', m: 4, codewords: 16, iterations: 3, device })
    })
    afterAll(() => device.close())

    async function filled(): Promise<CodeIndex> {
      return new CodeIndex(quantizer, await quantizer.encode(vectors, { device }))
    }

    test('a search allocates nothing that stays, and writes no codes again', async () => {
      await using index = await filled()
      await index.search(part(0, 1), { device })
      const before = device.allocatedBytes
      for (let i = 0; i < 5; i++) await index.search(part(i, i + 1), { nearest: 1 + i, device })
      expect(device.allocatedBytes).toBe(before)
    })

    test('many at the same time give what they give one after another', async () => {
      await using index = await filled()
      const count = Math.ceil(10_000 / few)
      const distinct = Math.ceil(100 / few)
      const alone: number[][] = []
      for (let i = 0; i < distinct; i++) {
        const found = await index.search(part(i, i + 1), { nearest: 5, device })
        alone.push([...found.labels, ...found.distances])
      }
      const before = device.heldBytes
      const all = await Promise.all(
        Array.from({ length: count }, (_, i) =>
          index.search(part(i % distinct, (i % distinct) + 1), { nearest: 5, device }),
        ),
      )
      all.forEach(({ labels, distances }, i) => {
        expectSame([...labels, ...distances], alone[i % distinct])
      })
      if (before !== undefined && device.heldBytes !== undefined) {
        expect(device.heldBytes - before).toBeLessThan(16 * 2 ** 20)
      }
    })

    test('different questions, bytes and floats, wrong and aborted ones keep to themselves', async () => {
      await using index = await filled()
      const stopped = new AbortController()
      stopped.abort(new Error('enough'))
      const wrong = matrix(new Float32Array(COLS).fill(Number.NaN), 1, COLS)
      const bytes = matrix(
        Uint8Array.from({ length: 3 * COLS }, (_, i) => i % 7),
        3,
        COLS,
      )
      const ask = [
        () => index.search(part(0, 3), { nearest: 3, device }),
        () => index.search(wrong, { nearest: 3, device }),
        () => index.search(part(5, 6), { nearest: 3, signal: stopped.signal, device }),
        () => index.search(part(3, 4), { nearest: 3, device }),
        () => index.search(bytes, { nearest: 3, device }),
        () => index.search(part(0, 9), { nearest: 7, distance: 'symmetric', device }),
        () => index.search(part(0, 9), { nearest: 7, rerank: vectors, device }),
      ]
      const alone = []
      for (const each of ask) alone.push(...(await Promise.allSettled([each()])))
      const together = await Promise.allSettled(ask.map((each) => each()))
      expect(together).toEqual(alone)
      expect(together.map(({ status }) => status)).toEqual(
        ['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'], // biome-ignore format: a row
      )
    })

    test('adding and removing among searches, against a search from scratch', async () => {
      await using index = new CodeIndex(quantizer)
      const codes = await quantizer.encode(vectors, { device })
      const random = createRandom(5)
      let held: { readonly id: number; readonly row: number }[] = []
      for (let step = 0; step < Math.ceil(40 / few); step++) {
        const picked = Array.from({ length: 1 + random.below(60) }, () => random.below(rows))
        const data = Float32Array.from(picked.flatMap((row) => [...part(row, row + 1).data]))
        const adding = index.add(matrix(data, picked.length, COLS), { device })
        const meanwhile = await index.search(part(step, step + 1), { nearest: rows, device })
        const ids = await adding
        // All of them or none.
        expect(new Set(Array.from(ids, (id) => meanwhile.labels.includes(id))).size).toBe(1)
        held.push(...picked.map((row, i) => ({ id: ids[i], row })))
        const gone = new Set(held.filter(() => random.below(5) === 0).map(({ id }) => id))
        expect(index.remove([...gone, 4_000_000])).toBe(gone.size)
        held = held.filter(({ id }) => !gone.has(id))
        expect(index.size).toBe(held.length)
        const kept = Uint8Array.from(held.flatMap(({ row }) => [...codes.data.subarray(row * codes.cols, (row + 1) * codes.cols)])) // biome-ignore format: one thing
        const found = await index.search(part(step, step + 2), { nearest: 9, device })
        const fresh = await quantizer.search(matrix(kept, held.length, codes.cols), part(step, step + 2), { nearest: 9, device }) // biome-ignore format: one thing
        expectSame(
          found.labels,
          Array.from(fresh.labels, (at) => (at === NONE ? NONE : held[at].id)),
        )
        expectSame(found.distances, fresh.distances)
      }
    })

    test('parts that fill up, grow and go away again', async () => {
      const all = await quantizer.encode(vectors, { device })
      const codes = (from: number, to: number): Matrix =>
        matrix(all.data.slice(from * all.cols, to * all.cols), to - from, all.cols)
      const ids = (from: number, to: number): Uint32Array => Uint32Array.from({ length: to - from }, (_, i) => from + i)
      const store = new CodeStore(codes(0, 10), ids(0, 10))
      const before = device.allocatedBytes
      const resident = new ResidentCodes(device, quantizer.codec, store, 64)
      const { labels } = await quantizer.search(all, part(0, 1), { nearest: 5, device })
      const check = async (): Promise<void> => {
        const { width } = resident.scannerFor('squares')
        // Zero lies in the space of any quantizer.
        const points = new Float32Array(width)
        const out = rankedBuffer(1, 5)
        for (const loaded of resident.follow()) await searchPart(resident.scannerFor('squares'), loaded, points, out, {}) // biome-ignore format: one thing
        finishDistances(out, undefined, 1)
        const once = new ResidentCodes(device, quantizer.codec, store)
        const expected = rankedBuffer(1, 5)
        for (const loaded of once.follow()) await searchPart(once.scannerFor('squares'), loaded, points, expected, {})
        finishDistances(expected, undefined, 1)
        once.free()
        expect(out).toEqual(expected)
      }
      await check()
      for (const [from, to] of [
        [10, 63],
        [63, 64],
        [64, 65],
        [65, 400],
      ]) {
        // biome-ignore format: a row
        store.add(codes(from, to), ids(from, to))
        await check()
      }
      for (const id of [399, 64, 63, 0, ...labels]) store.remove(id)
      await check()
      for (let id = 20; id < 380; id++) store.remove(id)
      await check()
      store.add(codes(500, 700), ids(500, 700))
      await check()
      resident.free()
      expect(device.allocatedBytes).toBe(before)
    })

    describe.each(['euclidean', 'cosine', 'inner-product'] as const)('by %s', (metric) => {
      const queries = slanted(5, COLS, 4, 1)
      let index: CodeIndex
      /** Distances of each query to what all codes stand for, by the definition. */
      let expected: { readonly id: number; readonly far: number }[][]

      beforeAll(async () => {
        const given = metric === 'cosine' ? normalize(vectors) : vectors
        // Not all directions are kept, so that there is an offset.
        const shape = { type: 'ck', m: 3, codewords: 16, rank: 6, iterations: 3, device } as const
        const own = await trainQuantizer(given, shape)
        index = new CodeIndex(own, undefined, undefined, { metric })
        const ids = Uint32Array.from({ length: rows }, (_, i) => 7 * i)
        await index.add(vectors, { ids, device })
        const { data } = await own.decode(index.codes, { device })
        expected = Array.from({ length: 5 }, (_, query) => {
          const { data: q } = metric === 'cosine' ? normalize(queries) : queries
          const all = Array.from({ length: rows }, (_, i) => {
            let far = 0
            for (let j = 0; j < COLS; j++) {
              const [a, b] = [q[query * COLS + j], data[i * COLS + j]]
              far += metric === 'inner-product' ? -a * b : (a - b) ** 2
            }
            return { id: 7 * i, far: metric === 'cosine' ? far / 2 : far }
          })
          return all.sort((a, b) => a.far - b.far)
        })
      })
      afterAll(() => index.close())

      const same = ({ labels, distances }: RankedCodes, of: (query: number) => { id: number; far: number }[]): void => {
        for (let query = 0; query < 5; query++) {
          const wanted = of(query)
          const from = query * 12
          const count = Math.min(12, wanted.length)
          expectClose(
            distances.subarray(from, from + count),
            wanted.slice(0, count).map(({ far }) => far),
            () => 2e-4,
          )
          for (let i = 0; i < count; i++) {
            const far = wanted.find(({ id }) => id === labels[from + i])?.far
            expect(Math.abs((far as number) - distances[from + i])).toBeLessThan(2e-4)
          }
          expect([...labels.subarray(from + count, from + 12)]).toEqual(Array(12 - count).fill(NONE))
        }
      }

      test('finds what the definition finds', async () => {
        same(await index.search(queries, { nearest: 12, device }), (query) => expected[query])
      })

      test('among some ids only, however they are given', async () => {
        const some = Array.from({ length: 40 }, (_, i) => 7 * (13 + 29 * i)).concat(3, 1e6)
        const where = new Set(some)
        const found = await index.search(queries, { nearest: 12, where, device })
        same(found, (query) => expected[query].filter(({ id }) => where.has(id)))
        expect(await index.search(queries, { nearest: 12, where: some, device })).toEqual(found)
        const bits = new Uint8Array(7 * rows)
        for (const id of some) if (id < 8 * bits.length) bits[id >> 3] |= 1 << (id & 7)
        expect(await index.search(queries, { nearest: 12, where: { bits }, device })).toEqual(found)
        same(await index.search(queries, { nearest: 12, where: [7], device }), (query) =>
          expected[query].filter(({ id }) => id === 7),
        )
        const none = await index.search(queries, { nearest: 12, where: [], device })
        expect(none.labels.every((id) => id === NONE)).toBe(true)
      })

      test('within a distance, by codes and by the vectors', async () => {
        // Between two distances that differ, so that rounding decides nothing.
        const at = expected[0].findIndex(({ far }, i, all) => i > 3 && all[i + 1].far - far > 1e-3)
        const within = (expected[0][at].far + expected[0][at + 1].far) / 2
        const found = await index.search(queries, { nearest: 12, within, device })
        same(found, (query) => expected[query].filter(({ far }) => far <= within))
        const byId = matrix(new Float32Array(7 * rows * COLS), 7 * rows, COLS)
        for (let i = 0; i < rows; i++) byId.data.set(vectors.data.subarray(i * COLS, (i + 1) * COLS), 7 * i * COLS)
        const reranked = { nearest: 12, candidates: rows, rerank: byId, device }
        const all = await index.search(queries, reranked)
        const near = await index.search(queries, { ...reranked, within: all.distances[6] })
        all.labels.forEach((id, i) => {
          expect(near.labels[i]).toBe(all.distances[i] <= all.distances[6] ? id : NONE)
        })
        const truth = await nearest(queries, vectors, { m: 12, metric, device })
        expectSame(
          all.labels,
          truth.labels.map((row) => 7 * row),
        )
      })

      test('is kept in a folder', async () => {
        const folder = path(`${name} ${metric}`)
        await index.save(folder)
        const loaded = await CodeIndex.load(folder)
        expect(loaded.metric).toBe(metric)
        const found = await index.search(queries, { nearest: 5, device })
        expect(await loaded.search(queries, { nearest: 5, device })).toEqual(found)
        await loaded.close()
      })
    })

    test('inner products are not measured between codes', async () => {
      const index = new CodeIndex(quantizer, undefined, undefined, { metric: 'inner-product' })
      await expect(index.search(part(0, 1), { distance: 'symmetric', device })).rejects.toThrow(
        /Option distance is "symmetric": an index of inner products supports asymmetric only/,
      )
    })

    test('closing gives all memory back, and the index can be used on', async () => {
      const empty = device.allocatedBytes
      const index = await filled()
      const found = await index.search(part(3, 5), { device })
      expect(device.allocatedBytes).toBeGreaterThan(empty)
      await index.close()
      expect(device.allocatedBytes).toBe(empty)
      expect(await index.search(part(3, 5), { device })).toEqual(found)
      await index.close()
      expect(device.allocatedBytes).toBe(empty)
    })
  })
}

/** Searches in an inverted file that come together, between changes, and after closing. Runs on the CPU device. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cluster,
  createRandom,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  openDevice,
  type RankedCodes,
  type VectorSource,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { slanted } from '../quantize/checks.ts'
import { expectSame } from '../tolerance.ts'

const path = temporaryFolder()
const COLS = 8
const ROWS = 1000
const NONE = 0xffffffff

describe('searches in an inverted file', () => {
  let device: Device
  let file: InvertedFile
  const vectors = slanted(ROWS, COLS, 1)
  const rowOf = (from: Matrix, i: number): Matrix =>
    matrix(from.data.slice((i % from.rows) * COLS, ((i % from.rows) + 1) * COLS), 1, COLS)

  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 2 })
    const model = await cluster(vectors, { k: 24, iterations: 3, device })
    file = await InvertedFile.train(vectors, model, { type: 'pq', m: 4, codewords: 16, iterations: 3, device })
    await file.add(vectors, { device })
  })
  afterAll(() => device.close())

  test('10,000 at the same time give what they give one after another, in memory that does not grow with them', async () => {
    const alone: number[][] = []
    for (let i = 0; i < 200; i++) {
      const found = await file.search(rowOf(vectors, i), { nearest: 5, device })
      alone.push([...found.labels, ...found.distances])
    }
    const before = device.heldBytes as number
    const all = await Promise.all(
      Array.from({ length: 10_000 }, (_, i) => file.search(rowOf(vectors, i % 200), { nearest: 5, device })),
    )
    all.forEach(({ labels, distances }, i) => {
      expectSame([...labels, ...distances], alone[i % 200])
    })
    expect((device.heldBytes as number) - before).toBeLessThan(16 * 2 ** 20)
  })

  test('re-ranking from a source reads a bounded number of rows at the same time', async () => {
    let [now, most] = [0, 0]
    const source: VectorSource = {
      ...{ rows: ROWS, cols: COLS, type: 'f32', name: 'counted' },
      async read(start, end) {
        most = Math.max(most, ++now)
        await new Promise(setImmediate)
        now--
        return vectors.data.slice(start * COLS, end * COLS)
      },
    }
    const asked = { nearest: 3, probe: 6, candidates: 40, device }
    const all = await Promise.all(
      Array.from({ length: 500 }, (_, i) => file.search(rowOf(vectors, i), { ...asked, rerank: source })),
    )
    expect(most).toBeLessThanOrEqual(128)
    const queries = matrix(vectors.data.slice(0, 500 * COLS), 500, COLS)
    const { labels } = await file.search(queries, { ...asked, rerank: vectors })
    expectSame(
      all.flatMap((found) => [...found.labels]),
      labels,
    )
  })

  test('a search allocates nothing that stays', async () => {
    await file.search(rowOf(vectors, 0), { device })
    const before = device.allocatedBytes
    for (let i = 0; i < 20; i++) await file.search(rowOf(vectors, i), { nearest: 1 + i, probe: 1 + i, device })
    expect(device.allocatedBytes).toBe(before)
  })

  test('different questions at the same time keep to themselves', async () => {
    const asked = [
      { nearest: 3 },
      { nearest: 3, probe: 24 },
      { nearest: 7, where: [1, 2, 3, 500, 999] },
      { nearest: 3, where: { bits: Uint8Array.of(0b1001) } },
      { nearest: 9, within: 2 },
      { nearest: 3, distance: 'symmetric' },
    ] as const
    const queries = matrix(vectors.data.slice(0, 200 * COLS), 200, COLS)
    const alone: RankedCodes[] = []
    for (const options of asked) alone.push(await file.search(queries, { ...options, device }))
    const together = await Promise.all(asked.map((options) => file.search(queries, { ...options, device })))
    expect(together).toEqual(alone)
    for (const id of alone[2].labels) expect([1, 2, 3, 500, 999, NONE]).toContain(id)
    expect(alone[2].labels.some((id) => id !== NONE)).toBe(true)
    for (const id of alone[3].labels) expect([0, 3, NONE]).toContain(id)
    alone[4].distances.forEach((distance, i) => {
      expect(distance <= 2 || alone[4].labels[i] === NONE).toBe(true)
    })
    expect(alone[4].labels.some((id) => id !== NONE) && alone[4].labels.some((id) => id === NONE)).toBe(true)
  })

  test('one that is aborted, or wrong, takes no other with it', async () => {
    const stopped = new AbortController()
    stopped.abort(new Error('enough'))
    const wrong = matrix(
      Float32Array.from({ length: COLS }, () => Number.NaN),
      1,
      COLS,
    )
    const [good, aborted, bad, again] = await Promise.allSettled([
      file.search(rowOf(vectors, 1), { device }),
      file.search(rowOf(vectors, 1), { device, signal: stopped.signal }),
      file.search(wrong, { device }),
      file.search(rowOf(vectors, 1), { device }),
    ])
    expect(good).toEqual(again)
    expect(good.status).toBe('fulfilled')
    expect(aborted).toMatchObject({ status: 'rejected', reason: { message: 'enough' } })
    expect(bad).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringMatching(/holds NaN in column 0/) },
    })
  })

  test('adding and removing among searches, against an oracle', async () => {
    const { model, quantizer } = file
    const own = new InvertedFile(model, quantizer)
    const random = createRandom(5)
    const rows = new Map<number, number>()
    const all = { nearest: ROWS, probe: 24, device }
    const reference = await file.search(vectors, { nearest: ROWS, probe: 24, device })
    for (let step = 0; step < 40; step++) {
      if (random.below(3) > 0 || rows.size < 50) {
        const picked = Array.from({ length: 1 + random.below(40) }, () => random.below(vectors.rows))
        const data = Float32Array.from(
          picked.flatMap((row) => [...vectors.data.subarray(row * COLS, (row + 1) * COLS)]),
        )
        const adding = own.add(matrix(data, picked.length, COLS), { device })
        // A search that runs meanwhile sees all of it or nothing.
        const meanwhile = await own.search(rowOf(vectors, step), all)
        // One that is filtered finds nothing else, however slots move while it waits.
        const [some] = rows.keys()
        const filtering = own.search(rowOf(vectors, step), { ...all, where: [some ?? 0] })
        const ids = await adding
        for (const id of (await filtering).labels) expect([some ?? 0, NONE]).toContain(id)
        const seen = new Set(meanwhile.labels)
        expect(new Set(ids.map((id) => Number(seen.has(id)))).size).toBe(1)
        ids.forEach((id, i) => {
          rows.set(id, picked[i])
        })
      } else {
        const gone = [...rows.keys()].filter(() => random.below(4) === 0)
        expect(own.remove([...gone, 4_000_000])).toBe(gone.length)
        for (const id of gone) rows.delete(id)
      }
      expect(own.size).toBe(rows.size)
      const query = random.below(vectors.rows)
      const found = await own.search(rowOf(vectors, query), all)
      // All ids, in the order that the whole file gives their rows.
      const distance = new Map<number, number>()
      for (let i = 0; i < ROWS; i++) {
        distance.set(reference.labels[query * ROWS + i], reference.distances[query * ROWS + i])
      }
      const expected = [...rows].map(([id, row]) => ({ id, far: distance.get(row) as number }))
      expected.sort((a, b) => a.far - b.far || a.id - b.id)
      expectSame(
        found.labels.subarray(0, rows.size),
        expected.map(({ id }) => id),
      )
      expect(found.labels.subarray(rows.size).every((id) => id === NONE)).toBe(true)
    }
    await own.close()
  })

  test('closing gives all memory back, and the file can be used on', async () => {
    const before = await file.search(rowOf(vectors, 3), { device })
    await file.close()
    const empty = device.allocatedBytes
    await using other = await filled(file)
    await other.search(rowOf(vectors, 3), { device })
    expect(device.allocatedBytes).toBeGreaterThan(empty)
    await other.close()
    expect(device.allocatedBytes).toBe(empty)
    expect(await file.search(rowOf(vectors, 3), { device })).toEqual(before)
  })

  test('without a device the first search takes one, and those that follow find it open', async () => {
    const first = await file.search(rowOf(vectors, 7))
    const began = performance.now()
    for (let i = 0; i < 20; i++) expect(await file.search(rowOf(vectors, 7))).toEqual(first)
    // Opening a device takes longer than that each time.
    expect((performance.now() - began) / 20).toBeLessThan(50)
    await file.close()
  })

  async function filled({ model, quantizer }: InvertedFile): Promise<InvertedFile> {
    const copy = new InvertedFile(model, quantizer)
    await copy.add(vectors, { device })
    return copy
  }
})

test.each(['cosine', 'inner-product'] as const)(
  'by %s, as brute force over what the codes stand for',
  async (metric) => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    const vectors = slanted(400, COLS, 3, metric === 'cosine' ? 0 : 1)
    const queries = slanted(5, COLS, 4, 1)
    const model = await cluster(vectors, {
      ...{ k: 6, iterations: 3, device },
      ...(metric === 'cosine' ? { metric } : {}),
    })
    const options = { type: 'ck', m: 4, codewords: 16, iterations: 3, device } as const
    const file = await InvertedFile.train(vectors, model, { ...options, metric })
    expect(file.metric).toBe(metric)
    await file.add(vectors, { device })
    const exact = await file.search(queries, { nearest: 10, probe: 6, candidates: 400, rerank: vectors, device })
    for (let query = 0; query < 5; query++) {
      const q = queries.data.subarray(query * COLS, (query + 1) * COLS)
      const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
        Array.from(a).reduce((s, v, i) => s + v * b[i], 0)
      const all = Array.from({ length: 400 }, (_, id) => {
        const x = vectors.data.subarray(id * COLS, (id + 1) * COLS)
        return { id, far: metric === 'inner-product' ? -dot(q, x) : 1 - dot(q, x) / Math.sqrt(dot(q, q) * dot(x, x)) }
      }).sort((a, b) => a.far - b.far || a.id - b.id)
      expectSame(
        exact.labels.subarray(query * 10, query * 10 + 10),
        all.slice(0, 10).map(({ id }) => id),
      )
      exact.distances.subarray(query * 10, query * 10 + 10).forEach((distance, i) => {
        expect(Math.abs(distance - all[i].far)).toBeLessThan(1e-4)
      })
    }
    // Distances by codes come close to those of the vectors.
    const rough = await file.search(queries, { nearest: 1, probe: 6, device })
    rough.distances.forEach((distance, i) => {
      const best = exact.distances[i * 10]
      expect(Math.abs(distance - best)).toBeLessThan(metric === 'inner-product' ? 0.3 * Math.abs(best) + 0.5 : 0.2)
    })
    const saved = path(`${metric}.file`)
    await file.save(saved)
    const loaded = await InvertedFile.load(saved)
    expect(loaded.metric).toBe(metric)
    expect(await loaded.search(queries, { device })).toEqual(await file.search(queries, { device }))
    await device.close()
  },
)

describe('vectors kept in bytes', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
  })
  afterAll(() => device.close())

  test('bytes stay what they are: re-ranking by them is re-ranking by the vectors, also after changes and from a folder', async () => {
    const random = createRandom(1)
    const vectors = matrix(
      Uint8Array.from({ length: 500 * COLS }, () => random.below(256)),
      500,
      COLS,
    )
    const model = await cluster(vectors, { k: 7, iterations: 2, device })
    const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 4, codewords: 16, keep: 'bytes', device })
    await file.add(matrix(vectors.data.slice(0, 200 * COLS), 200, COLS), { device })
    await file.add(matrix(vectors.data.slice(200 * COLS), 300, COLS), { device })
    const gone = Array.from({ length: 100 }, (_, i) => i * 3)
    file.remove(gone)
    const asked = { nearest: 6, probe: 7, candidates: 60, device } as const
    const found = await file.search(vectors, { ...asked, rerank: true })
    expect(found).toEqual(await file.search(vectors, { ...asked, rerank: vectors }))
    for (const id of gone) expect(found.labels).not.toContain(id)
    const folder = path('kept.file')
    await file.save(folder)
    const loaded = await InvertedFile.load(folder)
    expect(await loaded.search(vectors, { ...asked, rerank: true })).toEqual(found)
    await file.add(matrix(vectors.data.slice(0, COLS), 1, COLS), { ids: [0], device })
    const again = await file.search(matrix(vectors.data.slice(0, COLS), 1, COLS), { ...asked, rerank: true })
    expect([again.labels[0], again.distances[0]]).toEqual([0, 0])
  })

  test('floats are rounded by no more than half a step of their column', async () => {
    const vectors = slanted(400, COLS, 7, 3)
    const model = await cluster(vectors, { k: 5, iterations: 2, device })
    const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 4, codewords: 16, keep: 'bytes', device })
    await file.add(vectors, { device })
    const asked = { nearest: 1, probe: 5, candidates: 400, device } as const
    const { labels, distances } = await file.search(vectors, { ...asked, rerank: true })
    let bound = 0
    for (let j = 0; j < COLS; j++) {
      const column = Array.from({ length: 400 }, (_, i) => vectors.data[i * COLS + j])
      bound += ((Math.max(...column) - Math.min(...column)) / 255 / 2) ** 2
    }
    labels.forEach((id, i) => {
      expect(distances[i]).toBeLessThanOrEqual(bound * 1.001)
      expect(id).toBeLessThan(400)
    })
    await expect(new InvertedFile(model, file.quantizer).search(vectors, { rerank: true, device })).rejects.toThrow(
      /the inverted file does not keep vectors; train it with keep: 'bytes', or give the vectors/,
    )
  })
})

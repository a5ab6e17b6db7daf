/** Moves and splits of sparse rows: what dense rows give, without ever making them so. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sparseSource } from '../../src/core/matrix.ts'
import {
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  type Matrix,
  normalizedMutualInformation,
  openDevice,
  type SparseMatrix,
  sparseMatrix,
  type VectorSource,
} from '../../src/index.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { documents, inFull, meansOfRuns, watchMemory } from './documents.ts'

const METRICS = ['cosine', 'euclidean'] as const

const SHARP: readonly Partial<ClusterOptions>[] = [
  { start: 'random-labels' },
  { start: 'random' },
  { start: 'kpp', firstImprovement: true },
  { start: 'kpp-parallel', nearest: 3 },
  { start: 'random', batch: 1 },
  { start: 'bisecting' },
]

const BISECTING: readonly Partial<ClusterOptions>[] = [
  { splitMethod: 'lloyd', splitOrder: 'size' },
  { splitMethod: 'lloyd', splitOrder: 'spread', refine: true },
  { splitMethod: 'sharp', splitOrder: 'size' },
  { splitMethod: 'sharp', splitOrder: 'spread', refine: true },
]

function expectFalling({ facts, sizes }: ClusterModel): void {
  let last = Number.POSITIVE_INFINITY
  for (const { distortion } of facts.iterations) {
    expect(distortion).toBeLessThanOrEqual(last * (1 + 5e-6))
    last = distortion
  }
  expect(sizes.every((size) => size > 0)).toBe(true)
}

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`moves of sparse rows on ${name}`, () => {
    let device: Device
    /** Where the dense runs that sparse ones are held against take place. */
    let cpu: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
      cpu = await openDevice({ kind: 'cpu', threads: 1 })
    })
    afterAll(async () => {
      await device.close()
      await cpu.close()
    })
    const run = (vectors: Matrix | SparseMatrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, tolerance: 0, ...options })

    test.each(METRICS)('give what dense rows give, %s', async (metric) => {
      const sparse = documents(240, 120, 40, 6, 1, 30)
      const dense = inFull(sparse)
      const asked: ClusterOptions[] = [
        { k: 6, method: 'sharp', start: meansOfRuns(dense, 6, 40) },
        { k: 6, method: 'sharp', start: meansOfRuns(dense, 6, 40), nearest: 4, firstImprovement: true },
        { k: 6, method: 'bisecting', start: 'bisecting', splitOrder: 'size' },
        { k: 6, method: 'bisecting', splitMethod: 'sharp', splitOrder: 'size' },
      ]
      for (const options of asked) {
        const a = await run(sparse, { metric, ...options })
        const b = await cluster(dense, { metric, device: cpu, tolerance: 0, ...options })
        expect(a.labels, JSON.stringify(options.method)).toEqual(b.labels)
        expect(a.distortion).toBeCloseTo(b.distortion, 4)
        a.centers.data.forEach((value, i) => {
          expect(value).toBeCloseTo(b.centers.data[i], 4)
        })
      }
    })

    test.each(SHARP)('never raise the objective and empty nothing: sharp, %o', async (options) => {
      for (const metric of METRICS) {
        const sparse = documents(200, 90, 12, 5, 2)
        const asked: ClusterOptions = { k: 14, method: 'sharp', metric, seed: 3, ...options }
        const model = await run(sparse, asked)
        expectFalling(model)
        const again = await run(sparse, asked)
        expect(again.labels).toEqual(model.labels)
        expect(again.centers.data).toEqual(model.centers.data)
      }
    })

    test.each(BISECTING)('find the topics of documents by bisecting, %o', async (options) => {
      const sparse = documents(160, 400, 40, 8, 4, 25)
      const topics = Uint32Array.from({ length: sparse.rows }, (_, i) => i % 8)
      const model = await run(sparse, { k: 8, method: 'bisecting', metric: 'cosine', seed: 1, ...options })
      expectFalling(model)
      expect(normalizedMutualInformation(model.labels, topics)).toBeGreaterThan(0.9)
      expect(model.tree).toBeDefined()
      // Every centre is looked at, whatever the tree says.
      const { labels } = await model.assign(sparse, { device })
      expect(labels).toEqual((await model.assign(inFull(sparse), { device, descend: false })).labels)
    })

    test('weights count, and a resumed run ends where the unbroken one does', async () => {
      const sparse = documents(150, 70, 10, 6, 10)
      const weights = Float32Array.from({ length: sparse.rows }, (_, i) => 0.5 + (i % 3))
      const options: ClusterOptions = { k: 9, method: 'sharp', metric: 'cosine', seed: 2, weights, iterations: 6 }
      const whole = await run(sparse, options)
      expectFalling(whole)
      const half = await run(sparse, { ...options, iterations: 2 })
      const rest = await run(sparse, { ...options, resume: half })
      expect(rest.labels).toEqual(whole.labels)
      expect(rest.centers.data).toEqual(whole.centers.data)
    })

    test('equal rows stay together, however few differ', async () => {
      // Rows 1 to 4 of 40 are others; one has a zero that was written down.
      const columns = Array.from({ length: 40 }, (_, i) => (i < 5 ? i : 0))
      const offsets = Array.from({ length: 41 }, (_, i) => i)
      const plain = sparseMatrix({ offsets, columns, values: columns.map(() => 2) }, 40, 300)
      const padded = sparseMatrix(
        {
          offsets: offsets.map((at) => (at === 40 ? 41 : at)),
          columns: [...columns, 299],
          values: [...plain.values, 0],
        },
        40,
        300,
      )
      for (const splitMethod of ['lloyd', 'sharp'] as const) {
        const model = await run(padded, { k: 5, method: 'bisecting', splitMethod })
        expect(model.distortion).toBe(0)
        expect([...model.sizes].sort((a, b) => a - b)).toEqual([1, 1, 1, 1, 36])
      }
      expect((await run(plain, { k: 5, method: 'hkm' })).distortion).toBe(0)
    })

    test.each(['sharp', 'bisecting'] as const)('%s: memory is that of entries and centres', async (method) => {
      const [rows, cols, words, k] = [2000, 50_000, 12, 4]
      const sparse = documents(rows, cols, words, 5, 11)
      const watched = watchMemory(device)
      const asked: ClusterOptions = {
        k,
        metric: 'cosine',
        method,
        device: watched.device,
        iterations: 2,
        start: 'auto',
      }
      const more: Partial<ClusterOptions> =
        method === 'bisecting' ? { splitMethod: 'sharp', splitOrder: 'spread', refine: true } : {}
      // Reading a row of a sparse source makes it dense: good for those that become centres, no others.
      let read = 0
      const source = sparseSource(sparse, 'documents')
      const counted: VectorSource = {
        ...source,
        read(first, end) {
          read += end - first
          return source.read(first, end)
        },
      }
      await cluster(counted, { ...asked, ...more })
      expect(read).toBeLessThan(8 * k)
      // Of all clusters: centres, sums, sums by column, and panels of 8; as many again, at most, of those that split.
      const dense = 2 * (3 * k + 8) * cols * 4
      expect(watched.most()).toBeLessThan(1.2 * (dense + sparse.values.length * 8 + rows * 128))
      expect(watched.most()).toBeLessThan((rows * cols * 4) / 16)
    })
  })
}

describe('moves of sparse rows in parts', () => {
  test.each([{ limits: { partBytes: 4000 } }, { limits: { bindingBytes: 8192 } }])('%o', async (small) => {
    const sparse = documents(400, 48, 20, 6, 13, 12)
    const device = { kind: 'cpu', threads: 1 } as const
    const options: ClusterOptions = { k: 6, metric: 'cosine', tolerance: 0, seed: 1 }
    expectFalling(await cluster(sparse, { ...options, method: 'sharp', device: { ...device, ...small } }))
    const plain = await cluster(sparse, { ...options, method: 'bisecting', device })
    const cut = await cluster(sparse, { ...options, method: 'bisecting', device: { ...device, ...small } })
    expect(cut.labels).toEqual(plain.labels)
    expectFalling(
      await cluster(sparse, { ...options, method: 'bisecting', splitMethod: 'sharp', device: { ...device, ...small } }),
    )
  })
})

test('sums that one binding cannot hold are an error with a cure', async () => {
  const device = await openDevice({ kind: 'webgpu', limits: { bindingBytes: 4096 } })
  try {
    const asked: ClusterOptions = { k: 80, method: 'sharp', start: 'random-labels', device }
    await expect(cluster(documents(200, 20, 8, 4, 3), asked)).rejects.toThrow(
      'Moving points among 80 clusters of 20 columns requires a buffer of 7360 bytes and the largest binding of the device is 4096: use fewer clusters, method lloyd, or the CPU device.',
    )
  } finally {
    await device.close()
  }
})

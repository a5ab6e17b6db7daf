/** Sparse rows: the same clusters as over the rows in full, without ever making them so. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  distortion,
  type Matrix,
  METHODS,
  type MethodName,
  matrix,
  nearest,
  openDevice,
  type SparseMatrix,
  sparseMatrix,
} from '../../src/index.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { documents, inFull, meansOfRuns, watchMemory } from './documents.ts'

function firstRows(m: Matrix, rows: number): Matrix {
  return matrix(m.data.slice(0, rows * m.cols) as Float32Array, rows, m.cols)
}

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`sparse rows on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix | SparseMatrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, ...options })

    test.each(['cosine', 'euclidean'] as const)('lloyd gives what dense rows give, %s', async (metric) => {
      const sparse = documents(300, 120, 20, 6, 1)
      const dense = inFull(sparse)
      const options: ClusterOptions = { k: 6, metric, start: meansOfRuns(dense, 6, 50), tolerance: 0 }
      const [a, b] = [await run(sparse, options), await run(dense, options)]
      expect(a.labels).toEqual(b.labels)
      expect(a.facts.iterations.length).toBe(b.facts.iterations.length)
      a.facts.iterations.forEach(({ distortion }, i) => {
        expect(distortion).toBeCloseTo(b.facts.iterations[i].distortion, 5)
      })
      a.centers.data.forEach((value, i) => {
        expect(value).toBeCloseTo(b.centers.data[i], 5)
      })
      if (metric === 'euclidean') expect(distortion(sparse, a.centers, a.labels)).toBeCloseTo(a.distortion, 4)
      expect(distortion(sparse, a.centers, a.labels)).toBeCloseTo(distortion(dense, a.centers, a.labels), 8)
    })

    test.each(['random', 'kpp', 'kpp-parallel'] as const)(
      'starts from %s, and the objective never rises',
      async (start) => {
        for (const metric of ['cosine', 'euclidean'] as const) {
          const sparse = documents(200, 90, 12, 5, 2)
          const model = await run(sparse, { k: 15, metric, start, seed: 3, tolerance: 0 })
          let last = Number.POSITIVE_INFINITY
          for (const step of model.facts.iterations) {
            expect(step.distortion).toBeLessThanOrEqual(last * (1 + 5e-6))
            last = step.distortion
          }
          expect(model.sizes.every((size) => size > 0)).toBe(true)
          const again = await run(sparse, { k: 15, metric, start, seed: 3, tolerance: 0 })
          expect(again.labels).toEqual(model.labels)
          expect(again.centers.data).toEqual(model.centers.data)
        }
      },
    )

    test('assigns sparse and dense rows alike, whatever the model was made of', async () => {
      const sparse = documents(150, 60, 9, 4, 5)
      const dense = inFull(sparse)
      // Far from zero: the dense model is shifted, which sparse rows are not.
      const far = matrix(dense.data.map((value) => value + 10) as Float32Array, dense.rows, dense.cols)
      for (const model of [await run(sparse, { k: 7 }), await run(dense, { k: 7 }), await run(far, { k: 7 })]) {
        const a = await model.assign(sparse, { device })
        const b = await model.assign(dense, { device })
        expect(a.labels).toEqual(b.labels)
        const scale = Math.max(...b.distances)
        a.distances.forEach((distance, i) => {
          expect(Math.abs(distance - b.distances[i])).toBeLessThan(2e-5 * scale)
        })
      }
    })

    test('one column, one cluster, a cluster for every row, rows of zeros', async () => {
      const narrow = sparseMatrix({ offsets: [0, 1, 1, 2, 3], columns: [0, 0, 0], values: [5, -3, 8] }, 4, 1)
      const one = await run(narrow, { k: 1 })
      expect(one.centers.data[0]).toBeCloseTo(2.5)
      const all = await run(narrow, { k: 4, tolerance: 0 })
      expect(all.distortion).toBe(0)
      expect(new Set(all.labels).size).toBe(4)
      const empty = sparseMatrix({ offsets: [0, 0, 0], columns: [], values: [] }, 2, 7)
      expect((await run(empty, { k: 1 })).centers.data).toEqual(new Float32Array(7))
      await expect(run(narrow, { k: 2, metric: 'cosine' })).rejects.toThrow('Row 1 of the input is all zeros')
    })

    test('an empty cluster takes over the farthest row', async () => {
      const sparse = documents(60, 40, 6, 3, 8)
      const start = firstRows(inFull(sparse), 4)
      start.data.fill(1e3, 3 * 40)
      const model = await run(sparse, { k: 4, start, tolerance: 0 })
      expect(model.sizes.every((size) => size > 0)).toBe(true)
    })

    test('extreme sizes are scaled, weights count', async () => {
      const plain = documents(80, 30, 6, 3, 9)
      const huge: SparseMatrix = { ...plain, values: plain.values.map((value) => value * 2 ** 90) as Float32Array }
      const weights = Float32Array.from({ length: 80 }, (_, i) => i % 3)
      const [a, b] = [await run(plain, { k: 3, weights }), await run(huge, { k: 3, weights })]
      expect(b.labels).toEqual(a.labels)
      expect(b.distortion / 2 ** 180).toBeCloseTo(a.distortion, 6)
    })

    test('a resumed run ends where the unbroken one does', async () => {
      const sparse = documents(250, 70, 10, 8, 10)
      const options: ClusterOptions = { k: 12, metric: 'cosine', tolerance: 0, seed: 2 }
      const whole = await run(sparse, options)
      const half = await run(sparse, { ...options, iterations: 2 })
      const rest = await run(sparse, { ...options, resume: half })
      expect(rest.labels).toEqual(whole.labels)
      expect(rest.centers.data).toEqual(whole.centers.data)
    })

    test('memory is that of the entries and the centres', async () => {
      const [rows, cols, words, k] = [2000, 50_000, 12, 4]
      const sparse = documents(rows, cols, words, 5, 11)
      const watched = watchMemory(device)
      const model = await cluster(sparse, { k, metric: 'cosine', device: watched.device, iterations: 2, start: 'kpp' })
      await model.predict(sparse, { device: watched.device })
      // Centres, sums, centres in panels of 8, and the same for the one centre k-means++ tries.
      const dense = (k + k + 8 + 1 + 8) * cols * 4
      expect(watched.most()).toBeLessThan(1.2 * (dense + sparse.values.length * 8 + rows * 64))
      expect(watched.most()).toBeLessThan((rows * cols * 4) / 20)
    })

    test('other methods and starts say that they do not take sparse rows', async () => {
      const sparse = documents(30, 20, 4, 2, 12)
      for (const method of Object.keys(METHODS) as MethodName[]) {
        if (METHODS[method].sparse) continue
        await expect(run(sparse, METHODS[method].findsCount ? { method } : { k: 2, method })).rejects.toThrow(
          new RegExp(`Option method is "${method}": it requires dense rows.*lloyd`),
        )
      }
      await expect(run(sparse, { k: 2, start: 'tree' })).rejects.toThrow(/Option start is "tree": .*random, kpp/)
    })

    test('finds the nearest of dense vectors', async () => {
      const sparse = documents(90, 40, 8, 3, 14)
      const dense = inFull(sparse)
      const among = meansOfRuns(dense, 9, 10)
      const [a, b] = [await nearest(sparse, among, { device, m: 3 }), await nearest(dense, among, { device, m: 3 })]
      expect(a.labels).toEqual(b.labels)
      a.distances.forEach((distance, i) => {
        expect(distance).toBeCloseTo(b.distances[i], 4)
      })
    })
  })
}

describe('sparse rows in parts', () => {
  test.each([{ limits: { partBytes: 4000 } }, { limits: { bindingBytes: 4096 } }])(
    '%o changes nothing',
    async (small) => {
      const sparse = documents(500, 50, 10, 6, 13)
      const options: ClusterOptions = { k: 6, metric: 'cosine', tolerance: 0, seed: 1, iterations: 8 }
      const plain = await cluster(sparse, { ...options, device: { kind: 'cpu', threads: 1 } })
      const cut = await cluster(sparse, { ...options, device: { kind: 'cpu', threads: 1, ...small } })
      expect(cut.labels).toEqual(plain.labels)
      expect(cut.distortion).toBeCloseTo(plain.distortion, 6)
    },
  )
})

/** What must hold for Lloyd on every device. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  adjustedRandIndex,
  blobs,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  createRandom,
  type Device,
  distortion,
  type Matrix,
  matrix,
  openDevice,
} from '../../src/index.ts'
import { fc } from '../properties.ts'
import { normal, ROUNDING } from './clouds.ts'
import { CLUSTERING_DEVICES_IN_PAGES } from './devices.ts'

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES_IN_PAGES) {
  describe(`lloyd on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, ...options })

    test('the objective never rises and is that of labels and centres', async () => {
      const cases = fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 21 }),
        fc.integer({ min: 1, max: 30 }),
        fc.constantFrom<'random' | 'kpp' | 'kpp-parallel'>('random', 'kpp', 'kpp-parallel'),
        fc.integer({ min: 0, max: 1000 }),
        async (rows, cols, wanted, start, seed) => {
          const vectors = normal(rows, cols, seed)
          const k = Math.min(wanted, rows)
          const model = await run(vectors, { k, start, seed, tolerance: 0, iterations: 12 })
          let last = Number.POSITIVE_INFINITY
          for (const step of model.facts.iterations) {
            expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING) + 1e-12)
            last = step.distortion
          }
          const exact = distortion(vectors, model.centers, model.labels)
          const scale = distortion(vectors, matrix(new Float32Array(cols), 1, cols), new Uint32Array(rows))
          expect(Math.abs(model.distortion - exact)).toBeLessThanOrEqual(1e-5 * exact + 1e-6 * scale)
          expect(model.labels.every((label) => label < k)).toBe(true)
        },
      )
      await fc.assert(cases, { numRuns: 12 })
    })

    test('a converged result is a fixed point: centres are means, labels are nearest', async () => {
      const vectors = normal(700, 9, 3)
      const model = await run(vectors, { k: 13, tolerance: 0, iterations: 500, seed: 3 })
      expect(model.facts.stopped).toBe('converged')
      const { labels } = await model.assign(vectors, { device })
      expect(labels).toEqual(model.labels)
      const means = new Float64Array(13 * 9)
      const { sizes } = model
      for (let i = 0; i < 700; i++) {
        for (let j = 0; j < 9; j++) means[model.labels[i] * 9 + j] += vectors.data[i * 9 + j] / sizes[model.labels[i]]
      }
      means.forEach((mean, i) => {
        expect(model.centers.data[i]).toBeCloseTo(mean, 5)
      })
    })

    test('finds blobs that lie apart', async () => {
      const { vectors, labels } = blobs({ rows: 900, cols: 16, clusters: 9, spread: 0.05, seed: 4, separated: true })
      for (const start of ['kpp', 'kpp-parallel'] as const) {
        const model = await run(vectors, { k: 9, start, restarts: 4, seed: 1 })
        expect(adjustedRandIndex(model.labels, labels)).toBeCloseTo(1, 10)
      }
    })

    test('more clusters are not worse', async () => {
      const vectors = normal(1500, 24, 8)
      const few = await run(vectors, { k: 16, seed: 2 })
      const many = await run(vectors, { k: 64, seed: 2 })
      expect(many.distortion).toBeLessThan(few.distortion)
    })

    test('same seed, same bits; another seed, another result', async () => {
      const vectors = normal(1200, 17, 11)
      const [a, b, c] = [
        await run(vectors, { k: 70, seed: 9, iterations: 8 }),
        await run(vectors, { k: 70, seed: 9, iterations: 8 }),
        await run(vectors, { k: 70, seed: 10, iterations: 8 }),
      ]
      expect(b.centers.data).toEqual(a.centers.data)
      expect(b.labels).toEqual(a.labels)
      expect(c.centers.data).not.toEqual(a.centers.data)
    })

    test('bytes give what the same numbers as floats give', async () => {
      const random = createRandom(6)
      const bytes = Uint8Array.from({ length: 600 * 30 }, () => random.below(256))
      const start = matrix(Float32Array.from(bytes.subarray(0, 5 * 30)), 5, 30)
      const options = { k: 5, start, iterations: 5, tolerance: 0 }
      const asBytes = await run(matrix(bytes, 600, 30), options)
      const asFloats = await run(matrix(Float32Array.from(bytes), 600, 30), options)
      expect(asBytes.labels).toEqual(asFloats.labels)
      expect(asBytes.distortion / asFloats.distortion).toBeCloseTo(1, 6)
    })

    test('offset and scale of the data do not matter', async () => {
      // Multiples of 1/256, which stay exact in 32 bits where they are moved to.
      const base = matrix(
        normal(400, 10, 12).data.map((value) => Math.round(value * 256) / 256),
        400,
        10,
      )
      const start = matrix(base.data.subarray(0, 70), 7, 10)
      const reference = await run(base, { k: 7, start, iterations: 6, tolerance: 0 })
      for (const [factor, offset] of [
        [2 ** 100, 0],
        [2 ** -100, 0],
        [256, 2 ** 16],
      ]) {
        const move = (m: Matrix): Matrix =>
          matrix(
            Float32Array.from(m.data, (value) => value * factor + offset),
            m.rows,
            m.cols,
          )
        const moved = await run(move(base), { k: 7, start: move(start), iterations: 6, tolerance: 0 })
        expect(moved.labels).toEqual(reference.labels)
        expect(moved.distortion / (factor * factor) / reference.distortion).toBeCloseTo(1, 5)
      }
    })

    test('whole weights are repeated points; weightless points do not pull', async () => {
      const vectors = normal(200, 6, 13)
      const weights = Array.from({ length: 200 }, (_, i) => i % 4)
      const repeated: number[][] = []
      weights.forEach((weight, i) => {
        for (let copy = 0; copy < weight; copy++) repeated.push(Array.from(vectors.data.subarray(i * 6, i * 6 + 6)))
      })
      const start = matrix(vectors.data.slice(6, 6 + 24), 4, 6)
      const weighted = await run(vectors, { k: 4, weights, start, tolerance: 0, iterations: 9 })
      const copied = await cluster(repeated, { k: 4, start, tolerance: 0, iterations: 9, device })
      weighted.centers.data.forEach((value, i) => {
        expect(value).toBeCloseTo(copied.centers.data[i], 5)
      })
      expect(weighted.distortion).toBeCloseTo(copied.distortion, 5)
    })

    test('cosine looks at directions only', async () => {
      const vectors = normal(300, 8, 14)
      const longer = matrix(
        Float32Array.from(vectors.data, (value, i) => value * (1 + (Math.floor(i / 8) % 5))),
        300,
        8,
      )
      const a = await run(vectors, { k: 6, metric: 'cosine', seed: 2, tolerance: 0, iterations: 10 })
      const b = await run(longer, { k: 6, metric: 'cosine', seed: 2, tolerance: 0, iterations: 10 })
      expect(adjustedRandIndex(a.labels, b.labels)).toBeGreaterThan(0.99)
      for (let j = 0; j < 6; j++) {
        expect(Math.hypot(...a.centers.data.subarray(j * 8, j * 8 + 8))).toBeCloseTo(1, 5)
      }
      let last = Number.POSITIVE_INFINITY
      for (const step of a.facts.iterations) {
        expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING))
        last = step.distortion
      }
    })

    test('empty clusters get the farthest points, or stay where they were', async () => {
      const vectors = normal(120, 3, 15)
      const far = new Float32Array(8 * 3).fill(1e3)
      far.set(vectors.data.subarray(0, 6))
      const start = matrix(far, 8, 3)
      const refilled = await run(vectors, { k: 8, start, tolerance: 0, iterations: 30 })
      expect(refilled.sizes.every((size) => size > 0)).toBe(true)
      let last = Number.POSITIVE_INFINITY
      for (const step of refilled.facts.iterations) {
        expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING))
        last = step.distortion
      }
      expect(refilled.distortion).toBeCloseTo(distortion(vectors, refilled.centers, refilled.labels), 5)
      const kept = await run(vectors, { k: 8, start, empty: 'keep', tolerance: 0, iterations: 30 })
      expect(kept.sizes.filter((size) => size === 0).length).toBeGreaterThan(0)
      expect(kept.distortion).toBeGreaterThan(refilled.distortion)
    })

    test('duplicates, constant columns, one cluster, as many clusters as points', async () => {
      const five = [
        [0, 1, 7],
        [0, 2, 7],
        [0, 4, 7],
        [0, 8, 7],
        [0, 16, 7],
      ]
      const vectors = Array.from({ length: 60 }, (_, i) => five[i % 5])
      const all = await cluster(vectors, { k: 5, device })
      expect(all.distortion).toBe(0)
      expect(new Set(all.labels).size).toBe(5)
      const one = await cluster(vectors, { k: 1, device })
      expect(Array.from(one.centers.data)).toEqual([0, expect.closeTo(6.2, 5), 7])
      const each = await cluster(five, { k: 5, device })
      expect(Array.from(each.sizes)).toEqual([1, 1, 1, 1, 1])
      await expect(cluster(vectors, { k: 6, device })).rejects.toThrow(/only 5 different vectors/)
    })

    test('nothing is left on the device', async () => {
      const before = device.allocatedBytes
      await run(normal(300, 5, 1), { k: 12, start: 'kpp-parallel', restarts: 2 })
      await expect(run(normal(300, 5, 1), { k: 301 })).rejects.toThrow(/only 300 vectors/)
      // Threads keep their scratch from job to job.
      expect(device.allocatedBytes - before).toBeLessThan(4 * 2 ** 20)
      const again = device.allocatedBytes
      await run(normal(300, 5, 1), { k: 12, start: 'kpp-parallel', restarts: 2 })
      expect(device.allocatedBytes).toBe(again)
    })
  })
}

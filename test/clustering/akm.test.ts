/** What must hold for approximate k-means, its robust form, and the hierarchical start, on every device. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
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
import { CLUSTERING_DEVICES } from './devices.ts'

const INDICES = ['kmeans', 'kd'] as const

const distortions = (model: ClusterModel): number[] => model.facts.iterations.map((step) => step.distortion)

const rises = (model: ClusterModel): boolean =>
  distortions(model).some((value, i, all) => i > 0 && value > all[i - 1] * (1 + ROUNDING) + 1e-12)

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`approximate k-means on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, tolerance: 0, ...options })

    test('rakm: the objective never rises and is that of labels and centres', async () => {
      const cases = fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 21 }),
        fc.integer({ min: 1, max: 60 }),
        fc.constantFrom(...INDICES),
        fc.constantFrom<'hkm' | 'random'>('hkm', 'random'),
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 0, max: 1000 }),
        async (rows, cols, wanted, index, start, checks, seed) => {
          const vectors = normal(rows, cols, seed)
          const k = Math.min(wanted, rows)
          const options = { k, index, start, checks, seed, branching: 4, iterations: 8 }
          const model = await run(vectors, { method: 'rakm', ...options })
          expect(rises(model), distortions(model).join(' ')).toBe(false)
          const exact = distortion(vectors, model.centers, model.labels)
          const scale = distortion(vectors, matrix(new Float32Array(cols), 1, cols), new Uint32Array(rows))
          expect(Math.abs(model.distortion - exact)).toBeLessThanOrEqual(1e-5 * exact + 1e-6 * scale)
          expect(model.labels.every((label) => label < k)).toBe(true)
        },
      )
      await fc.assert(cases, { numRuns: 10 })
    })

    test.each(INDICES)('rakm: a converged result is a fixed point of Lloyd, %s', async (index) => {
      const vectors = normal(260, 5, 3)
      const k = 11
      const options = { k, index, branching: 2, trees: 1, checks: 1, iterations: 2000, seed: 3 }
      const model = await run(vectors, { method: 'rakm', ...options })
      expect(model.facts.stopped).toBe('converged')
      const steps = model.facts.iterations
      expect(steps.slice(-k).every((step) => step.moved === 0)).toBe(true)
      expect(steps[steps.length - k - 1].moved).toBeGreaterThan(0)
      const nearest = await model.assign(vectors, { device })
      const exact = distortion(vectors, model.centers, nearest.labels)
      expect(nearest.labels.filter((label, i) => label !== model.labels[i]).length).toBeLessThanOrEqual(1)
      expect(model.distortion / exact).toBeCloseTo(1, 6)
    })

    test('akm: with as many checks as centres it is Lloyd', async () => {
      const vectors = normal(500, 7, 4)
      const start = matrix(vectors.data.slice(0, 20 * 7), 20, 7)
      const lloyd = await run(vectors, { k: 20, start, iterations: 6 })
      for (const checks of [20, 1000]) {
        const model = await run(vectors, { method: 'akm', k: 20, start, checks, iterations: 6 })
        expect(model.labels).toEqual(lloyd.labels)
        expect(model.centers.data).toEqual(lloyd.centers.data)
      }
    })

    test.each(INDICES)('tuned searches find the share they should, %s', async (index) => {
      const { vectors } = blobs({ rows: 1500, cols: 8, clusters: 40, spread: 0.3, seed: 7 })
      const k = 500
      const start = matrix(vectors.data.slice(0, k * 8), k, 8)
      const common = { k, start, iterations: 1, empty: 'keep' } as const
      const exact = await run(vectors, common)
      const evaluated: number[] = []
      for (const precision of [0.5, 0.9]) {
        const model = await run(vectors, { method: 'akm', index, branching: 8, precision, ...common })
        const found = model.labels.filter((label, i) => label === exact.labels[i]).length / vectors.rows
        // 1,000 of the 1,500 points were the sample.
        expect(found).toBeGreaterThan(precision - 0.03)
        evaluated.push(model.facts.iterations[0].candidates)
      }
      expect(evaluated[0]).toBeLessThanOrEqual(evaluated[1])
      expect(evaluated[0]).toBeLessThan(k / 4)
    })

    // What a method achieves does not depend on the device, and a software adapter takes its time.
    if (name === 'cpu')
      test('each of the three improvements does something', async () => {
        const vectors = normal(900, 10, 9)
        const shared = { k: 90, index: 'kmeans', branching: 4, checks: 4, iterations: 10 } as const
        const options = { ...shared, seed: 2 }
        const none = { keep: false, reseed: false, probe: false }
        const akm = await run(vectors, { method: 'akm', ...options })
        const plain = await run(vectors, { method: 'rakm', ...options, ...none })
        expect(plain.labels).toEqual(akm.labels)
        const kept = await run(vectors, { method: 'rakm', ...options, ...none, keep: true })
        const reseeded = await run(vectors, { method: 'rakm', ...options, ...none, keep: true, reseed: true })
        const probed = await run(vectors, { method: 'rakm', ...options })
        expect(rises(plain)).toBe(true)
        expect(rises(kept)).toBe(false)
        expect(kept.distortion).toBeLessThan(plain.distortion)
        // By a little: one seed would not tell.
        const mean = async (reseed: boolean): Promise<number> => {
          let sum = 0
          for (let seed = 1; seed <= 6; seed++) {
            sum += (await run(vectors, { method: 'rakm', ...shared, ...none, keep: true, reseed, seed })).distortion
          }
          return sum / 6
        }
        expect(await mean(true)).toBeLessThan(await mean(false))
        expect(probed.labels).not.toEqual(reseeded.labels)
        // The same index in the first round, before anything differs: the probe is one more centre.
        const evaluated = (model: ClusterModel): number => model.facts.iterations[0].candidates
        expect(evaluated(probed) - evaluated(reseeded)).toBeCloseTo(1, 5)
      })

    test('same seed, same bits; another seed, another result', async () => {
      const vectors = normal(600, 9, 11)
      for (const index of INDICES) {
        const options = { method: 'rakm', index, k: 60, branching: 6, checks: 5, iterations: 5 } as const
        const [a, b, c] = [
          await run(vectors, { ...options, seed: 9 }),
          await run(vectors, { ...options, seed: 9 }),
          await run(vectors, { ...options, seed: 10 }),
        ]
        expect(b.centers.data).toEqual(a.centers.data)
        expect(b.labels).toEqual(a.labels)
        expect(c.centers.data).not.toEqual(a.centers.data)
      }
    })

    test('duplicates, constant data, one cluster, as many clusters as points', async () => {
      const five = [1, 2, 4, 8, 16].map((value) => [0, value, 7])
      const vectors = Array.from({ length: 60 }, (_, i) => five[i % 5])
      for (const method of ['akm', 'rakm', 'hkm'] as const) {
        for (const index of method === 'hkm' ? [undefined] : INDICES) {
          const options = { method, device, iterations: 20, ...(index && { index, branching: 2, checks: 1 }) }
          const all = await cluster(vectors, { k: 5, ...options })
          expect(new Set(all.labels).size).toBe(5)
          expect(all.distortion).toBe(0)
          const one = await cluster(vectors, { k: 1, ...options })
          expect(Array.from(one.centers.data)).toEqual([0, expect.closeTo(6.2, 5), 7])
          const each = await cluster(five, { k: 5, ...options })
          expect(Array.from(each.sizes)).toEqual([1, 1, 1, 1, 1])
          const constant = await cluster(new Array(20).fill([3, 3]), { k: 1, ...options })
          expect(constant.distortion).toBe(0)
        }
      }
    })

    test('hkm: leaves with their means, in one round; a good start', async () => {
      const { vectors } = blobs({ rows: 800, cols: 12, clusters: 8, spread: 0.05, seed: 4, separated: true })
      const tree = await run(vectors, { method: 'hkm', k: 40, seed: 1 })
      expect(tree.facts.iterations.length).toBe(1)
      expect(tree.facts.stopped).toBe('converged')
      expect(tree.sizes.every((size) => size > 0)).toBe(true)
      expect(tree.distortion).toBeCloseTo(distortion(vectors, tree.centers, tree.labels), 5)
      const refined = await run(vectors, { start: 'hkm', k: 40, seed: 1, iterations: 10 })
      expect(refined.distortion).toBeLessThan(tree.distortion)
      // What the paper claims: cheap searches come close to Lloyd from the same start.
      const robust = { method: 'rakm', k: 40, seed: 1, iterations: 30, checks: 4, branching: 4 } as const
      const found = await run(vectors, robust)
      expect(found.distortion).toBeLessThan(refined.distortion * 1.02)
    })

    test('cosine, weights and bytes', async () => {
      const vectors = normal(300, 8, 14)
      const options = { method: 'rakm', k: 30, checks: 3, branching: 4, iterations: 6 } as const
      const directions = await run(vectors, { ...options, metric: 'cosine' })
      for (let j = 0; j < 30; j++) {
        expect(Math.hypot(...directions.centers.data.subarray(j * 8, j * 8 + 8))).toBeCloseTo(1, 5)
      }
      expect(rises(directions)).toBe(false)
      const weights = Array.from({ length: 300 }, (_, i) => i % 4)
      expect(rises(await run(vectors, { ...options, weights }))).toBe(false)
      const random = createRandom(6)
      const bytes = Uint8Array.from({ length: 300 * 10 }, () => random.below(256))
      const asBytes = await run(matrix(bytes, 300, 10), options)
      const asFloats = await run(matrix(Float32Array.from(bytes), 300, 10), options)
      expect(asBytes.labels).toEqual(asFloats.labels)
    })

    test('nothing is left on the device', async () => {
      const options = { method: 'rakm', k: 25, checks: 0, branching: 3, iterations: 3 } as const
      await run(normal(300, 5, 1), options)
      const again = device.allocatedBytes
      for (const index of INDICES) await run(normal(300, 5, 1), { ...options, index, restarts: 2 })
      await run(normal(300, 5, 1), { method: 'hkm', k: 25 })
      expect(device.allocatedBytes - again).toBeLessThan(2 ** 20)
    })
  })
}

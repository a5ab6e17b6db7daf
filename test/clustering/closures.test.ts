/** What must hold for cluster closures on every device. */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  type AnyClusterOptions,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  distortion,
  type Matrix,
  matrix,
  openDevice,
} from '../../src/index.ts'
import { fc } from '../properties.ts'
import { normal, ROUNDING } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`closures on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: AnyClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, method: 'closures', tolerance: 0, ...options } as ClusterOptions)

    test('the objective never rises and is that of labels and centres; no cluster is lost', async () => {
      const cases = fc.asyncProperty(
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 30 }),
        fc.constantFrom<'adaptive' | 'static'>('adaptive', 'static'),
        fc.integer({ min: 0, max: 1000 }),
        async (rows, cols, wanted, leafSize, neighborhoods, seed) => {
          const vectors = normal(rows, cols, seed)
          const k = Math.min(wanted, rows)
          const model = await run(vectors, { k, seed, leafSize, neighborhoods, trees: 4, iterations: 8 })
          let last = Number.POSITIVE_INFINITY
          for (const step of model.facts.iterations) {
            expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING) + 1e-12)
            last = step.distortion
          }
          const exact = distortion(vectors, model.centers, model.labels)
          expect(Math.abs(model.distortion - exact)).toBeLessThanOrEqual(1e-5 * exact + 1e-6 * cols)
          expect(model.sizes.every((size) => size > 0)).toBe(true)
        },
      )
      await fc.assert(cases, { numRuns: 8 })
    })

    test('with one leaf holding everything it is Lloyd', async () => {
      for (const vectors of [normal(300, 12, 3), normal(257, 33, 4)]) {
        const start = matrix(vectors.data.slice(0, 9 * vectors.cols), 9, vectors.cols)
        const options = { k: 9, start, iterations: 12 }
        const lloyd = await run(vectors, { ...options, method: 'lloyd' })
        const closed = await run(vectors, { ...options, leafSize: 1000, trees: 1 })
        expect(closed.labels).toEqual(lloyd.labels)
        expect(closed.facts.iterations.map((step) => step.moved)).toEqual(
          lloyd.facts.iterations.map((step) => step.moved),
        )
      }
    })

    test('trees are added when progress slows, and all are there at once when static', async () => {
      const vectors = normal(1500, 8, 5)
      const adaptive = await run(vectors, { k: 60, trees: 5, treeThreshold: 0.02, iterations: 12 })
      const evaluated = adaptive.facts.iterations.map((step) => step.candidates)
      expect(evaluated.at(-1)).toBeGreaterThan(evaluated[0] * 2)
      const fixed = await run(vectors, { k: 60, trees: 5, neighborhoods: 'static', iterations: 3 })
      expect(fixed.facts.iterations[0].candidates).toBeGreaterThan(evaluated[0] * 2)
      const one = await run(vectors, { k: 60, trees: 1, iterations: 12 })
      expect(adaptive.distortion).toBeLessThan(one.distortion)
    })

    test('has converged only when every tree had its turn without a change', async () => {
      const model = await run(normal(400, 4, 9), { k: 12, trees: 5, treesPerRound: 2, iterations: 300, tolerance: 0 })
      expect(model.facts.stopped).toBe('converged')
      const moved = model.facts.iterations.map((step) => step.moved)
      expect(moved.slice(-3)).toEqual([0, 0, 0])
      expect(moved.at(-4)).toBeGreaterThan(0)
    })

    test('comes close to Lloyd while looking at few centres', async () => {
      const vectors = normal(3000, 8, 6)
      const lloyd = await run(vectors, { k: 150, method: 'lloyd', start: 'tree', iterations: 20 })
      const closed = await run(vectors, { k: 150, iterations: 40 })
      expect(closed.distortion / lloyd.distortion).toBeLessThan(1.02)
      expect(closed.facts.iterations.at(-1)?.candidates).toBeLessThan(75)
    })

    test('restarts share their trees', async () => {
      const vectors = normal(500, 70, 2)
      const allocate = vi.spyOn(device, 'allocate')
      const grown = (): number => allocate.mock.calls.filter(([, label]) => label === 'points by leaf').length
      try {
        const options = {
          k: 9,
          trees: 3,
          neighborhoods: 'static',
          start: 'random',
          relocate: false,
          iterations: 4,
        } as const
        const model = await run(vectors, { ...options, restarts: 3 })
        expect(grown()).toBe(3)
        const one = await run(vectors, options)
        expect(grown()).toBe(6)
        // The first of several starts is the only one of a single start.
        expect(model.distortion).toBeLessThanOrEqual(one.distortion)
      } finally {
        allocate.mockRestore()
      }
    })

    test('same seed, same bits, resumed or not', async () => {
      const vectors = normal(900, 10, 8)
      const options = { k: 40, seed: 3, trees: 4 }
      const whole = await run(vectors, { ...options, iterations: 10 })
      const again = await run(vectors, { ...options, iterations: 10 })
      expect(again.centers.data).toEqual(whole.centers.data)
      const half = await run(vectors, { ...options, iterations: 5 })
      const resumed = await run(vectors, { ...options, iterations: 10, resume: half })
      expect(resumed.labels).toEqual(whole.labels)
      expect(resumed.centers.data).toEqual(whole.centers.data)
    })

    test('fewer points than a leaf, duplicates, constant data, one cluster, as many as points', async () => {
      const few = await run(normal(6, 4, 1), { k: 3 })
      expect(new Set(few.labels).size).toBe(3)
      const repeated = matrix(
        Float32Array.from({ length: 240 }, (_, i) => Math.floor(i / 2) % 5),
        120,
        2,
      )
      const five = await run(repeated, { k: 5, iterations: 50 })
      expect(five.distortion).toBe(0)
      const constant = await run(matrix(new Float32Array(90).fill(3), 30, 3), { k: 1 })
      expect(constant.distortion).toBe(0)
      const each = await run(normal(25, 3, 2), { k: 25 })
      expect(each.distortion).toBeCloseTo(0, 10)
    })

    test('weights, cosine, and vectors in several parts', async () => {
      const vectors = normal(600, 8, 9)
      const weights = Array.from({ length: 600 }, (_, i) => 1 + (i % 3))
      const weighted = await run(vectors, { k: 20, weights, iterations: 10 })
      expect(weighted.distortion).toBeCloseTo(distortion(vectors, weighted.centers, weighted.labels, weights), 4)
      const directions = await run(vectors, { k: 20, metric: 'cosine', iterations: 10 })
      expect(Math.hypot(...directions.centers.data.subarray(0, 8))).toBeCloseTo(1, 5)
      const parts = await cluster(vectors, {
        k: 20,
        method: 'closures',
        iterations: 10,
        device: { ...deviceOptions, limits: { partBytes: 8000 } },
      })
      expect(parts.sizes.every((size) => size > 0)).toBe(true)
      expect(parts.distortion / (await run(vectors, { k: 20, iterations: 10 })).distortion).toBeLessThan(1.15)
    })

    test('options of other methods are refused', async () => {
      await expect(run(normal(20, 2, 1), { k: 2, leafSize: 0 })).rejects.toThrow(
        /Option leafSize is 0: closures needs a whole number, 1 to /,
      )
      await expect(run(normal(20, 2, 1), { k: 2, method: 'lloyd', leafSize: 5 })).rejects.toThrow(
        /lloyd does not support this option; it belongs to closures/,
      )
    })
  })
}

/** Canopies on every device: static subsets, so few candidates, and never a worse objective. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canopyMiddles } from '../../src/clustering/candidates/canopies.ts'
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
import { normal, ROUNDING } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

describe('middles of canopies', () => {
  const sample = normal(200, 6, 1).data as Float32Array
  const gap = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
    Math.hypot(...Array.from(a, (value, j) => value - b[j]))
  const rowsOf = (data: Float32Array): Float32Array[] =>
    Array.from({ length: data.length / 6 }, (_, i) => data.subarray(i * 6, i * 6 + 6))

  test('lie farther than the radius from each other, and nothing lies farther from all', () => {
    const points = rowsOf(sample)
    const steps = points.slice(1).map((point, i) => gap(point, points[i]))
    const reach = (0.6 * steps.reduce((sum, step) => sum + step)) / steps.length
    const middles = rowsOf(canopyMiddles(sample, 6, 0.6))
    expect(middles.length).toBeGreaterThan(3)
    expect(middles.length).toBeLessThan(200)
    middles.forEach((middle, i) => {
      for (const other of middles.slice(0, i)) expect(gap(middle, other)).toBeGreaterThan(reach)
    })
    for (const point of points) {
      expect(Math.min(...middles.map((middle) => gap(point, middle)))).toBeLessThanOrEqual(reach)
    }
  })

  test('are all different points at radius 0, one point at a huge one', () => {
    expect(canopyMiddles(sample, 6, 0)).toEqual(sample)
    expect(canopyMiddles(sample, 6, 1e6)).toEqual(sample.slice(0, 6))
    expect(canopyMiddles(new Float32Array(60), 6, 0.5)).toEqual(new Float32Array(6))
  })
})

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`canopy on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, method: 'canopy', ...options })

    test('the objective never rises, is that of labels and centres, and few centres are looked at', async () => {
      const vectors = normal(1500, 7, 2)
      for (const canopyRadius of [0, 0.3, 0.6, 0.9]) {
        const model = await run(vectors, { k: 90, canopyRadius, tolerance: 0, iterations: 12, seed: 4 })
        let last = Number.POSITIVE_INFINITY
        for (const step of model.facts.iterations) {
          expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING))
          expect(step.candidates).toBeLessThan(90)
          last = step.distortion
        }
        expect(model.distortion / distortion(vectors, model.centers, model.labels)).toBeCloseTo(1, 5)
        expect(model.labels.every((label) => label < 90)).toBe(true)
      }
    })

    test('one canopy is Lloyd; more find nearly as much', async () => {
      const { vectors } = blobs({ rows: 2000, cols: 12, clusters: 40, spread: 0.3, seed: 3 })
      const options = { k: 40, seed: 8, tolerance: 0, iterations: 15 }
      // Canopies have no relocation.
      const lloyd = await cluster(vectors, { ...options, relocate: false, device })
      const huge = await run(vectors, { ...options, canopyRadius: 1000 })
      expect(huge.labels).toEqual(lloyd.labels)
      expect(huge.centers.data).toEqual(lloyd.centers.data)
      const some = await run(vectors, options)
      expect(some.facts.iterations[0].candidates).toBeLessThan(40)
      expect(some.distortion).toBeLessThan(lloyd.distortion * 1.1)
    })

    test('takes labels as a start, bytes, directions and weights', async () => {
      const vectors = normal(400, 6, 8)
      const fromTree = await run(vectors, { k: 12, start: 'tree', iterations: 2, canopyRadius: 0.7 })
      expect(fromTree.distortion / distortion(vectors, fromTree.centers, fromTree.labels)).toBeCloseTo(1, 5)
      const random = createRandom(6)
      const bytes = matrix(
        Uint8Array.from({ length: 600 * 9 }, () => random.below(256)),
        600,
        9,
      )
      const weights = Float32Array.from({ length: 600 }, (_, i) => i % 3)
      const weighted = await run(bytes, { k: 20, weights, iterations: 4, canopyRadius: 0.7 })
      expect(weighted.distortion / distortion(bytes, weighted.centers, weighted.labels, weights)).toBeCloseTo(1, 4)
      const cosine = await run(normal(500, 5, 9), { k: 15, metric: 'cosine', iterations: 4, canopyRadius: 0.6 })
      for (let j = 0; j < 15; j++) {
        expect(Math.hypot(...cosine.centers.data.subarray(j * 5, j * 5 + 5))).toBeCloseTo(1, 5)
      }
    })

    test('same seed, same bits; a resumed run ends with them too', async () => {
      const vectors = normal(900, 11, 5)
      const options = { k: 50, seed: 3, tolerance: 0, canopyRadius: 0.8 }
      const whole = await run(vectors, { ...options, iterations: 7 })
      const again = await run(vectors, { ...options, iterations: 7 })
      const half = await run(vectors, { ...options, iterations: 3 })
      const rest = await run(vectors, { ...options, iterations: 7, resume: half })
      for (const other of [again, rest]) {
        expect(other.centers.data).toEqual(whole.centers.data)
        expect(other.labels).toEqual(whole.labels)
      }
      expect(rest.facts.iterations.map((step) => step.candidates)).toEqual(
        whole.facts.iterations.map((step) => step.candidates),
      )
    })

    test('parts and small bindings change nothing but the order of sums', async () => {
      const vectors = normal(1200, 8, 7)
      const options = { k: 30, seed: 2, tolerance: 0, iterations: 5, canopyRadius: 0.7 }
      const small = await openDevice({ ...deviceOptions, limits: { bindingBytes: 20_000 } })
      try {
        const whole = await run(vectors, options)
        const parts = await run(vectors, { ...options, device: small })
        expect(parts.distortion / whole.distortion).toBeCloseTo(1, 2)
        expect(parts.distortion / distortion(vectors, parts.centers, parts.labels)).toBeCloseTo(1, 5)
      } finally {
        await small.close()
      }
    })

    test('duplicates, one cluster, as many clusters as points', async () => {
      const five = [
        [0, 1],
        [0, 2],
        [0, 4],
        [0, 8],
        [0, 16],
      ]
      const vectors = Array.from({ length: 60 }, (_, i) => five[i % 5])
      for (const canopyRadius of [0, 0.5, 5]) {
        const options = { method: 'canopy', canopyRadius, device } as const
        expect((await cluster(vectors, { k: 5, ...options })).distortion).toBe(0)
        const one = await cluster(vectors, { k: 1, ...options })
        expect(Array.from(one.centers.data)).toEqual([0, expect.closeTo(6.2, 5)])
        expect(Array.from((await cluster(five, { k: 5, ...options })).sizes)).toEqual([1, 1, 1, 1, 1])
        const same = await cluster([five[0], five[0], five[0]], { k: 1, ...options })
        expect(same.distortion).toBe(0)
      }
    })

    test('nothing is left on the device', async () => {
      await run(normal(300, 5, 1), { k: 12 })
      const before = device.allocatedBytes
      await run(normal(300, 5, 1), { k: 12 })
      expect(device.allocatedBytes).toBe(before)
    })
  })
}

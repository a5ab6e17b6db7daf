/** Mini-batch k-means and LVQ on every device: centres that step towards points. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
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
import { normal } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe.each(['minibatch', 'lvq'] as const)(`%s on ${name}`, (method) => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, method, ...options })

    test('what is told after a round is what labels and centres make, and labels are nearest', async () => {
      const vectors = normal(900, 10, 3)
      for (const [k, batch] of [
        [1, 100],
        [13, 64],
        [80, 5000],
      ]) {
        const model = await run(vectors, { k, batch, iterations: 3, tolerance: 0 })
        expect(model.distortion / distortion(vectors, model.centers, model.labels)).toBeCloseTo(1, 5)
        expect(model.facts.iterations.map(({ candidates }) => candidates)).toEqual(
          [k, k, k].slice(0, model.facts.iterations.length),
        )
        expect(model.labels.every((label) => label < k)).toBe(true)
      }
      const settled = await run(vectors, { k: 13, batch: 64, iterations: 2, tolerance: 0 })
      expect((await settled.assign(vectors, { device })).labels).toEqual(settled.labels)
    })

    test('ends near Lloyd on blobs', async () => {
      const { vectors } = blobs({ rows: 2000, cols: 12, clusters: 10, spread: 0.2, seed: 3 })
      const lloyd = await cluster(vectors, { k: 10, seed: 2, device })
      const model = await run(vectors, { k: 10, seed: 2, batch: 100 })
      expect(model.distortion).toBeLessThan(lloyd.distortion * 1.05)
      const first = model.facts.iterations[0].distortion
      expect(model.distortion).toBeLessThanOrEqual(first * 1.001)
    })

    test('same seed, same bits; another seed, another order; a resumed run ends with the same bits', async () => {
      const vectors = normal(700, 9, 5)
      const options = { k: 20, seed: 3, tolerance: 0, batch: 50 }
      const whole = await run(vectors, { ...options, iterations: 6 })
      const again = await run(vectors, { ...options, iterations: 6 })
      const kept: ClusterModel[] = []
      const checkpoint = { every: 4, save: (model: ClusterModel) => void kept.push(model) }
      await run(vectors, { ...options, iterations: 5, checkpoint })
      const rest = await run(vectors, { ...options, iterations: 6, resume: kept[0] })
      for (const other of [again, rest]) {
        expect(other.centers.data).toEqual(whole.centers.data)
        expect(other.labels).toEqual(whole.labels)
      }
      const start = matrix(vectors.data.slice(0, 20 * 9), 20, 9)
      const one = await run(vectors, { ...options, start, iterations: 2 })
      const two = await run(vectors, { ...options, start, iterations: 2, seed: 4 })
      expect(two.centers.data).not.toEqual(one.centers.data)
    })

    test('stopped in the middle of a round it has what stood before', async () => {
      const vectors = normal(700, 9, 5)
      const controller = new AbortController()
      const options = { k: 20, seed: 3, tolerance: 0, batch: 50 }
      // Every point is copied into a batch once a round: this is half-way through the third.
      const copy = device.copy.bind(device)
      let copied = 0
      const spy = vi.spyOn(device, 'copy').mockImplementation((from, to) => {
        if (++copied === 2.5 * 700) controller.abort()
        copy(from, to)
      })
      const stopped = await run(vectors, { ...options, signal: controller.signal }).finally(() => spy.mockRestore())
      expect(stopped.facts.stopped).toBe('aborted')
      expect(stopped.facts.iterations).toHaveLength(2)
      const same = await run(vectors, { ...options, iterations: 2 })
      expect(stopped.centers.data).toEqual(same.centers.data)
      expect(stopped.labels).toEqual(same.labels)
    })

    test('takes labels as a start, bytes, directions and parts', async () => {
      const still = await run(normal(400, 6, 8), { k: 12, start: 'tree', iterations: 1 })
      const means = await cluster(normal(400, 6, 8), { k: 12, start: 'tree', iterations: 1, device })
      expect(still.distortion).toBeLessThan(means.distortion * 1.3)
      const random = createRandom(6)
      const bytes = matrix(
        Uint8Array.from({ length: 600 * 9 }, () => random.below(256)),
        600,
        9,
      )
      const small = await openDevice({
        ...deviceOptions,
        limits: { bindingBytes: 5000, memoryBytes: 4000, partBytes: 3000 },
      })
      try {
        const model = await run(bytes, { k: 10, batch: 64, iterations: 3, device: small })
        expect(model.distortion / distortion(bytes, model.centers, model.labels)).toBeCloseTo(1, 5)
      } finally {
        await small.close()
      }
      const cosine = await run(normal(500, 5, 9), { k: 15, metric: 'cosine', iterations: 4 })
      for (let j = 0; j < 15; j++) {
        expect(Math.hypot(...cosine.centers.data.subarray(j * 5, j * 5 + 5))).toBeCloseTo(1, 5)
      }
    })

    test('duplicates, one cluster, as many clusters as points, lost clusters', async () => {
      const five = [
        [0, 1],
        [0, 2],
        [0, 4],
        [0, 8],
        [0, 16],
      ]
      const vectors = Array.from({ length: 60 }, (_, i) => five[i % 5])
      expect((await cluster(vectors, { k: 5, method, device })).distortion).toBe(0)
      const one = await cluster(vectors, { k: 1, method, device, iterations: 1 })
      expect(one.centers.data[0]).toBe(0)
      expect(Array.from((await cluster(five, { k: 5, method, device })).sizes)).toEqual([1, 1, 1, 1, 1])
      const far = new Float32Array(8 * 3).fill(1e3)
      const noise = normal(120, 3, 15)
      far.set(noise.data.subarray(0, 6))
      const refilled = await run(noise, { k: 8, start: matrix(far, 8, 3), tolerance: 0, iterations: 4 })
      expect(refilled.sizes.every((size) => size > 0)).toBe(true)
      expect(refilled.distortion / distortion(noise, refilled.centers, refilled.labels)).toBeCloseTo(1, 5)
    })

    test('weights are refused', async () => {
      await expect(run(normal(50, 3, 1), { k: 2, weights: new Float32Array(50).fill(1) })).rejects.toThrow(
        `: method ${method} does not support weights; leave them out.`,
      )
    })

    test('nothing is left on the device', async () => {
      await run(normal(300, 5, 1), { k: 12 })
      const before = device.allocatedBytes
      await run(normal(300, 5, 1), { k: 12 })
      expect(device.allocatedBytes).toBe(before)
    })
  })

  describe(`steps on ${name}`, () => {
    test('are those of the text, one point after the other', async () => {
      // One centre: every point pulls it. 1/count makes the mean, whatever the order.
      const vectors = normal(300, 4, 2)
      const start = matrix(Float32Array.of(9, 9, 9, 9), 1, 4)
      const options = { k: 1, start, iterations: 1, device: deviceOptions } as const
      const mean = await cluster(vectors, { k: 1, device: deviceOptions })
      const stepped = await cluster(vectors, { ...options, method: 'minibatch', batch: 7 })
      stepped.centers.data.forEach((value, j) => {
        expect(value).toBeCloseTo(mean.centers.data[j], 5)
      })
      // A rate of 1 goes all the way: the centre is the point that came last.
      const last = await cluster(vectors, { ...options, method: 'lvq', batch: 7, rate: 1 })
      const rows = Array.from({ length: 300 }, (_, i) => Array.from(vectors.data.subarray(i * 4, i * 4 + 4)))
      expect(rows).toContainEqual(Array.from(last.centers.data))
      // A rate of 0 leaves it where it was.
      const still = await cluster(vectors, { ...options, method: 'lvq', rate: 0 })
      expect(Array.from(still.centers.data)).toEqual([9, 9, 9, 9])
    })
  })
}

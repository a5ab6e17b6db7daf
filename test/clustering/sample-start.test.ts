/** Runs that begin from a clustering of a sample. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spreadAlong } from '../../src/clustering/sample-start.ts'
import { blobs, cluster, type Device, distortion, matrix, openDevice } from '../../src/index.ts'
import { NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

/** A software adapter takes its time for moves. */
const SETS = {
  cpu: { k: 20, vectors: blobs({ rows: 6000, cols: 12, clusters: 20, seed: 5 }).vectors },
  webgpu: { k: 6, vectors: blobs({ rows: 1800, cols: 6, clusters: 6, seed: 5 }).vectors },
}

describe('labels along the order of a tree', () => {
  test('go on from the last point that has one', () => {
    const labels = Uint32Array.of(NO_LABEL, 7, NO_LABEL, NO_LABEL, 4)
    expect(spreadAlong(labels, Uint32Array.of(3, 1, 0, 4, 2))).toBe(true)
    expect([...labels]).toEqual([7, 7, 4, 7, 4])
  })

  test('are left alone if there is none', () => {
    const labels = new Uint32Array(3).fill(NO_LABEL)
    expect(spreadAlong(labels, Uint32Array.of(2, 0, 1))).toBe(false)
    expect([...labels]).toEqual([NO_LABEL, NO_LABEL, NO_LABEL])
  })
})

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  const { k, vectors } = name === 'webgpu' ? SETS.webgpu : SETS.cpu
  describe(`a sample first, on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    for (const method of ['closures-sharp', 'closures', 'lloyd', 'akm'] as const) {
      test(`${method} from a sample ends where it ends otherwise`, async () => {
        const options = { k, method, seed: 3, device } as const
        const sampled = await cluster(vectors, { ...options, start: 'sample' })
        expect(sampled.facts.sample).toEqual({ rows: 64 * k, rounds: expect.any(Number) })
        expect(sampled.labels.every((label) => label < k)).toBe(true)
        const plain = await cluster(vectors, options)
        expect(plain.facts.sample).toBeUndefined()
        expect(sampled.distortion).toBeLessThan(plain.distortion * 1.02)
        expect(distortion(vectors, sampled.centers, sampled.labels)).toBeCloseTo(sampled.distortion, 3)
      })
    }

    test('the same seed gives the same bits, in several domains and shards too', async () => {
      const options = { k, method: 'closures-sharp', seed: 8, start: 'sample', shards: 3, device } as const
      const [one, other] = [await cluster(vectors, options), await cluster(vectors, options)]
      expect(other.labels).toEqual(one.labels)
      expect(other.centers.data).toEqual(one.centers.data)
    })

    test('with weights, those without weight get a label too', async () => {
      const weights = Float32Array.from({ length: vectors.rows }, (_, i) => i % 3)
      const model = await cluster(vectors, {
        k,
        method: 'closures-sharp',
        start: 'sample',
        seed: 2,
        weights,
        device,
      })
      expect(model.facts.sample?.rows).toBeGreaterThan(50 * k)
      expect(model.labels.every((label) => label < k)).toBe(true)
    })

    test('a run that is stopped and resumed ends as one that was not', async () => {
      const options = { k, method: 'closures-sharp', start: 'sample', seed: 4, tolerance: 0, device } as const
      const whole = await cluster(vectors, { ...options, iterations: 6 })
      const half = await cluster(vectors, { ...options, iterations: 3 })
      const resumed = await cluster(vectors, { ...options, iterations: 6, resume: half })
      expect(resumed.facts.sample).toEqual(whole.facts.sample)
      expect(resumed.labels).toEqual(whole.labels)
    })

    test('of copies of few vectors a sample has too few: the run begins as usual', async () => {
      const [rows, clusters] = name === 'webgpu' ? [1200, 4] : [4000, 10]
      const data = Float32Array.from({ length: rows }, (_, i) => (i < rows - 10 ? i % 2 : i))
      const model = await cluster(matrix(data, rows, 1), {
        k: clusters,
        method: 'closures-sharp',
        start: 'sample',
        seed: 1,
        device,
      })
      expect(model.facts.sample).toBeUndefined()
      expect(new Set(model.labels).size).toBe(clusters)
    })
  })
}

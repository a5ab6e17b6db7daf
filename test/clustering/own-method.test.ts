/** Methods that callers bring, on every device: candidates and centres by functions, against what they have to come to. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  type CandidateRequest,
  cluster,
  type Device,
  loadModel,
  type Matrix,
  type OwnMethod,
  openDevice,
  sparseMatrix,
  type UpdateRequest,
} from '../../src/index.ts'
import { temporaryFolder } from '../data/temporary-folder.ts'
import { normal } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

const path = temporaryFolder()
const NONE = 0xffffffff
const everything = ({ count, k }: CandidateRequest) => ({
  clusters: Uint32Array.from({ length: count * k }, (_, i) => i % k),
  width: k,
})
const means = ({ means }: UpdateRequest) => means.data

/** Sum of squares of labels and centres, in 64 bits. */
function squaresOf({ data, cols }: Matrix, labels: Uint32Array, centers: Matrix): number {
  let sum = 0
  for (let i = 0; i < data.length; i++) {
    sum += (data[i] - centers.data[labels[Math.floor(i / cols)] * cols + (i % cols)]) ** 2
  }
  return sum
}

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`a method of the caller on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())

    test.each([
      ['candidates', { name: 'mine', candidates: everything }],
      ['an update', { name: 'mine', update: means }],
      ['both', { name: 'mine', candidates: everything, update: means }],
    ] as [string, OwnMethod][])('with %s that do what lloyd does gives its labels', async (_, method) => {
      const vectors = normal(403, 7, 3)
      const start = normal(6, 7, 4)
      const common = { k: 6, start, device, iterations: 6, tolerance: 0 } as const
      const exact = await cluster(vectors, { ...common, method: 'lloyd' })
      const model = await cluster(vectors, { ...common, method })
      expect(model.labels).toEqual(exact.labels)
      model.centers.data.forEach((value, i) => {
        expect(value).toBeCloseTo(exact.centers.data[i], 4)
      })
      model.facts.iterations.forEach(({ distortion }, i) => {
        expect(distortion / exact.facts.iterations[i].distortion).toBeCloseTo(1, 5)
      })
      expect(model.facts.method).toBe('own:mine')
    })

    test('random candidates never raise the objective, and every label is among what was listed', async () => {
      const vectors = normal(301, 5, 5)
      const rounds: (Uint32Array | undefined)[] = []
      const method: OwnMethod = {
        name: 'random-candidates',
        candidates({ count, k, labels, random, iteration, first }) {
          expect(first + count).toBeLessThanOrEqual(301)
          expect(iteration).toBe(rounds.length + 1)
          rounds.push(labels)
          return { clusters: Uint32Array.from({ length: count * 2 }, () => random.below(k)), width: 2 }
        },
      }
      const options = { k: 9, method, device, iterations: 12, tolerance: 0, start: normal(9, 5, 6) } as const
      const model = await cluster(vectors, options)
      expect(rounds[0]).toBeUndefined()
      expect(rounds[1]?.length).toBe(301)
      const distortions = model.facts.iterations.map(({ distortion }) => distortion)
      distortions.slice(1).forEach((value, i) => {
        expect(value).toBeLessThanOrEqual(distortions[i] * (1 + 1e-6))
      })
      expect(squaresOf(vectors, model.labels, model.centers) / 301).toBeCloseTo(model.distortion, 4)
      rounds.length = 0
      expect((await cluster(vectors, options)).labels).toEqual(model.labels)
    })

    test('an update moves centres where it says, and the distortion is that of labels and centres', async () => {
      const vectors = normal(350, 6, 7)
      const halfway: OwnMethod = {
        name: 'halfway',
        update: ({ means, centers }) => Array.from(means.data, (value, i) => (value + centers.data[i]) / 2),
      }
      const model = await cluster(vectors, { k: 5, method: halfway, device, iterations: 4, tolerance: 0, seed: 2 })
      expect(squaresOf(vectors, model.labels, model.centers) / 350).toBeCloseTo(model.distortion, 3)
      const told: number[] = []
      const watched: OwnMethod = {
        name: 'watched',
        candidates: 'closures',
        update({ weights, means: { data }, iteration }) {
          if (iteration > 0) told.push(weights.reduce((sum, weight) => sum + weight))
          return data
        },
      }
      const weights = Array.from({ length: 350 }, (_, i) => 1 + (i % 3))
      const total = weights.reduce((sum, weight) => sum + weight)
      await cluster(vectors, { k: 5, method: watched, trees: 2, device, iterations: 3, weights })
      expect(told.length).toBeGreaterThan(0)
      for (const sum of told) expect(sum).toBeCloseTo(total, 2)
    })

    test('by cosine centres have length one', async () => {
      const vectors = normal(200, 4, 8)
      const method: OwnMethod = { name: 'mine', update: ({ means }) => means.data }
      const model = await cluster(vectors, { k: 3, method, metric: 'cosine', device })
      for (let row = 0; row < 3; row++) {
        expect(Math.hypot(...model.centers.data.subarray(row * 4, row * 4 + 4))).toBeCloseTo(1, 5)
      }
    })

    test('takes sparse rows, several devices and several shards', async () => {
      const dense = normal(120, 8, 9)
      const sparse = sparseMatrix(
        {
          offsets: Uint32Array.from({ length: 121 }, (_, i) => i * 8),
          columns: Uint32Array.from({ length: 960 }, (_, i) => i % 8),
          values: dense.data as Float32Array,
        },
        120,
        8,
      )
      const start = normal(4, 8, 10)
      const method: OwnMethod = { name: 'mine', candidates: everything, update: means }
      const one = await cluster(dense, { k: 4, method, start, device, shards: 4 })
      expect((await cluster(sparse, { k: 4, method, start, device })).labels).toEqual(one.labels)
      const two = await openDevice(deviceOptions)
      try {
        const both = await cluster(dense, { k: 4, method, start, devices: [device, two], shards: 4 })
        expect(both.labels).toEqual(one.labels)
        expect(both.centers.data).toEqual(one.centers.data)
      } finally {
        await two.close()
      }
    })

    test('is saved, loaded and gone on with', async () => {
      const { vectors } = blobs({ rows: 300, cols: 5, clusters: 12 })
      const method: OwnMethod = { name: 'mine', candidates: everything, update: means }
      const options = { k: 12, method, device, seed: 3, tolerance: 0 } as const
      const whole = await cluster(vectors, { ...options, iterations: 6 })
      const folder = path('own.model')
      await (await cluster(vectors, { ...options, iterations: 3 })).save(folder)
      const saved = await loadModel(folder)
      expect(saved.facts.method).toBe('own:mine')
      const resumed = await cluster(vectors, { ...options, iterations: 6, resume: saved })
      expect(resumed.labels).toEqual(whole.labels)
      expect(resumed.centers.data).toEqual(whole.centers.data)
      expect(await saved.predict(vectors, { device })).toHaveLength(300)
    })

    test.each([
      [
        'a list that is too short',
        { candidates: () => ({ clusters: new Uint32Array(3), width: 1 }) },
        '50 x 1 numbers',
      ],
      ['no table', { candidates: () => undefined as never }, 'return { clusters, width }'],
      [
        'a cluster that does not exist',
        { candidates: ({ count }) => ({ clusters: new Uint32Array(count).fill(2), width: 1 }) },
        'return clusters below 2',
      ],
      [
        'a vector without candidates',
        { candidates: ({ count }) => ({ clusters: new Uint32Array(count).fill(NONE), width: 1 }) },
        'vector 0 has no candidates and no cluster yet',
      ],
      ['too few centres', { update: () => [1] }, '2 x 3 numbers'],
      ['centres that are NaN', { update: () => new Float32Array(6).fill(Number.NaN) }, 'return finite numbers'],
    ] as [string, Omit<OwnMethod, 'name'>, string][])('refuses %s', async (_, parts, message) => {
      const options = { k: 2, method: { name: 'mine', ...parts }, device, start: normal(2, 3, 1) }
      await expect(cluster(normal(50, 3, 2), options)).rejects.toThrow(message)
    })

    test('passes on what a function throws, and the device goes on working', async () => {
      const broken: OwnMethod = {
        name: 'broken',
        update() {
          throw new RangeError('of the caller')
        },
      }
      await expect(cluster(normal(50, 3, 2), { k: 2, method: broken, device })).rejects.toThrow(
        new RangeError('of the caller'),
      )
      expect((await cluster(normal(50, 3, 2), { k: 2, device })).facts.k).toBe(2)
    })
  })
}

test.each([
  [{ method: { name: 'lloyd' } }, 'this is the name of a built-in method'],
  [{ method: { name: 'Mine!' } }, 'small letters and hyphens'],
  [{ method: {} }, 'option name is undefined'],
  [{ method: { name: 'mine', candidate: () => undefined } }, 'did you mean candidates?'],
  [{ method: { name: 'mine', candidates: 'sharp' } }, 'give one of lloyd, closures, akm, rakm, canopy, or a function'],
  [{ method: { name: 'mine', update: 3 } }, 'give a function'],
  [{ method: { name: 'mine' }, trees: 3 }, 'mine does not support this option'],
  [{ method: { name: 'mine', update: () => [] }, relocate: true }, 'mine does not relocate clusters'],
  [{ method: { name: 'mine', candidates: () => undefined }, start: 'sample' }, 'depend on row numbers'],
])('%j is refused', async (options, message) => {
  await expect(cluster(normal(20, 2, 1), { k: 2, ...options } as never)).rejects.toThrow(
    new RegExp(message.replaceAll(/[?{}()]/g, '\\$&'), 'i'),
  )
})

test('a method of your own needs a number of clusters', async () => {
  await expect(cluster(normal(20, 2, 1), { k: 'auto', method: { name: 'mine' } })).rejects.toThrow(
    'mine needs a number',
  )
})

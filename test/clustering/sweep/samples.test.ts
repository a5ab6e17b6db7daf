/** Sweeps of many vectors: what is done with samples, and that it costs hardly any quality. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Samples, sampleSize, TO_BEGIN } from '../../../src/clustering/sweep/samples.ts'
import { toSource } from '../../../src/core/matrix.ts'
import {
  adjustedRandIndex,
  blobs,
  cluster,
  type Device,
  type Matrix,
  type MethodName,
  matrix,
  openDevice,
  sweep,
} from '../../../src/index.ts'
import { inspectVectors } from '../../../src/vectors/frame.ts'
import { PointStore } from '../../../src/vectors/points.ts'
import { normal } from '../clouds.ts'

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 })
})
afterAll(() => device.close())

test.each([
  [300, 5, 300],
  [12_287, 5, 12_287],
  [12_288, 5, 4096],
  [200_000, 33, 8192],
  [200_000, 128, 16_384],
  [200_000, 512, 16_384],
  [200_000, 513, 32_768],
  [180_000, 5000, 30_000],
])('of %i vectors in %i clusters, %i are taken', (rows, k, size) => {
  expect(sampleSize(rows, k, TO_BEGIN)).toBe(size)
})

async function withSamples(vectors: Matrix, look: (samples: Samples, points: PointStore) => Promise<void>) {
  const source = toSource(vectors)
  const points = await PointStore.open(device, source, await inspectVectors(source, 'euclidean'))
  const samples = new Samples(device, points, points, 4, TO_BEGIN)
  try {
    await look(samples, points)
  } finally {
    samples.free()
    points.free()
  }
}

test('a sample holds different rows of all, the same each time', async () => {
  const vectors = normal(60_000, 3, 5)
  await withSamples(vectors, async (samples, points) => {
    const { rows, points: some, helps } = await samples.at(10, undefined)
    expect(helps).toBe(true)
    expect(new Set(rows).size).toBe(4096)
    const picked = [0, 2000, 4095]
    const wanted = await points.gather(picked.map((i) => (rows as Uint32Array)[i]))
    expect(await some.gather(picked)).toEqual(wanted)
    expect((await samples.at(11, undefined)).points).toBe(some)
    // A third of the points is too few for so many clusters.
    expect(await samples.at(2000, undefined)).toMatchObject({ helps: false })
    await withSamples(vectors, async (again) => {
      expect((await again.at(10, undefined)).rows).toEqual(rows)
    })
  })
})

test('where a sample lacks different rows, all are taken', async () => {
  const data = new Float32Array(30_000 * 2)
  for (let i = 0; i < 12; i++) data.set([i + 1, -i], i * 5000)
  const vectors = matrix(data, 30_000, 2)
  await withSamples(vectors, async (samples, points) => {
    expect(await samples.at(12, undefined)).toEqual({ points, rows: undefined, space: points, helps: false })
  })
  const { steps } = await sweep(vectors, { k: [2, 12], seeds: 2, device })
  expect(steps[1].distortion).toBeLessThan(1e-9 + steps[0].distortion)
  expect(steps[1].stabilityRows).toBe(30_000)
})

describe('a sweep of many vectors', () => {
  const cloud = normal(50_000, 8, 8)
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

  test.each(['lloyd', 'closures', 'closures-sharp'] as MethodName[])(
    '%s: about as good as clusterings of their own, in few rounds',
    async (method) => {
      const ratios: number[] = []
      for (const seed of method === 'lloyd' ? [1, 2] : [1]) {
        const { steps } = await sweep(cloud, { k: { from: 6, to: 200, steps: 6 }, method, seeds: 1, seed, device })
        for (const { k, distortion, rounds } of steps) {
          const own = await cluster(cloud, { k, method, seed, device })
          ratios.push(distortion / own.distortion)
          expect(rounds).toBeLessThanOrEqual(12)
          expect(distortion / own.distortion).toBeLessThan(1.02)
        }
      }
      expect(mean(ratios)).toBeLessThan(1.01)
    },
  )

  test('groups that a clustering took for one are found, and other seeds agree about them', async () => {
    const { vectors, labels } = blobs({ rows: 50_000, cols: 6, clusters: 40, seed: 3, separated: true })
    const { steps, advised, model } = await sweep(vectors, { k: [10, 25, 40, 60], device })
    expect(advised).toBe(40)
    expect(adjustedRandIndex(model(40).labels, labels)).toBe(1)
    expect(steps.map(({ stabilityRows }) => stabilityRows)).toEqual([4096, 4096, 4096, 4096])
    expect(steps[2].stability).toBeGreaterThan(0.999)
    expect(steps[0].stability).toBeLessThan(0.95)
    const again = await sweep(vectors, { k: [10, 25, 40, 60], device, keep: false })
    expect(again.steps.map(({ stability }) => stability)).toEqual(steps.map(({ stability }) => stability))
  })

  test('without structure, seeds disagree', async () => {
    const { steps } = await sweep(cloud, { k: [20, 60], device, keep: false })
    for (const { stability } of steps) {
      expect(stability).toBeGreaterThan(0.05)
      expect(stability).toBeLessThan(0.7)
    }
  })
})

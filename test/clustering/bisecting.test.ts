/** What must hold for bisecting k-means on every device. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyClusterOptions,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  createRandom,
  type Device,
  distortion,
  type Matrix,
  matrix,
  nearest,
  openDevice,
} from '../../src/index.ts'
import { normal, ROUNDING } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

/** Points around given places, `sizes[i]` of them `spreads[i]` wide. */
function blobs(places: readonly number[][], sizes: readonly number[], spreads: readonly number[]): Matrix {
  const random = createRandom(11)
  const rows = places.flatMap((place, i) =>
    Array.from({ length: sizes[i] }, () => place.map((value) => value + spreads[i] * random.normal())),
  )
  return matrix(Float32Array.from(rows.flat()), rows.length, places[0].length)
}

/** The labels at the leaves, as the tree is written: pairs of first child and number, or label and a mark. */
function leavesOf(tree: Uint32Array): number[] {
  const labels: number[] = []
  for (let at = 0; at < tree.length; at += 2) if (tree[at + 1] > tree.length) labels.push(tree[at])
  return labels.sort((a, b) => a - b)
}

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`bisecting on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: AnyClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, method: 'bisecting', tolerance: 0, ...options } as ClusterOptions)

    test.each([
      ['lloyd', 'size'],
      ['lloyd', 'spread'],
      ['sharp', 'size'],
      ['sharp', 'spread'],
    ] as const)(
      'by %s, in order of %s: k clusters with points, the distortion they have, and their tree',
      async (splitMethod, splitOrder) => {
        const vectors = normal(400, 6, 1)
        for (const k of [1, 2, 7, 40]) {
          const model = await run(vectors, { k, splitMethod, splitOrder })
          expect(model.sizes.every((size) => size > 0)).toBe(true)
          const exact = distortion(vectors, model.centers, model.labels)
          expect(Math.abs(model.distortion - exact)).toBeLessThanOrEqual(1e-5 * exact)
          expect(leavesOf(model.tree as Uint32Array)).toEqual(Array.from({ length: k }, (_, i) => i))
        }
      },
    )

    test('refining never raises the objective', async () => {
      for (const splitMethod of ['lloyd', 'sharp'] as const) {
        const model = await run(normal(500, 5, 4), { k: 15, splitMethod, refine: true, iterations: 10 })
        let last = Number.POSITIVE_INFINITY
        for (const step of model.facts.iterations) {
          expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING))
          last = step.distortion
        }
      }
    })

    test('the order of splits decides what is split: the larger one, or the wider one', async () => {
      const vectors = blobs(
        [
          [0, 0, 0],
          [100, 0, 0],
        ],
        [200, 40],
        [1, 6],
      )
      const bySize = await run(vectors, { k: 3, splitOrder: 'size' })
      const bySpread = await run(vectors, { k: 3, splitOrder: 'spread' })
      const clustersIn = ({ labels }: ClusterModel, from: number, to: number): number =>
        new Set(labels.subarray(from, to)).size
      expect([clustersIn(bySize, 0, 200), clustersIn(bySize, 200, 240)]).toEqual([2, 1])
      expect([clustersIn(bySpread, 0, 200), clustersIn(bySpread, 200, 240)]).toEqual([1, 2])
    })

    test('predict descends the tree, and looks at every centre once points have left it', async () => {
      const places = [
        [0, 0],
        [0, 50],
        [60, 0],
        [60, 50],
      ]
      const vectors = blobs(places, [30, 30, 30, 30], [1, 1, 1, 1])
      const model = await run(vectors, { k: 4 })
      expect(await model.predict(vectors, { device })).toEqual(model.labels)
      const cloud = normal(300, 4, 5)
      const refined = await run(cloud, { k: 20, refine: true, iterations: 5 })
      const exact = await nearest(cloud, refined.centers, { device })
      expect(await refined.predict(cloud, { device })).toEqual(Uint32Array.from(exact.labels))
    })

    test('cosine, weights, duplicates, constant data, as many clusters as points, and several parts', async () => {
      const cloud = normal(300, 5, 6)
      for (const splitMethod of ['lloyd', 'sharp'] as const) {
        const turned = await run(cloud, { k: 9, splitMethod, metric: 'cosine', refine: true, iterations: 4 })
        for (let i = 0; i < 9; i++) {
          expect(Math.hypot(...turned.centers.data.subarray(i * 5, (i + 1) * 5))).toBeCloseTo(1, 4)
        }
        const weights = Float32Array.from({ length: 300 }, (_, i) => 1 + (i % 4))
        expect((await run(cloud, { k: 9, splitMethod, weights })).sizes.every((size) => size > 0)).toBe(true)
        const twice = matrix(Float32Array.from([...cloud.data.subarray(0, 100), ...cloud.data.subarray(0, 100)]), 40, 5)
        expect((await run(twice, { k: 20, splitMethod })).distortion).toBeCloseTo(0, 5)
        expect((await run(matrix(new Float32Array(30).fill(2), 10, 3), { k: 1, splitMethod })).distortion).toBe(0)
      }
    })

    test('same seed, same bits', async () => {
      const options = { k: 12, seed: 5, splitMethod: 'sharp', refine: true, iterations: 3 } as const
      const one = await run(normal(500, 9, 7), options)
      const other = await run(normal(500, 9, 7), options)
      expect(other.centers.data).toEqual(one.centers.data)
      expect(other.labels).toEqual(one.labels)
    })
  })
}

// About the method: the devices agree by the tests above, and a software GPU takes a minute for this.
test('plain is above Lloyd, refined below plain, and moves end below means', async () => {
  const ends = new Map<string, number>()
  for (const seed of [1, 2, 3]) {
    const vectors = normal(1200, 6, seed)
    const kinds: Record<string, AnyClusterOptions> = {
      lloyd: { k: 40, seed, method: 'lloyd', iterations: 60 },
      plain: { k: 40, seed },
      refined: { k: 40, seed, refine: true, iterations: 60 },
      'plain #': { k: 40, seed, splitMethod: 'sharp' },
      'refined #': { k: 40, seed, splitMethod: 'sharp', refine: true, iterations: 60 },
    }
    for (const [kind, options] of Object.entries(kinds)) {
      const run = { method: 'bisecting', tolerance: 0, device: 'cpu', ...options } as ClusterOptions
      const { distortion: end } = await cluster(vectors, run)
      ends.set(kind, (ends.get(kind) ?? 0) + end / 3)
    }
  }
  const end = (kind: string): number => ends.get(kind) as number
  expect(end('plain')).toBeGreaterThan(end('lloyd'))
  expect(end('refined')).toBeLessThan(end('plain'))
  expect(end('plain #')).toBeLessThan(end('plain'))
  expect(end('refined #')).toBeLessThan(end('refined'))
})

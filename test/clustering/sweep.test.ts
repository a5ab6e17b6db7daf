/** Sweeps over numbers of clusters, on every device. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  adjustedRandIndex,
  bic,
  blobs,
  calinskiHarabasz,
  cluster,
  type Device,
  daviesBouldin,
  distortion,
  type Matrix,
  matrix,
  openDevice,
  type SweepStep,
  silhouette,
  sweep,
  sweepSteps,
} from '../../src/index.ts'
import { normal } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { documents } from './documents.ts'

const six = blobs({ rows: 300, cols: 5, clusters: 6, seed: 3, separated: true })

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`sweep on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())

    test('names the number of separated blobs, and its scores are those of the functions', async () => {
      const { steps, best, elbow, advised, advice, next, model, silhouetteForm, aborted } = await sweep(six.vectors, {
        k: { from: 3, to: 8 },
        seeds: 2,
        device,
      })
      expect(steps.map(({ k }) => k)).toEqual([3, 4, 5, 6, 7, 8])
      expect(best).toMatchObject({ bic: 6, silhouette: 6, daviesBouldin: 6, calinskiHarabasz: 6 })
      expect({ elbow, advised, next, silhouetteForm, aborted }).toEqual({
        ...{ elbow: 6, advised: 6, next: undefined, silhouetteForm: 'exact', aborted: false },
      })
      expect(advice).toMatch(/^About 6 clusters: BIC, silhouette, .* agree\.$/)
      expect(adjustedRandIndex(model(6).labels, six.labels)).toBe(1)
      for (const step of steps) {
        const { labels, centers } = model(step.k)
        expect(centers.rows).toBe(step.k)
        expect(step.bic).toBe(await bic(six.vectors, labels))
        expect(step.silhouette).toBe(await silhouette(six.vectors, labels))
        expect(step.daviesBouldin).toBe(await daviesBouldin(six.vectors, labels))
        expect(step.calinskiHarabasz).toBe(await calinskiHarabasz(six.vectors, labels))
        expect(step.distortion / distortion(six.vectors, centers, labels)).toBeCloseTo(1, 4)
        expect(step.inertia).toBe(step.distortion * 300)
      }
      expect(steps[3].stability).toBe(1)
    })

    test('the silhouette of many vectors is the simplified one, from the device', async () => {
      const vectors = normal(5100, 3, 4)
      for (const metric of ['euclidean', 'cosine'] as const) {
        const { steps, model, silhouetteForm } = await sweep(vectors, { k: [3, 17], seeds: 1, metric, device })
        expect(silhouetteForm).toBe('simplified')
        for (const step of steps) {
          const wanted = await silhouette(vectors, model(step.k).labels, { method: 'simplified', metric })
          expect(Math.abs((step.silhouette as number) - wanted)).toBeLessThan(1e-5)
          expect(step.stability).toBeUndefined()
        }
      }
    })

    test('of very many vectors, some are measured', async () => {
      const { vectors } = blobs({ rows: 20_500, cols: 2, clusters: 4, seed: 1 })
      const { steps, model } = await sweep(vectors, { k: [3], seeds: 1, device })
      const wanted = await silhouette(vectors, model(3).labels, { method: 'simplified' })
      expect(Math.abs((steps[0].silhouette as number) - wanted)).toBeLessThan(5e-3)
    })

    test('a Gaussian mixture: the BIC is that of the mixture', async () => {
      const { steps, advised, model } = await sweep(six.vectors, { k: [3, 5, 6, 8], method: 'gmm', seeds: 2, device })
      expect(advised).toBe(6)
      for (const { k, bic: found } of steps) {
        const { logLikelihoods } = await model(k).responsibilities(six.vectors, 1, { device })
        const sum = logLikelihoods.reduce((total, value) => total + value, 0)
        expect(found / (-2 * sum + (k * 7 - 1) * Math.log(300))).toBeCloseTo(1, 6)
      }
    })
  })
}

describe('a sweep', () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 2 })
  })
  afterAll(() => device.close())

  test('begins each clustering from the one before: few rounds, and as good as from scratch', async () => {
    const vectors = normal(3000, 6, 8)
    const ratios: number[] = []
    for (const seed of [0, 1, 2, 3]) {
      const { steps, model } = await sweep(vectors, { k: [5, 20, 60, 150], seeds: 1, seed, method: 'lloyd', device })
      for (const { k, rounds } of steps.slice(1)) {
        const scratch = await cluster(vectors, { k, method: 'lloyd', seed, device })
        expect(rounds).toBeLessThanOrEqual(12)
        expect(scratch.facts.iterations.length).toBeGreaterThan(rounds)
        ratios.push(model(k).distortion / scratch.distortion)
        expect(model(k).facts.options.start).toBe('given')
      }
    }
    // Single ones depend on the seed: 0.99 to 1.04 over a dozen of them.
    expect(Math.max(...ratios)).toBeLessThan(1.05)
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length).toBeLessThan(1.02)
  })

  test('finds blobs one by one that the first clustering took for one', async () => {
    for (const seed of [1, 2, 3]) {
      const { vectors, labels } = blobs({ rows: 800, cols: 6, clusters: 40, seed, separated: true })
      const { advised, model } = await sweep(vectors, { k: [10, 25, 40, 60], seeds: 1, seed, device })
      expect(advised).toBe(40)
      expect(adjustedRandIndex(model(40).labels, labels)).toBe(1)
    }
  })

  test('takes options of the method', async () => {
    const vectors = normal(600, 4, 2)
    const options = { k: [3, 9, 20], method: 'closures', seeds: 1, device } as const
    const { model } = await sweep(vectors, { ...options, methodOptions: { leafSize: 40, trees: 2 } })
    for (const k of options.k) expect(model(k).facts.options.settings).toMatchObject({ leafSize: 40, trees: 2 })
    const plain = await sweep(vectors, options)
    expect(plain.model(20).facts.options.settings).toMatchObject({ leafSize: 10, trees: 10 })
  })

  test('gives the same bits with another number of threads', async () => {
    const vectors = normal(900, 5, 2)
    const one = await openDevice({ kind: 'cpu', threads: 1 })
    const options = { k: [4, 9, 30], seeds: 2, seed: 5 } as const
    const [a, b] = [await sweep(vectors, { ...options, device }), await sweep(vectors, { ...options, device: one })]
    await one.close()
    const plain = (steps: readonly SweepStep[]) => steps.map(({ seconds: _, ...rest }) => rest)
    expect(plain(a.steps)).toEqual(plain(b.steps))
    expect(a.model(30).labels).toEqual(b.model(30).labels)
  })

  test('takes every method that takes k, sparse rows, and data far from zero', async () => {
    for (const method of ['closures-sharp', 'bisecting', 'hkm', 'minibatch', 'sharp'] as const) {
      const { steps, model } = await sweep(six.vectors, { k: [2, 6, 12], seeds: 1, method, device })
      expect(steps.map((step) => step.method)).toEqual([method, method, method])
      expect(model(12).centers.rows).toBe(12)
    }
    const sparse = await sweep(documents(120, 60, 8, 4, 1, 3), { k: [2, 4, 8], metric: 'cosine', seeds: 2, device })
    expect(sparse.steps.every(({ silhouette: s }) => s !== undefined && s > -1 && s < 1)).toBe(true)
    const far = matrix(
      six.vectors.data.map((value) => 1e5 + value),
      300,
      5,
    )
    expect((await sweep(far, { k: { from: 4, to: 8 }, seeds: 1, device })).advised).toBe(6)
  })

  test('tells its steps and how far it is', async () => {
    const told: number[] = []
    const shares: number[] = []
    const phases = new Set<string>()
    const onProgress = (share: number, phase = ''): void => {
      phases.add(phase)
      shares.push(share)
    }
    const seen: number[] = []
    const steps = sweepSteps(six.vectors, { k: [2, 4], onStep: ({ k }) => told.push(k), onProgress, device })
    for await (const { k } of steps) seen.push(k)
    expect([told, seen]).toEqual([
      [2, 4],
      [2, 4],
    ])
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
    expect(shares.at(-1)).toBeCloseTo(1, 10)
    expect([...phases].at(-1)).toBe('4 clusters (2 of 2)')
  })

  test('a signal keeps the steps that are done', async () => {
    const control = new AbortController()
    const onStep = ({ k }: SweepStep): void => {
      if (k === 4) control.abort()
    }
    const { signal } = control
    const { steps, aborted, model } = await sweep(six.vectors, { k: [2, 4, 6, 8], onStep, signal, device })
    expect(steps.map(({ k }) => k)).toEqual([2, 4])
    expect(aborted).toBe(true)
    expect(model(4).labels).toHaveLength(300)
    await expect(sweep(six.vectors, { k: [2, 4], signal, device })).rejects.toBe(signal.reason)
  })

  test('does not keep clusterings where it is told not to', async () => {
    const kept = await sweep(six.vectors, { k: [2, 3], seeds: 1, device })
    expect(() => kept.model(5)).toThrow(/is 5: the sweep has these numbers of clusters: 2, 3\./)
    const { model } = await sweep(six.vectors, { k: [2], keep: false, seeds: 1, device })
    expect(() => model(2)).toThrow(/were not kept \(option keep is false\)/)
  })

  test('from 1 cluster to one for every vector', async () => {
    const vectors = normal(12, 2, 1)
    const { steps } = await sweep(vectors, { k: [1, 2, 12], device })
    expect(steps[0]).toMatchObject({ silhouette: undefined, daviesBouldin: undefined, stability: undefined })
    expect(steps[2]).toMatchObject({ distortion: 0, silhouette: undefined, calinskiHarabasz: undefined })
    expect(steps.every((step) => Number.isFinite(step.bic))).toBe(true)
  })

  const same: Matrix = matrix(new Float32Array(20).fill(3), 10, 2)
  const some: Matrix = normal(10, 2, 1)
  const withNaN: Matrix = matrix(Float32Array.of(1, 2, Number.NaN), 3, 1)
  test.each([
    [some, { k: { from: 5, to: 2 } }, /Option k\.from is 5: it is above to, which is 2; swap the two\./],
    [some, { k: { from: 0, to: 2 } }, /Option k\.from is 0: give a whole number, 1 or more\./],
    [some, { k: { from: 2 } }, /Option k\.to is undefined: give a whole number, 1 or more\./],
    [some, { k: [3, 0] }, /Option k\[1\] is 0: give a whole number of clusters, 1 or more\./],
    [some, { k: [] }, /Option k is an array of 0: give at least one number of clusters\./],
    [some, { k: { from: 2, to: 11 } }, /Option k is 11: there are only 10 vectors; give at most that many clusters\./],
    [some, { k: [2], method: 'agm' }, /Option method is "agm": it finds the number of clusters itself/],
    [
      some,
      { k: [2], method: 'lloyd', methodOptions: { trees: 3 } },
      /Option trees is 3: lloyd does not support this option; it belongs to .*closures/,
    ],
    [some, { k: [2], methodOptions: { iterations: 3 } }, /iterations/],
    [some, { k: [2], weights: [1] }, /Option weights is an array of 1: there is no such option/],
    [withNaN, { k: [2] }, /holds NaN in column 0/],
    [same, { k: [1, 2] }, /different/],
    [same, { k: [1] }, /different/],
    [normal(1, 2, 1), { k: [1] }, /at least 2/],
  ] as const)('%# is refused', async (vectors, options, message) => {
    await expect(sweep(vectors as Matrix, { ...options, device } as never)).rejects.toThrow(message)
  })
})

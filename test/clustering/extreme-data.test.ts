/** Data of extreme kinds through every method: results are finite, and what they claim is true in 64 bits. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { cluster } from '../../src/clustering/cluster.ts'
import type { ClusterOptions } from '../../src/clustering/cluster-options.ts'
import { METHODS } from '../../src/clustering/presets.ts'
import { createRandom } from '../../src/core/random.ts'
import type { Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import type { MethodName } from '../../src/models/method-names.ts'
import { distinctRows, hasZeroRow, judge, KINDS } from './extreme-kinds.ts'

const seed = inject('testSeed')

/** Whose centres are the means of their points when they stop. */
const MEANS = new Set<MethodName>([
  'lloyd',
  'akm',
  'rakm',
  'hkm',
  'closures',
  'closures-sharp',
  'sharp',
  'bisecting',
  'canopy',
])

describe(`extreme data, CENTROIDAL_TEST_SEED=${seed}`, () => {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', threads: 1 })
  })
  afterAll(() => device.close())

  // Every kind meets every method, each time with another metric, number of clusters and size of weights.
  describe.each(Object.keys(KINDS))('%s', (kind) => {
    test.each(Object.keys(METHODS) as MethodName[])('%s', async (method) => {
      const random = createRandom(seed)
        .fork(Object.keys(KINDS).indexOf(kind))
        .fork(Object.keys(METHODS).indexOf(method))
      const vectors = KINDS[kind](random)
      const { findsCount, weights: weighable } = METHODS[method]
      const metric = random.below(3) === 0 && !hasZeroRow(vectors) ? 'cosine' : 'euclidean'
      const unit = metric === 'cosine'
      const distinct = distinctRows(vectors, unit)
      let k = [1, Math.min(3, distinct), distinct][random.below(3)]
      const size = weighable === false ? 0 : [0, 1e38, 1e-40][random.below(3)]
      const weights = Float32Array.from({ length: vectors.rows }, () => size * (1 + random.below(3)))
      const rest: ClusterOptions = { method, metric, device, seed: random.next(), iterations: 20 }
      const run = () => cluster(vectors, { ...rest, ...(findsCount ? {} : { k }), ...(size === 0 ? {} : { weights }) })
      // Differences may be lost next to values of another magnitude; then as many clusters as the error says are possible.
      const model = await run().catch((error) => {
        const told = /has only (\d+) different vectors, as far as/.exec((error as Error).message)
        if (!told) throw error
        k = Number(told[1])
        return run()
      })
      const judged = judge(vectors, model, size === 0 ? undefined : weights, unit)
      const what = `${metric} k=${k} of ${distinct} weights=${size}: ${JSON.stringify(judged)}`
      expect(model.centers.data.every(Number.isFinite), what).toBe(true)
      expect(
        model.labels.every((label) => label < model.centers.rows),
        what,
      ).toBe(true)
      const assigned = await model.assign(vectors, { device })
      expect(assigned.distances.every(Number.isFinite), what).toBe(true)
      expect(
        assigned.labels.every((label) => label < model.centers.rows),
        what,
      ).toBe(true)
      expect(Math.abs(judged.root - judged.reported), what).toBeLessThanOrEqual(judged.allowed)
      if (MEANS.has(method)) expect(judged.meanError, what).toBeLessThanOrEqual(judged.meanAllowed)
      if (method === 'lloyd' && model.facts.stopped === 'converged') {
        expect(judged.nearestError, what).toBeLessThanOrEqual(judged.nearestAllowed)
      }
    })
  })
})

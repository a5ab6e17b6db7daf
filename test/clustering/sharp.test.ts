/** What must hold for k-means#, alone and among the clusters of neighbours, on every device. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  distortion,
  type Matrix,
  matrix,
  openDevice,
} from '../../src/index.ts'
import { MoveOracle } from '../kernels/moves.ts'
import { fc } from '../properties.ts'
import { normal, ROUNDING } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

type Variant = 'sharp' | 'closures-sharp'
const METHODS = ['sharp', 'closures-sharp'] as const
const STARTS = ['random-labels', 'random', 'kpp'] as const

function toUnit(vectors: Matrix): Matrix {
  const { rows, cols } = vectors
  const data = Float32Array.from(vectors.data)
  for (let i = 0; i < rows; i++) {
    const row = data.subarray(i * cols, (i + 1) * cols)
    const length = Math.hypot(...row)
    for (let t = 0; t < cols; t++) row[t] /= length
  }
  return matrix(data, rows, cols)
}

/** Rounds get better, the last says what labels and centres are worth, and every cluster has points. */
function checkModel(vectors: Matrix, model: ClusterModel, weights?: readonly number[]): void {
  const { facts, centers, labels } = model
  let last = Number.POSITIVE_INFINITY
  for (const step of facts.iterations) {
    expect(step.distortion).toBeLessThanOrEqual(last * (1 + ROUNDING) + 1e-6)
    last = step.distortion
  }
  const inFrame = facts.metric === 'cosine' ? toUnit(vectors) : vectors
  const exact = distortion(inFrame, centers, labels, weights)
  expect(Math.abs(model.distortion - exact)).toBeLessThanOrEqual(2e-5 * exact + 1e-6 * vectors.cols)
  expect(model.sizes.every((size) => size > 0)).toBe(true)
  expectMeans(inFrame, model, weights)
}

/** Centres are the means of their labels. */
function expectMeans(vectors: Matrix, { centers, labels, facts }: ClusterModel, weights?: readonly number[]): void {
  const { cols, rows } = vectors
  const unit = facts.metric === 'cosine'
  const sums = new Float64Array(facts.k * cols)
  const totals = new Float64Array(facts.k)
  for (let i = 0; i < rows; i++) {
    const weight = weights?.[i] ?? 1
    totals[labels[i]] += weight
    for (let t = 0; t < cols; t++) sums[labels[i] * cols + t] += weight * vectors.data[i * cols + t]
  }
  for (let j = 0; j < facts.k; j++) {
    if (totals[j] === 0) continue
    const sum = sums.subarray(j * cols, (j + 1) * cols)
    const length = unit ? Math.hypot(...sum) : totals[j]
    for (let t = 0; t < cols; t++) expect(Math.abs(centers.data[j * cols + t] - sum[t] / length)).toBeLessThan(1e-4)
  }
}

/** No single move to any other cluster makes the objective better by more than rounding. */
function expectNoMovePays(vectors: Matrix, model: ClusterModel, weights?: Float32Array): void {
  const unit = model.facts.metric === 'cosine'
  const { data, cols } = unit ? toUnit(vectors) : vectors
  const nothing = { members: new Uint32Array(), offsets: Uint32Array.of(0), order: new Uint32Array() }
  const { k } = model.facts
  const oracle = new MoveOracle({
    x: { data: data as Float32Array, cols },
    k,
    labels: model.labels,
    weights,
    unit,
    ...nothing,
    among: 'all',
    first: false,
  })
  for (let point = 0; point < vectors.rows; point++) {
    if (oracle.mayLeave(point) !== 'yes') continue
    for (let to = 0; to < k; to++) {
      if (to === model.labels[point]) continue
      const { gain, slack, stay } = oracle.gainOf(point, to)
      expect(gain).toBeLessThanOrEqual(slack + 1e-5 * (stay + oracle.weight(point)))
    }
  }
}

test.each(METHODS)('%s: the number of threads changes nothing', async (method) => {
  const vectors = normal(700, 9, 12)
  const models: ClusterModel[] = []
  for (const device of [
    { kind: 'cpu', threads: 1 },
    { kind: 'cpu', threads: 3 },
    { kind: 'cpu', shared: false },
  ] as const) {
    models.push(await cluster(vectors, { k: 40, method, iterations: 6, tolerance: 0, device, batch: 100 }))
  }
  for (const other of models.slice(1)) {
    expect(other.labels).toEqual(models[0].labels)
    expect(other.centers.data).toEqual(models[0].centers.data)
  }
})

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`k-means# on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())
    const run = (vectors: Matrix, options: ClusterOptions): Promise<ClusterModel> =>
      cluster(vectors, { device, method: 'sharp', tolerance: 0, ...options })

    test('the objective never rises and is that of labels and centres; no cluster is lost', async () => {
      const cases = fc.asyncProperty(
        fc.record({
          rows: fc.integer({ min: 1, max: 300 }),
          cols: fc.integer({ min: 1, max: 20 }),
          wanted: fc.integer({ min: 1, max: 30 }),
          method: fc.constantFrom<Variant>(...METHODS),
          start: fc.constantFrom(...STARTS),
          metric: fc.constantFrom<'euclidean' | 'cosine'>('euclidean', 'cosine'),
          weighted: fc.boolean(),
          firstImprovement: fc.boolean(),
          batch: fc.constantFrom(7, 50, 4096),
          seed: fc.integer({ min: 0, max: 1000 }),
        }),
        async ({ rows, wanted, weighted, ...options }) => {
          const { cols, ...rest } = options
          const vectors = normal(rows, cols, options.seed)
          // In one column there are only two directions.
          const k = Math.min(wanted, options.metric === 'cosine' && cols === 1 ? 1 : rows)
          const weights = weighted ? Array.from({ length: rows }, (_, i) => 0.5 + (i % 4)) : undefined
          const given = { k, iterations: 5, ...rest, ...(weights ? { weights } : {}) }
          checkModel(vectors, await run(vectors, given), weights)
        },
      )
      await fc.assert(cases, { numRuns: 12 })
    })

    test('one vector after the other, it ends where no single move pays', async () => {
      const vectors = normal(70, 3, 2)
      const weights = Float32Array.from({ length: 70 }, (_, i) => (i % 5) / 2)
      for (const options of [{}, { firstImprovement: true }, { metric: 'cosine' as const }, { weights }]) {
        const model = await run(vectors, {
          k: 6,
          batch: 1,
          iterations: 60,
          seed: 3,
          start: 'random-labels',
          ...options,
        })
        expect(model.facts.stopped).toBe('converged')
        expectNoMovePays(vectors, model, 'weights' in options ? weights : undefined)
      }
    })

    test('batches end there too, and all starts, and with few clusters looked at nearly', async () => {
      const vectors = normal(300, 4, 5)
      for (const start of STARTS) {
        const model = await run(vectors, { k: 10, start, iterations: 100, batch: 40 })
        expect(model.facts.stopped).toBe('converged')
        expect(model.facts.options.start).toBe(start)
        checkModel(vectors, model)
        expectNoMovePays(vectors, model)
      }
      const all = await run(vectors, { k: 20, iterations: 50 })
      const near = await run(vectors, { k: 20, iterations: 50, nearest: 6 })
      checkModel(vectors, near)
      expect(near.facts.iterations.at(-1)?.candidates).toBe(7)
      expect(all.facts.iterations.at(-1)?.candidates).toBe(20)
      expect(near.distortion / all.distortion).toBeLessThan(1.05)
    })

    // What a method achieves does not depend on the device, and a software adapter takes its time.
    if (name === 'cpu')
      test('ends below Lloyd from the same start, mostly', async () => {
        const seeds = [1, 2, 3]
        for (const method of METHODS) {
          let sum = 0
          for (const seed of seeds) {
            const vectors = normal(250, 6, seed)
            const options = { k: 20, seed, start: 'random', iterations: 40 } as const
            const lloyd = await run(vectors, { ...options, method: 'lloyd' })
            const moved = await run(vectors, { ...options, method })
            sum += moved.distortion / lloyd.distortion
          }
          expect(sum / seeds.length).toBeLessThan(0.995)
        }
      })

    test.each(METHODS)('%s: same seed, same bits, resumed or not', async (method) => {
      const vectors = normal(500, 7, 8)
      for (const metric of ['euclidean', 'cosine'] as const) {
        const options = { k: 30, seed: 3, method, metric, batch: 64 }
        const whole = await run(vectors, { ...options, iterations: 6 })
        const again = await run(vectors, { ...options, iterations: 6 })
        expect(again.centers.data).toEqual(whole.centers.data)
        expect(again.labels).toEqual(whole.labels)
        const half = await run(vectors, { ...options, iterations: 3 })
        const resumed = await run(vectors, { ...options, iterations: 6, resume: half })
        expect(resumed.labels).toEqual(whole.labels)
        expect(resumed.centers.data).toEqual(whole.centers.data)
        expect(resumed.facts.iterations.map((step) => step.distortion)).toEqual(
          whole.facts.iterations.map((step) => step.distortion),
        )
      }
    })

    test.each(METHODS)('%s: one cluster, as many as points, duplicates, constant data', async (method) => {
      const vectors = normal(25, 3, 2)
      for (const start of [...STARTS, 'auto'] as const) {
        const one = await run(vectors, { k: 1, method, start })
        checkModel(vectors, one)
        const each = await run(vectors, { k: 25, method, start, iterations: 100 })
        expect(each.distortion).toBeCloseTo(0, 10)
        expect(new Set(each.labels).size).toBe(25)
      }
      const repeated = matrix(
        Float32Array.from({ length: 240 }, (_, i) => Math.floor(i / 2) % 5),
        120,
        2,
      )
      const five = await run(repeated, { k: 5, iterations: 50, method })
      checkModel(repeated, five)
      const constant = await run(matrix(new Float32Array(90).fill(3), 30, 3), { k: 1, method })
      expect(constant.distortion).toBe(0)
    })

    test.each(METHODS)('%s: vectors as bytes, and vectors in several parts', async (method) => {
      const cloud = normal(400, 8, 9)
      const bytes = matrix(
        Uint8Array.from(cloud.data, (value) => Math.max(0, Math.min(255, Math.round(128 + 40 * value)))),
        400,
        8,
      )
      const whole = await run(bytes, { k: 12, iterations: 8, method })
      const { data, rows, cols } = bytes
      checkModel(matrix(Float32Array.from(data), rows, cols), whole)
      const parts = await cluster(cloud, {
        k: 12,
        method,
        tolerance: 0,
        iterations: 8,
        batch: 64,
        device: { ...deviceOptions, limits: { partBytes: 4000 } },
      })
      checkModel(cloud, parts)
      const alone = await run(cloud, { k: 12, iterations: 8, batch: 64, method })
      expect(parts.distortion / alone.distortion).toBeLessThan(1.1)
    })

    test.each(METHODS)('%s: stopped within a round, it keeps the round before', async (method) => {
      const vectors = normal(600, 5, 4)
      const options = { k: 20, method, seed: 6, batch: 4, leafSize: 16 }
      const { leafSize, ...own } = options
      const given = method === 'sharp' ? own : options
      const controller = new AbortController()
      const model = await run(vectors, {
        ...given,
        iterations: 30,
        signal: controller.signal,
        onProgress: (_, phase) => phase === 'round 4' && controller.abort(),
      })
      expect(model.facts.stopped).toBe('aborted')
      expect(model.facts.iterations).toHaveLength(3)
      const same = await run(vectors, { ...given, iterations: 3 })
      expect(model.labels).toEqual(same.labels)
      expect(model.centers.data).toEqual(same.centers.data)
      checkModel(vectors, model)
    })

    test('options that make no sense are refused', async () => {
      await expect(run(normal(20, 2, 1), { k: 2, batch: -1 })).rejects.toThrow(/Option batch is -1: sharp needs/)
      await expect(run(normal(20, 2, 1), { k: 2, nearest: 256 })).rejects.toThrow(/Option nearest is 256: sharp needs/)
      await expect(run(normal(20, 2, 1), { k: 2, leafSize: 5 })).rejects.toThrow(/sharp does not support this option/)
    })
  })
}

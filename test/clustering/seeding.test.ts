/** Where centres begin: how good greedy k-means++ is, and what must hold for every start. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { greedySample } from '../../src/clustering/greedy-start.ts'
import { sampleByWeight } from '../../src/clustering/sample.ts'
import { chooseStart, completeCenters } from '../../src/clustering/seeding.ts'
import { isMatrix, toSource } from '../../src/core/matrix.ts'
import type { Random } from '../../src/core/random.ts'
import { stream } from '../../src/core/streams.ts'
import { blobs, cluster, createRandom, type Device, type Matrix, matrix, openDevice } from '../../src/index.ts'
import { normal } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'
import { documents } from './documents.ts'
import { potential, startCenters, withState } from './starting.ts'

/** k-means++ in 64 bits, with one candidate for each centre or several. */
function oracle({ data, rows, cols }: Matrix, k: number, trials: number, random: Random): Float32Array {
  const distancesTo = (center: number): Float64Array =>
    Float64Array.from({ length: rows }, (_, i) => {
      let squared = 0
      for (let j = 0; j < cols; j++) squared += (data[i * cols + j] - data[center * cols + j]) ** 2
      return squared
    })
  const chosen = [random.below(rows)]
  let nearest = distancesTo(chosen[0])
  while (chosen.length < k) {
    const total = nearest.reduce((sum, value) => sum + value, 0)
    let best: { sum: number; point: number; nearest: Float64Array } | undefined
    for (let t = 0; t < trials; t++) {
      let left = random.uniform() * total
      const point = nearest.findIndex((value) => {
        left -= value
        return value > 0 && left < 0
      })
      const distances = distancesTo(point)
      const merged = nearest.map((value, i) => Math.min(value, distances[i]))
      const sum = merged.reduce((all, value) => all + value, 0)
      if (best === undefined || sum < best.sum) best = { sum, point, nearest: merged }
    }
    if (best === undefined) break
    chosen.push(best.point)
    nearest = best.nearest
  }
  return Float32Array.from(chosen.flatMap((point) => Array.from(data.subarray(point * cols, (point + 1) * cols))))
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Rows of centres as texts, to tell them apart. */
function rowsOf(centers: ArrayLike<number>, cols: number): string[] {
  const all = Array.from(centers)
  return Array.from({ length: all.length / cols }, (_, i) => all.slice(i * cols, (i + 1) * cols).join())
}

const separated = blobs({ rows: 1000, cols: 6, clusters: 50, separated: true, seed: 3 }).vectors

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`starts on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())

    test('greedy k-means++ is as good as its plain form, and clearly better than one candidate', async () => {
      const seeds = Array.from({ length: 8 }, (_, seed) => seed)
      const own = mean(
        await Promise.all(
          seeds.map(async (seed) => potential(separated, await startCenters(device, separated, 50, { seed }))),
        ),
      )
      const plain = mean(seeds.map((seed) => potential(separated, oracle(separated, 50, 1, createRandom(seed)))))
      const greedy = mean(seeds.map((seed) => potential(separated, oracle(separated, 50, 5, createRandom(seed)))))
      expect(own).toBeLessThan(0.6 * plain)
      expect(own / greedy).toBeGreaterThan(0.8)
      expect(own / greedy).toBeLessThan(1.25)
    })

    test('a sample chooses nearly as well as all points', async () => {
      const { vectors } = blobs({ rows: 6000, cols: 4, clusters: 12, separated: true, seed: 5 })
      const [some, all] = [600, 6000].map((rows) =>
        withState(device, vectors, 12, undefined, async (state) => {
          const potentials: number[] = []
          for (let seed = 0; seed < 4; seed++) {
            const greedy = { k: 12, random: createRandom(seed), control: {} }
            const chosen = await greedySample(state, rows, undefined, greedy)
            expect(new Set(chosen).size).toBe(12)
            potentials.push(potential(vectors, await state.points.gather(chosen)))
          }
          return mean(potentials)
        }),
      )
      expect(await some).toBeLessThan(1.3 * (await all))
    })

    test.each(['kpp', 'kpp-parallel', 'auto'] as const)(
      '%s finds all different points among many equal ones',
      async (start) => {
        const data = new Float32Array(900).map((_, i) => (i % 100 === 7 ? 1 + Math.floor(i / 100) : 0))
        for (const seed of [1, 2]) {
          const centers = await startCenters(device, matrix(data, 900, 1), 10, { start, seed })
          expect(Array.from(centers).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
        }
      },
    )

    test('points without weight are chosen only where there are no others', async () => {
      const vectors = normal(300, 3, 4)
      const weights = Float32Array.from({ length: 300 }, (_, i) => (i % 3 === 0 ? 0 : 1 + (i % 2)))
      const weighted = new Set(rowsOf(vectors.data, 3).filter((_, i) => weights[i] > 0))
      for (const start of ['kpp', 'kpp-parallel'] as const) {
        const rows = rowsOf(await startCenters(device, vectors, 30, { start, weights, seed: 2 }), 3)
        expect(rows.every((row) => weighted.has(row))).toBe(true)
        expect(new Set(rows).size).toBe(30)
      }
      const few = weights.map((_, i) => (i < 5 ? 1 : 0))
      const rows = rowsOf(await startCenters(device, vectors, 9, { weights: few }), 3)
      expect(new Set(rows).size).toBe(9)
      for (const row of rowsOf(vectors.data.subarray(0, 15), 3)) expect(rows).toContain(row)
    })

    test('a weight draws centres', async () => {
      // Two far groups, one of them a thousand times as heavy, and centres for one of them only.
      const data = Float32Array.from({ length: 200 }, (_, i) => (i < 100 ? i * 0.01 : 1000 + i * 0.01))
      const vectors = matrix(data, 200, 1)
      const weights = Float32Array.from({ length: 200 }, (_, i) => (i < 100 ? 1000 : 1e-6))
      const centers = await startCenters(device, vectors, 6, { weights, seed: 3 })
      expect(Array.from(centers).filter((value) => value < 500).length).toBeGreaterThanOrEqual(4)
    })

    test('sparse rows are chosen by the same rule', async () => {
      const sparse = documents(240, 90, 12, 5, 2)
      const centers = await startCenters(device, sparse, 20, { seed: 1 })
      expect(new Set(rowsOf(centers, 90)).size).toBe(20)
      const full = await toSource(sparse).read(0, 240)
      const rows = new Set(rowsOf(full, 90))
      expect(rowsOf(centers, 90).every((row) => rows.has(row))).toBe(true)
      const all = matrix(full as Float32Array, 240, 90)
      const plain = mean([0, 1, 2].map((seed) => potential(all, oracle(all, 20, 1, createRandom(seed)))))
      expect(potential(all, centers)).toBeLessThan(1.05 * plain)
    })

    test('given centres stay, and the others are chosen in addition', async () => {
      // Every given centre is a point, and most points are equal to one: none of those may come twice.
      const data = Uint8Array.from({ length: 400 * 2 }, (_, i) => (i < 760 ? Math.floor(i / 2) % 4 : 100 + (i % 40)))
      for (const vectors of [matrix(data, 400, 2), matrix(Float32Array.from(data), 400, 2)]) {
        const given = Float32Array.of(0, 0, 1, 1, 2, 2)
        const centers = await withState(device, vectors, 12, undefined, (state) =>
          completeCenters(state, given, { random: stream(1, 'seeding', 0), weights: undefined }),
        )
        expect(Array.from(centers.subarray(0, 6))).toEqual(Array.from(given))
        expect(new Set(rowsOf(centers, 2)).size).toBe(12)
      }
      const half = await cluster(separated, { k: 25, device, seed: 1 })
      const more = await cluster(separated, { k: 50, start: half.centers, device, seed: 1 })
      expect(isMatrix(more.centers) && more.centers.rows).toBe(50)
      expect(more.facts.options.start).toBe('given')
      expect(more.distortion).toBeLessThan(0.5 * half.distortion)
      const again = await cluster(separated, { k: 50, start: half.centers, device, seed: 1 })
      expect(again.centers.data).toEqual(more.centers.data)
    })

    test('a signal stops the choice', async () => {
      const stop = new AbortController()
      const run = cluster(normal(1500, 4, 1), {
        k: 400,
        method: 'lloyd',
        start: 'kpp',
        device,
        signal: stop.signal,
        onProgress: (_, phase) => phase === 'choosing the first centres' && stop.abort(new Error('no more')),
      })
      await expect(run).rejects.toThrow('no more')
    })

    test('streamed vectors and small parts start as others do', async () => {
      const vectors = normal(900, 12, 6)
      const options = { k: 40, method: 'lloyd', start: 'kpp', iterations: 1, seed: 4 } as const
      const whole = await cluster(vectors, { ...options, device })
      const limits = { partBytes: 10_000 }
      const parts = await cluster(vectors, { ...options, device: { ...deviceOptions, limits } })
      const streamed = await cluster(vectors, { ...options, device: { ...deviceOptions, limits, memoryBytes: 12_000 } })
      expect(streamed.centers.data).toEqual(parts.centers.data)
      expect(parts.labels).toEqual(whole.labels)
    })
  })
}

test('any number of threads chooses the same points', async () => {
  const vectors = normal(3000, 9, 7)
  const results: Float32Array[] = []
  for (const threads of [1, 2, 3]) {
    const device = await openDevice({ kind: 'cpu', threads })
    try {
      for (const start of ['kpp', 'kpp-parallel'] as const)
        results.push(await startCenters(device, vectors, 80, { start }))
    } finally {
      await device.close()
    }
  }
  for (let i = 2; i < results.length; i++) expect(results[i]).toEqual(results[i % 2])
})

test('where greedy k-means++ would take too long, auto takes k-means||', async () => {
  const device = await openDevice({ kind: 'cpu', threads: 2 })
  try {
    // 10 candidates for each of 3,200 centres, against one round.
    const vectors = normal(4000, 64, 1)
    const auto = await startCenters(device, vectors, 3200, { start: 'auto', iterations: 1 })
    expect(auto).toEqual(await startCenters(device, vectors, 3200, { start: 'kpp-parallel' }))
    const few = await startCenters(device, vectors, 30, { start: 'auto', iterations: 1 })
    expect(few).toEqual(await startCenters(device, vectors, 30, { start: 'kpp' }))
  } finally {
    await device.close()
  }
})

test.each([1, 7, 64])('a tree start writes labels of %i cells as equal as can be, without the host', async (k) => {
  const device = await openDevice({ kind: 'cpu' })
  try {
    await withState(device, normal(500, 70, 4), k, undefined, async (state) => {
      const read = vi.spyOn(device, 'read')
      const random = stream(0, 'seeding', 0)
      const start = await chooseStart(state, {
        start: 'tree',
        random,
        weights: undefined,
        iterations: 10,
        relocate: false,
      })
      expect(start).toEqual({ labelled: true })
      expect(read).not.toHaveBeenCalled()
      const sizes = new Uint32Array(k)
      for (const label of await state.points.readLabels()) sizes[label]++
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(k === 64 ? 1 : 2)
    })
  } finally {
    await device.close()
  }
})

describe('samples by weight', () => {
  test('hold every heavy row, none without weight, and stand for all others', () => {
    const random = createRandom(2)
    const weights = Float32Array.from({ length: 5000 }, (_, i) => (i % 10 === 0 ? 0 : random.uniform()))
    weights[17] = 500
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    for (let seed = 0; seed < 5; seed++) {
      const sample = sampleByWeight(createRandom(seed), 5000, weights, 400)
      const indices = sample.indices ?? new Uint32Array()
      expect(Math.abs(indices.length - 400)).toBeLessThan(80)
      expect(Array.from(indices)).toContain(17)
      expect(indices.every((i, place) => weights[i] > 0 && (place === 0 || indices[place - 1] < i))).toBe(true)
      const sum = sample.weights?.reduce((all, weight) => all + weight, 0) ?? 0
      expect(Math.abs(sum / total - 1)).toBeLessThan(0.15)
    }
  })

  test('are all rows where those are few', () => {
    expect(sampleByWeight(createRandom(1), 100, undefined, 100)).toEqual({ indices: undefined, weights: undefined })
    const weights = Float32Array.of(0, 2, 0, 3)
    expect(sampleByWeight(createRandom(1), 4, weights, 3)).toEqual({
      indices: Uint32Array.of(1, 3),
      weights: Float32Array.of(2, 3),
    })
    const drawn = sampleByWeight(createRandom(1), 100, undefined, 30).indices
    expect(new Set(drawn).size).toBe(30)
  })
})

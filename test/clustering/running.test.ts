/** Stopping, resuming, streaming, and what comes out step by step. */
import { describe, expect, test } from 'vitest'
import {
  type ClusterModel,
  cluster,
  clusterSteps,
  createRandom,
  type IterationStats,
  type Matrix,
  matrix,
  nearest,
  openDevice,
} from '../../src/index.ts'
import { CLUSTERING_DEVICES_IN_PAGES } from './devices.ts'

const vectors: Matrix = (() => {
  const random = createRandom(21)
  return matrix(
    Float32Array.from({ length: 2000 * 20 }, () => random.normal()),
    2000,
    20,
  )
})()

for (const { name, options: device } of CLUSTERING_DEVICES_IN_PAGES) {
  describe(`a run on ${name}`, () => {
    test('stops at the round, the tolerance, the time or the fixed point', async () => {
      const base = { k: 10, seed: 1, device }
      expect((await cluster(vectors, { ...base, iterations: 3, tolerance: 0 })).facts.stopped).toBe('iterations')
      expect((await cluster(vectors, { ...base, tolerance: 0.05 })).facts.stopped).toBe('tolerance')
      expect((await cluster(vectors, { ...base, seconds: 0 })).facts.stopped).toBe('seconds')
      expect((await cluster(vectors, { ...base, iterations: 9999, tolerance: 0 })).facts.stopped).toBe('converged')
    })

    test('a signal keeps what was reached', async () => {
      const controller = new AbortController()
      const model = await cluster(vectors, {
        k: 30,
        tolerance: 0,
        seed: 2,
        device,
        signal: controller.signal,
        onIteration: (stats) => stats.iteration === 4 && controller.abort(),
      })
      const same = await cluster(vectors, { k: 30, tolerance: 0, seed: 2, device, iterations: 4 })
      expect(model.facts.stopped).toBe('aborted')
      expect(model.facts.iterations).toHaveLength(4)
      expect(model.labels).toEqual(same.labels)
      expect(model.centers.data).toEqual(same.centers.data)
    })

    test('a signal before the first round rejects', async () => {
      const signal = AbortSignal.abort(new Error('not today'))
      await expect(cluster(vectors, { k: 5, device, signal })).rejects.toThrow('not today')
    })

    test('a resumed run ends with the same bits, also where the data was shifted', async () => {
      const far = matrix(
        Float32Array.from(vectors.data, (value) => value + 4096),
        vectors.rows,
        vectors.cols,
      )
      for (const data of [vectors, far]) {
        const options = { k: 25, seed: 5, tolerance: 0, device }
        const whole = await cluster(data, { ...options, iterations: 9 })
        const half = await cluster(data, { ...options, iterations: 4 })
        const rest = await cluster(data, { ...options, iterations: 9, resume: half })
        expect(rest.centers.data).toEqual(whole.centers.data)
        expect(rest.labels).toEqual(whole.labels)
        expect(rest.facts.iterations.map((step) => step.moved)).toEqual(
          whole.facts.iterations.map((step) => step.moved),
        )
      }
    })

    test('checkpoints come every so many rounds and hold that state', async () => {
      const kept: ClusterModel[] = []
      await cluster(vectors, {
        k: 20,
        tolerance: 0,
        iterations: 7,
        device,
        checkpoint: { every: 3, save: (model) => void kept.push(model) },
      })
      expect(kept.map((model) => model.facts.iterations.length)).toEqual([3, 6])
      const third = await cluster(vectors, { k: 20, tolerance: 0, iterations: 3, device })
      expect(kept[0].labels).toEqual(third.labels)
    })

    test('steps show centres and labels as they stand', async () => {
      const steps = clusterSteps(vectors, { k: 8, iterations: 3, tolerance: 0, device })
      const seen: IterationStats[] = []
      for (;;) {
        const next = await steps.next()
        if (next.done) {
          expect(next.value.facts.iterations).toHaveLength(3)
          break
        }
        const centers = await next.value.centers()
        const labels = await next.value.labels()
        expect([centers.rows, centers.cols, labels.length]).toEqual([8, 20, 2000])
        seen.push(next.value)
      }
      expect(seen.map((step) => step.candidates)).toEqual([8, 8, 8])
      expect(seen[0].moved).toBe(2000)
    })

    test('the best of several restarts is kept', async () => {
      const seen: IterationStats[] = []
      const model = await cluster(vectors, {
        k: 12,
        restarts: 3,
        device,
        start: 'random',
        onIteration: (stats) => seen.push(stats),
      })
      const ends = [0, 1, 2].map((restart) => seen.filter((step) => step.restart === restart).at(-1)?.distortion ?? 0)
      expect(new Set(ends).size).toBe(3)
      expect(model.distortion).toBe(Math.min(...ends))
    })

    test('vectors in parts give the same labels, and the same bits whether they are kept or streamed', async () => {
      const start = matrix(vectors.data.subarray(0, 15 * 20), 15, 20)
      const options = { k: 15, start, iterations: 6, tolerance: 0 }
      const whole = await cluster(vectors, { ...options, device })
      // 160 kB of vectors in parts of 40 kB.
      const limits = { partBytes: 40_000 }
      const kept = await cluster(vectors, { ...options, device: { ...device, limits } })
      expect(kept.labels).toEqual(whole.labels)
      expect(kept.distortion / whole.distortion).toBeCloseTo(1, 6)
      const streamed = await cluster(vectors, { ...options, device: { ...device, limits, memoryBytes: 50_000 } })
      expect(streamed.centers.data).toEqual(kept.centers.data)
      expect(streamed.distortion).toBe(kept.distortion)
      // Less memory than a part takes: parts stay as they are.
      const tiny = await cluster(vectors, { ...options, device: { ...device, memoryBytes: 4000 } })
      expect(tiny.centers.data).toEqual(whole.centers.data)
    })

    test('the m nearest are those of a plain search', async () => {
      const among = matrix(vectors.data.subarray(0, 90 * 20), 90, 20)
      const { labels, distances } = await nearest(vectors, among, { m: 5, device })
      for (const i of [0, 77, 1999]) {
        const exact = Array.from({ length: 90 }, (_, j) => {
          let sum = 0
          for (let t = 0; t < 20; t++) sum += (vectors.data[i * 20 + t] - among.data[j * 20 + t]) ** 2
          return { j, sum }
        }).sort((a, b) => a.sum - b.sum)
        expect(Array.from(labels.subarray(i * 5, i * 5 + 5))).toEqual(exact.slice(0, 5).map(({ j }) => j))
        expect(distances[i * 5 + 4]).toBeCloseTo(exact[4].sum, 3)
      }
    })
  })
}

test('the number of threads does not change a bit', async () => {
  const options = { k: 80, seed: 3, tolerance: 0, iterations: 10 }
  const [one, three] = [
    await cluster(vectors, { ...options, device: { kind: 'cpu', threads: 1 } }),
    await cluster(vectors, { ...options, device: { kind: 'cpu', threads: 3 } }),
  ]
  expect(three.centers.data).toEqual(one.centers.data)
  expect(three.labels).toEqual(one.labels)
})

test('both devices end within a thousandth of each other', async () => {
  const options = { k: 40, seed: 3, tolerance: 0, iterations: 25 }
  const [cpu, gpu] = [
    await cluster(vectors, { ...options, device: 'cpu' }),
    await cluster(vectors, { ...options, device: 'webgpu' }),
  ]
  expect(Math.abs(cpu.distortion / gpu.distortion - 1)).toBeLessThan(1e-3)
})

test('small limits of the adapter change nothing but the cutting', async () => {
  const start = matrix(vectors.data.subarray(0, 200 * 20), 200, 20)
  const options = { k: 200, method: 'lloyd', start, iterations: 3, tolerance: 0 } as const
  const limits = { bindingBytes: 16_384, workgroups: 7 }
  const device = await openDevice({ kind: 'webgpu', limits })
  const small = await cluster(vectors, { ...options, device })
  await device.close()
  const usual = await cluster(vectors, { ...options, device: 'webgpu' })
  expect(small.labels).toEqual(usual.labels)
  expect(small.distortion / usual.distortion).toBeCloseTo(1, 6)
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  CentroidalError,
  type Device,
  type Matrix,
  matrix,
  openDevice,
  type QuantizerOptions,
  trainQuantizer,
} from '../../src/index.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'
import { expectClose } from '../tolerance.ts'
import { byteBlobs, meanSquaredDistance, notOrthonormal, slanted, variance } from './checks.ts'

const TYPES: Record<string, QuantizerOptions> = {
  pq: { type: 'pq', m: 3, codewords: 8 },
  'pq, structured': { type: 'pq', m: 3, codewords: 8, order: 'structured' },
  'pq, random': { type: 'pq', m: 3, codewords: 8, order: 'random' },
  'pq, principal': { type: 'pq', m: 2, codewords: 8, rank: 4 },
  ck: { type: 'ck', m: 3, codewords: 8 },
  'ck, structured': { type: 'ck', m: 3, codewords: 8, order: 'structured' },
  'ck, of rank 5': { type: 'ck', m: 2, codewords: 9, rank: 5 },
  ok: { type: 'ok', m: 5 },
  'ok, all dimensions': { type: 'ok', m: 8 },
  itq: { type: 'itq', m: 5 },
  'itq, all dimensions': { type: 'itq', m: 8 },
}

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(name, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())
    const train = (vectors: Matrix, given: QuantizerOptions) =>
      trainQuantizer(vectors, { iterations: 8, tolerance: 0, seed: 3, device, ...given })

    test.each(Object.keys(TYPES))('%s: the objective never rises, and is what decoding gives', async (type) => {
      for (const vectors of [slanted(160, 8, 1), byteBlobs(160, 8, 2), slanted(160, 8, 3, 1000)]) {
        const seen: number[] = []
        const quantizer = await train(vectors, { ...TYPES[type], onIteration: (step) => seen.push(step.distortion) })
        expect(seen).toHaveLength(8)
        const rounding = 2e-6 * variance(vectors)
        for (let i = 1; i < seen.length; i++) expect(seen[i]).toBeLessThanOrEqual(seen[i - 1] + rounding)
        expect(notOrthonormal(quantizer)).toBeLessThan(1e-5)
        // New codes can only lower what the last round ended with.
        const decoded = await quantizer.decode(await quantizer.encode(vectors, { device }), { device })
        const measured = meanSquaredDistance(vectors, decoded)
        expect(measured).toBeLessThanOrEqual(quantizer.distortion + rounding * 20)
        expect(measured).toBeGreaterThan(quantizer.distortion * 0.7 - rounding)
        const own = await quantizer.distortionOf(vectors, { device })
        expect(Math.abs(own - measured)).toBeLessThan(1e-4 * measured + 20 * rounding)
      }
    })

    test('ok-means is ck-means with two codewords', async () => {
      const vectors = slanted(150, 9, 4)
      const ok = await train(vectors, { type: 'ok', m: 6 })
      const ck = await train(vectors, { type: 'ck', m: 6, codewords: 2, rank: 6 })
      expect(ck.codec).toEqual(ok.codec)
      expect(ck.facts.iterations.map(({ distortion }) => distortion)).toEqual(
        ok.facts.iterations.map(({ distortion }) => distortion),
      )
    })

    test('PQ is ck-means with the rotation left alone', async () => {
      const vectors = slanted(150, 9, 5)
      const given = { m: 3, codewords: 6, iterations: 1 }
      const pq = await train(vectors, { type: 'pq', ...given })
      const ck = await train(vectors, { type: 'ck', ...given })
      // After one round from the same start: the same codewords around the mean, and then a rotation.
      expect(ck.distortion).toBeLessThan(pq.distortion)
      const spread = (of: Float32Array): number[] =>
        [0, 1, 2].map((s) => {
          const book = of.subarray(s * 6 * 4, (s + 1) * 6 * 4)
          const gaps = [0, 1, 2].map((t) => book[4 + t] - book[t])
          return Math.hypot(...gaps)
        })
      for (const s of [0, 1, 2]) expect(spread(ck.codec.books)[s]).toBeCloseTo(spread(pq.codec.books)[s], 3)
      const many = { m: 3, codewords: 6, iterations: 25 }
      expect((await train(vectors, { type: 'ck', ...many })).distortion).toBeLessThan(
        (await train(vectors, { type: 'pq', ...many })).distortion,
      )
    })

    test('more codewords, more subspaces and a rotation are not worse', async () => {
      const vectors = slanted(200, 8, 6)
      const ends = await Promise.all(
        [
          { m: 2, codewords: 4 },
          { m: 2, codewords: 16 },
          { m: 4, codewords: 16 },
        ].map((given) => train(vectors, { type: 'ck', iterations: 15, ...given })),
      )
      const distortions = ends.map(({ distortion }) => distortion)
      expect(distortions).toEqual([...distortions].sort((a, b) => b - a))
    })

    test('many columns: the rotation found by products on the device is orthonormal too', async () => {
      const vectors = slanted(120, 60, 7)
      const quantizer = await train(vectors, { type: 'ck', m: 4, codewords: 4, iterations: 5 })
      expect(notOrthonormal(quantizer)).toBeLessThan(1e-5)
      const stats = quantizer.facts.iterations
      expect(stats[4].distortion).toBeLessThan(stats[0].distortion)
    })

    test('constant dimensions, repeated points, as many codewords as points', async () => {
      const vectors = slanted(40, 6, 8)
      for (let i = 0; i < 40; i++) vectors.data.set([2, 2, 2, vectors.data[i * 6 + 3], 0, 0], i * 6)
      for (const type of ['pq', 'ck', 'ok', 'itq'] as const) {
        const quantizer = await train(vectors, {
          type,
          m: 3,
          ...(type === 'pq' || type === 'ck' ? { codewords: 16 } : {}),
        })
        expect(notOrthonormal(quantizer)).toBeLessThan(1e-5)
        expect(quantizer.distortion).toBeLessThanOrEqual(variance(vectors) * (1 + 1e-5))
        expect([...quantizer.codec.books].every(Number.isFinite)).toBe(true)
      }
      const same = matrix(new Float32Array(20 * 4).fill(7), 20, 4)
      const flat = await train(same, { type: 'ck', m: 2, codewords: 4 })
      expect(flat.distortion).toBeLessThan(1e-6)
      expect((await flat.decode(await flat.encode(same, { device }), { device })).data[0]).toBeCloseTo(7, 4)
      const all = await train(slanted(20, 4, 9), { type: 'pq', m: 1, codewords: 20 })
      expect(all.distortion).toBeLessThan(1e-5)
    })

    test('data of extreme size', async () => {
      for (const size of [1e-15, 1e15]) {
        const plain = slanted(100, 6, 10)
        const vectors = matrix(plain.data.map((value) => value * size) as Float32Array, 100, 6)
        const quantizer = await train(vectors, { type: 'ck', m: 3, codewords: 8 })
        const decoded = await quantizer.decode(await quantizer.encode(vectors, { device }), { device })
        const measured = meanSquaredDistance(vectors, decoded)
        expect(measured / variance(vectors)).toBeLessThan(0.5)
        expect(measured / quantizer.distortion).toBeLessThan(1.001)
      }
    })

    test('stopping keeps what was reached', async () => {
      const controller = new AbortController()
      const quantizer = await train(slanted(100, 6, 11), {
        type: 'ck',
        m: 2,
        codewords: 4,
        iterations: 1000,
        signal: controller.signal,
        onIteration: ({ iteration }) => iteration === 3 && controller.abort(),
      })
      expect(quantizer.facts).toMatchObject({ stopped: 'aborted' })
      expect(quantizer.facts.iterations).toHaveLength(3)
      await expect(
        train(slanted(100, 6, 11), { type: 'ck', m: 2, codewords: 4, signal: AbortSignal.abort() }),
      ).rejects.toThrow(/abort/i)
    })

    test('stopped within a round, what the rounds before reached stands', async () => {
      const vectors = slanted(100, 6, 11)
      const settings = { type: 'ck', m: 2, codewords: 4, tolerance: 0 } as const
      const controller = new AbortController()
      const stopped = await train(vectors, {
        ...settings,
        iterations: 20,
        signal: controller.signal,
        onProgress: (_, phase) => phase === 'round 3' && controller.abort(),
      })
      expect(stopped.facts).toMatchObject({ stopped: 'aborted' })
      expect(stopped.facts.iterations).toHaveLength(2)
      const two = await train(vectors, { ...settings, iterations: 2 })
      expect(stopped.codec.books).toEqual(two.codec.books)
      expect(stopped.codec.rotation).toEqual(two.codec.rotation)
    })

    test('the tolerance stops, and nothing stays allocated', async () => {
      const before = device.allocatedBytes
      const quantizer = await train(slanted(200, 6, 12), {
        type: 'pq',
        m: 2,
        codewords: 4,
        iterations: 500,
        tolerance: 1e-3,
      })
      expect(quantizer.facts.stopped).toBe('tolerance')
      expect(quantizer.facts.iterations.length).toBeLessThan(200)
      expect(device.allocatedBytes).toBe(before)
    })
  })
}

test('threads and streaming change no bit', async () => {
  const vectors = slanted(300, 10, 13)
  const run = async (options: Parameters<typeof openDevice>[0]): Promise<Float32Array> => {
    const device = await openDevice(options)
    try {
      return (await trainQuantizer(vectors, { type: 'ck', m: 3, codewords: 16, iterations: 6, device })).codec.books
    } finally {
      await device.close()
    }
  }
  const alone = await run({ kind: 'cpu', threads: 1 })
  expect(await run({ kind: 'cpu', threads: 3 })).toEqual(alone)
  expect(await run({ kind: 'cpu', threads: 2, memoryBytes: 4096 })).toEqual(alone)
  const limits = { partBytes: 4096 }
  const parts = await run({ kind: 'cpu', threads: 2, limits })
  expectClose(parts, alone, () => 0.01)
  expect(await run({ kind: 'cpu', threads: 2, limits, memoryBytes: 4096 })).toEqual(parts)
})

test('bytes that do not fit a binding once they are rotated are taken in parts', async () => {
  const vectors = byteBlobs(900, 8, 15)
  const limits = { bindingBytes: 16384, workgroups: 65535, bindingAlignment: 256 }
  const device = await openDevice({ kind: 'webgpu', limits })
  const plain = await openDevice({ kind: 'cpu' })
  try {
    const given: QuantizerOptions = { type: 'ck', m: 2, codewords: 8, iterations: 3, tolerance: 0 }
    const parts = await trainQuantizer(vectors, { ...given, device })
    const whole = await trainQuantizer(vectors, { ...given, device: plain })
    expect(parts.distortion / whole.distortion).toBeCloseTo(1, 4)
    const codes = await parts.encode(vectors, { device })
    expect(codes.data).toEqual((await parts.encode(vectors, { device: plain })).data)
    const asked = matrix(vectors.data.subarray(0, 80), 10, 8)
    const found = await parts.search(codes, asked, { nearest: 5, device })
    expectClose(found.distances, (await parts.search(codes, asked, { nearest: 5, device: plain })).distances, () => 0.5)
  } finally {
    await device.close()
    await plain.close()
  }
})

describe('wide vectors', () => {
  const wide = slanted(30, 4100, 15)

  test('pq in natural order takes any width, without a matrix of d x d', async () => {
    const quantizer = await trainQuantizer(wide, { type: 'pq', m: 4, codewords: 4, iterations: 2, device: 'cpu' })
    expect(quantizer.codec.rotation).toBeUndefined()
    expect(quantizer.distortion).toBeGreaterThan(0)
  })

  test.each([
    [{ type: 'ck', m: 4, codewords: 4 }, /at most 4096 dimensions, these vectors have 4100/],
    [{ type: 'pq', m: 4, codewords: 4, order: 'random' }, /at most 4096 dimensions/],
    [{ type: 'ok', m: 4 }, /at most 2048 dimensions/],
  ])('%j needs a rotation and is refused', async (given, message) => {
    await expect(trainQuantizer(wide, { device: 'cpu', ...given } as QuantizerOptions)).rejects.toThrow(message)
  })
})

describe('options', () => {
  const vectors = slanted(30, 6, 14)
  test.each([
    [{ type: 'magic' }, /Option type is "magic": give one of pq, ok, ck, itq/],
    [{ type: 'pq', m: 7 }, /Option m is 7: the vectors have 6 dimensions/],
    [{ type: 'pq', m: 0 }, /Option m is 0: give a whole number, 1 or more/],
    [{ type: 'pq', m: 2, codewords: 31 }, /Option codewords is 31: there are only 30 vectors/],
    [{ type: 'ck', m: 2, codewords: 4, rank: 9 }, /Option rank is 9: the vectors have 6 dimensions/],
    [{ type: 'ck', m: 3, codewords: 4, rank: 2 }, /Option rank is 2: each of the 3 subspaces/],
    [
      { type: 'ck', m: 2, codewords: 4, rank: 4, order: 'natural' },
      /Option order is "natural": .* requires order principal/,
    ],
    [{ type: 'ok', m: 3, codewords: 4 }, /Option codewords is 4: type ok always has two codewords for each bit/],
    [{ type: 'itq', m: 3, rank: 4 }, /Option rank is 4: type itq keeps one dimension/],
    [{ type: 'ck', m: 2, codewords: 4, order: 'sideways' }, /Option order is "sideways": give one of natural/],
    [{ type: 'pq', m: 2, codewords: 4, iterations: 0 }, /Option iterations is 0/],
    [{ type: 'pq', m: 2, codewords: 4, tolerance: -1 }, /Option tolerance is -1/],
    [{ type: 'pq', m: 2, codewords: 4, colour: 'red' }, /Option colour is "red": there is no such option/],
  ])('%j is refused', async (given, message) => {
    const training = trainQuantizer(vectors, { device: 'cpu', ...given } as unknown as QuantizerOptions)
    await expect(training).rejects.toThrow(message)
    await expect(training).rejects.toBeInstanceOf(CentroidalError)
  })
})

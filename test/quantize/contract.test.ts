/** What every quantizer keeps to, whatever its type: the same table of checks as for clusterings, where it applies. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cluster,
  createRandom,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  openDevice,
  QUANTIZER_TYPES,
  type Quantizer,
  type QuantizerOptions,
  trainQuantizer,
} from '../../src/index.ts'
import { openPoisoned } from '../clustering/contract/poisoned.ts'

const ROWS = 300
const COLS = 10
const limits = { partBytes: 3000 }

function cloud(seed: number, rows: number, factor = 1): Matrix {
  const random = createRandom(seed)
  return matrix(
    Float32Array.from({ length: rows * COLS }, (_, at) => factor * (1 + (at % COLS)) * random.normal()),
    rows,
    COLS,
  )
}

/** Every type there is, with ranks below all dimensions where it has a choice. */
const SUBJECTS: readonly QuantizerOptions[] = QUANTIZER_TYPES.flatMap((type): QuantizerOptions[] => {
  const common = { type, iterations: 5, tolerance: 0, seed: 2 }
  return type === 'ok' || type === 'itq'
    ? [{ ...common, m: 6 }]
    : [
        { ...common, m: 3, codewords: 12 },
        { ...common, m: 2, codewords: 9, rank: 6 },
      ]
})

const vectors = cloud(1, ROWS)
const queries = cloud(2, 25)

/** All that comes of training, encoding, decoding and searching. */
async function all(options: QuantizerOptions, device: Device, factor = 1): Promise<Record<string, unknown>> {
  const scaled = (m: Matrix): Matrix => matrix(m.data.map((value) => value * factor) as Float32Array, m.rows, m.cols)
  const quantizer = await trainQuantizer(scaled(vectors), { ...options, device })
  const codes = await quantizer.encode(scaled(vectors), { device })
  const decoded = await quantizer.decode(codes, { device })
  const ranked = await quantizer.search(codes, scaled(queries), { nearest: 7, device })
  return {
    books: quantizer.codec.books,
    rotation: quantizer.codec.rotation,
    distortions: quantizer.facts.iterations.map(({ distortion }) => distortion),
    codes: codes.data,
    decoded: decoded.data,
    ranked: ranked.labels,
    distances: ranked.distances,
    distortion: await quantizer.distortionOf(scaled(vectors), { device }),
  }
}

const devices: Device[] = []
beforeAll(async () => {
  devices.push(
    await openDevice({ kind: 'cpu', threads: 1, limits }),
    await openDevice({ kind: 'cpu', threads: 2, limits, memoryBytes: 5000 }),
    await openDevice({ kind: 'cpu', threads: 3, limits, memoryBytes: 100 }),
    ...(await openPoisoned(limits)),
  )
})
afterAll(async () => {
  for (const device of devices) await device.close()
})

describe.each(SUBJECTS)('%o', (options) => {
  test('threads, streaming and old memory change no bit', async () => {
    const usual = await all(options, devices[0])
    for (const device of devices.slice(1)) expect(await all(options, device)).toEqual(usual)
  })

  test('scaled by a power of two, everything is', async () => {
    const usual = await all(options, devices[0])
    for (const factor of [2 ** -12, 2 ** 12]) {
      const scaled = await all(options, devices[0], factor)
      expect(scaled.codes).toEqual(usual.codes)
      expect(scaled.ranked).toEqual(usual.ranked)
      expect(scaled.decoded).toEqual((usual.decoded as Float32Array).map((value) => value * factor))
      expect((scaled.distortion as number) / factor ** 2).toBeCloseTo(usual.distortion as number, 8)
    }
  })

  test('the distortion is that of what is decoded, and falls', async () => {
    const quantizer = await trainQuantizer(vectors, { ...options, iterations: 12, device: devices[0] })
    const codes = await quantizer.encode(vectors, { device: devices[0] })
    const { data } = await quantizer.decode(codes, { device: devices[0] })
    let squares = 0
    data.forEach((value, at) => {
      squares += (value - vectors.data[at]) ** 2
    })
    expect(await quantizer.distortionOf(vectors, { device: devices[0] })).toBeCloseTo(squares / ROWS, 3)
    expect(data.every(Number.isFinite)).toBe(true)
    const distortions = quantizer.facts.iterations.map(({ distortion }) => distortion)
    distortions.slice(1).forEach((distortion, i) => {
      expect(distortion).toBeLessThanOrEqual(distortions[i] * (1 + 1e-5))
    })
  })

  test('numbers that are none are refused, and the row is named', async () => {
    const quantizer = await trainQuantizer(vectors, { ...options, iterations: 1, device: devices[0] })
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const data = Float32Array.from(vectors.data)
      data[41 * COLS + 3] = bad
      const broken = matrix(data, ROWS, COLS)
      await expect(trainQuantizer(broken, { ...options, device: devices[0] })).rejects.toThrow(/[Rr]ow 41 .*column 3/)
      await expect(quantizer.encode(broken, { device: devices[0] })).rejects.toThrow(/[Rr]ow 41 .*column 3/)
    }
  })

  test('stopped at any moment, it keeps the rounds so far or rejects', async () => {
    const asked = { ...options, iterations: 4 }
    for (const phase of [1, 2, 4]) {
      const controller = new AbortController()
      const stopped: Quantizer | undefined = await trainQuantizer(vectors, {
        ...asked,
        device: devices[0],
        signal: controller.signal,
        onProgress: (_, name) => name === `round ${phase}` && controller.abort(new Error('stopped')),
      }).catch((error: Error) => {
        expect(error.message).toBe('stopped')
        return undefined
      })
      if (stopped === undefined) continue
      const iterations = stopped.facts.iterations.length
      const same = await trainQuantizer(vectors, { ...asked, iterations, device: devices[0] })
      expect(stopped.codec.books).toEqual(same.codec.books)
    }
  })
})

test('an inverted file finds the same with other threads, streamed, and with old memory', async () => {
  const run = async (device: Device): Promise<object> => {
    const model = await cluster(vectors, { k: 6, seed: 1, device })
    const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 2, codewords: 8, iterations: 3, device })
    await file.add(vectors, { device })
    return file.search(queries, { nearest: 5, probe: 3, device })
  }
  const usual = await run(devices[0])
  for (const device of devices.slice(1)) expect(await run(device)).toEqual(usual)
})

/** Searches in an inverted file on a GPU, against the same searches on the CPU. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  cluster,
  type Device,
  InvertedFile,
  type Matrix,
  matrix,
  openDevice,
  type RankedCodes,
} from '../../src/index.ts'
import { openFilledWebGpu } from '../kernels/devices.ts'
import { slanted } from '../quantize/checks.ts'

const COLS = 8
const ROWS = 700
const NONE = 0xffffffff
const vectors = slanted(ROWS, COLS, 1, 1)
const queries = slanted(30, COLS, 2, 1)

describe('searches in an inverted file on a GPU', () => {
  let cpu: Device
  let gpu: Device
  beforeAll(async () => {
    cpu = await openDevice({ kind: 'cpu', threads: 1 })
    gpu = await openFilledWebGpu(0xff, { tiled: false })
  })
  afterAll(async () => {
    await cpu.close()
    await gpu.close()
  })

  async function fileOf(metric: 'euclidean' | 'cosine' | 'inner-product', quantizer: object): Promise<InvertedFile> {
    const angles = metric === 'cosine' ? { metric } : {}
    const model = await cluster(vectors, { k: 12, iterations: 3, device: cpu, ...angles })
    const options = { type: 'pq', m: 4, codewords: 16, iterations: 3, device: cpu, metric, ...quantizer } as const
    const file = await InvertedFile.train(vectors, model, options)
    await file.add(vectors, { device: cpu })
    return file
  }

  /** Rounding may exchange neighbours that are as near. */
  function expectSameSearch(found: RankedCodes, expected: RankedCodes): void {
    let others = 0
    found.distances.forEach((distance, i) => {
      const wanted = expected.distances[i]
      if (wanted === Number.POSITIVE_INFINITY) expect([distance, found.labels[i]]).toEqual([wanted, NONE])
      else expect(Math.abs(distance - wanted)).toBeLessThan(1e-4 * (1 + Math.abs(wanted)))
      if (found.labels[i] !== expected.labels[i]) others++
    })
    expect(others).toBeLessThanOrEqual(found.labels.length / 50)
  }

  test.each([
    ['euclidean', { type: 'ck' }],
    ['euclidean', { type: 'itq', m: 6, codewords: undefined }],
    ['cosine', { codewords: 300 }],
    ['inner-product', {}],
  ] as const)('by %s, %o', async (metric, quantizer) => {
    const file = await fileOf(metric, quantizer)
    const bits = new Uint8Array(ROWS / 8 + 1).fill(0b1101)
    for (const asked of [
      { nearest: 9, probe: 5 },
      { nearest: 40, probe: 12, where: { bits } },
      { nearest: 50, probe: 12, within: metric === 'inner-product' ? -1 : metric === 'cosine' ? 0.1 : 20 },
    ]) {
      const expected = await file.search(queries, { ...asked, device: cpu })
      expectSameSearch(await file.search(queries, { ...asked, device: gpu }), expected)
    }
    await file.close()
  })

  test('follows changes, and answers searches that come together', async () => {
    const file = await fileOf('euclidean', {})
    const asked = { nearest: 5, probe: 12 }
    await file.search(queries, { ...asked, device: gpu })
    file.remove(Array.from({ length: 300 }, (_, i) => 2 * i))
    await file.add(matrix(vectors.data.slice(0, 20 * COLS), 20, COLS), { device: cpu })
    const one = (i: number): Matrix => matrix(queries.data.slice(i * COLS, (i + 1) * COLS), 1, COLS)
    const all = await Promise.all(
      Array.from({ length: 60 }, (_, i) => file.search(one(i % 30), { ...asked, device: gpu })),
    )
    const expected = await file.search(queries, { ...asked, device: cpu })
    for (const [i, { labels, distances }] of all.entries()) {
      const at = (i % 30) * 5
      expectSameSearch(
        { m: 5, labels, distances },
        { m: 5, labels: expected.labels.slice(at, at + 5), distances: expected.distances.slice(at, at + 5) },
      )
    }
    const before = gpu.allocatedBytes
    await file.search(queries, { ...asked, device: gpu })
    expect(gpu.allocatedBytes).toBe(before)
    await file.close()
    expect(gpu.allocatedBytes).toBeLessThan(before)
  })
})

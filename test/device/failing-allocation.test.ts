/**
 * Memory that runs out at any one allocation: the call ends in that error, frees what it allocated on the caller's
 * device, and the device gives the right result afterwards.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import type { Device } from '../../src/device/contract.ts'
import {
  blobs,
  CodeIndex,
  cluster,
  InvertedFile,
  METHODS,
  type MethodName,
  nearest,
  openDevice,
  partitionTrees,
  sparseMatrix,
  trainQuantizer,
} from '../../src/index.ts'
import { withFailingAllocation } from '../kernels/devices.ts'

const { vectors } = blobs({ rows: 40, cols: 5, clusters: 4 })
const sparse = sparseMatrix(
  {
    offsets: Uint32Array.from({ length: 41 }, (_, i) => i * 2),
    columns: Uint32Array.from({ length: 80 }, (_, i) => (i % 2) * 2 + (i % 3 === 0 ? 1 : 0) * (i % 2)),
    values: Float32Array.from({ length: 80 }, (_, i) => 1 + ((i * 7) % 11)),
  },
  40,
  5,
)
const weights = Float32Array.from({ length: 40 }, (_, i) => 1 + (i % 3))

type Operation = (device: Device) => Promise<unknown>

/** Fails the first allocation, then the second, until the operation gets through. */
async function walk(device: Device, operation: Operation): Promise<number> {
  const expected = await operation(device)
  const before = device.allocatedBytes
  for (let failing = 1; ; failing++) {
    const wrapped = withFailingAllocation(device, failing)
    let error: unknown
    let result: unknown
    try {
      result = await operation(wrapped.device)
    } catch (caught) {
      error = caught
    }
    expect(device.allocatedBytes, `bytes left by the failure of allocation ${failing}: ${error}`).toBe(before)
    if (wrapped.count() < failing) {
      expect(result).toEqual(expected)
      return failing - 1
    }
    expect(error, `allocation ${failing}`).toBeInstanceOf(CentroidalError)
    expect((error as CentroidalError).message).toMatch(/^No room for /)
  }
}

async function clustered(
  device: Device,
  method: MethodName,
  options: object = {},
  input: typeof vectors | typeof sparse = vectors,
) {
  const k = METHODS[method].findsCount ? {} : { k: 4 }
  const model = await cluster(input, { method, ...k, iterations: 2, device, ...options })
  return [model.centers.data, model.labels]
}

describe('an allocation that fails', () => {
  let device: Device
  beforeAll(async () => {
    // Without threads, which would keep their scratch.
    device = await openDevice({ kind: 'cpu', shared: false })
  })
  afterAll(() => device.close())

  test.each(Object.keys(METHODS) as MethodName[])('in cluster with %s', async (method) => {
    expect(await walk(device, (on) => clustered(on, method))).toBeGreaterThan(5)
  })

  test.each(['random-labels', 'random', 'kpp', 'kpp-parallel', 'tree', 'hkm', 'bisecting'] as const)(
    'in the start %s',
    async (start) => {
      expect(await walk(device, (on) => clustered(on, 'lloyd', { start, weights, iterations: 1 }))).toBeGreaterThan(5)
    },
  )

  test.each(['lloyd', 'sharp', 'hkm'] as const)('in cluster of sparse rows with %s', async (method) => {
    expect(await walk(device, (on) => clustered(on, method, {}, sparse))).toBeGreaterThan(5)
  })

  test('moves beside points without weight', async () => {
    const some = weights.map((weight, i) => (i % 5 === 0 ? 0 : weight))
    const options = { weights: some, trees: 4, leafSize: 4, treeThreshold: 1, iterations: 6, tolerance: 0 }
    expect(await walk(device, (on) => clustered(on, 'closures-sharp', options))).toBeGreaterThan(5)
  })

  test.each(['lloyd', 'hkm', 'gmm'] as const)('in the predictions of %s', async (method) => {
    const k = 4
    const model = await cluster(vectors, { method, k, iterations: 2, device })
    expect(await walk(device, (on) => model.predict(vectors, { device: on }))).toBeGreaterThan(5)
  })

  test.each(['pq', 'ok', 'ck', 'itq'] as const)('in quantizers and their indexes, %s', async (type) => {
    const options = { type, m: 4, iterations: 2, ...(type === 'pq' || type === 'ck' ? { codewords: 4 } : {}) }
    const quantizer = await trainQuantizer(vectors, { ...options, device })
    const codes = await quantizer.encode(vectors, { device })
    const index = new CodeIndex(quantizer, codes)
    const operations: Record<string, Operation> = {
      train: async (on) => (await trainQuantizer(vectors, { ...options, device: on })).distortion,
      encode: (on) => quantizer.encode(vectors, { device: on }),
      decode: (on) => quantizer.decode(codes, { device: on }),
      // What a search has loaded stays until the index is closed.
      search: (on) => index.search(vectors, { nearest: 3, device: on }).finally(() => index.close()),
    }
    for (const operation of Object.values(operations)) await walk(device, operation)
  })

  test('in exact search, trees and inverted files', async () => {
    const model = await cluster(vectors, { k: 4, device })
    const options = { type: 'pq', m: 2, codewords: 4, iterations: 2 } as const
    const file = await InvertedFile.train(vectors, model, { ...options, device })
    await file.add(vectors, { device })
    const operations: Record<string, Operation> = {
      nearest: (on) => nearest(vectors, vectors, { m: 3, device: on }),
      trees: async (on) =>
        (await partitionTrees(vectors, { trees: 2, leafSize: 5, device: on })).map((tree) => tree.members),
      train: async (on) => (await InvertedFile.train(vectors, model, { ...options, device: on })).quantizer.distortion,
      // What a search has loaded stays until the file is closed.
      search: (on) => file.search(vectors, { nearest: 3, device: on }).finally(() => file.close()),
    }
    for (const operation of Object.values(operations)) expect(await walk(device, operation)).toBeGreaterThan(3)
  })
})

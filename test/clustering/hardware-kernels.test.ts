/**
 * Every method with the kernels that hardware GPUs get. They are slow on a software adapter, so all other tests of methods
 * run without them; here each method has to end where it ends on the CPU device.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  blobs,
  type ClusterOptions,
  cluster,
  type Device,
  METHODS,
  type MethodName,
  openDevice,
} from '../../src/index.ts'
import { openStrictWebGpu } from '../kernels/devices.ts'

/** Trees of the two devices differ in the order of points that lie side by side. */
const GROWS_TREES: readonly MethodName[] = ['closures', 'closures-sharp']
const FINDS_COUNT: readonly MethodName[] = ['egm', 'agm']

const { vectors } = blobs({ rows: 400, cols: 17, clusters: 12, spread: 0.4, seed: 3 })
let cpu: Device
let gpu: Device
beforeAll(async () => {
  cpu = await openDevice({ kind: 'cpu', threads: 2 })
  gpu = await openStrictWebGpu({ tiled: true })
})
afterAll(async () => {
  await cpu.close()
  await gpu.close()
})

describe('hardware kernels', () => {
  test.each(Object.keys(METHODS) as MethodName[])('%s ends where it ends on the CPU device', async (method) => {
    const count = FINDS_COUNT.includes(method) ? {} : { k: 40 }
    const options: ClusterOptions = { method, ...count, seed: 5, iterations: 4 }
    const expected = await cluster(vectors, { ...options, device: cpu })
    const found = await cluster(vectors, { ...options, device: gpu })
    const shards = await cluster(vectors, { ...options, device: gpu, shards: 3 })
    const precision = GROWS_TREES.includes(method) ? 0.02 : 1e-4
    for (const { distortion, facts } of [found, shards]) {
      expect(facts.k).toBe(expected.facts.k)
      expect(Math.abs(distortion / expected.distortion - 1)).toBeLessThan(precision)
    }
  })
})

/** accumulate with many clusters (the GPU sorts in one pass for every 8 bits of k), and its bits on several devices. */
import { describe, expect, test } from 'vitest'
import type { Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import { accumulate, createAccumulateWorkspace } from '../../src/kernels/accumulate.ts'
import { expectSame } from '../tolerance.ts'
import { ALL_DEVICES, DEVICES, onDevices, unpadded, useBuffers } from './devices.ts'
import { sumsByLabel } from './oracles.ts'
import { points, weights, wholeNumbers } from './vectors.ts'

interface Input {
  readonly data: Float32Array | Uint8Array
  readonly cols: number
  readonly labels: Uint32Array
  readonly weights?: Float32Array
  readonly k: number
}

async function run(
  device: Device,
  input: Input,
): Promise<{ sums: Float32Array; totals: Float32Array; counts: Uint32Array }> {
  return useBuffers(device, async (buffers) => {
    const { cols, k } = input
    const rows = buffers.rows(input.data, cols)
    const sums = buffers.output(k * rows.stride * 4)
    const totals = buffers.output(k * 4)
    const counts = buffers.output(k * 4)
    await accumulate(device, {
      points: rows,
      labels: buffers.upload(input.labels),
      weights: input.weights && buffers.upload(input.weights),
      k,
      sums: sums.buffer,
      totals: totals.buffer,
      counts: counts.buffer,
      workspace: createAccumulateWorkspace(device, buffers.scope, rows.rows, rows.stride, k),
    })
    return { sums: unpadded(await sums.floats(), k, cols), totals: await totals.floats(), counts: await counts.words() }
  })
}

/** With 7 workgroups a side, 70,000 clusters have no room; 40 are few enough that grids still fold. */
const devices = DEVICES.map((entry) => {
  if (!entry.name.includes('small limits')) return entry
  const limits = { bindingBytes: 16384, workgroups: 40, bindingAlignment: 256 }
  return { ...entry, open: () => openDevice({ kind: 'webgpu', tiled: false, limits }) }
})

onDevices(devices, (opened) => {
  describe('accumulate with many clusters', () => {
    test.each([
      [600, 65_535],
      [600, 65_536],
      [900, 70_000],
      [1, 100_000],
    ])('sums %i points in %i', async (n, k) => {
      const data = points('whole', n, 3, 1)
      const labels = wholeNumbers(n, k + 5, 2)
      // Both ends, and pairs that differ only in one of the digits.
      labels.set([k - 1, 0, 256, 512, 255, 65_534, k].slice(0, n))
      const expected = sumsByLabel({ data, cols: 3 }, labels, k)
      const found = await run(opened.device, { data, cols: 3, labels, k })
      expectSame(found.counts, expected.counts)
      expectSame(found.sums, expected.sums)
      expectSame(found.totals, expected.totals)
    })
  })
})

describe('accumulate gives the same bits', () => {
  test.each([
    ['whatever the threads', 'cpu with 3 threads', ['cpu with 1 thread', 'cpu in place with filled memory']],
    [
      'whatever the limits',
      'webgpu in blocks with filled memory',
      ['webgpu in tiles', 'webgpu with small limits and filled memory'],
    ],
  ])('%s', async (_, reference, others) => {
    const n = 3000
    const input = {
      data: points('unit', n, 9, 3),
      cols: 9,
      labels: wholeNumbers(n, 6, 4).map((label, i) => (i % 2 === 0 ? 1 : label)),
      weights: weights(n, 5),
      k: 5,
    }
    const results = []
    for (const name of [reference, ...others]) {
      const device = await ALL_DEVICES.find((entry) => entry.name === name)!.open()
      results.push(await run(device, input))
      await device.close()
    }
    for (const result of results.slice(1)) expect(result).toEqual(results[0])
  })
})

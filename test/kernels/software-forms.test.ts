/** Which forms software adapters use, for kernels that some of them run faster in tiles. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ComputePass, Device, DeviceBuffer, Work } from '../../src/device/contract.ts'
import { softwareTiles, type TiledKernel } from '../../src/device/forms.ts'
import { openDevice } from '../../src/device/open.ts'
import { distances } from '../../src/kernels/distances.ts'
import { encode } from '../../src/kernels/encode.ts'
import { gram, matmul } from '../../src/kernels/matmul.ts'
import { respondAll } from '../../src/kernels/respond.ts'
import { type DeviceRows, paddedCols } from '../../src/kernels/rows.ts'
import { useBuffers, withRun } from './devices.ts'

test('are fixed for each driver', () => {
  expect(softwareTiles('google swiftshader SwiftShader driver 5.0.0')).toEqual(['gram', 'respond', 'encode'])
  expect(softwareTiles('mesa software llvmpipe: Mesa 25.0.7')).toEqual(['distances', 'respond', 'encode'])
  expect(softwareTiles('another adapter')).toEqual([])
})

/** n x k results, each a sum of d terms. */
type Call = (device: Device, n: number, k: number, d: number) => Promise<void>

/** The calls are as large as real ones and are only listed, never run, so their buffers need no memory. */
const unbacked: DeviceBuffer = { label: 'unbacked', bytes: 2 ** 40, freed: false, free: () => undefined }

const rows = (n: number, d: number): DeviceRows => ({
  ...{ buffer: unbacked, rows: n, cols: d, stride: paddedCols(d), type: 'f32' },
})

const CALLS: Record<TiledKernel, Call> = {
  // d codewords of 8 columns.
  encode: (device, n, k, d) =>
    encode(device, {
      points: rows(n, k),
      ranges: Array.from({ length: k / 8 + 1 }, (_, i) => 8 * i),
      ...{ codewords: d, books: unbacked, codes: unbacked },
    }),
  matmul: (device, n, k, d) => matmul(device, { a: rows(n, d), b: rows(k, d), out: rows(n, k) }),
  gram: (device, n, k, d) => gram(device, { a: rows(d, n), b: rows(d, k), out: unbacked }),
  distances: (device, n, k, d) => distances(device, { points: rows(n, d), centers: rows(k, d), out: unbacked }),
  respond: (device, n, k, d) =>
    respondAll(device, {
      ...{ points: rows(n, d), centers: rows(k, d), m: 1 },
      ...{ scales: unbacked, best: unbacked, logs: unbacked, evidence: unbacked },
    }),
}

/** Shaders that a call runs; nothing is executed. */
async function shadersOf(device: Device, call: Call, shape: readonly [number, number, number]): Promise<string[]> {
  let passes: ComputePass[] = []
  const list = (work: Work) => {
    passes = [...work.webgpu(device as never)]
    return Promise.resolve()
  }
  await useBuffers(withRun(device, list), (buffers) => call(buffers.device, ...shape))
  return passes.map(({ shader }) => shader.name)
}

const isInTiles = (names: readonly string[]): boolean => names.some((name) => /tiles|registers/.test(name))

describe('on this adapter', () => {
  let device: Device
  let plain: Device
  beforeAll(async () => {
    device = await openDevice({ kind: 'webgpu', tune: false })
    plain = await openDevice({ kind: 'webgpu', tiled: false })
  })
  afterAll(async () => {
    await device.close()
    await plain.close()
  })

  test.each([
    ['large calls that fill the tiles', [128 * 1024, 128, 128], true],
    ['small calls', [128 * 32, 128, 128], false],
    ['half empty tiles', [256 * 1024, 64, 128], false],
    ['short sums', [512 * 1024, 128, 32], false],
  ] as const)('are tiles or not, %s', async (_, [n, k, d], suited) => {
    const tiled = device.info.software ? softwareTiles(device.info.name) : Object.keys(CALLS)
    expect(tiled.length).toBeGreaterThan(0)
    for (const [kernel, call] of Object.entries(CALLS)) {
      // The rows of a Gram matrix are its terms; its result is small.
      const shape = kernel === 'gram' ? ([k, k, d === 32 ? d : n] as const) : ([n, k, d] as const)
      expect(isInTiles(await shadersOf(plain, call, shape)), kernel).toBe(false)
      if (!device.info.software) continue
      // Registers need no shape but a large call.
      const fits = kernel === 'encode' ? n * k * d > 1e9 : suited
      expect(isInTiles(await shadersOf(device, call, shape)), kernel).toBe(fits && tiled.includes(kernel as never))
    }
  })
})

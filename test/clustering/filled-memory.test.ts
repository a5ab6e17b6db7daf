/**
 * Results depend on nothing but the input: the same bits come from a device whose new memory is zero and from
 * devices that fill new memory, and scratch before every kernel, with other bytes (as floats: NaN, or 3e38).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Device } from '../../src/device/contract.ts'
import { openCpuDevice } from '../../src/device/cpu/device.ts'
import {
  blobs,
  type ClusterOptions,
  CodeIndex,
  cluster,
  METHODS,
  type MethodName,
  nearest,
  openDevice,
  partitionTrees,
  sparseMatrix,
  trainQuantizer,
  type VectorInput,
} from '../../src/index.ts'
import { checked } from '../../wasm/build/checked.js'
import { openFilledWebGpu } from '../kernels/devices.ts'

const ROWS = 90
const COLS = 5
const { vectors } = blobs({ rows: ROWS, cols: COLS, clusters: 7 })
const bytes = { ...vectors, data: Uint8Array.from(vectors.data, (value) => Math.round(value * 9 + 100)) }
const weights = Float32Array.from({ length: ROWS }, (_, i) => (i % 4) / 2)
const offsets = Uint32Array.from({ length: ROWS + 1 }, (_, i) => i * 2)
const sparse = sparseMatrix(
  {
    offsets,
    columns: Uint32Array.from({ length: ROWS * 2 }, (_, i) => (i % 2 === 0 ? (i / 2) % 3 : 3 + ((i >> 1) % 2))),
    values: Float32Array.from({ length: ROWS * 2 }, (_, i) => 1 + ((i * 7) % 11)),
  },
  ROWS,
  COLS,
)

type Case = readonly [name: string, run: (device: Device) => Promise<unknown>]

async function clustered(device: Device, input: VectorInput, options: ClusterOptions): Promise<unknown> {
  const { method = 'auto' } = options
  const named = typeof method === 'string' && method !== 'auto'
  const k = named && METHODS[method].findsCount ? {} : { k: 11 }
  const model = await cluster(input, { ...k, iterations: 3, seed: 4, ...options, device })
  return [model.centers.data, model.labels, model.sigmas, await model.predict(input, { device })]
}

const CASES: Case[] = []
for (const method of Object.keys(METHODS) as MethodName[]) {
  const inputs: [string, VectorInput][] = [
    ['floats', vectors],
    ['bytes', bytes],
  ]
  if (METHODS[method].sparse) inputs.push(['sparse rows', sparse])
  for (const [name, input] of inputs)
    CASES.push([`${method} of ${name}`, (device) => clustered(device, input, { method })])
  CASES.push([`${method}, cosine`, (device) => clustered(device, vectors, { method, metric: 'cosine' })])
  if (!['minibatch', 'lvq'].includes(method))
    CASES.push([`${method} with weights`, (device) => clustered(device, vectors, { method, weights })])
}
for (const type of ['pq', 'ok', 'ck', 'itq'] as const) {
  CASES.push([
    `the quantizer ${type}`,
    async (device) => {
      const codewords = type === 'pq' || type === 'ck' ? { codewords: 6 } : {}
      const quantizer = await trainQuantizer(vectors, { type, m: 3, iterations: 2, ...codewords, device })
      const codes = await quantizer.encode(vectors, { device })
      const index = new CodeIndex(quantizer, codes)
      return [
        codes.data,
        (await quantizer.decode(codes, { device })).data,
        await index.search(vectors, { nearest: 4, device }),
      ]
    },
  ])
}
CASES.push(['nearest', (device) => nearest(vectors, vectors, { m: 4, device })])
CASES.push([
  'partition trees',
  async (device) => (await partitionTrees(vectors, { trees: 2, leafSize: 4, device })).map(({ members }) => members),
])

/** Few on the GPU, where compiling takes its time; its kernels have their own tests with filled memory. */
const ON_GPU = /^(lloyd|hkm) (of floats|with weights)|^the quantizer pq/

function compare(
  name: string,
  cases: readonly Case[],
  openPlain: () => Promise<Device>,
  openFilled: () => Promise<Device>,
): void {
  describe(name, () => {
    let plain: Device
    let filled: Device
    beforeAll(async () => {
      plain = await openPlain()
      filled = await openFilled()
    })
    afterAll(() => Promise.all([plain.close(), filled.close()]))

    test.each(cases)('%s', async (_, run) => {
      expect(await run(filled)).toEqual(await run(plain))
    })
  })
}

const threads = () => openDevice({ kind: 'cpu', threads: 2 })
compare('cpu in place, filled with 0x7f', CASES, threads, () =>
  openCpuDevice({ shared: false, checks: { fill: 0x7f } }),
)
compare('cpu with checked kernels, filled with 0xff', CASES, threads, () =>
  openCpuDevice({ threads: 2, checks: { fill: 0xff, module: checked } }),
)
compare(
  'webgpu, filled with 0xff',
  CASES.filter(([name]) => ON_GPU.test(name)),
  () => openDevice({ kind: 'webgpu', tiled: false }),
  () => openFilledWebGpu(0xff, { tiled: false }),
)

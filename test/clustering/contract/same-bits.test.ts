/** What must not change a bit: threads, streaming, limited memory, and what device memory held before. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ClusterModel,
  cluster,
  type Device,
  type DeviceOptions,
  METHODS,
  nearest,
  openDevice,
} from '../../../src/index.ts'
import { documents } from '../documents.ts'
import { openPoisoned } from './poisoned.ts'
import { bitsOf, cloud, SUBJECTS } from './subjects.ts'

const vectors = cloud(6)
const others = cloud(7, 90)
const PART = 1600
const limits = { partBytes: PART }
/** Leaves parts as large as they are, and is too little for all points. */
const limited = { ...limits, totalBytes: 60_000 }
/** A GPU in software takes long, and kernels have tests of their own there: few methods will do. */
const ON_WEBGPU = new Set(['lloyd', 'bisecting', 'canopy', 'gmm', 'agm'])

/** The run, and what the model says of other vectors. */
async function all(options: object, device: Device): Promise<object> {
  const model: ClusterModel = await cluster(vectors, { ...options, metric: 'cosine', device })
  const { labels, distances } = await model.assign(others, { device })
  const shares = model.sigmas ? await model.responsibilities(others, 2, { device }) : undefined
  return { ...bitsOf(model), predicted: labels, distances, shares }
}

describe.each([
  { kind: 'cpu', threads: 1, limits },
  { kind: 'webgpu', limits },
] as DeviceOptions[])('on $kind', (base) => {
  const devices: Device[] = []
  const changes: readonly [name: string, change: DeviceOptions][] =
    base.kind === 'cpu'
      ? [
          ['two threads, streamed', { threads: 2, memoryBytes: 2000 }],
          ['three threads, less memory than a part', { threads: 3, memoryBytes: 100 }],
          ['labels and trees in a temporary file', { threads: 2, limits: limited }],
        ]
      : [
          ['streamed', { memoryBytes: 2000 }],
          ['labels in a temporary file', { limits: limited }],
        ]
  beforeAll(async () => {
    for (const change of [{}, ...changes.map(([, change]) => change)]) {
      devices.push(await openDevice({ ...base, ...change }))
    }
    if (base.kind === 'cpu') devices.push(...(await openPoisoned(limits)))
  })
  afterAll(async () => {
    for (const device of devices) await device.close()
  })

  const subjects = base.kind === 'cpu' ? SUBJECTS : SUBJECTS.filter(({ name }) => ON_WEBGPU.has(name.split(',')[0]))

  test.each(subjects)('$name', async ({ method, options }) => {
    // By default clusters are not relocated where the limit is as low as here.
    const relocate = METHODS[method].relocates ? { relocate: true } : {}
    const asked = { ...options, ...relocate, iterations: base.kind === 'cpu' ? 3 : 2 }
    const usual = await all(asked, devices[0])
    for (const [i, device] of devices.slice(1).entries()) {
      expect(await all(asked, device), changes[i]?.[0] ?? 'filled memory').toEqual(usual)
    }
  })

  test('sparse rows', async () => {
    const sparse = documents(120, 60, 20, 4, 13)
    for (const { method, options } of subjects.filter(({ method }) => METHODS[method].sparse)) {
      const run = async (device: Device): Promise<object> => {
        const relocate = METHODS[method].relocates ? { relocate: true } : {}
        const model = await cluster(sparse, { ...options, ...relocate, iterations: 3, device })
        return { ...bitsOf(model), ...(await model.assign(sparse, { device })) }
      }
      const usual = await run(devices[0])
      for (const device of devices.slice(1)) expect(await run(device)).toEqual(usual)
    }
  })

  test('exact search', async () => {
    const usual = await nearest(vectors, others, { m: 7, device: devices[0] })
    for (const device of devices.slice(1)) expect(await nearest(vectors, others, { m: 7, device })).toEqual(usual)
  })
})

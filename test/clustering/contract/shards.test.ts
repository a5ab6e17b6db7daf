/** What must not change a bit: how many devices own the shards, which of them owns which, and who is done first. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRandom } from '../../../src/core/random.ts'
import {
  type ClusterOptions,
  cluster,
  type Device,
  type DeviceOptions,
  METHODS,
  type MethodName,
  openDevice,
} from '../../../src/index.ts'
import { documents } from '../documents.ts'
import { bitsOf, cloud, ROWS, SUBJECTS } from './subjects.ts'

const vectors = cloud(6)
/** Sizes that differ very much; one is empty. */
const SHARDS = [90, 0, 1, 29, 50, 37, 3, 30]
/** A GPU in software takes long: the methods once each, with few devices. */
const methods = new Set<MethodName>()
const ONCE = SUBJECTS.filter(({ method }) => !methods.has(method) && methods.add(method))

const weights = Float32Array.from({ length: ROWS }, (_, i) => (i % 11 === 0 ? 0 : 0.5 + (i % 5)))

/** Answers late, now and then: devices finish in another order. */
function unpunctual(device: Device, seed: number): Device {
  const random = createRandom(seed)
  const late = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, random.below(3)))
  return new Proxy(device, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => unknown
      if (name !== 'run' && name !== 'read') return call
      return async (...args: unknown[]) => {
        await late()
        const result = await call(...args)
        await late()
        return result
      }
    },
  })
}

describe.each([
  { name: 'one domain', options: { kind: 'cpu', threads: 1, shared: false }, owners: [1, 2, 3, 7] },
  {
    name: 'several domains',
    options: { kind: 'cpu', threads: 1, shared: false, limits: { partBytes: 100 * 32 } },
    owners: [1, 3, 7],
  },
  { name: 'WebGPU', options: { kind: 'webgpu' }, owners: [1, 3] },
] as { name: string; options: DeviceOptions; owners: number[] }[])('$name', ({ options, owners }) => {
  const devices: Device[] = []
  const onCpu = options.kind === 'cpu'
  beforeAll(async () => {
    for (let i = 0; i < Math.max(...owners); i++) devices.push(await openDevice(options))
  })
  afterAll(async () => {
    for (const device of devices) await device.close()
  })

  const run = async (asked: ClusterOptions, on: readonly Device[], from = vectors): Promise<object> =>
    bitsOf(await cluster(from, { ...asked, iterations: onCpu ? 4 : 2, devices: on }))

  test.each(onCpu ? SUBJECTS : ONCE)('$name', async ({ options: asked }) => {
    const one = await run({ ...asked, shards: SHARDS }, devices.slice(0, 1))
    for (const count of owners.slice(1)) {
      expect(await run({ ...asked, shards: SHARDS }, devices.slice(0, count)), `${count} devices`).toEqual(one)
    }
  })

  test.each(onCpu ? ONCE : [])('$name with weights, cosine, restarts', async ({ method, options: asked }) => {
    const weighted = METHODS[method].weights === false ? {} : { weights }
    const given: ClusterOptions = { ...asked, ...weighted, shards: 5, metric: 'cosine', restarts: 2 }
    expect(await run(given, devices.slice(0, 3))).toEqual(await run(given, devices.slice(0, 1)))
  })

  test.each(onCpu ? ONCE : [])('$name with devices that finish in any order', async ({ options: asked }) => {
    const given = { ...asked, shards: SHARDS }
    const late = devices.slice(0, 3).map((device, i) => unpunctual(device, i + 1))
    expect(await run(given, late)).toEqual(await run(given, devices.slice(0, 1)))
  })

  test.each(onCpu ? (['random', 'kpp', 'kpp-parallel', 'hkm', 'bisecting', 'tree', 'random-labels'] as const) : [])(
    'start %s',
    async (start) => {
      const given: ClusterOptions = {
        method: start === 'random-labels' ? 'sharp' : 'closures',
        k: 9,
        seed: 2,
        shards: 6,
        start,
      }
      expect(await run(given, devices.slice(0, 3))).toEqual(await run(given, devices.slice(0, 1)))
    },
  )

  test.each(onCpu ? ONCE : [])('$name with fewer shards than devices', async ({ options: asked }) => {
    const given = { ...asked, shards: 1 }
    expect(await run(given, devices.slice(0, 3))).toEqual(await run(given, devices.slice(0, 1)))
  })

  test('sparse rows', async () => {
    const sparse = documents(120, 30, 8, 4, 13)
    for (const { options: asked, method } of onCpu ? SUBJECTS : ONCE) {
      if (!METHODS[method].sparse) continue
      const given = { ...asked, shards: [50, 1, 40, 29], iterations: onCpu ? 3 : 2 }
      const one = bitsOf(await cluster(sparse, { ...given, devices: devices.slice(0, 1) }))
      expect(bitsOf(await cluster(sparse, { ...given, devices: devices.slice(0, 3) })), method).toEqual(one)
    }
  })

  test.each(onCpu ? ONCE : [])('$name resumed on other devices', async ({ options: asked }) => {
    const given = { ...asked, shards: SHARDS }
    const whole = await cluster(vectors, { ...given, iterations: 5, devices: devices.slice(0, 1) })
    const first = await cluster(vectors, { ...given, iterations: 2, devices: devices.slice(0, 3) })
    const { k: _, ...rest } = given
    const again = METHODS[asked.method as MethodName].findsCount ? rest : given
    const resumed = await cluster(vectors, { ...again, iterations: 5, resume: first, devices: devices.slice(0, 2) })
    expect(bitsOf(resumed)).toEqual(bitsOf(whole))
  })
})

/** Calls that name no open device share one: it is opened once, and no call notices the others. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import { SHARED_BYTES } from '../../src/device/shared.ts'
import {
  blobs,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  clusterSteps,
  type DeviceOptions,
  type Matrix,
  matrix,
  nearest,
  openDevice,
  trainQuantizer,
} from '../../src/index.ts'
import type { Thread } from '../../src/platform/contract.ts'
import { acquireDevice, sharedDevices } from '../../src/vectors/device-choice.ts'

/** Options that only this file uses, so that every test begins without a device. */
function fresh(kind: 'cpu' | 'webgpu', memoryBytes: number): DeviceOptions {
  return { kind, memoryBytes: 1e9 + memoryBytes }
}

function points(seed: number, rows = 200, cols = 2): Matrix {
  return blobs({ rows, cols, clusters: 6, seed }).vectors
}

/** The device that calls with these options share now. */
async function sharedBy(options: DeviceOptions) {
  const { device, release } = await sharedDevices.acquire(options)
  await release()
  return device
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe('calls without an open device', () => {
  test('start one thread between them while the work is small', async () => {
    const start = vi.spyOn(platform, 'startThread')
    const device = fresh('cpu', 1)
    const vectors = points(1)
    for (let i = 0; i < 10; i++) await cluster(vectors, { k: 4, seed: i, device })
    await nearest(vectors, vectors, { m: 3, device })
    await trainQuantizer(vectors, { type: 'pq', m: 1, codewords: 4, device })
    expect(start.mock.calls.length).toBe(platform.sharedMemory() ? 1 : 0)
  })

  test('take little time after the first', async () => {
    const vectors = points(2)
    const times: number[] = []
    for (let i = 0; i < 25; i++) {
      const began = performance.now()
      await cluster(vectors, { k: 4, seed: 1 })
      times.push(performance.now() - began)
    }
    // The median: another process may take the cores for a moment.
    expect(times.slice(1).sort((a, b) => a - b)[12]).toBeLessThan(20)
  })

  test.each(['cpu', 'webgpu'] as const)(
    'give the same bits at the same time as one after the other (%s)',
    async (kind) => {
      const device = fresh(kind, 2)
      const sets = [points(3), points(4, 500, 17), points(5, 90, 3), points(6, 900, 8)]
      const options: ClusterOptions[] = [
        { k: 5, seed: 1 },
        { k: 9, seed: 2, method: 'sharp' },
        { k: 4, seed: 3, method: 'lloyd', restarts: 2 },
        { k: 7, seed: 4, method: 'closures' },
      ]
      const calls = sets.map((vectors, i) => () => cluster(vectors, { ...options[i], device }))
      const search = (): Promise<{ labels: Uint32Array; distances: Float32Array }> =>
        nearest(sets[1], sets[1], { m: 4, device })
      const alone: ClusterModel[] = []
      for (const call of calls) alone.push(await call())
      const found = await search()
      const [models, again] = await Promise.all([Promise.all([...calls, ...calls].map((call) => call())), search()])
      models.forEach((model, i) => {
        const { labels, centers, distortion } = alone[i % calls.length]
        expect(model.labels).toEqual(labels)
        expect(model.centers.data).toEqual(centers.data)
        expect(model.distortion).toBe(distortion)
      })
      expect(again.labels).toEqual(found.labels)
      expect(again.distances).toEqual(found.distances)
    },
  )

  test.each(['cpu', 'webgpu'] as const)('leave nothing allocated, whether they end well or not (%s)', async (kind) => {
    const options = fresh(kind, 3)
    const vectors = points(7)
    await cluster(vectors, { k: 3, device: options })
    const device = await sharedBy(options)
    const before = device.allocatedBytes
    await cluster(vectors, { k: 3, seed: 1, device: options })
    const stop = AbortSignal.abort()
    await expect(cluster(vectors, { k: 3, device: options, signal: stop })).rejects.toThrow()
    const fails = (): never => {
      throw new Error('the caller gives up')
    }
    await expect(cluster(vectors, { k: 3, device: options, onIteration: fails })).rejects.toThrow('gives up')
    for await (const _ of clusterSteps(vectors, { k: 3, device: options })) break
    expect(await sharedBy(options)).toBe(device)
    expect(device.allocatedBytes).toBe(before)
  })

  test('open another device after a thread ended', async () => {
    const start = platform.startThread
    const threads: Thread[] = []
    vi.spyOn(platform, 'startThread').mockImplementation((script) => {
      threads.push(start(script))
      return threads[threads.length - 1]
    })
    if (!platform.sharedMemory()) return
    const device = fresh('cpu', 4)
    const vectors = points(8)
    const before = await cluster(vectors, { k: 4, device })
    const lost = await sharedBy(device)
    await threads[0].terminate()
    // A page does not hear that a worker it ended is gone; then the device is as good as closed.
    if (platform.name === 'browser') await lost.close()
    const after = await cluster(vectors, { k: 4, device })
    expect(after.labels).toEqual(before.labels)
    expect(threads.length).toBe(2)
    expect(await sharedBy(device)).not.toBe(lost)
  })
})

describe('the device of a call', () => {
  test('that was given stays open, and is not shared', async () => {
    const given = await openDevice({ kind: 'cpu', threads: 1 })
    const lease = await acquireDevice(given, [points(9)])
    expect(lease.device).toBe(given)
    await lease.release()
    await cluster(points(9), { k: 2, device: given })
    expect(await sharedBy({ kind: 'cpu', threads: 1 })).not.toBe(given)
    await given.close()
    await expect(cluster(points(9), { k: 2, device: given })).rejects.toThrow('The device is closed')
  })

  test('is its own where the input is large, and closed with it', async () => {
    const rows = SHARED_BYTES / 16 + 1
    const options = fresh('cpu', 5)
    const [one, two] = [await acquireDevice(options, [{ rows, cols: 4 }]), await acquireDevice(options, [])]
    expect(one.device).not.toBe(two.device)
    await one.release()
    expect(() => one.device.allocate(4, 'more')).toThrow('The device is closed')
    expect(two.device.allocate(4, 'more').bytes).toBe(4)
    await two.release()
    const sparse = { values: new Float32Array(10) } as never
    const few = await acquireDevice(options, [{ rows, cols: 1e6, sparse }])
    expect(few.device).toBe(two.device)
    await few.release()
    const half = { rows: rows / 2, cols: 4 }
    const three = await acquireDevice(options, [half, half])
    expect(three.device).not.toBe(two.device)
    await three.release()
  })

  test('is its own if openDevice opened it', async () => {
    const [one, two] = [await openDevice({ kind: 'cpu', threads: 1 }), await openDevice({ kind: 'cpu', threads: 1 })]
    expect(one).not.toBe(two)
    await one.close()
    const found = await nearest([[1], [2]], matrix(Float32Array.of(5, 2), 2, 1), { device: two })
    expect([...found.labels]).toEqual([1, 1])
    await two.close()
  })
})

/** Pools that begin with one thread: when the others are started, how they join, and that results stay the same. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import { BufferScope, type CpuJob, type CpuMemory, type Device } from '../../src/device/contract.ts'
import { openCpuDevice } from '../../src/device/cpu/device.ts'
import type { Thread } from '../../src/platform/contract.ts'
import { distanceBlock } from './distance-block.ts'

const COLS = 64
const start = platform.startThread
let threads: Thread[] = []

/** Records the threads that are started. */
function watchThreads(change: (thread: Thread, index: number) => Thread = (thread) => thread): void {
  threads = []
  vi.spyOn(platform, 'startThread').mockImplementation((script) => {
    const thread = change(start(script), threads.length)
    threads.push(thread)
    return thread
  })
}

afterEach(() => {
  vi.restoreAllMocks()
})

const grow = (count: number): Promise<Device> => openCpuDevice({ threads: count, grows: true })

/** Distances of all rows to each other, `times` over in one piece of work; the last ones are given back. */
async function distancesOf(device: Device, rows: number, times: number, signal?: AbortSignal): Promise<Float32Array> {
  const scope = new BufferScope(device)
  try {
    const values = Float32Array.from({ length: rows * COLS }, (_, i) => Math.sin(i * i))
    const x = scope.upload(values, 'rows')
    const out = scope.allocate(rows * rows * 4, 'distances')
    function* jobs(memory: CpuMemory): Generator<CpuJob> {
      const args = distanceBlock({
        x: memory.address(x, x.bytes),
        stride: COLS,
        centers: memory.address(x, x.bytes),
        k: rows,
        out: memory.address(out, out.bytes),
      })
      for (let i = 0; i < times; i++) yield { entry: 'distanceMatrix', items: rows, grain: 3, args }
    }
    await device.run({ name: 'distances', webgpu: () => [], cpu: jobs }, { signal })
    return new Float32Array(await device.read(out))
  } finally {
    scope.free()
  }
}

describe('a pool that grows', () => {
  test('starts one thread for small work, however much of it comes', async () => {
    watchThreads()
    const device = await grow(4)
    expect(device.info.name).toContain('4 threads')
    for (let i = 0; i < 50; i++) await distancesOf(device, 3, 1)
    expect(threads.length).toBe(1)
    await device.close()
  })

  test('starts the others during long work, which goes on with them, and gives the same bits', async () => {
    const alone = await openCpuDevice({ threads: 1 })
    const expected = await distancesOf(alone, 301, 1)
    await alone.close()
    watchThreads()
    const device = await grow(4)
    for (let again = 0; again < 3; again++) expect(await distancesOf(device, 301, 100)).toEqual(expected)
    expect(threads.length).toBe(4)
    await device.close()
  })

  test('counts many short pieces of work that could be shared', async () => {
    watchThreads()
    const device = await grow(2)
    for (let i = 0; i < 2000 && threads.length === 1; i++) await distancesOf(device, 50, 1)
    expect(threads.length).toBe(2)
    await device.close()
  })

  test('can be stopped while it grows', async () => {
    watchThreads()
    for (const ms of [5, 15, 40, 80]) {
      const device = await grow(3)
      const stopped = AbortSignal.timeout(ms)
      await expect(distancesOf(device, 800, 500, stopped)).rejects.toThrow(/abort|timeout/i)
      expect((await distancesOf(device, 10, 1)).length).toBe(100)
      await device.close()
    }
  })

  test('ends the threads that become ready after it was closed', async () => {
    const ended = new Set<number>()
    watchThreads((thread, index) => ({
      ...thread,
      terminate: async () => {
        await thread.terminate()
        ended.add(index)
      },
    }))
    const device = await grow(3)
    const stop = new AbortController()
    const working = distancesOf(device, 400, 10_000, stop.signal).catch(() => {})
    await vi.waitFor(() => expect(threads.length).toBe(3), { timeout: 10_000, interval: 1 })
    stop.abort()
    await device.close()
    await working
    await vi.waitFor(() => expect(ended.size).toBe(3), { timeout: 10_000 })
  })

  test('goes on with one thread where others cannot be started', async () => {
    watchThreads((thread, index) => ({ ...thread, post: (message) => thread.post(index === 0 ? message : {}) }))
    const device = await grow(3)
    const first = await distancesOf(device, 301, 60)
    expect(threads.length).toBe(3)
    expect(await distancesOf(device, 301, 1)).toEqual(first)
    expect(threads.length).toBe(3)
    await device.close()
  })

  test('is lost when a thread that joined ends', async () => {
    watchThreads()
    const device = await grow(2)
    const working = distancesOf(device, 800, 100_000)
    const lost = expect(working).rejects.toThrow(/^Thread 1 of the CPU device stopped/)
    await vi.waitFor(() => expect(threads.length).toBe(2), { timeout: 10_000 })
    await new Promise((resolve) => setTimeout(resolve, 300))
    await threads[1].terminate()
    await lost
    expect(() => device.allocate(4, 'more')).toThrow(/^Thread 1 of the CPU device stopped/)
    await device.close()
  })
})

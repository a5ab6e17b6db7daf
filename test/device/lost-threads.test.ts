/** A thread that ends or a kernel that traps: the device is lost, everything says so, and nothing waits for ever. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { platform } from '#platform'
import { CentroidalError } from '../../src/core/errors.ts'
import { BufferScope, type CpuJob, type CpuMemory, type Device } from '../../src/device/contract.ts'
import { openDevice } from '../../src/device/open.ts'
import type { Thread } from '../../src/platform/contract.ts'
import { distanceBlock } from './distance-block.ts'

const TRAPPED = /^The kernel distanceMatrix of the CPU device failed \(RuntimeError: memory access out of bounds\)\./

/** Starts threads that the test can end. */
function watchThreads(change: (thread: Thread, index: number) => Thread = (thread) => thread): Thread[] {
  const start = platform.startThread
  const threads: Thread[] = []
  vi.spyOn(platform, 'startThread').mockImplementation((script) => {
    threads.push(change(start(script), threads.length))
    return threads[threads.length - 1]
  })
  return threads
}

afterEach(() => {
  vi.restoreAllMocks()
})

function run(device: Device, cpu: (memory: CpuMemory) => Iterable<CpuJob>): Promise<void> {
  return device.run({ name: 'work', webgpu: () => [], cpu })
}

/** Work of several seconds. */
function work(device: Device): Promise<void> {
  const rows = 1500
  const scope = new BufferScope(device)
  const x = scope.allocate(rows * 64 * 4, 'rows')
  const out = scope.allocate(rows * rows * 4, 'distances')
  return run(device, (memory) =>
    Array.from({ length: 100 }, () => ({
      entry: 'distanceMatrix',
      items: rows,
      grain: 10,
      args: distanceBlock({
        x: memory.address(x, x.bytes),
        stride: 64,
        centers: memory.address(x, x.bytes),
        k: rows,
        out: memory.address(out, out.bytes),
      }),
    })),
  )
}

async function failure(call: () => unknown): Promise<CentroidalError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(CentroidalError)
    return error as CentroidalError
  }
  throw new Error('nothing failed')
}

/** Everything but closing fails in the same way. */
async function expectLost(device: Device, message: RegExp): Promise<void> {
  const calls = [() => work(device), () => run(device, () => []), () => device.allocate(16, 'more')]
  for (const call of calls) {
    const error = await failure(call)
    expect(error.code).toBe('device-lost')
    expect(error.message).toMatch(message)
  }
  await device.close()
}

describe('a thread that ends', () => {
  test.each([0, 2])('while it works (number %i) fails the work and all that follows', async (index) => {
    const threads = watchThreads()
    const device = await openDevice({ kind: 'cpu', threads: 3 })
    const working = failure(() => work(device))
    const waiting = failure(() => work(device))
    await new Promise((resolve) => setTimeout(resolve, 30))
    await threads[index].terminate()
    const ended = new RegExp(`^Thread ${index} of the CPU device stopped \\(it ended with exit code 1\\): open another`)
    for (const error of [await working, await waiting]) {
      expect(error.code).toBe('device-lost')
      expect(error.message).toMatch(ended)
    }
    await expectLost(device, ended)
  })

  test('between two calls fails the next one', async () => {
    const threads = watchThreads()
    const device = await openDevice({ kind: 'cpu', threads: 2 })
    await threads[1].terminate()
    await expectLost(device, /^Thread 1 of the CPU device stopped/)
  })

  test('before it is ready fails the opening, and the others end', async () => {
    const ended: number[] = []
    watchThreads((thread, index) => ({
      ...thread,
      post: (message) => thread.post(index === 1 ? {} : message),
      terminate: async () => {
        await thread.terminate()
        ended.push(index)
      },
    }))
    const error = await failure(() => openDevice({ kind: 'cpu', threads: 3 }))
    expect(error.code).toBe('no-device')
    expect(error.message).toMatch(/^The CPU device could not start 3 threads \(TypeError: .+\): use fewer threads\.$/)
    expect(ended.sort()).toEqual([0, 1, 2])
  })
})

describe('a kernel that traps', () => {
  /** No memory is large enough for it. */
  const trap: CpuJob = {
    entry: 'distanceMatrix',
    items: 40,
    grain: 1,
    args: distanceBlock({ x: 2 ** 31 - 64, stride: 4, centers: 2 ** 31 - 64, k: 4, out: 16 }),
  }
  const harmless: CpuJob = { ...trap, args: distanceBlock({ x: 1024, stride: 0, centers: 1024, k: 0, out: 1024 }) }

  test.each([
    ['3 threads', { threads: 3 }],
    ['1 thread', { threads: 1 }],
    ['the calling thread', { shared: false }],
  ])('on %s fails the work and all that follows', async (_, options) => {
    for (const before of [0, 1, 63, 64, 100]) {
      const device = await openDevice({ kind: 'cpu', ...options })
      const jobs = [
        ...Array.from({ length: before }, () => harmless),
        trap,
        ...Array.from({ length: 70 }, () => harmless),
      ]
      const error = await failure(() => run(device, () => jobs))
      expect(error.code).toBe('device-lost')
      expect(error.message).toMatch(TRAPPED)
      await expectLost(device, TRAPPED)
    }
  })
})

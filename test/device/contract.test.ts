/** What every device promises, in Node and in a page. Devices that a test breaks are its own. */

import { describe, expect, test } from 'vitest'
import { platform } from '#platform'
import { CentroidalError } from '../../src/core/errors.ts'
import { type BufferPart, BufferScope, type Device, type DeviceBuffer, slice } from '../../src/device/contract.ts'
import { openWebGpuDevice } from '../../src/device/webgpu/device.ts'
import { distances } from '../../src/kernels/distances.ts'
import { DEVICES, onEveryDevice, useBuffers, withRun } from '../kernels/devices.ts'
import { distanceMatrix } from '../kernels/oracles.ts'
import { centers } from '../kernels/vectors.ts'
import { fc } from '../properties.ts'
import { expectSame } from '../tolerance.ts'

const CLOSED = 'The device is closed: open another one with openDevice().'

function bytesFrom(first: number, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, (_, i) => (first + i) % 251)
}

async function read(device: Device, buffer: DeviceBuffer, offset: number, bytes: number): Promise<number[]> {
  return Array.from(new Uint8Array(await device.read({ buffer, offset, bytes })))
}

/** What a call ends in, thrown or rejected; it must be an error a user can read. */
async function failure(call: () => unknown): Promise<CentroidalError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(CentroidalError)
    return error as CentroidalError
  }
  throw new Error('nothing failed')
}

/** Some work whose result is known, to see that a device still does it. */
async function checkWork(device: Device): Promise<void> {
  await useBuffers(device, async (buffers) => {
    const x = { data: centers('whole', 9, 3, 1), cols: 3 }
    const rows = buffers.rows(x.data, 3)
    const out = buffers.output(81 * 4)
    await distances(device, { points: rows, centers: rows, out: out.buffer })
    expectSame(await out.floats(), distanceMatrix(x, x))
  })
}

onEveryDevice((opened) => {
  describe('memory', () => {
    test.each([1, 2, 3, 4, 5, 7, 16, 255, 1001, 70_000])('of %i bytes comes back as it was written', async (count) => {
      const { device } = opened
      const scope = new BufferScope(device)
      const data = bytesFrom(3, count)
      const buffer = scope.allocate(count, 'round trip')
      expect(buffer.label).toBe('round trip')
      expect(buffer.bytes).toBeGreaterThanOrEqual(count)
      device.write(buffer, data)
      expectSame(await read(device, buffer, 0, count), data)
      const whole = new Uint8Array(await device.read(buffer))
      expect(whole.length).toBe(buffer.bytes)
      expectSame(whole.subarray(0, count), data)
      scope.free()
    })

    test('takes views into larger arrays and numbers of any kind', async () => {
      const { device } = opened
      const scope = new BufferScope(device)
      const buffer = scope.allocate(24, 'views')
      const words = Float32Array.of(1, 2, 3, 4, 5, 6)
      device.write(buffer, words.subarray(2, 5), 4)
      device.write(buffer, new DataView(words.buffer, 20, 4))
      device.write(buffer, Float64Array.of(0.5), 16)
      const found = await device.read(buffer)
      expect(Array.from(new Float32Array(found, 0, 4))).toEqual([6, 3, 4, 5])
      expect(new Float64Array(found, 16, 1)[0]).toBe(0.5)
      scope.free()
    })

    test('changes only where it is written, cleared and copied to', async () => {
      const { device } = opened
      const part = (buffer: DeviceBuffer, offset: number, bytes: number): BufferPart => slice(buffer, offset, bytes)
      const words = fc.nat(15)
      const range = fc.tuple(words, words).map(([a, b]) => ({ offset: 4 * Math.min(a, b), bytes: 4 * Math.abs(a - b) }))
      const change = fc.oneof(
        fc.record({ write: range, first: fc.nat(250) }),
        fc.record({ clear: range }),
        fc.record({ copy: range, to: words }),
      )
      await fc.assert(
        fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
          const scope = new BufferScope(device)
          const left = scope.upload(bytesFrom(0, 64), 'left')
          const right = scope.upload(bytesFrom(100, 64), 'right')
          const expectedLeft = bytesFrom(0, 64)
          const expectedRight = bytesFrom(100, 64)
          for (const action of changes) {
            if ('write' in action) {
              const data = bytesFrom(action.first, action.write.bytes)
              device.write(left, data, action.write.offset)
              expectedLeft.set(data, action.write.offset)
            } else if ('clear' in action) {
              device.clear(part(left, action.clear.offset, action.clear.bytes))
              expectedLeft.fill(0, action.clear.offset, action.clear.offset + action.clear.bytes)
            } else {
              const to = Math.min(4 * action.to, 64 - action.copy.bytes)
              device.copy(part(left, action.copy.offset, action.copy.bytes), part(right, to, action.copy.bytes))
              expectedRight.set(expectedLeft.subarray(action.copy.offset, action.copy.offset + action.copy.bytes), to)
            }
          }
          expect(await read(device, left, 0, 64)).toEqual(Array.from(expectedLeft))
          expect(await read(device, right, 0, 64)).toEqual(Array.from(expectedRight))
          scope.free()
        }),
        { numRuns: opened.runs },
      )
    })

    test('is cleared and copied whole where its size is no multiple of 4', async () => {
      const { device } = opened
      const scope = new BufferScope(device)
      const from = scope.upload(bytesFrom(1, 7), 'from')
      const to = scope.upload(bytesFrom(50, 7), 'to')
      device.copy(from, to)
      device.clear(from)
      expect(await read(device, to, 0, 7)).toEqual(Array.from(bytesFrom(1, 7)))
      expect(await read(device, from, 0, 7)).toEqual([0, 0, 0, 0, 0, 0, 0])
      scope.free()
    })

    test('keeps the words behind a write of a size that is no multiple of 4', async () => {
      const { device } = opened
      const scope = new BufferScope(device)
      const buffer = scope.upload(new Uint8Array(16).fill(9), 'bytes')
      device.write(buffer, Uint8Array.of(1, 2, 3, 4, 5), 4)
      expect(await read(device, buffer, 0, 9)).toEqual([9, 9, 9, 9, 1, 2, 3, 4, 5])
      // WebGPU writes whole words, so what the last word held beside the data may be gone; no more than that.
      expect(await read(device, buffer, 12, 4)).toEqual([9, 9, 9, 9])
      scope.free()
    })

    test('is counted while it is held', () => {
      const { device } = opened
      const before = device.allocatedBytes
      const first = device.allocate(1000, 'first')
      const second = device.allocate(5000, 'second')
      expect(device.allocatedBytes).toBeGreaterThanOrEqual(before + 6000)
      expect(device.allocatedBytes).toBeLessThan(before + 6200)
      first.free()
      expect(device.allocatedBytes).toBeGreaterThanOrEqual(before + 5000)
      expect(device.allocatedBytes).toBeLessThan(before + 5100)
      second.free()
      expect(device.allocatedBytes).toBe(before)
    })

    test('freed twice is freed once', async () => {
      const { device } = opened
      const scope = new BufferScope(device)
      const before = device.allocatedBytes
      const gone = device.allocate(256, 'gone')
      gone.free()
      const kept = scope.upload(new Uint8Array(256).fill(1), 'kept')
      const held = device.allocatedBytes
      gone.free()
      expect(device.allocatedBytes).toBe(held)
      scope.upload(new Uint8Array(256).fill(2), 'next')
      expect(await read(device, kept, 0, 3)).toEqual([1, 1, 1])
      scope.free()
      expect(device.allocatedBytes).toBe(before)
    })

    test('of a scope is freed together', () => {
      const { device } = opened
      const before = device.allocatedBytes
      const scope = new BufferScope(device)
      scope.allocate(100, 'one')
      scope.upload(bytesFrom(0, 9), 'two')
      expect(device.allocatedBytes).toBeGreaterThan(before)
      scope.free()
      scope.free()
      expect(device.allocatedBytes).toBe(before)
    })

    test('that is too large is refused in a sentence, and the device goes on', async () => {
      const { device } = opened
      const before = device.allocatedBytes
      const error = await failure(() => device.allocate(device.info.limits.bufferBytes + 4, 'everything'))
      expect(error.code).toBe('out-of-memory')
      expect(error.message).toMatch(
        device.info.kind === 'cpu'
          ? /^The CPU device cannot hold \d+ MB for everything: \d+ MB of at most \d+ MB are in use\. Use fewer/
          : /^everything needs \d+ MB and this adapter's largest buffer is \d+ MB: use fewer/,
      )
      expect(device.allocatedBytes).toBe(before)
      await checkWork(device)
    })
  })

  describe('work', () => {
    test('given in a row runs in that order, and a read sees all of it', async () => {
      const { device } = opened
      await useBuffers(device, async (buffers) => {
        // The first has a pipeline of its own to compile, the second has none.
        await checkWork(device)
        const bytes = buffers.rows(Uint8Array.of(7, 7, 7), 1)
        const floats = buffers.rows(Float32Array.of(1, 2, 3), 1)
        const center = buffers.rows(Float32Array.of(0), 1)
        const out = buffers.output(12)
        // Looked at when all three are done: work under way must not lose its buffers to a failed test.
        const [, , early] = await Promise.all([
          distances(device, { points: bytes, centers: center, out: out.buffer }),
          distances(device, { points: floats, centers: center, out: out.buffer }),
          out.floats(),
        ])
        expectSame(await out.floats(), [1, 4, 9])
        expectSame(early, [1, 4, 9])
      })
    })

    test('that an aborted signal stops ends in its reason, and the device goes on', async () => {
      const { device } = opened
      const reason = new Error('enough')
      await useBuffers(device, async (buffers) => {
        const rows = buffers.rows(centers('whole', 9, 3, 1), 3)
        const out = buffers.output(81 * 4)
        const stopped = withRun(device, (work) => device.run(work, { signal: AbortSignal.abort(reason) }))
        await expect(distances(stopped, { points: rows, centers: rows, out: out.buffer })).rejects.toBe(reason)
      })
      await checkWork(device)
    })

    test('that names no kernel fails, and the device goes on', async () => {
      const { device } = opened
      const nothing = device.run({
        name: 'nothing',
        webgpu: () => [
          { shader: { name: 'nothing', code: () => 'fn main() {}' }, bindings: [], params: [], groups: [1] },
        ],
        cpu: () => [{ entry: 'nothing', items: 1, grain: 1, args: new Uint8Array(0) }],
      })
      await expect(nothing).rejects.toThrow()
      await checkWork(device)
    })
  })
})

describe('a closed device', () => {
  const BY_NAME = DEVICES.map((entry) => [entry.name, entry] as const)

  test.each(BY_NAME)('%s refuses everything in a sentence', async (_, { open }) => {
    const device = await open()
    const buffer = device.allocate(16, 'before')
    await device.close()
    await device.close()
    expect(device.allocatedBytes).toBe(0)
    const calls: Record<string, () => unknown> = {
      allocate: () => device.allocate(16, 'after'),
      write: () => device.write(buffer, new Uint8Array(4)),
      read: () => device.read(buffer),
      clear: () => device.clear(buffer),
      copy: () => device.copy(buffer, buffer),
      run: () => device.run({ name: 'nothing', webgpu: () => [], cpu: () => [] }),
    }
    const found: Record<string, string> = {}
    for (const [name, call] of Object.entries(calls)) {
      found[name] = await Promise.resolve()
        .then(call)
        .then(
          () => 'worked',
          (error) => `${error.code}: ${error.message}`,
        )
    }
    expect(found).toEqual(Object.fromEntries(Object.keys(calls).map((name) => [name, `device-lost: ${CLOSED}`])))
    buffer.free()
  })

  test.each(BY_NAME)('%s, closed while it works, ends cleanly', async (_, { open }) => {
    const device = await open()
    const outcome = checkWork(device).then(
      () => 'done',
      (error) => (error instanceof CentroidalError ? error.code : error),
    )
    await device.close()
    expect(['done', 'device-lost']).toContain(await outcome)
  })
})

describe('a GPU that goes away', () => {
  const LOST =
    /^The GPU device was lost during the run \(.+\): run again, resume from the last checkpoint, or use the CPU device\.$/

  /** A device, and the GPU under it for the test to take away. */
  async function openLosable(): Promise<{ device: Device; gpu: GPUDevice }> {
    const { entry } = await platform.findGpu({ software: true })
    if (!entry) throw new Error('no adapter')
    let gpu: GPUDevice | undefined
    const adapter = {
      features: entry.adapter.features,
      limits: entry.adapter.limits,
      info: entry.adapter.info,
      requestDevice: async (descriptor: GPUDeviceDescriptor) => {
        gpu = await entry.adapter.requestDevice(descriptor)
        return gpu
      },
    } as GPUAdapter
    const device = await openWebGpuDevice({ ...entry, adapter })
    return { device, gpu: gpu as unknown as GPUDevice }
  }

  function expectLost(error: CentroidalError): void {
    expect(error.code).toBe('device-lost')
    expect(error.message).toMatch(LOST)
  }

  test('between calls fails the next read, and everything after it', async () => {
    const { device, gpu } = await openLosable()
    await checkWork(device)
    const buffer = device.allocate(16, 'kept')
    gpu.destroy()
    expectLost(await failure(() => device.read(buffer)))
    expectLost(await failure(() => device.allocate(16, 'next')))
    expectLost(await failure(() => checkWork(device)))
    await device.close()
  })

  test('while it reads', async () => {
    const { device, gpu } = await openLosable()
    const buffer = device.allocate(1 << 20, 'read')
    const reading = failure(() => device.read(buffer))
    gpu.destroy()
    expectLost(await reading)
    await device.close()
  })

  test('while it compiles and runs', async () => {
    const { device, gpu } = await openLosable()
    const working = failure(() => checkWork(device))
    gpu.destroy()
    expectLost(await working)
    await device.close()
  })

  test('while it runs what is compiled', async () => {
    const { device, gpu } = await openLosable()
    await checkWork(device)
    const working = failure(() => checkWork(device))
    gpu.destroy()
    expectLost(await working)
    await device.close()
  })
})

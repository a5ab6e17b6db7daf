/** When shared devices are opened, kept, closed and replaced: on devices that do nothing, so that only that is tried. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import type { Device } from '../../src/device/contract.ts'
import type { DeviceOptions } from '../../src/device/open.ts'
import { SHARED_BYTES, SharedDevices } from '../../src/device/shared.ts'

class IdleDevice {
  closed = 0
  lost = false
  heldBytes = 2 ** 20
  readonly options: DeviceOptions

  constructor(options: DeviceOptions) {
    this.options = options
  }

  requireOpen(): void {
    if (this.lost || this.closed > 0) throw new CentroidalError('device-lost', 'The device is gone.')
  }

  async close(): Promise<void> {
    this.closed++
    if (this.lost) throw new Error('nothing to close')
  }
}

const IDLE_MS = 1000
let opened: IdleDevice[] = []
const open = vi.fn(async (options: DeviceOptions) => {
  await Promise.resolve()
  const device = new IdleDevice(options)
  opened.push(device)
  return device as unknown as Device
})
let devices: SharedDevices

beforeEach(() => {
  vi.useFakeTimers()
  opened = []
  open.mockClear()
  devices = new SharedDevices(open, IDLE_MS)
})

afterEach(() => {
  vi.useRealTimers()
})

describe('a shared device', () => {
  test('is opened once for calls that come together, and for calls that follow', async () => {
    const [one, two] = await Promise.all([devices.acquire(), devices.acquire({ kind: 'auto' })])
    expect(one.device).toBe(two.device)
    await one.release()
    await two.release()
    const three = await devices.acquire({})
    expect(three.device).toBe(one.device)
    await three.release()
    expect(open).toHaveBeenCalledTimes(1)
  })

  test('is closed when nobody has used it for a while, and not before', async () => {
    const one = await devices.acquire()
    const two = await devices.acquire()
    await one.release()
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS)
    expect(opened[0].closed).toBe(0)
    await two.release()
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1)
    const three = await devices.acquire()
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS)
    expect(opened[0].closed).toBe(0)
    await three.release()
    await vi.advanceTimersByTimeAsync(IDLE_MS)
    expect(opened[0].closed).toBe(1)
    expect(devices.size).toBe(0)
    await (await devices.acquire()).release()
    expect(open).toHaveBeenCalledTimes(2)
  })

  test.each<[string, DeviceOptions, DeviceOptions, boolean]>([
    ['nothing and auto', {}, { kind: 'auto' }, true],
    ['auto and cpu', {}, { kind: 'cpu' }, false],
    ['other threads', { kind: 'cpu', threads: 1 }, { kind: 'cpu', threads: 2 }, false],
    ['another order', { kind: 'cpu', threads: 1 }, { threads: 1, kind: 'cpu' }, true],
    ['another order of limits', { limits: { partBytes: 8, workgroups: 9 } }, { limits: { workgroups: 9, partBytes: 8 } }, true], // biome-ignore format: a table
    ['other limits', { limits: { partBytes: 8 } }, { limits: { partBytes: 9 } }, false],
    ['no limits and empty ones', {}, { limits: {} }, false],
    ['memory', { memoryBytes: 1e6 }, {}, false],
    ['shared or not', { shared: false }, { shared: true }, false],
    ['what is undefined', { kind: 'cpu', threads: undefined } as object, { kind: 'cpu' }, true],
  ])('by options: %s', async (_, options, others, same) => {
    const [one, other] = [await devices.acquire(options), await devices.acquire(others)]
    expect(one.device === other.device).toBe(same)
    expect(opened[0].options).toEqual(options)
  })

  test('that is lost is replaced, and closed by its last user', async () => {
    const [one, two] = [await devices.acquire(), await devices.acquire()]
    opened[0].lost = true
    const next = await devices.acquire()
    expect(next.device).not.toBe(one.device)
    await one.release()
    expect(opened[0].closed).toBe(0)
    await two.release()
    expect(opened[0].closed).toBe(1)
    await next.release()
    expect((await devices.acquire()).device).toBe(next.device)
    expect(open).toHaveBeenCalledTimes(2)
  })

  test('that is lost while idle is replaced', async () => {
    await (await devices.acquire()).release()
    opened[0].lost = true
    const next = await devices.acquire()
    expect(next.device).toBe(opened[1])
    await vi.advanceTimersByTimeAsync(5 * IDLE_MS)
    expect(opened.map(({ closed }) => closed)).toEqual([1, 0])
  })

  test('that holds much memory takes no further users, and is closed with the last', async () => {
    const [one, two] = [await devices.acquire(), await devices.acquire()]
    opened[0].heldBytes = SHARED_BYTES + 1
    const next = await devices.acquire()
    expect(next.device).toBe(opened[1])
    await one.release()
    expect(opened[0].closed).toBe(0)
    await two.release()
    expect(opened[0].closed).toBe(1)
    opened[1].heldBytes = SHARED_BYTES + 1
    await next.release()
    expect(opened[1].closed).toBe(1)
    expect(devices.size).toBe(0)
  })

  test('that could not be opened is tried again by the next call', async () => {
    open.mockRejectedValueOnce(new CentroidalError('no-device', 'Not now.'))
    const both = await Promise.allSettled([devices.acquire(), devices.acquire()])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(devices.size).toBe(0)
    await (await devices.acquire()).release()
    expect(open).toHaveBeenCalledTimes(2)
  })
})

/** Short work on the calling thread: the same bits as on threads, not while other work waits, never on a closed device. */
import { describe, expect, test } from 'vitest'
import { BufferScope, type Device, type DeviceBuffer, type Work } from '../../src/device/contract.ts'
import { elements } from '../../src/device/fields.ts'
import { type DeviceOptions, openDevice } from '../../src/device/open.ts'
import { distancesKernel } from '../../src/kernels/distances.ts'
import { allocateRows, writeRows } from '../../src/kernels/rows.ts'

const DEVICES: readonly [string, DeviceOptions][] = [
  ['threads', { kind: 'cpu', threads: 2 }],
  ['the calling thread', { kind: 'cpu', shared: false }],
]
const ROWS = 37
const COLS = 5

/** Distances of some rows to each other, in slices of three rows. */
function distancesAmong(device: Device, scope: BufferScope): { readonly work: Work; readonly out: DeviceBuffer } {
  const points = allocateRows(scope, ROWS, COLS, 'f32', 'points')
  writeRows(
    device,
    points,
    Float32Array.from({ length: ROWS * COLS }, (_, i) => Math.sin(i)),
  )
  const out = scope.allocate(ROWS * ROWS * 4, 'distances')
  const work: Work = {
    name: 'distances',
    webgpu: () => [],
    *cpu(memory) {
      const args = { points, centers: points, count: ROWS, out: elements(out, ROWS * ROWS) }
      yield { ...distancesKernel.job(memory, args), grain: 3 }
    },
  }
  return { work, out }
}

describe.each(DEVICES)('on a device with %s', (_, options) => {
  test('work at once gives what waiting for it gives', async () => {
    const device = await openDevice(options)
    const scope = new BufferScope(device)
    try {
      const first = distancesAmong(device, scope)
      await device.run(first.work)
      const expected = new Float32Array(await device.read(first.out))
      const second = distancesAmong(device, scope)
      expect(device.runAtOnce?.(second.work)).toBe(true)
      expect(new Float32Array(await device.read(second.out))).toEqual(expected)
      expect(expected[1]).toBeGreaterThan(0)
      // Work that waits comes first: this would overtake it.
      const third = distancesAmong(device, scope)
      const waiting = device.run(first.work)
      expect(device.runAtOnce?.(third.work)).toBe(false)
      await waiting
      expect(device.runAtOnce?.(third.work)).toBe(true)
    } finally {
      scope.free()
      await device.close()
    }
    expect(() => device.runAtOnce?.({ name: 'nothing', webgpu: () => [], cpu: () => [] })).toThrow(/closed/)
  })
})

/** A callback that throws ends the work with the caller's own error, wherever it is called from. */
import { describe, expect, test } from 'vitest'
import { BufferScope, type Device } from '../../src/device/contract.ts'
import { type DeviceOptions, openDevice } from '../../src/device/open.ts'
import { assign, assignWorkspaceBytes } from '../../src/kernels/assign.ts'
import { allocateRows } from '../../src/kernels/rows.ts'

const DEVICES: readonly [string, DeviceOptions][] = [
  ['threads', { kind: 'cpu', threads: 2 }],
  ['the calling thread', { kind: 'cpu', shared: false }],
  ['webgpu', { kind: 'webgpu' }],
]

/** About a second of work on one core: progress is reported from a timer that fires every tenth of a second. */
function assignMany(device: Device, rows: number, onProgress?: (share: number) => void): Promise<void> {
  const scope = new BufferScope(device)
  const points = allocateRows(scope, rows, 64, 'f32', 'points')
  const centers = allocateRows(scope, 500, 64, 'f32', 'centres')
  return assign(
    device,
    {
      points,
      centers,
      labels: scope.allocate(rows * 4, 'labels'),
      distances: scope.allocate(rows * 4, 'distances'),
      workspace: scope.allocate(assignWorkspaceBytes(centers), 'prepared centres'),
    },
    { onProgress },
  ).finally(() => scope.free())
}

describe('onProgress that throws', () => {
  test.each(DEVICES)('on %s rejects the work with its error, and the device goes on', async (_, options) => {
    const device = await openDevice(options)
    try {
      const thrown = new Error('from the callback')
      let calls = 0
      const onProgress = (): void => {
        calls++
        throw thrown
      }
      const rows = options.kind === 'webgpu' ? 500 : 200_000
      await expect(assignMany(device, rows, onProgress)).rejects.toBe(thrown)
      expect(calls).toBe(1)
      await assignMany(device, 500)
    } finally {
      await device.close()
    }
  })
})

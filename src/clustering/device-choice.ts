/** A device that was given stays open; one that had to be opened is closed again. */
import type { Device } from '../device/contract.ts'
import { type DeviceOptions, openDevice } from '../device/open.ts'

/** An open device, which stays open; or what to open and close again; undefined is `auto`. */
export type DeviceChoice = Device | DeviceOptions | 'auto' | 'webgpu' | 'cpu' | undefined

export async function acquireDevice(choice: DeviceChoice): Promise<{ device: Device; release(): Promise<void> }> {
  if (isDevice(choice)) return { device: choice, release: async () => {} }
  const device = await openDevice(typeof choice === 'string' ? { kind: choice } : choice)
  return { device, release: () => device.close() }
}

export async function withDevice<T>(choice: DeviceChoice, work: (device: Device) => Promise<T>): Promise<T> {
  const { device, release } = await acquireDevice(choice)
  try {
    return await work(device)
  } finally {
    await release()
  }
}

function isDevice(choice: DeviceChoice): choice is Device {
  return typeof (choice as Device)?.run === 'function'
}

/** A device that was given stays open; one that had to be opened is closed again. */
import { choice, optionsOf } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import { DEVICE_CHECKS, DEVICE_KINDS, type DeviceOptions, openDevice } from '../device/open.ts'

/** An open device, which stays open; or what to open and close again; undefined is `auto`. */
export type DeviceChoice = Device | DeviceOptions | 'auto' | 'webgpu' | 'cpu' | undefined

/** What a caller gave as `device`. */
export function deviceChoice(value: unknown, thing: string): Exclude<DeviceChoice, undefined> {
  if (typeof value === 'string') return choice(DEVICE_KINDS)(value, thing)
  if (typeof value !== 'object' || value === null) {
    throw badArgument(thing, value, 'give auto, webgpu or cpu, options of openDevice, or an open device.')
  }
  return isDevice(value) ? value : optionsOf(`openDevice (${thing})`, value, DEVICE_CHECKS)
}

export async function acquireDevice(choice: DeviceChoice): Promise<{ device: Device; release(): Promise<void> }> {
  if (isDevice(choice)) {
    // A closed device is an error even if there is nothing to compute.
    choice.requireOpen?.()
    return { device: choice, release: async () => {} }
  }
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

function isDevice(value: unknown): value is Device {
  const device = value as Device | undefined
  return typeof device?.run === 'function' && typeof device.allocate === 'function' && typeof device.info === 'object'
}

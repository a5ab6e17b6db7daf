import type { Device } from './contract.ts'

/** Tells an open device from options and other values. */
export function isDevice(value: unknown): value is Device {
  const device = value as Device | undefined
  return typeof device?.run === 'function' && typeof device.allocate === 'function' && typeof device.info === 'object'
}

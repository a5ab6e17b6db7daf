/**
 * The devices every method is tested on: few, because kernels have their own tests on all variants, and
 * `filled-memory.test.ts` compares every method in place with threads.
 */
import type { DeviceOptions } from '../../src/device/open.ts'

export const CLUSTERING_DEVICES: readonly { name: string; options: DeviceOptions }[] = [
  { name: 'cpu', options: { kind: 'cpu', threads: 2 } },
  { name: 'webgpu', options: { kind: 'webgpu' } },
]

/** With a device that runs everything in place, as on pages that are not isolated. */
export const CLUSTERING_DEVICES_IN_PAGES: typeof CLUSTERING_DEVICES = [
  ...CLUSTERING_DEVICES,
  { name: 'cpu in place', options: { kind: 'cpu', shared: false } },
]

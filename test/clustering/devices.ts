/** The devices every method is tested on: few, because kernels have their own tests on all variants. */
import type { DeviceOptions } from '../../src/device/open.ts'

export const CLUSTERING_DEVICES: readonly { name: string; options: DeviceOptions }[] = [
  { name: 'cpu', options: { kind: 'cpu', threads: 2 } },
  { name: 'cpu in place', options: { kind: 'cpu', shared: false } },
  { name: 'webgpu', options: { kind: 'webgpu' } },
]

/** CPU devices whose new memory is not zero: what reads memory that nobody wrote gives another result on each. */

import { openCpuDevice } from '../../../src/device/cpu/device.ts'
import type { Device } from '../../../src/index.ts'
import { checked } from '../../../wasm/build/checked.js'

/** The first also stops a kernel that touches anything but what its job states. */
export async function openPoisoned(limits = {}): Promise<Device[]> {
  return [
    await openCpuDevice({ threads: 1, limits, checks: { fill: 0xff, module: checked } }),
    await openCpuDevice({ threads: 1, limits, checks: { fill: 0x4b } }),
  ]
}

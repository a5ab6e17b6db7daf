/** Opening a device: what there is, which one is taken, and why. */
import { platform } from '#platform'
import { badOption, CentroidalError } from '../core/errors.ts'
import type { Device, DeviceInfo, DeviceLimits } from './contract.ts'
import { openCpuDevice } from './cpu/device.ts'
import { openWebGpuDevice } from './webgpu/device.ts'

export interface DeviceOptions {
  /**
   * `auto` takes a hardware GPU if there is one, else the CPU device (a software adapter is many
   * times slower than WebAssembly); `webgpu` takes any adapter, software too; `cpu` the CPU device.
   */
  readonly kind?: 'auto' | 'webgpu' | 'cpu'
  /** Threads of the CPU device. Default: as many as the machine runs at once. */
  readonly threads?: number
  /** Bytes of vectors kept on the device before they are streamed through it. */
  readonly memoryBytes?: number
  /** For trying out how work is cut: limits below the adapter's own. */
  readonly limits?: Partial<DeviceLimits>
  /** For comparing kernels: tiles in workgroup memory (as on hardware) or none (as on software adapters). */
  readonly tiled?: boolean
  /** For trying out the CPU device as a page without cross-origin isolation has it. */
  readonly shared?: boolean
}

const KINDS = ['auto', 'webgpu', 'cpu']

export async function openDevice(options: DeviceOptions = {}): Promise<Device> {
  const kind = options.kind ?? 'auto'
  if (!KINDS.includes(kind)) throw badOption('device', kind, `give one of ${KINDS.join(', ')}.`)
  if (kind === 'cpu') return openCpuDevice(options)
  const { entry, whyNot } = await platform.findGpu({ software: kind === 'webgpu' })
  if (entry) {
    const reason = kind === 'auto' ? 'auto takes a hardware GPU where there is one' : 'asked for'
    return openWebGpuDevice(entry, { ...options, reason })
  }
  if (kind === 'webgpu') {
    throw new CentroidalError('no-device', `No WebGPU adapter: ${whyNot}. Install a GPU driver, or use --device cpu.`)
  }
  return openCpuDevice({ ...options, reason: `auto takes the CPU device because ${whyNot}` })
}

/** What is there, for a person who wonders. */
export interface DeviceListing {
  readonly kind: 'webgpu' | 'cpu'
  /** Undefined where the device is not there. */
  readonly info: DeviceInfo | undefined
  readonly whyNot: string | undefined
  /** True for the one `auto` takes. */
  readonly taken: boolean
}

/** Opens and closes every kind of device to say what it is, and which one `auto` takes and why. */
export async function listDevices(): Promise<{ devices: DeviceListing[]; reason: string }> {
  const auto = await openDevice()
  const taken = auto.info
  await auto.close()
  const devices: DeviceListing[] = []
  for (const kind of ['webgpu', 'cpu'] as const) {
    try {
      const device = await openDevice({ kind })
      devices.push({ kind, info: device.info, whyNot: undefined, taken: taken.kind === kind })
      await device.close()
    } catch (error) {
      if (!(error instanceof CentroidalError)) throw error
      devices.push({ kind, info: undefined, whyNot: error.message, taken: false })
    }
  }
  return { devices, reason: taken.reason }
}

/** WebGPU devices on real adapters that do less than they are asked to: they refuse shaders, or execute nothing. */
import { platform } from '#platform'
import { executeNothing, replaceMethod } from '../../bench/gpu/idle.ts'
import type { Device } from '../../src/device/contract.ts'
import { openWebGpuDevice, type WebGpuDeviceOptions } from '../../src/device/webgpu/device.ts'

/** Opens a device on an adapter whose GPUDevice was changed. */
async function openChanged(change: (gpu: GPUDevice) => void, options: WebGpuDeviceOptions): Promise<Device> {
  const { entry, whyNot } = await platform.findGpu({ software: true })
  if (!entry) throw new Error(`No WebGPU adapter: ${whyNot}`)
  const { adapter } = entry
  const changed = {
    info: adapter.info,
    limits: adapter.limits,
    features: adapter.features,
    async requestDevice(descriptor?: GPUDeviceDescriptor) {
      const gpu = await adapter.requestDevice(descriptor)
      change(gpu)
      return gpu
    },
  }
  return openWebGpuDevice({ ...entry, adapter: changed as unknown as GPUAdapter }, options)
}

/** The driver rejects shaders by name. */
export function openRefusing(refused: (shader: string) => boolean, options: WebGpuDeviceOptions): Promise<Device> {
  return openChanged((gpu) => {
    replaceMethod(
      gpu,
      'createShaderModule',
      (create) => (descriptor) =>
        create(refused(descriptor.label ?? '') ? { ...descriptor, code: REFUSED } : descriptor),
    )
  }, options)
}

const REFUSED = 'this driver knows better'
/**
 * Everything happens as on a GPU, except that dispatches do nothing: memory stays as the host wrote it. Shaders are refused
 * by name.
 */
export function openIdle(
  options: WebGpuDeviceOptions,
  refused: (shader: string) => boolean = () => false,
): Promise<Device> {
  return openChanged((gpu) => executeNothing(gpu, (shader) => (refused(shader) ? REFUSED : undefined)), options)
}

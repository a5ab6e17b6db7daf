/** WebGPU devices on real adapters that do less than they are asked to: they refuse shaders, or execute nothing. */
import { platform } from '#platform'
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

/** Replaces a method of one object. */
function replace<T extends object, K extends keyof T>(object: T, name: K, make: (original: T[K]) => T[K]): void {
  const original = (object[name] as (...args: unknown[]) => unknown).bind(object) as T[K]
  Object.defineProperty(object, name, { value: make(original), configurable: true })
}

/** The driver rejects shaders by name. */
export function openRefusing(refused: (shader: string) => boolean, options: WebGpuDeviceOptions): Promise<Device> {
  return openChanged((gpu) => {
    replace(
      gpu,
      'createShaderModule',
      (create) => (descriptor) =>
        create(refused(descriptor.label ?? '') ? { ...descriptor, code: REFUSED } : descriptor),
    )
  }, options)
}

const REFUSED = 'this driver knows better'
const NOTHING = '@compute @workgroup_size(1) fn main() {}'

/**
 * Everything happens as on a GPU, except that dispatches do nothing: memory stays as the host wrote it. Shaders are refused
 * by name.
 */
export function openIdle(
  options: WebGpuDeviceOptions,
  refused: (shader: string) => boolean = () => false,
): Promise<Device> {
  return openChanged((gpu) => {
    // Shaders that never run need not be compiled.
    replace(gpu, 'createShaderModule', (create) => (descriptor) => {
      return create({ ...descriptor, code: refused(descriptor.label ?? '') ? REFUSED : NOTHING })
    })
    replace(
      gpu,
      'createComputePipelineAsync',
      (create) =>
        ({ layout, compute: { module } }) =>
          create({ layout, compute: { module } }),
    )
    replace(gpu, 'createCommandEncoder', (create) => (descriptor) => {
      const encoder = create(descriptor)
      replace(encoder, 'beginComputePass', (begin) => (passDescriptor) => {
        const pass = begin(passDescriptor)
        replace(pass, 'dispatchWorkgroups', () => () => undefined)
        return pass
      })
      return encoder
    })
  }, options)
}

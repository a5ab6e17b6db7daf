/** What is asked of an adapter, and what is said of it. */
import { platform } from '#platform'
import type { GpuEntry } from '../../platform/contract.ts'
import { DEFAULT_PART_BYTES, type DeviceInfo, type DeviceLimits, type ShaderFeatures } from '../contract.ts'
import type { KernelForms } from '../forms.ts'
import { spareMemory } from '../spare-memory.ts'
import { assumedSpeed } from '../speed.ts'

export interface WebGpuDeviceOptions {
  /** Takes the kernels with workgroup memory (hardware) or without barriers (software). Default: by adapter. */
  readonly tiled?: boolean
  /** Forms of kernels, by name. Default: as `tiled` suggests. */
  readonly forms?: KernelForms
  /** Smaller limits than the adapter's, to try out how work is cut. */
  readonly limits?: Partial<DeviceLimits>
  /** Bytes of vectors to keep before streaming them. */
  readonly memoryBytes?: number
  /** All memory of the process. */
  readonly totalBytes?: number
  readonly temporaryFolder?: string
  readonly reason?: string
  /** How long one submit should take, in milliseconds. */
  readonly submitMs?: number | undefined
  /** For tests only: new memory holds this byte instead of zero. */
  readonly fill?: number
  /** For tests only: work fails where one of its shaders cannot be compiled, also where another form could serve. */
  readonly strict?: boolean
}

/** WebGPU does not say how much memory a GPU has; this is what a modest one can spare. */
const DEFAULT_MEMORY = 2 * 2 ** 30

export interface RequestedGpu {
  readonly gpu: GPUDevice
  readonly info: DeviceInfo
  readonly features: ShaderFeatures
}

/** The adapter's device, with as much of its limits as kernels can use. */
export async function requestGpu(entry: GpuEntry, options: WebGpuDeviceOptions): Promise<RequestedGpu> {
  const { adapter } = entry
  const subgroups = adapter.features.has('subgroups')
  const optional = (['subgroups', 'timestamp-query'] as const).filter((feature) => adapter.features.has(feature))
  const gpu = await adapter.requestDevice({
    label: 'centroidal',
    requiredFeatures: optional,
    requiredLimits: {
      maxBufferSize: adapter.limits.maxBufferSize,
      maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
      maxComputeWorkgroupStorageSize: adapter.limits.maxComputeWorkgroupStorageSize,
      maxStorageBuffersPerShaderStage: adapter.limits.maxStorageBuffersPerShaderStage,
    },
  })
  // The memory of a software adapter is that of the process.
  const software = adapter.info.isFallbackAdapter
  const limits: DeviceLimits = {
    bufferBytes: gpu.limits.maxBufferSize,
    // Bindings are addressed in 32-bit words by 32-bit indices, and must be a multiple of 4.
    bindingBytes: Math.floor(gpu.limits.maxStorageBufferBindingSize / 256) * 256,
    memoryBytes: options.memoryBytes ?? (software ? spareMemory(DEFAULT_MEMORY) : DEFAULT_MEMORY),
    partBytes: DEFAULT_PART_BYTES,
    ...(options.totalBytes === undefined ? {} : { totalBytes: options.totalBytes }),
    workgroups: gpu.limits.maxComputeWorkgroupsPerDimension,
    bindingAlignment: gpu.limits.minStorageBufferOffsetAlignment,
    ...options.limits,
  }
  const info: DeviceInfo = {
    kind: 'webgpu',
    name: adapterName(entry),
    reason: options.reason ?? 'asked for',
    software,
    features: [...(subgroups ? ['subgroups'] : []), ...(software ? ['software'] : [])],
    limits,
    ...(options.temporaryFolder === undefined ? {} : { temporaryFolder: options.temporaryFolder }),
    speed: assumedSpeed(software ? 'software' : 'hardware', platform.hardwareThreads()),
  }
  return { gpu, info, features: { subgroups, f16: false } }
}

/** What a device on this adapter is called. */
export function adapterName({ adapter, origin }: GpuEntry): string {
  return `${describe(adapter.info)} (${origin})`
}

function describe(info: GPUAdapterInfo): string {
  return (
    [info.vendor, info.architecture, info.description || info.device].filter(Boolean).join(' ') || 'unnamed adapter'
  )
}

/**
 * The WebGPU device: Dawn in Node, navigator.gpu in a page.
 *
 * Passes are gathered into submits short enough that progress shows, a signal can stop the work and
 * no watchdog kills it; how many operations that is, the device learns from the time its submits take.
 */
import { CentroidalError } from '../../core/errors.ts'
import type { GpuEntry } from '../../platform/contract.ts'
import {
  type BufferPart,
  type ComputePass,
  checkPart,
  DEFAULT_PART_BYTES,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type DeviceLimits,
  type GpuTarget,
  partOf,
  type RunControl,
  type ShaderFeatures,
  type Work,
} from '../contract.ts'
import type { KernelForms } from '../forms.ts'
import { spareMemory } from '../spare-memory.ts'
import { SubmitPacer } from './pacer.ts'
import { PipelineCache } from './pipelines.ts'
import { UniformRing } from './uniforms.ts'

export interface WebGpuDeviceOptions {
  /** Takes the kernels with workgroup memory (hardware) or without barriers (software). Default: by adapter. */
  readonly tiled?: boolean
  /** Forms of kernels, by name. Default: as `tiled` suggests. */
  readonly forms?: KernelForms
  /** Smaller limits than the adapter's, to try out how work is cut. */
  readonly limits?: Partial<DeviceLimits>
  /** Bytes of vectors to keep before streaming them. */
  readonly memoryBytes?: number
  readonly reason?: string
  /** For tests only: new memory holds this byte instead of zero. */
  readonly fill?: number
}

/** WebGPU does not say how much memory a GPU has; this is what a modest one can spare. */
const DEFAULT_MEMORY = 2 * 2 ** 30

export async function openWebGpuDevice(entry: GpuEntry, options: WebGpuDeviceOptions = {}): Promise<Device> {
  const { adapter, origin } = entry
  const subgroups = adapter.features.has('subgroups')
  const gpu = await adapter.requestDevice({
    label: 'centroidal',
    requiredFeatures: subgroups ? ['subgroups'] : [],
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
    workgroups: gpu.limits.maxComputeWorkgroupsPerDimension,
    bindingAlignment: gpu.limits.minStorageBufferOffsetAlignment,
    ...options.limits,
  }
  const info: DeviceInfo = {
    kind: 'webgpu',
    name: `${describe(adapter.info)} (${origin})`,
    reason: options.reason ?? 'asked for',
    software,
    features: [...(subgroups ? ['subgroups'] : []), ...(software ? ['software'] : [])],
    limits,
  }
  return new WebGpuDevice(gpu, info, { subgroups, f16: false }, { ...options, tiled: options.tiled ?? !software })
}

function describe(info: GPUAdapterInfo): string {
  return (
    [info.vendor, info.architecture, info.description || info.device].filter(Boolean).join(' ') || 'unnamed adapter'
  )
}

interface GpuMemory extends DeviceBuffer {
  readonly gpu: GPUBuffer
  readonly owner: WebGpuDevice
}

class WebGpuDevice implements Device, GpuTarget {
  readonly info: DeviceInfo
  readonly features: ShaderFeatures
  readonly tiled: boolean
  readonly forms: KernelForms
  readonly #gpu: GPUDevice
  readonly #pipelines: PipelineCache
  readonly #uniforms: UniformRing
  readonly #pacer: SubmitPacer
  readonly #buffers = new Set<GPUBuffer>()
  #allocated = 0
  /** Work is submitted in the order given, also where the first still compiles when the second is ready. */
  #turn: Promise<void> = Promise.resolve()
  #failure: CentroidalError | undefined
  readonly #fill: number | undefined
  #closed = false
  readonly #onError = (event: GPUUncapturedErrorEvent): void => {
    event.preventDefault()
    this.#failure ??= explain(event.error)
  }

  constructor(gpu: GPUDevice, info: DeviceInfo, features: ShaderFeatures, options: WebGpuDeviceOptions) {
    this.#gpu = gpu
    this.#fill = options.fill
    this.info = info
    this.features = features
    this.tiled = options.tiled ?? true
    this.forms = options.forms ?? {}
    this.#pipelines = new PipelineCache(gpu, features)
    this.#uniforms = new UniformRing(gpu)
    this.#pacer = new SubmitPacer(gpu.queue)
    gpu.addEventListener('uncapturederror', this.#onError)
    gpu.lost.then((lost) => {
      if (!this.#closed) this.#failure ??= lostError(lost)
    })
  }

  get limits(): DeviceLimits {
    return this.info.limits
  }

  get operationsPerPass(): number {
    return this.#pacer.operations
  }

  get allocatedBytes(): number {
    return this.#allocated
  }

  get heldBytes(): number {
    return this.#allocated
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    this.requireOpen()
    // Writes and copies come in multiples of 4 bytes, and a binding is never empty.
    const size = Math.max(16, Math.ceil(bytes / 4) * 4)
    if (size > this.limits.bufferBytes) {
      throw new CentroidalError(
        'out-of-memory',
        `${label} needs ${megabytes(size)} MB and this adapter's largest buffer is ${megabytes(this.limits.bufferBytes)} MB: ` +
          'use fewer clusters or dimensions, bytes instead of floats, or the CPU device.',
      )
    }
    this.#gpu.pushErrorScope('out-of-memory')
    const buffer = this.#gpu.createBuffer({
      label,
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      mappedAtCreation: this.#fill !== undefined,
    })
    if (this.#fill !== undefined) {
      new Uint8Array(buffer.getMappedRange()).fill(this.#fill)
      buffer.unmap()
    }
    this.#gpu.popErrorScope().then((error) => {
      if (error) this.#failure ??= memoryError(label, size, this.#allocated)
    }, ignore)
    this.#buffers.add(buffer)
    this.#allocated += size
    const buffers = this.#buffers
    const memory: GpuMemory = {
      label,
      bytes: size,
      gpu: buffer,
      owner: this,
      get freed() {
        return !buffers.has(buffer)
      },
      free: () => {
        if (!this.#buffers.delete(buffer)) return
        this.#allocated -= size
        buffer.destroy()
      },
    }
    return memory
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    this.requireOpen()
    let bytes = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength)
    if (bytes.length % 4 !== 0) {
      const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4)
      padded.set(bytes)
      bytes = padded
    }
    const part = this.#native('write', { buffer, offset, bytes: bytes.length })
    this.#gpu.queue.writeBuffer(part.buffer, part.offset, bytes)
  }

  async read(target: DeviceBuffer | BufferPart): Promise<ArrayBuffer> {
    await this.#turn
    this.requireOpen()
    const part = partOf(target)
    const bytes = Math.ceil(part.bytes / 4) * 4
    const source = this.#native('read', { ...part, bytes })
    const staging = this.#gpu.createBuffer({
      label: `read ${part.buffer.label}`,
      size: Math.max(4, bytes),
      usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
    })
    try {
      const encoder = this.#gpu.createCommandEncoder()
      encoder.copyBufferToBuffer(source.buffer, source.offset, staging, 0, bytes)
      this.#gpu.queue.submit([encoder.finish()])
      await staging.mapAsync(GPUMapMode.READ)
      const copy = staging.getMappedRange().slice(0, part.bytes)
      staging.unmap()
      this.requireOpen()
      return copy
    } catch (error) {
      // A lost device rejects the mapping first and says why only a moment later.
      await Promise.race([this.#gpu.lost, new Promise((resolve) => setTimeout(resolve, 100))])
      this.requireOpen()
      throw error
    } finally {
      staging.destroy()
    }
  }

  clear(target: DeviceBuffer | BufferPart): void {
    this.requireOpen()
    const part = this.#native('clear', partOf(target))
    const encoder = this.#gpu.createCommandEncoder()
    encoder.clearBuffer(part.buffer, part.offset, part.size)
    this.#gpu.queue.submit([encoder.finish()])
  }

  copy(from: DeviceBuffer | BufferPart, to: DeviceBuffer | BufferPart): void {
    this.requireOpen()
    const source = this.#native('copy', partOf(from))
    const target = this.#native('copy', partOf(to))
    const encoder = this.#gpu.createCommandEncoder()
    encoder.copyBufferToBuffer(source.buffer, source.offset, target.buffer, target.offset, source.size)
    this.#gpu.queue.submit([encoder.finish()])
  }

  run(work: Work, control: RunControl = {}): Promise<void> {
    const done = this.#turn.then(() => this.#runNow(work, control))
    this.#turn = done.catch(ignore)
    return done
  }

  async #runNow(work: Work, control: RunControl): Promise<void> {
    this.requireOpen()
    let group: ComputePass[] = []
    let operations = 0
    const flush = async (): Promise<void> => {
      if (group.length === 0) return
      this.#submit(work.name, group)
      await this.#pacer.submitted(operations)
      this.requireOpen()
      control.signal?.throwIfAborted()
      if (group[group.length - 1].share !== undefined) control.onProgress?.(group[group.length - 1].share as number)
      group = []
      operations = 0
    }
    for (const pass of work.webgpu(this)) {
      await this.#pipelines.prepare(pass)
      group.push(pass)
      operations += pass.operations ?? 0
      if (operations >= this.#pacer.operations || this.#uniforms.isFull(group.length)) await flush()
    }
    await flush()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const buffer of this.#buffers) buffer.destroy()
    this.#buffers.clear()
    this.#allocated = 0
    // Dawn would keep the listener, and with it this device, its pipelines and a thread, for as long as the process lives.
    this.#gpu.removeEventListener('uncapturederror', this.#onError)
    this.#gpu.destroy()
  }

  #submit(name: string, passes: readonly ComputePass[]): void {
    const offsets = this.#uniforms.write(passes.map((pass) => pass.params))
    const encoder = this.#gpu.createCommandEncoder({ label: name })
    const recorder = encoder.beginComputePass({ label: name })
    passes.forEach((pass, index) => {
      const pipeline = this.#pipelines.get(pass)
      const entries: GPUBindGroupEntry[] = pass.bindings.map((target, binding) => ({
        binding,
        resource: this.#native(name, partOf(target)),
      }))
      entries.push({
        binding: pass.bindings.length,
        resource: this.#uniforms.binding(offsets[index], pass.params.length),
      })
      recorder.setPipeline(pipeline)
      recorder.setBindGroup(0, this.#gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }))
      recorder.dispatchWorkgroups(...(pass.groups as [number, number?, number?]))
    })
    recorder.end()
    this.#gpu.queue.submit([encoder.finish()])
  }

  /** A part as WebGPU knows it; `user` is named if it does not lie in its buffer. */
  #native(user: string, part: BufferPart): { buffer: GPUBuffer; offset: number; size: number } {
    checkPart(user, part)
    const { gpu, owner } = part.buffer as GpuMemory
    if (owner !== this) throw new RangeError(`${user}: ${part.buffer.label} belongs to another device`)
    return { buffer: gpu, offset: part.offset, size: part.bytes }
  }

  requireOpen(): void {
    if (this.#closed)
      throw new CentroidalError('device-lost', 'The device is closed: open another one with openDevice().')
    if (this.#failure) throw this.#failure
  }
}

function explain(error: GPUError): CentroidalError {
  const first = error.message.split('\n')[0]
  return new CentroidalError(
    'device-lost',
    `The GPU refused work: ${first} Try the CPU device, and please report this.`,
  )
}

function lostError(lost: GPUDeviceLostInfo): CentroidalError {
  const why = lost.message.split('\n')[0] || lost.reason
  return new CentroidalError(
    'device-lost',
    `The GPU device was lost while it worked (${why}): run again, resume from the last checkpoint, or use the CPU device.`,
  )
}

function memoryError(label: string, size: number, allocated: number): CentroidalError {
  return new CentroidalError(
    'out-of-memory',
    `The GPU has no room for ${label} (${megabytes(size)} MB, ${megabytes(allocated)} MB in use): set a smaller memoryBytes so that vectors are streamed, a smaller limits.partBytes, or use the CPU device.`,
  )
}

function megabytes(bytes: number): number {
  return Math.ceil(bytes / 1e6)
}

function ignore(): void {}

/**
 * The WebGPU device: Dawn in Node, navigator.gpu in a page.
 *
 * Commands wait to be submitted together until something is read, until the event loop turns, or until they are enough
 * for one submit. That is short enough for progress to show, for a signal to stop the work and for no watchdog to kill it;
 * how many operations that is, the device learns from the time its submits take.
 */
import type { CentroidalError } from '../../core/errors.ts'
import type { GpuEntry } from '../../platform/contract.ts'
import {
  type BufferPart,
  type ComputePass,
  checkPart,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type DeviceLimits,
  type GpuTarget,
  type Launches,
  partOf,
  type RunControl,
  type Shader,
  type ShaderFeatures,
  type Work,
} from '../contract.ts'
import { type KernelForms, softwareTiles, type TiledKernel } from '../forms.ts'
import type { DeviceSpeed } from '../speed.ts'
import { type RequestedGpu, requestGpu, type WebGpuDeviceOptions } from './adapter.ts'
import { BindGroupCache } from './bind-groups.ts'
import { closedError, lostError, memoryError, refusedError, tooLargeError } from './errors.ts'
import { SubmitPacer } from './pacer.ts'
import { timePasses } from './pass-timer.ts'
import { PipelineCache } from './pipelines.ts'
import { CommandRecorder, type NativePart } from './recorder.ts'
import { type ReadBatch, StagingPool } from './staging.ts'
import { UniformRing } from './uniforms.ts'
import { compile, type UsableTarget, usableTarget } from './usable-target.ts'

export type { WebGpuDeviceOptions } from './adapter.ts'

export async function openWebGpuDevice(entry: GpuEntry, options: WebGpuDeviceOptions = {}): Promise<Device> {
  return new WebGpuDevice(await requestGpu(entry, options), options)
}

interface GpuMemory extends DeviceBuffer {
  readonly gpu: GPUBuffer
  readonly owner: WebGpuDevice
}

class WebGpuDevice implements Device, GpuTarget {
  info: DeviceInfo
  readonly features: ShaderFeatures
  readonly tiled: boolean
  readonly softwareTiles: readonly TiledKernel[]
  readonly notes: string[] = []
  forms: KernelForms
  readonly #gpu: GPUDevice
  readonly #pipelines: PipelineCache
  readonly #uniforms: UniformRing
  readonly #groups: BindGroupCache
  readonly #recorder: CommandRecorder
  readonly #staging: StagingPool
  readonly #pacer: SubmitPacer
  readonly #launches = { submits: 0, dispatches: 0, readbacks: 0 }
  readonly #buffers = new Set<GPUBuffer>()
  #allocated = 0
  /** Work is recorded in the order given, also where the first still compiles when the second is ready. */
  #turn: Promise<void> = Promise.resolve()
  /** Resolves when the GPU is not too far behind. */
  #behind: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failure: CentroidalError | undefined
  readonly #checks: Pick<WebGpuDeviceOptions, 'fill' | 'strict'>
  #closed = false
  readonly #onError = (event: GPUUncapturedErrorEvent): void => {
    event.preventDefault()
    this.#failure ??= refusedError(event.error)
  }

  constructor({ gpu, info, features }: RequestedGpu, options: WebGpuDeviceOptions) {
    this.#gpu = gpu
    this.#checks = options
    this.info = info
    this.features = features
    this.tiled = options.tiled ?? !info.software
    this.softwareTiles = options.tiled === undefined && info.software ? softwareTiles(info.name) : []
    this.forms = options.forms ?? {}
    this.#pipelines = new PipelineCache(gpu, features)
    this.#uniforms = new UniformRing(gpu)
    this.#groups = new BindGroupCache(gpu, this.#uniforms)
    this.#recorder = new CommandRecorder(gpu, this.#uniforms)
    this.#staging = new StagingPool(gpu)
    this.#pacer = new SubmitPacer(gpu.queue, undefined, options.submitMs)
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

  get launches(): Launches {
    return { ...this.#launches }
  }

  get heldBytes(): number {
    return this.#allocated
  }

  usable(shader: Shader): boolean {
    return this.#checks.strict === true || this.#pipelines.failure(shader) === undefined
  }

  useForms(forms: KernelForms): void {
    this.forms = forms
  }

  useSpeed(speed: DeviceSpeed): void {
    this.info = { ...this.info, speed }
  }

  async gpuSeconds(work: () => Promise<void>): Promise<number | undefined> {
    await this.#turn
    return timePasses(this.#gpu, this.#recorder, () => this.#submit(), work)
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    this.requireOpen()
    // Writes and copies come in multiples of 4 bytes, and a binding is never empty.
    const size = Math.max(16, Math.ceil(bytes / 4) * 4)
    if (size > this.limits.bufferBytes) throw tooLargeError(label, size, this.limits.bufferBytes)
    this.#gpu.pushErrorScope('out-of-memory')
    const buffer = this.#gpu.createBuffer({
      label,
      size,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
      mappedAtCreation: this.#checks.fill !== undefined,
    })
    if (this.#checks.fill !== undefined) {
      new Uint8Array(buffer.getMappedRange()).fill(this.#checks.fill)
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
        this.#groups.forget(buffer)
        if (this.#recorder.destroy(buffer)) this.#submit()
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
    // The queue would write before commands that are not submitted yet.
    if (this.#recorder.uses(part.buffer)) this.#submit()
    this.#gpu.queue.writeBuffer(part.buffer, part.offset, bytes)
  }

  async read(target: DeviceBuffer | BufferPart): Promise<ArrayBuffer> {
    await this.#turn
    return this.stage(target)()
  }

  stage(target: DeviceBuffer | BufferPart): () => Promise<ArrayBuffer> {
    this.requireOpen()
    const part = partOf(target)
    const source = this.#native('read', { ...part, bytes: Math.ceil(part.bytes / 4) * 4 })
    const { batch, bytes } = this.#staging.stage(this.#recorder, source, part.bytes)
    this.#submitSoon()
    return async () => {
      // Reads asked for in the same breath join the batch.
      batch.done ??= Promise.resolve().then(() => this.#fetch(batch))
      await batch.done
      return bytes()
    }
  }

  async #fetch(batch: ReadBatch): Promise<void> {
    this.requireOpen()
    // The copies may have been submitted before, with other commands.
    this.#submit()
    this.#launches.readbacks += batch.chunks.length
    try {
      await this.#staging.fetch(batch)
    } catch (error) {
      // A lost device rejects the mapping first and says why only a moment later.
      await Promise.race([this.#gpu.lost, new Promise((resolve) => setTimeout(resolve, 100))])
      this.requireOpen()
      throw error
    }
    this.requireOpen()
  }

  clear(target: DeviceBuffer | BufferPart): void {
    this.requireOpen()
    this.#recorder.clear(this.#native('clear', partOf(target)))
    this.#submitSoon()
  }

  copy(from: DeviceBuffer | BufferPart, to: DeviceBuffer | BufferPart): void {
    this.requireOpen()
    this.#recorder.copy(this.#native('copy', partOf(from)), this.#native('copy', partOf(to)))
    this.#submitSoon()
  }

  run(work: Work, control: RunControl = {}): Promise<void> {
    const done = this.#turn.then(() => this.#runNow(work, control))
    this.#turn = done.catch(ignore)
    return done
  }

  async prepare(work: Work): Promise<void> {
    this.requireOpen()
    await this.#targetOf(work)
  }

  #targetOf(work: Work): Promise<UsableTarget> {
    return usableTarget(this, work, this.#pipelines, ({ name }, failure) => {
      if (this.#checks.strict) throw new Error(`${name}: ${failure.message}`, { cause: failure })
      const note = `${name} cannot be used on this GPU: ${failure.message.split('\n')[0]}`
      if (!this.notes.includes(note)) this.notes.push(note)
    })
  }

  async #runNow(work: Work, { signal, onProgress }: RunControl): Promise<void> {
    await this.#behind
    this.requireOpen()
    const { target, longest } = await this.#targetOf(work)
    this.requireOpen()
    // Work that fits one pass need not be cut, and asking for its passes again would take a noticeable share of its time.
    const total = longest.reduce((sum, pass) => sum + (pass.operations ?? 0), 0)
    const passes = total <= this.operationsPerPass ? longest : work.webgpu(target)
    let group: ComputePass[] = []
    let operations = 0
    const flush = async (submit: boolean): Promise<void> => {
      if (group.length === 0) return
      await this.#compiled(group)
      for (const pass of group) this.#record(work.name, pass)
      const { share } = group[group.length - 1]
      group = []
      operations = 0
      if (submit) {
        this.#submit()
        await this.#behind
      } else this.#submitSoon()
      this.requireOpen()
      signal?.throwIfAborted()
      if (share !== undefined) onProgress?.(share)
    }
    for (const pass of passes) {
      group.push(pass)
      operations += pass.operations ?? 0
      const enough = this.#recorder.operations + operations >= this.#pacer.operations
      if (enough || group.length >= this.#uniforms.room) await flush(true)
    }
    await flush(false)
  }

  /** Passes cut to the device may need pipelines that longer ones did not. */
  async #compiled(passes: readonly ComputePass[]): Promise<void> {
    await compile(passes, this.#pipelines)
    this.requireOpen()
    const failure = passes.map(({ shader }) => this.#pipelines.failure(shader)).find((found) => found !== undefined)
    if (failure) throw failure
  }

  #record(user: string, pass: ComputePass): void {
    const { compute, layout } = this.#pipelines.get(pass)
    const parts = pass.bindings.map((target) => this.#native(user, partOf(target)))
    this.#launches.dispatches++
    this.#recorder.dispatch({
      pipeline: compute,
      parts,
      group: this.#groups.get(layout, parts),
      params: layout.kinds.endsWith('u') ? pass.params : undefined,
      groups: pass.groups,
      operations: pass.operations ?? 0,
    })
  }

  /** Submits what waits. */
  #submit(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#recorder.isEmpty) return
    this.#launches.submits++
    this.#behind = this.#pacer.submitted(this.#recorder.submit())
  }

  /** Whoever goes on without reading leaves the GPU with something to do. */
  #submitSoon(): void {
    if (this.#recorder.isEmpty) return
    this.#timer ??= setTimeout(() => this.#submit(), 0)
  }
  [Symbol.asyncDispose] = (): Promise<void> => this.close()
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#recorder.discard()
    for (const buffer of this.#buffers) buffer.destroy()
    this.#buffers.clear()
    this.#allocated = 0
    this.#staging.destroy()
    this.#groups.clear()
    // Dawn would keep the listener, and with it this device, its pipelines and a thread, for as long as the process lives.
    this.#gpu.removeEventListener('uncapturederror', this.#onError)
    this.#gpu.destroy()
  }

  /** A part as WebGPU knows it; `user` is named if it does not lie in its buffer. */
  #native(user: string, part: BufferPart): NativePart {
    checkPart(user, part)
    const { gpu, owner } = part.buffer as GpuMemory
    if (owner !== this) throw new RangeError(`${user}: ${part.buffer.label} belongs to another device`)
    return { buffer: gpu, offset: part.offset, size: part.bytes }
  }

  requireOpen(): void {
    if (this.#closed) throw closedError()
    if (this.#failure) throw this.#failure
  }
}

function ignore(): void {}

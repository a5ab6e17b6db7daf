/**
 * Commands that wait to be submitted together: dispatches, copies and clears, in the order they come. Buffers freed
 * while commands that use them wait are destroyed after the submit.
 */
import type { PassTimer } from './pass-timer.ts'
import type { UniformRing } from './uniforms.ts'

/** A part of a buffer as WebGPU knows it. */
export interface NativePart {
  readonly buffer: GPUBuffer
  readonly offset: number
  readonly size: number
}

/** A compute pass ready to be recorded. */
export interface Dispatch {
  readonly pipeline: GPUComputePipeline
  readonly parts: readonly NativePart[]
  readonly group: GPUBindGroup
  /** Undefined where the shader has no parameters. */
  readonly params: readonly number[] | undefined
  readonly groups: readonly [number, number?, number?]
  readonly operations: number
}

/** So many bytes may wait to be destroyed before commands are submitted because of them. */
const MOST_DOOMED = 64 * 2 ** 20

export class CommandRecorder {
  readonly #device: GPUDevice
  readonly #uniforms: UniformRing
  /** Times the compute passes that begin from now on. */
  timer: PassTimer | undefined
  #encoder: GPUCommandEncoder | undefined
  #pass: GPUComputePassEncoder | undefined
  #operations = 0
  readonly #used = new Set<GPUBuffer>()
  #doomed: GPUBuffer[] = []
  #doomedBytes = 0

  constructor(device: GPUDevice, uniforms: UniformRing) {
    this.#device = device
    this.#uniforms = uniforms
  }

  /** Nothing waits. */
  get isEmpty(): boolean {
    return this.#encoder === undefined
  }

  /** Arithmetic operations of the dispatches that wait. */
  get operations(): number {
    return this.#operations
  }

  /** Whether a command that waits reads or writes the buffer. */
  uses(buffer: GPUBuffer): boolean {
    return this.#used.has(buffer)
  }

  /** There must be room for its parameters. */
  dispatch({ pipeline, parts, group, params, groups, operations }: Dispatch): void {
    const encoder = this.#open()
    this.#pass ??= encoder.beginComputePass(this.timer?.nextPass())
    for (const { buffer } of parts) this.#used.add(buffer)
    this.#operations += operations
    this.#pass.setPipeline(pipeline)
    this.#pass.setBindGroup(0, group, params ? [this.#uniforms.add(params)] : [])
    this.#pass.dispatchWorkgroups(...(groups as [number, number?, number?]))
  }

  copy(from: NativePart, to: NativePart): void {
    this.#used.add(from.buffer).add(to.buffer)
    this.#betweenPasses().copyBufferToBuffer(from.buffer, from.offset, to.buffer, to.offset, from.size)
  }

  clear({ buffer, offset, size }: NativePart): void {
    this.#used.add(buffer)
    this.#betweenPasses().clearBuffer(buffer, offset, size)
  }

  /** Destroys a buffer, now or when the commands that use it are submitted. True where submitting should not wait. */
  destroy(buffer: GPUBuffer): boolean {
    if (!this.#used.has(buffer)) {
      buffer.destroy()
      return false
    }
    this.#doomed.push(buffer)
    this.#doomedBytes += buffer.size
    return this.#doomedBytes > MOST_DOOMED
  }

  /** Hands everything that waits to the GPU. Returns its operations. */
  submit(): number {
    const operations = this.#operations
    if (this.#encoder) {
      this.#pass?.end()
      this.#uniforms.write()
      this.#device.queue.submit([this.#encoder.finish()])
    }
    this.discard()
    return operations
  }

  /** Forgets everything that waits. */
  discard(): void {
    this.#encoder = undefined
    this.#pass = undefined
    this.#operations = 0
    this.#used.clear()
    for (const buffer of this.#doomed) buffer.destroy()
    this.#doomed = []
    this.#doomedBytes = 0
  }

  #open(): GPUCommandEncoder {
    this.#encoder ??= this.#device.createCommandEncoder()
    return this.#encoder
  }

  #betweenPasses(): GPUCommandEncoder {
    this.#pass?.end()
    this.#pass = undefined
    return this.#open()
  }
}

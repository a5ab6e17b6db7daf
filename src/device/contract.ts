/**
 * The interface of both devices. A device owns memory and runs work; it is independent of clustering.
 *
 * - Buffers are allocated, written, read and freed. `run` takes work in the form each device knows:
 *   compute passes for WebGPU, jobs over a range of items for the CPU. Work runs in the order given;
 *   a read sees everything run before it.
 * - New memory is zero. The library still writes all that it reads: tests run it on devices that fill
 *   new memory with other bytes, where results must be the same.
 * - A device that loses a thread or its GPU, or on which a kernel fails, does nothing any more: whatever it
 *   is asked to do ends in a CentroidalError `device-lost`.
 * - `run` resolves when the work is accepted, which for the CPU device is when it is done. A GPU gets what was accepted
 *   together with what comes next, as far as that is not much and nothing has to be read in between.
 * - Results do not depend on the number of threads or the size of chunks.
 */
import type { OnProgress } from '../core/progress.ts'
import type { KernelForms, TiledKernel } from './forms.ts'
import type { DeviceSpeed } from './speed.ts'

/** A GPU (or a program that acts as one) through WebGPU, or all cores through WebAssembly. */
export type DeviceKind = 'webgpu' | 'cpu'

/** Properties of a device. */
export interface DeviceInfo {
  /** Which of the two kinds it is. */
  readonly kind: DeviceKind
  /** Name for display: adapter description, or "WebAssembly, 2 threads, relaxed SIMD". */
  readonly name: string
  /** Why this device was selected. */
  readonly reason: string
  /** True if the adapter is implemented in software. Always false on the CPU device. */
  readonly software: boolean
  /** Optional features that are available, such as subgroups. */
  readonly features: readonly string[]
  /** Limits of its work. */
  readonly limits: DeviceLimits
  /** Where temporary files go, if not where the system has them. */
  readonly temporaryFolder?: string | undefined
  /** How fast it is, by which `auto` chooses a method and between devices. Changes when the device is tuned. */
  readonly speed: DeviceSpeed
}

/** Limits of work on a device. */
export interface DeviceLimits {
  /** Largest single buffer, in bytes. */
  readonly bufferBytes: number
  /** Largest part of a buffer one kernel can see, in bytes. */
  readonly bindingBytes: number
  /** Vectors of more bytes than this are streamed through the device instead of kept on it. Results never depend on it. */
  readonly memoryBytes: number
  /**
   * About how much memory the process may use in all, where it is limited: see {@link DeviceOptions.totalBytes}. Domains and
   * parts are then small enough for it, so that results may depend on it below four times `partBytes`.
   */
  readonly totalBytes?: number | undefined
  /**
   * Vectors are processed in parts of at most this many bytes, and never more than `bindingBytes`, whether they are kept or
   * streamed. Streaming needs room for one part. Sums are taken part by part, so results depend on it in the last bits; so do
   * the trees of closures. Default 256 MiB.
   */
  readonly partBytes: number
  /** Workgroups along one dimension of a dispatch. */
  readonly workgroups: number
  /** Alignment of a binding's first byte inside its buffer. */
  readonly bindingAlignment: number
}

/** Small enough to stream on a modest device, large enough that most data is one part. */
export const DEFAULT_PART_BYTES = 256 * 2 ** 20

/** Memory of a device. Who makes a buffer frees it, best through a `BufferScope`. */
export interface DeviceBuffer {
  readonly label: string
  readonly bytes: number
  /** True after `free`. */
  readonly freed: boolean
  free(): void
}

/** A part of a buffer, as a kernel sees it. */
export interface BufferPart {
  readonly buffer: DeviceBuffer
  readonly offset: number
  readonly bytes: number
}

/** WGSL as data: made once per set of device features, never per shape. */
export interface Shader {
  readonly name: string
  /** Storage that is read (r) or written (w), in order, then the parameters (u). Default: read from the text. */
  readonly layout?: string
  code(features: ShaderFeatures): string
}

export interface ShaderFeatures {
  readonly subgroups: boolean
  readonly f16: boolean
}

/** One dispatch. Bindings come in order; the parameters form the uniform after them. */
export interface ComputePass {
  readonly shader: Shader
  readonly entry?: string
  readonly bindings: readonly (DeviceBuffer | BufferPart)[]
  /** 32-bit words: whole numbers, or f32(x) for reals. */
  readonly params: readonly number[]
  readonly groups: readonly [number, number?, number?]
  /** Values of `override` constants. */
  readonly constants?: Readonly<Record<string, number>>
  /** Rough number of arithmetic operations, to keep one submit short. */
  readonly operations?: number
  /** Share of the whole work that is done after this pass, where it is worth reporting. */
  readonly share?: number
}

/** A WebAssembly function over a range of items, cut among the threads: fn(start, end, scratch, ...args). */
export interface CpuJob {
  readonly entry: string
  readonly items: number
  /** Items a thread takes at a time. */
  readonly grain: number
  /** The block of arguments as it lies in memory. */
  readonly args: Uint8Array
  /** Private bytes for each thread. */
  readonly scratchBytes?: number
  /** What the function may touch of its scratch memory. Default: all of it. */
  readonly scratchAreas?: readonly ScratchArea[]
}

/** Most bytes that the arguments of a job take. */
export const ARGUMENT_BYTES = 256

/** A part of a thread's scratch memory that holds one thing. */
export interface ScratchArea {
  readonly name: string
  readonly offset: number
  readonly bytes: number
}

/** The same work for each device; only the one that runs it is asked. */
export interface Work {
  /** Named in errors and traces. */
  readonly name: string
  /** Can be called more than once for one run, see webgpu/usable-target.ts: it must not have side effects. */
  webgpu(gpu: GpuTarget): Iterable<ComputePass>
  cpu(memory: CpuMemory): Iterable<CpuJob>
}

export interface GpuTarget {
  readonly limits: DeviceLimits
  readonly features: ShaderFeatures
  /** Hardware GPUs are faster with tiles in workgroup memory; software adapters are many times faster without barriers. */
  readonly tiled: boolean
  /** Kernels that a software adapter runs in their form for hardware all the same, see forms.ts. */
  readonly softwareTiles: readonly TiledKernel[]
  /** Forms chosen by name, by a test or by tuning. */
  readonly forms: KernelForms
  /** Operations one pass should stay under, so that a submit is short. Changes as the device is learned. */
  readonly operationsPerPass: number
  /** False for a shader that could not be compiled here. */
  usable(shader: Shader): boolean
}

export interface CpuMemory {
  /** Bytes to leave free around each area of scratch memory, which tests watch. Default 0. */
  readonly scratchGap?: number
  /**
   * The address of a buffer for a job that touches its first `bytes` bytes and nothing else of it.
   * Throws if they do not lie in the buffer, or if it was freed.
   */
  address(part: DeviceBuffer | BufferPart, bytes: number): number
}

/** What a device was asked to do since it was opened, for tests and benchmarks. */
export interface Launches {
  /** Times that commands were handed to the GPU. */
  readonly submits: number
  /** Compute passes run. */
  readonly dispatches: number
  /** Times that the host waited for memory of the GPU. */
  readonly readbacks: number
}

/** Progress and cancellation of work. */
export interface RunControl {
  /** Stops between slices of work; the promise is then rejected with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /** Called from time to time with the fraction of the work that is done, 0 to 1. Optional. */
  readonly onProgress?: OnProgress | undefined
}

/**
 * An open device; {@link openDevice} opens one, and every option `device` accepts it. It stays open until it is closed, so
 * that several calls share compiled kernels.
 */
export interface Device {
  /** What it is. */
  readonly info: DeviceInfo
  /** @internal As in `GpuTarget`, for work whose steps on the host depend on it. */
  readonly tiled?: boolean
  /** @internal As in `GpuTarget`. */
  readonly softwareTiles?: readonly TiledKernel[]
  /** @internal Throws if the device was closed or lost. */
  requireOpen?(): void
  /** @internal As in `GpuTarget`. */
  usable?(shader: Shader): boolean
  /** @internal Forms of kernels to use from now on, for tuning. Only devices whose kernels have several forms have it. */
  useForms?(forms: KernelForms): void
  /** @internal The speed to tell from now on. */
  useSpeed?(speed: DeviceSpeed): void
  /** @internal Seconds that the GPU takes for the work, by its own clock. Undefined where it has none. */
  gpuSeconds?(work: () => Promise<void>): Promise<number | undefined>
  /** @internal Memory that the caller frees. It is zero at first. */
  allocate(bytes: number, label: string): DeviceBuffer
  /** Bytes allocated now. */
  readonly allocatedBytes: number
  /** @internal Bytes that stay with the device as long as it is open, whether or not they are allocated. */
  readonly heldBytes?: number
  /** @internal Counted where there is a GPU to launch work on. */
  readonly launches?: Launches
  /** @internal Puts bytes into a buffer. */
  write(buffer: DeviceBuffer, data: ArrayBufferView, offset?: number): void
  /** @internal Bytes as they are after everything run before. */
  read(part: DeviceBuffer | BufferPart): Promise<ArrayBuffer>
  /** @internal Like `read`, into memory of the caller. Absent where bytes only come to the host in memory of their own. */
  readInto?(part: DeviceBuffer | BufferPart, into: Uint8Array): Promise<void>
  /**
   * @internal Like `read`, for numbers that are not needed at once: keeps bytes as they are now, after work that was
   * awaited, and gives them when asked. What is kept comes to the host with the next read that is waited for.
   */
  stage(part: DeviceBuffer | BufferPart): () => Promise<ArrayBuffer>
  /** @internal Sets every byte to zero. */
  clear(part: DeviceBuffer | BufferPart): void
  /** @internal From one buffer to another. */
  copy(from: DeviceBuffer | BufferPart, to: DeviceBuffer | BufferPart): void
  /** @internal Runs work in the form this device knows. */
  run(work: Work, control?: RunControl): Promise<void>
  /**
   * @internal Runs short work on the calling thread before it returns, which saves handing it to others. False: it cannot be
   * done now, because other work is running, or never here.
   */
  runAtOnce?(work: Work): boolean
  /** @internal Compiles what the work needs, all at the same time, and runs nothing. Absent where nothing is compiled. */
  prepare?(work: Work): Promise<void>
  /** @internal Notes on performance, such as shaders that could not be compiled. */
  readonly notes?: readonly string[]
  /** Frees everything. The process can end by itself afterwards. */
  close(): Promise<void>
}

const floatWord = new Float32Array(1)
const intWord = new Uint32Array(floatWord.buffer)

/** A real number as the 32-bit word a parameter block holds. */
export function f32(value: number): number {
  floatWord[0] = value
  return intWord[0]
}

export function partOf(target: DeviceBuffer | BufferPart): BufferPart {
  return 'buffer' in target ? target : { buffer: target, offset: 0, bytes: target.bytes }
}

export function slice(target: DeviceBuffer | BufferPart, offset: number, bytes: number): BufferPart {
  const part = partOf(target)
  return { buffer: part.buffer, offset: part.offset + offset, bytes }
}

/** Throws unless the part lies in its buffer, has at least `bytes` bytes, and was not freed. `user` is named in the error. */
export function checkPart(user: string, { buffer, offset, bytes: held }: BufferPart, bytes = held): void {
  const end = offset + held
  if (buffer.freed) throw new RangeError(`${user}: ${buffer.label} was freed before its last use`)
  if (!(offset >= 0 && held >= 0 && end <= buffer.bytes)) {
    throw new RangeError(`${user}: bytes ${offset} to ${end} of ${buffer.label}, which has ${buffer.bytes} bytes`)
  }
  if (!(bytes >= 0 && bytes <= held)) {
    throw new RangeError(`${user}: needs ${bytes} bytes of ${buffer.label} and is given ${held}`)
  }
}

/**
 * Buffers that live and die together. An allocation that fails frees the scope: what was being made of these buffers
 * will not be, and its constructor did not get to hand the scope to someone who frees it.
 */
export class BufferScope {
  readonly #device: Device
  readonly #buffers: DeviceBuffer[] = []

  constructor(device: Device) {
    this.#device = device
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    try {
      const buffer = this.#device.allocate(bytes, label)
      this.#buffers.push(buffer)
      return buffer
    } catch (error) {
      this.free()
      throw error
    }
  }

  /** The buffer of that label, which is allocated once: for passes that are asked for more than once. */
  reuse(bytes: number, label: string): DeviceBuffer {
    return (
      this.#buffers.find((buffer) => buffer.label === label && buffer.bytes >= bytes) ?? this.allocate(bytes, label)
    )
  }

  /** Bytes of all buffers. */
  get bytes(): number {
    return this.#buffers.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** A buffer that holds the given numbers. */
  upload(data: ArrayBufferView, label: string): DeviceBuffer {
    const buffer = this.allocate(data.byteLength, label)
    this.#device.write(buffer, data)
    return buffer
  }

  /** Frees the buffers, last one first. */
  free(): void {
    while (this.#buffers.length > 0) this.#buffers.pop()?.free()
  }
}

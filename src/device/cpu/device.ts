/** The CPU device: the kernels in WebAssembly, on as many threads as the machine has. */

import { platform } from '#platform'
import { CentroidalError } from '../../core/errors.ts'
import {
  ARGUMENT_BYTES,
  type BufferPart,
  type CpuMemory,
  checkPart,
  DEFAULT_PART_BYTES,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type DeviceLimits,
  partOf,
  type RunControl,
  type Work,
} from '../contract.ts'
import { spareMemory } from '../spare-memory.ts'
import { assumedSpeed, type DeviceSpeed } from '../speed.ts'
import { AccessMap, MAP_BYTES, MAPPED_BYTES } from './access-map.ts'
import { compileKernels } from './compiled.ts'
import { type FillMemory, WasmHeap } from './heap.ts'
import { InPlaceRunner } from './in-place.ts'
import { ThreadPool } from './pool.ts'
import type { JobRunner } from './runner.ts'
import { kernelImports, MAX_JOBS } from './thread-script.ts'

export interface CpuDeviceOptions {
  /** Threads to use. Default: as many as the machine runs at once. */
  readonly threads?: number
  /** False keeps everything on the calling thread, as a page without cross-origin isolation must. */
  readonly shared?: boolean
  /** Bytes of vectors to keep before streaming them. */
  readonly memoryBytes?: number
  /** All memory of the process. */
  readonly totalBytes?: number
  readonly temporaryFolder?: string
  /** Smaller limits than the device's own, to try out how work is cut. */
  readonly limits?: Partial<DeviceLimits>
  /** False takes the build without relaxed SIMD. */
  readonly relaxed?: boolean
  readonly reason?: string
  /** True starts one thread, and the others when there is work for them. Default: all at once. */
  readonly grows?: boolean
  /** For tests only. */
  readonly checks?: CpuChecks
}

/** Ways to find kernels and host code that read or write where they must not. */
export interface CpuChecks {
  /** New memory holds this byte instead of zero, and so does scratch before every call of a kernel. */
  readonly fill?: number
  /** The checked build of the kernels (`wasm/build/checked.js`): touching what a job did not state is an error. */
  readonly module?: string
}

const PAGE = 65536
const SCRATCH_GAP = 64
/** What kernels are compiled to find at least (`scripts/build-wasm.mjs`). */
const FIRST_BYTES = 16 * PAGE
const GIGABYTE = 2 ** 30
/** WebAssembly's 32-bit memory ends here; the last page is left out so that no address wraps. */
const ADDRESS_SPACE = 4 * GIGABYTE - PAGE
/** Part of the address space that vectors may fill; the rest is for centres, labels and scratch. */
const VECTOR_SHARE = 0.75

export async function openCpuDevice(options: CpuDeviceOptions = {}): Promise<Device> {
  const threads = options.threads ?? platform.hardwareThreads()
  const shared = (options.shared ?? true) && platform.sharedMemory()
  const { checks = {} } = options
  const { module, relaxed } = await compileKernels(shared, options.relaxed ?? true, checks.module)
  const memory = checks.module ? createMemory(shared, FIRST_BYTES + MAP_BYTES, [MAPPED_BYTES]) : createMemory(shared)
  const instance = await WebAssembly.instantiate(module, kernelImports(memory.memory))
  const { heapBase, fillMemory } = instance.exports as unknown as { heapBase(): number; fillMemory: FillMemory }
  const base = heapBase()
  const blocks = Math.ceil((checks.module ? base + MAP_BYTES : base) / 64) * 64
  // One more block is for work on the calling thread.
  const firstFree = blocks + (MAX_JOBS + 1) * ARGUMENT_BYTES
  const heap = new WasmHeap(memory.memory, firstFree, memory.maximumBytes, { fill: checks.fill, fillMemory })
  const access = checks.module ? new AccessMap(heap, base) : undefined
  const runner = shared
    ? await ThreadPool.start(module, heap, threads, { blocks, fill: checks.fill, access, grows: options.grows })
    : new InPlaceRunner(instance.exports, heap, blocks, { fill: checks.fill, access })
  const here = new InPlaceRunner(instance.exports, heap, blocks + MAX_JOBS * ARGUMENT_BYTES, {
    fill: checks.fill,
    access,
  })
  const memoryBytes = options.memoryBytes ?? spareMemory(memory.maximumBytes * VECTOR_SHARE)
  const info: DeviceInfo = {
    kind: 'cpu',
    name: cpuName(runner.threads, relaxed),
    reason: options.reason ?? 'asked for',
    software: false,
    features: [relaxed ? 'relaxed-simd' : 'simd', ...(shared ? ['shared-memory'] : [])],
    limits: {
      bufferBytes: memory.maximumBytes,
      bindingBytes: memory.maximumBytes,
      memoryBytes,
      ...(options.totalBytes === undefined ? {} : { totalBytes: options.totalBytes }),
      partBytes: DEFAULT_PART_BYTES,
      workgroups: 2 ** 31 - 1,
      bindingAlignment: 4,
      ...options.limits,
    },
    ...(options.temporaryFolder === undefined ? {} : { temporaryFolder: options.temporaryFolder }),
    speed: assumedSpeed('cpu', runner.threads),
  }
  // Tests watch the bytes around every area of scratch memory.
  const scratchGap = access || checks.fill !== undefined ? SCRATCH_GAP : 0
  return new CpuDevice(info, heap, { runner, here }, { access, scratchGap })
}

/** What the device is called. */
export function cpuName(threads: number, relaxed: boolean): string {
  return `WebAssembly, ${threads} ${threads === 1 ? 'thread' : 'threads'}, ${relaxed ? 'relaxed SIMD' : 'SIMD'}`
}

/** As much address space as the engine gives; phones give less than 4 GiB. */
function createMemory(
  shared: boolean,
  firstBytes = FIRST_BYTES,
  maxima = [ADDRESS_SPACE, 2 * GIGABYTE, GIGABYTE],
): { memory: WebAssembly.Memory; maximumBytes: number } {
  for (const maximumBytes of maxima) {
    try {
      const memory = new WebAssembly.Memory({ initial: firstBytes / PAGE, maximum: maximumBytes / PAGE, shared })
      return { memory, maximumBytes }
    } catch {
      // Try a smaller maximum.
    }
  }
  throw new CentroidalError(
    'out-of-memory',
    'Less than 1 GiB of memory is available to WebAssembly: close other pages or programs.',
  )
}

function* chunks<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = []
  for (const item of items) {
    chunk.push(item)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}

class HeapBuffer implements DeviceBuffer {
  readonly heap: WasmHeap
  readonly label: string
  readonly bytes: number
  readonly address: number
  freed = false

  constructor(heap: WasmHeap, bytes: number, label: string) {
    this.heap = heap
    this.label = label
    this.bytes = bytes
    this.address = heap.allocate(bytes, label)
  }

  free(): void {
    // The address may have a new owner by the second call.
    if (!this.freed) this.heap.release(this.address)
    this.freed = true
  }
}

class CpuDevice implements Device {
  info: DeviceInfo
  readonly #heap: WasmHeap
  readonly #runner: JobRunner
  /** Runs short work on the calling thread. */
  readonly #here: InPlaceRunner
  /** Works that were asked for and are not done. */
  #waiting = 0
  /** Jobs run one after the other; a call that comes early waits its turn. */
  #turn: Promise<void> = Promise.resolve()
  readonly #access: AccessMap | undefined
  readonly #scratchGap: number
  #closed = false

  constructor(
    info: DeviceInfo,
    heap: WasmHeap,
    { runner, here }: { runner: JobRunner; here: InPlaceRunner },
    checks: { access: AccessMap | undefined; scratchGap: number },
  ) {
    this.info = info
    this.#heap = heap
    this.#runner = runner
    this.#here = here
    this.#access = checks.access
    this.#scratchGap = checks.scratchGap
  }

  useSpeed(speed: DeviceSpeed): void {
    this.info = { ...this.info, speed }
  }

  get allocatedBytes(): number {
    return this.#closed ? 0 : this.#heap.allocatedBytes
  }

  /** WebAssembly memory never shrinks. */
  get heldBytes(): number {
    return this.#heap.memory.buffer.byteLength
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    this.requireOpen()
    return new HeapBuffer(this.#heap, bytes, label)
  }

  #address(user: string, target: DeviceBuffer | BufferPart, bytes: number): number {
    const address = this.#locate(user, partOf(target), bytes)
    this.#access?.allow(address, bytes)
    return address
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    this.#view('write', { buffer, offset, bytes: bytes.length }).set(bytes)
  }

  async read(target: DeviceBuffer | BufferPart): Promise<ArrayBuffer> {
    await this.#turn
    return this.#view('read', partOf(target)).slice().buffer as ArrayBuffer
  }

  async readInto(target: DeviceBuffer | BufferPart, into: Uint8Array): Promise<void> {
    await this.#turn
    into.set(this.#view('read', partOf(target)))
  }

  stage(target: DeviceBuffer | BufferPart): () => Promise<ArrayBuffer> {
    const bytes = this.#view('read', partOf(target)).slice().buffer as ArrayBuffer
    return async () => bytes
  }

  clear(target: DeviceBuffer | BufferPart): void {
    const part = partOf(target)
    this.requireOpen()
    this.#heap.clear(this.#locate('clear', part, part.bytes), part.bytes)
  }

  copy(from: DeviceBuffer | BufferPart, to: DeviceBuffer | BufferPart): void {
    this.#view('copy', partOf(to)).set(this.#view('copy', partOf(from)))
  }

  run(work: Work, control: RunControl = {}): Promise<void> {
    this.requireOpen()
    this.#waiting++
    const done = this.#turn.then(() => this.#runNow(work, control)).finally(() => this.#waiting--)
    this.#turn = done.catch(() => {})
    return done
  }

  runAtOnce(work: Work): boolean {
    this.requireOpen()
    if (this.#waiting > 0) return false
    try {
      for (const job of work.cpu(this.#memoryFor(work))) {
        this.#here.runAtOnce(job)
        this.#access?.endJobs()
      }
    } finally {
      this.#access?.reset()
    }
    return true
  }

  #memoryFor({ name }: Work): CpuMemory {
    return { scratchGap: this.#scratchGap, address: (target, bytes) => this.#address(name, target, bytes) }
  }

  async #runNow(work: Work, control: RunControl): Promise<void> {
    this.#checkLost()
    const memory = this.#memoryFor(work)
    try {
      for (const queue of chunks(work.cpu(memory), this.#runner.queue)) {
        control.signal?.throwIfAborted()
        await this.#runner.run(queue, control)
        this.#access?.endJobs()
        control.signal?.throwIfAborted()
      }
    } finally {
      this.#access?.reset()
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#turn
    await this.#runner.close()
  }

  #view(user: string, part: BufferPart): Uint8Array {
    this.requireOpen()
    return new Uint8Array(this.#heap.memory.buffer, this.#locate(user, part, part.bytes), part.bytes)
  }

  #locate(user: string, part: BufferPart, bytes: number): number {
    checkPart(user, part, bytes)
    const { buffer } = part
    if (!(buffer instanceof HeapBuffer) || buffer.heap !== this.#heap) {
      throw new RangeError(`${user}: ${buffer.label} belongs to another device`)
    }
    return buffer.address + part.offset
  }

  requireOpen(): void {
    if (this.#closed)
      throw new CentroidalError('device-lost', 'The device is closed: open another one with openDevice().')
    this.#checkLost()
  }

  #checkLost(): void {
    const lost = this.#runner.lost ?? this.#here.lost
    if (lost) throw lost
  }
}

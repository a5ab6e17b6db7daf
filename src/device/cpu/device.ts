/** The CPU device: the kernels in WebAssembly, on as many threads as the machine has. */

import { platform } from '#platform'
import { relaxedShared, relaxedSingle, simdShared, simdSingle } from '../../../wasm/build/modules.js'
import { badOption, CentroidalError } from '../../core/errors.ts'
import {
  type BufferPart,
  type CpuMemory,
  DEFAULT_PART_BYTES,
  type Device,
  type DeviceBuffer,
  type DeviceInfo,
  type DeviceLimits,
  partOf,
  type RunControl,
  type Work,
} from '../contract.ts'
import { WasmHeap } from './heap.ts'
import { InPlaceRunner, type JobRunner, ThreadPool } from './pool.ts'

export interface CpuDeviceOptions {
  /** Threads to use. Default: as many as the machine runs at once. */
  readonly threads?: number
  /** False keeps everything on the calling thread, as a page without cross-origin isolation must. */
  readonly shared?: boolean
  /** Bytes of vectors to keep before streaming them. */
  readonly memoryBytes?: number
  /** Smaller limits than the device's own, to try out how work is cut. */
  readonly limits?: Partial<DeviceLimits>
  /** False takes the build without relaxed SIMD. */
  readonly relaxed?: boolean
  readonly reason?: string
}

const PAGE = 65536
const GIGABYTE = 2 ** 30
/** WebAssembly's 32-bit memory ends here; the last page is left out so that no address wraps. */
const ADDRESS_SPACE = 4 * GIGABYTE - PAGE
/** Part of the address space that vectors may fill; the rest is for centres, labels and scratch. */
const VECTOR_SHARE = 0.75

export async function openCpuDevice(options: CpuDeviceOptions = {}): Promise<Device> {
  const threads = options.threads ?? platform.hardwareThreads()
  if (!Number.isInteger(threads) || threads < 1 || threads > 256) {
    throw badOption('threads', threads, 'give a whole number from 1 to 256.')
  }
  const shared = (options.shared ?? true) && platform.sharedMemory()
  const { module, relaxed } = await compile(shared, options.relaxed ?? true)
  const memory = createMemory(shared)
  const instance = await WebAssembly.instantiate(module, { env: { memory: memory.memory, abort } })
  const firstFree = (instance.exports.heapBase as () => number)()
  const heap = new WasmHeap(memory.memory, firstFree, memory.maximumBytes)
  const runner = shared ? await ThreadPool.start(module, heap, threads) : new InPlaceRunner(instance.exports, heap)
  const memoryBytes = options.memoryBytes ?? memory.maximumBytes * VECTOR_SHARE
  const info: DeviceInfo = {
    kind: 'cpu',
    name: `WebAssembly, ${runner.threads} ${runner.threads === 1 ? 'thread' : 'threads'}, ${relaxed ? 'relaxed SIMD' : 'SIMD'}`,
    reason: options.reason ?? 'asked for',
    software: false,
    features: [relaxed ? 'relaxed-simd' : 'simd', ...(shared ? ['shared-memory'] : [])],
    limits: {
      bufferBytes: memory.maximumBytes,
      bindingBytes: memory.maximumBytes,
      memoryBytes,
      partBytes: DEFAULT_PART_BYTES,
      workgroups: 2 ** 31 - 1,
      bindingAlignment: 4,
      ...options.limits,
    },
  }
  return new CpuDevice(info, heap, runner)
}

async function compile(
  shared: boolean,
  wantRelaxed: boolean,
): Promise<{ module: WebAssembly.Module; relaxed: boolean }> {
  if (wantRelaxed) {
    await platform.enableRelaxedSimd()
    const bytes = decode(shared ? relaxedShared : relaxedSingle)
    if (WebAssembly.validate(bytes)) return { module: await WebAssembly.compile(bytes), relaxed: true }
  }
  const bytes = decode(shared ? simdShared : simdSingle)
  if (!WebAssembly.validate(bytes)) {
    throw new CentroidalError(
      'no-device',
      'This engine has no WebAssembly SIMD: use Node 20 or later, or a browser of 2023 or later.',
    )
  }
  return { module: await WebAssembly.compile(bytes), relaxed: false }
}

/** As much address space as the engine gives; phones give less than 4 GiB. */
function createMemory(shared: boolean): { memory: WebAssembly.Memory; maximumBytes: number } {
  for (const maximumBytes of [ADDRESS_SPACE, 2 * GIGABYTE, GIGABYTE]) {
    try {
      const memory = new WebAssembly.Memory({ initial: 16, maximum: maximumBytes / PAGE, shared })
      return { memory, maximumBytes }
    } catch {
      // Less, then.
    }
  }
  throw new CentroidalError(
    'out-of-memory',
    'The engine gives WebAssembly less than 1 GiB: close other pages or programs.',
  )
}

function decode(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}

function abort(): never {
  throw new Error('WebAssembly aborted')
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

interface HeapBuffer extends DeviceBuffer {
  readonly address: number
}

class CpuDevice implements Device, CpuMemory {
  readonly info: DeviceInfo
  readonly #heap: WasmHeap
  readonly #runner: JobRunner
  /** Jobs run one after the other; a call that comes early waits its turn. */
  #turn: Promise<void> = Promise.resolve()
  #closed = false

  constructor(info: DeviceInfo, heap: WasmHeap, runner: JobRunner) {
    this.info = info
    this.#heap = heap
    this.#runner = runner
  }

  get allocatedBytes(): number {
    return this.#closed ? 0 : this.#heap.allocatedBytes
  }

  allocate(bytes: number, label: string): DeviceBuffer {
    this.#checkOpen()
    const address = this.#heap.allocate(bytes, label)
    let held = true
    const free = (): void => {
      // The address may have a new owner by the second call.
      if (held) this.#heap.release(address)
      held = false
    }
    const buffer: HeapBuffer = { label, bytes, address, free }
    return buffer
  }

  address(target: DeviceBuffer | BufferPart): number {
    const part = partOf(target)
    return (part.buffer as HeapBuffer).address + part.offset
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    this.#view({ buffer, offset, bytes: bytes.length }).set(bytes)
  }

  async read(target: DeviceBuffer | BufferPart): Promise<ArrayBuffer> {
    await this.#turn
    return this.#view(partOf(target)).slice().buffer as ArrayBuffer
  }

  clear(target: DeviceBuffer | BufferPart): void {
    this.#view(partOf(target)).fill(0)
  }

  copy(from: DeviceBuffer | BufferPart, to: DeviceBuffer | BufferPart): void {
    this.#view(partOf(to)).set(this.#view(partOf(from)))
  }

  run(work: Work, control: RunControl = {}): Promise<void> {
    this.#checkOpen()
    const jobs = work.cpu(this)
    const done = this.#turn.then(async () => {
      for (const queue of chunks(jobs, this.#runner.queue)) {
        control.signal?.throwIfAborted()
        await this.#runner.run(queue, control)
        control.signal?.throwIfAborted()
      }
    })
    this.#turn = done.catch(() => {})
    return done
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#turn
    await this.#runner.close()
  }

  #view(part: BufferPart): Uint8Array {
    this.#checkOpen()
    if (part.offset < 0 || part.offset + part.bytes > part.buffer.bytes) {
      throw new RangeError(
        `${part.buffer.label}: bytes ${part.offset} to ${part.offset + part.bytes} of ${part.buffer.bytes}`,
      )
    }
    return new Uint8Array(this.#heap.memory.buffer, this.address(part), part.bytes)
  }

  #checkOpen(): void {
    if (this.#closed)
      throw new CentroidalError('device-lost', 'The device is closed: open another one with openDevice().')
  }
}

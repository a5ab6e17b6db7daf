/**
 * The devices every kernel is tested on, and the buffers of one test case. Runs in Node and in a
 * page, so nothing here may import from node:.
 */
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { platform } from '#platform'
import { CentroidalError } from '../../src/core/errors.ts'
import type { VectorData } from '../../src/core/matrix.ts'
import { elementType } from '../../src/core/matrix.ts'
import { BufferScope, type Device, type DeviceBuffer, type DeviceLimits } from '../../src/device/contract.ts'
import { openCpuDevice } from '../../src/device/cpu/device.ts'
import type { KernelForms } from '../../src/device/forms.ts'
import { openDevice } from '../../src/device/open.ts'
import { openWebGpuDevice, type WebGpuDeviceOptions } from '../../src/device/webgpu/device.ts'
import { allocateRows, type DeviceRows, paddedCols, writeRows } from '../../src/kernels/rows.ts'
import { checked } from '../../wasm/build/checked.js'

export interface TestDevice {
  readonly name: string
  /** Runs of a property: software adapters take their time with barriers. */
  readonly runs: number
  /** Kernels for hardware. Software adapters take seconds to compile each of them. */
  readonly hardware?: boolean
  open(): Promise<Device>
}

/**
 * Small enough that a few hundred rows must be cut and folded. Grids end at 7 x 7 workgroups of 64
 * threads, so a case may ask for at most 3,136 threads at once.
 */
export const SMALL_LIMITS: Partial<DeviceLimits> = { bindingBytes: 16384, workgroups: 7, bindingAlignment: 256 }

/** Opens a WebGPU device on which a shader that cannot be compiled is an error, whatever other forms its kernel has. */
export async function openStrictWebGpu(options: WebGpuDeviceOptions = {}): Promise<Device> {
  const { entry, whyNot } = await platform.findGpu({ software: true })
  if (!entry) throw new Error(`No WebGPU adapter: ${whyNot}`)
  return openWebGpuDevice(entry, { ...options, strict: true })
}

/** The same, whose new memory is not zero. */
export function openFilledWebGpu(fill: number, options: WebGpuDeviceOptions = {}): Promise<Device> {
  return openStrictWebGpu({ ...options, fill })
}

/**
 * Most of them fill new memory with bytes that are NaN or a huge number as floats, so that a kernel that
 * reads what nobody wrote shows. The checked one also stops a kernel that touches anything but what its
 * job states.
 */
export const ALL_DEVICES: readonly (TestDevice & { readonly inPages?: boolean })[] = [
  // More threads than most test machines have cores, so that slices are taken in a different order each time.
  { name: 'cpu with 3 threads', runs: 20, inPages: true, open: () => openDevice({ kind: 'cpu', threads: 3 }) },
  { name: 'cpu with 1 thread', runs: 12, open: () => openDevice({ kind: 'cpu', threads: 1 }) },
  {
    name: 'cpu with checked kernels and filled memory',
    runs: 8,
    open: () => openCpuDevice({ threads: 2, checks: { fill: 0xff, module: checked } }),
  },
  {
    name: 'cpu in place with filled memory',
    runs: 12,
    open: () => openCpuDevice({ shared: false, checks: { fill: 0xff } }),
  },
  {
    name: 'cpu without relaxed SIMD and with filled memory',
    runs: 12,
    open: () => openCpuDevice({ threads: 2, relaxed: false, checks: { fill: 0x7f } }),
  },
  {
    name: 'webgpu in blocks with filled memory',
    runs: 8,
    inPages: true,
    open: () => openFilledWebGpu(0xff, { tiled: false }),
  },
  { name: 'webgpu in tiles', runs: 6, hardware: true, open: () => openStrictWebGpu({ tiled: true }) },
  {
    name: 'webgpu with small limits and filled memory',
    runs: 7,
    open: () => openFilledWebGpu(0x7f, { tiled: false, limits: SMALL_LIMITS }),
  },
]

/** `npm run test:quick` runs kernels on one device. */
const isQuick = inject('quick')
/** `npm run test:forms` runs them on all devices in a page too. */
const everyForm = inject('everyForm')
const QUICK_DEVICE = 'cpu with 3 threads'

/**
 * A page has the same WebAssembly engine as Node and the same compiler of shaders. Kernels are tested there with threads and
 * with the WebGPU kernels that software adapters run; builds, checks, limits and kernels for hardware are the same everywhere
 * and are tested in Node. `test/browser/hardware-kernels.test.ts` compiles those for hardware in a page.
 */
export const DEVICES: readonly TestDevice[] = ALL_DEVICES.filter(
  ({ inPages, name }) =>
    (platform.name === 'node' || inPages === true || everyForm) && (!isQuick || name === QUICK_DEVICE),
)

/** For kernels that are tested with each of their forms for hardware by name. */
export const SOFTWARE_DEVICES: readonly TestDevice[] = DEVICES.filter(({ hardware }) => !hardware)

/** Kernels for hardware where grids fold early and new memory is not zero: for kernels with a hardware form of their own. */
export const TILES_WITH_SMALL_LIMITS: TestDevice = {
  name: 'webgpu in tiles with small limits and filled memory',
  runs: 6,
  hardware: true,
  // A workgroup for each leaf or group takes more of them.
  open: () => openFilledWebGpu(0xff, { tiled: true, limits: { ...SMALL_LIMITS, workgroups: 20 } }),
}

/**
 * As DEVICES, but in Node the tiles have small limits too. Tiles are slow on a software adapter, so each environment tests
 * them once.
 */
export const DEVICES_WITH_CUT_TILES: readonly TestDevice[] =
  platform.name === 'node' ? [...SOFTWARE_DEVICES, TILES_WITH_SMALL_LIMITS] : DEVICES

/** An open device that the tests of a block share. */
export interface OpenedDevice {
  readonly device: Device
  readonly runs: number
  readonly hardware: boolean
  /** Runs a case and frees its buffers, whatever comes of it. */
  use<T>(work: (buffers: CaseBuffers) => Promise<T>): Promise<T>
}

/** A device with the hardware form of a kernel. */
export function withForms(forms: KernelForms, limits?: Partial<DeviceLimits>): TestDevice {
  const name = `webgpu with ${Object.entries(forms).map((entry) => entry.join(' in '))}`
  const options = { tiled: true, forms, ...(limits ? { limits } : {}) }
  return {
    name: limits ? `${name} and small limits` : name,
    runs: 6,
    hardware: true,
    open: () => openFilledWebGpu(0xff, options),
  }
}

/**
 * The same tests once for each of the devices; each is opened once and closed at the end. Kernels for hardware are left out
 * in pages.
 */
export function onDevices(devices: readonly TestDevice[], define: (opened: OpenedDevice) => void): void {
  for (const entry of devices) {
    if (entry.hardware && (isQuick || (platform.name !== 'node' && !everyForm))) continue
    describe(entry.name, () => {
      let device: Device | undefined
      beforeAll(async () => {
        device = await entry.open()
      })
      afterAll(async () => {
        await device?.close()
      })
      define({
        runs: entry.runs,
        hardware: entry.hardware === true,
        get device() {
          if (device === undefined) throw new Error(`${entry.name} is not open`)
          return device
        },
        use(work) {
          return useBuffers(this.device, work)
        },
      })
    })
  }
}

export function onEveryDevice(define: (opened: OpenedDevice) => void): void {
  onDevices(DEVICES, define)
}

export async function useBuffers<T>(device: Device, work: (buffers: CaseBuffers) => Promise<T>): Promise<T> {
  const buffers = new CaseBuffers(device)
  try {
    return await work(buffers)
  } finally {
    buffers.scope.free()
  }
}

/** The same device with another way to run work, to watch it or to stop it. */
export function withRun(device: Device, run: Device['run']): Device {
  return changed(device, { run })
}

/** The same device with another way to read, to count what is read. */
export function withRead(device: Device, read: Device['read']): Device {
  return changed(device, { read })
}

/** The same device, on which the allocation of that number fails, counted from 1. `count` says how many there were. */
export function withFailingAllocation(device: Device, failing: number): { device: Device; count(): number } {
  let count = 0
  const allocate: Device['allocate'] = (bytes, label) => {
    if (++count === failing) throw new CentroidalError('out-of-memory', `No room for ${label}`)
    return device.allocate(bytes, label)
  }
  return { device: changed(device, { allocate }), count: () => count }
}

function changed(device: Device, changes: Partial<Device>): Device {
  return {
    info: device.info,
    get allocatedBytes() {
      return device.allocatedBytes
    },
    allocate: (bytes, label) => device.allocate(bytes, label),
    write: (buffer, data, offset) => device.write(buffer, data, offset),
    read: (target) => device.read(target),
    stage: (target) => device.stage(target),
    clear: (target) => device.clear(target),
    copy: (from, to) => device.copy(from, to),
    run: (work, control) => device.run(work, control),
    close: () => device.close(),
    ...changes,
  }
}

export class CaseBuffers {
  readonly device: Device
  readonly scope: BufferScope

  constructor(device: Device) {
    this.device = device
    this.scope = new BufferScope(device)
  }

  upload(data: ArrayBufferView): DeviceBuffer {
    return this.scope.upload(data, 'input')
  }

  rows(data: VectorData, cols: number): DeviceRows {
    const rows = allocateRows(this.scope, data.length / cols, cols, elementType(data), 'rows')
    writeRows(this.device, rows, data)
    return rows
  }

  /** Memory for a result: full of rubbish at first, or of what `start` holds. */
  output(bytes: number, start?: ArrayBufferView): Output {
    return new Output(this.device, this.scope, bytes, start)
  }

  outputRows(rows: number, cols: number): { rows: DeviceRows; output: Output } {
    const stride = paddedCols(cols)
    const output = this.output(rows * stride * 4)
    return { rows: { buffer: output.buffer, rows, cols, stride, type: 'f32' }, output }
  }
}

/** Reads as a float of -6328.7 and as a label no test uses, so a place no kernel wrote shows. */
const RUBBISH = 0xc5
const GUARD_BYTES = 64

/** A result, with a strip of rubbish behind it that no kernel may touch. */
export class Output {
  readonly buffer: DeviceBuffer
  readonly #device: Device
  readonly #bytes: number

  constructor(device: Device, scope: BufferScope, bytes: number, start?: ArrayBufferView) {
    this.#device = device
    this.#bytes = bytes
    const content = new Uint8Array(bytes + GUARD_BYTES).fill(RUBBISH)
    if (start) content.set(new Uint8Array(start.buffer, start.byteOffset, start.byteLength))
    this.buffer = scope.upload(content, 'output')
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const all = new Uint8Array(await this.#device.read(this.buffer))
    const guard = all.subarray(this.#bytes, this.#bytes + GUARD_BYTES)
    expect(
      guard.every((byte) => byte === RUBBISH),
      'a kernel wrote behind its result',
    ).toBe(true)
    return all.slice(0, this.#bytes)
  }

  async floats(): Promise<Float32Array> {
    return new Float32Array((await this.bytes()).buffer)
  }

  async words(): Promise<Uint32Array> {
    return new Uint32Array((await this.bytes()).buffer)
  }
}

/** Rows without their padding, which must be zero. */
export function unpadded(padded: Float32Array, rows: number, cols: number): Float32Array {
  const stride = paddedCols(cols)
  expect(padded.length).toBe(rows * stride)
  const data = new Float32Array(rows * cols)
  let dirty = 0
  for (let i = 0; i < rows; i++) {
    data.set(padded.subarray(i * stride, i * stride + cols), i * cols)
    for (let t = cols; t < stride; t++) if (padded[i * stride + t] !== 0) dirty++
  }
  expect(dirty, 'places of padding that are not zero').toBe(0)
  return data
}

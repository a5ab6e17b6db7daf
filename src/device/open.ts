/** Opening a device: what there is, which one is taken, and why. */
import { platform } from '#platform'
import {
  choice,
  flag,
  type Given,
  type OptionChecks,
  optionGroup,
  optionsOf,
  path,
  real,
  whole,
} from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import type { GpuEntry } from '../platform/contract.ts'
import type { Device, DeviceInfo, DeviceLimits } from './contract.ts'
import { cpuName, openCpuDevice } from './cpu/device.ts'
import { type RememberedTuning, rememberedTuning } from './remembered-tuning.ts'
import { assumedSpeed, compareSpeeds, givenSpeed, type Speed, withMeasured } from './speed.ts'
import { adapterName } from './webgpu/adapter.ts'
import { openWebGpuDevice } from './webgpu/device.ts'
import { PAGE_SUBMIT_MS } from './webgpu/pacer.ts'

/** Which device to open, and how. */
export interface DeviceOptions {
  /**
   * `auto` selects a hardware GPU if there is one, unless {@link tune} measured the CPU device to be clearly faster;
   * otherwise the CPU device (a software adapter is many times slower than WebAssembly). `webgpu` selects any adapter,
   * including software; `cpu` the CPU device. Default `auto`.
   */
  readonly kind?: 'auto' | 'webgpu' | 'cpu' | undefined
  /** Threads of the CPU device. Default: one for each core. */
  readonly threads?: number | undefined
  /**
   * Vectors of more bytes than this are streamed through the device, part by part (see `limits.partBytes`), instead of kept
   * on it. Results never depend on it. Default: half of the memory that the machine, or the container the process runs in,
   * has left for the process; at most 3 GiB on the CPU device and 2 GiB on a software adapter. The memory of a hardware GPU
   * is unknown: 2 GiB.
   */
  readonly memoryBytes?: number | undefined
  /**
   * Approximate memory limit of the process, in bytes. Vectors that do not fit are read again in every round, part by part,
   * and labels, distances and trees of the other parts are written to a temporary file. Results are those of a run in
   * memory over the same parts; parts are smaller where this is below 1 GiB (see `limits.partBytes`). What is returned is
   * not counted, such as labels, nor are vectors that the caller holds in memory. In a page, only vectors are left out of
   * memory. Default: no limit but that of the device.
   */
  readonly totalBytes?: number | undefined
  /** The folder for temporary files. They are removed at the end, however the process ends. Default: that of the system. */
  readonly temporaryFolder?: string | undefined
  /** For tests: limits below those of the device. Default: those of the device. */
  readonly limits?: Partial<DeviceLimits> | undefined
  /**
   * For comparing kernels: whether tiles in workgroup memory are used. Default: the faster choice, on software adapters
   * mostly false.
   */
  readonly tiled?: boolean | undefined
  /**
   * False: nothing is measured, and the results of {@link tune} are not used: kernels of a WebGPU device keep their default
   * forms, and `auto` assumes the usual speed of the kind of device. Default true.
   */
  readonly tune?: boolean | undefined
  /**
   * The speed that `method: 'auto'` assumes for this device, in GFLOP/s of exact assignment (see `info.speed`), instead of the
   * measured or usual one. Give the same number on several machines for the same choice of method. Default: none.
   */
  readonly gflops?: number | undefined
  /** For tests: false uses the CPU device as in a page without cross-origin isolation. Default: shared memory if available. */
  readonly shared?: boolean | undefined
}

/** The kinds of devices that can be asked for. */
export const DEVICE_KINDS = ['auto', 'webgpu', 'cpu'] as const

/** Bindings hold at least a few rows, and are aligned to at most this. */
const LEAST_BINDING = 256
const LARGEST_ALIGNMENT = 65536

export const DEVICE_CHECKS: OptionChecks<DeviceOptions> = {
  kind: choice(DEVICE_KINDS),
  threads: whole(1, 256),
  memoryBytes: whole(1),
  totalBytes: whole(1),
  temporaryFolder: path,
  limits: optionGroup<Partial<DeviceLimits>>({
    bufferBytes: whole(LEAST_BINDING),
    bindingBytes: whole(LEAST_BINDING),
    memoryBytes: whole(1),
    totalBytes: whole(1),
    partBytes: whole(1),
    workgroups: whole(1, 2 ** 31 - 1),
    bindingAlignment: whole(1, LARGEST_ALIGNMENT),
  }),
  tiled: flag,
  tune: flag,
  gflops: real(0.001, 1e9),
  shared: flag,
}

/** Opens a device with the forms of kernels and the speed that are remembered for it. */
export async function openDevice(options: DeviceOptions = {}): Promise<Device> {
  return open(optionsOf('openDevice', options, DEVICE_CHECKS))
}

/** A device for many small calls rather than one large one: it starts threads when there is work for them. */
export function openForSharing(options: DeviceOptions): Promise<Device> {
  return open(options, { grows: true })
}

async function open(given: DeviceOptions, threads: { readonly grows?: boolean } = {}): Promise<Device> {
  // Checked options have no name whose value is undefined.
  const asked = given as Given<DeviceOptions>
  const { kind = 'auto' } = asked
  const openCpu = async (reason?: string): Promise<Device> =>
    withTuning(await openCpuDevice({ ...asked, ...threads, ...(reason === undefined ? {} : { reason }) }), asked)
  if (kind === 'cpu') return openCpu()
  const { entry, whyNot } = await platform.findGpu({ software: kind === 'webgpu' })
  if (entry) {
    const choice = kind === 'auto' ? await chooseKind(entry, asked) : { gpu: true, reason: 'asked for' }
    if (!choice.gpu) return openCpu(choice.reason)
    const submitMs = platform.name === 'browser' ? PAGE_SUBMIT_MS : undefined
    return withTuning(await openWebGpuDevice(entry, { ...asked, reason: choice.reason, submitMs }), asked)
  }
  if (kind === 'webgpu') {
    throw new CentroidalError('no-device', `No WebGPU adapter: ${whyNot}. Install a GPU driver, or use the CPU device.`)
  }
  return openCpu(`auto selects the CPU device because ${whyNot}`)
}

/** Measurements are ignored if the caller disables them or chooses the kernels. */
async function remembered(name: string, { tune, tiled }: DeviceOptions): Promise<RememberedTuning> {
  return tune === false || tiled !== undefined ? {} : rememberedTuning(name)
}

async function withTuning(device: Device, asked: DeviceOptions): Promise<Device> {
  const { info } = device
  const { forms, ...measured } = await remembered(info.name, asked)
  if (forms) device.useForms?.(forms)
  const kind = info.kind === 'cpu' ? 'cpu' : info.software ? 'software' : 'hardware'
  const known = asked.gflops === undefined ? info.speed : givenSpeed(asked.gflops, kind)
  device.useSpeed?.(withMeasured(known, measured))
  return device
}

/** Whether `auto` takes the CPU device rather than this GPU, now that it was measured. */
export async function prefersCpu({ info }: Device, asked: DeviceOptions): Promise<boolean> {
  return info.kind === 'webgpu' && !compareSpeeds(info.speed.exact, await cpuSpeed(asked), info.name).gpu
}

/** By what is remembered of both. A GPU that was never measured is taken. */
async function chooseKind(entry: GpuEntry, asked: DeviceOptions): Promise<{ gpu: boolean; reason: string }> {
  const name = adapterName(entry)
  const gpu = withMeasured(assumedSpeed('hardware', 1), await remembered(name, asked)).exact
  return compareSpeeds(gpu, await cpuSpeed(asked), name)
}

/** Of the CPU device that would be opened. */
async function cpuSpeed(asked: DeviceOptions): Promise<Speed> {
  const shared = asked.shared !== false && platform.sharedMemory()
  const threads = shared ? (asked.threads ?? platform.hardwareThreads()) : 1
  // Which of the two builds this engine runs shows only when it is compiled.
  const [relaxed, plain] = await Promise.all(
    [true, false].map((relaxed) => remembered(cpuName(threads, relaxed), asked)),
  )
  return withMeasured(assumedSpeed('cpu', threads), relaxed.exact === undefined ? plain : relaxed).exact
}

/** A kind of device, and whether it is available. */
export interface DeviceListing {
  /** Kind of the device. */
  readonly kind: 'webgpu' | 'cpu'
  /** Undefined if the device is not available. */
  readonly info: DeviceInfo | undefined
  /** Why the device is not available. */
  readonly whyNot: string | undefined
  /** True if `auto` selects this device. */
  readonly taken: boolean
}

/**
 * Opens and closes a device of every kind, and reports its properties, and which one `auto` selects and why.
 *
 * @example
 * ```ts
 * import { listDevices } from 'centroidal'
 *
 * const { devices, reason } = await listDevices()
 * devices.map(({ kind }) => kind) // => ['webgpu', 'cpu']
 * devices.filter(({ taken }) => taken).length // => 1
 * console.log(reason)
 * ```
 */
export async function listDevices(): Promise<{ devices: DeviceListing[]; reason: string }> {
  const auto = await openDevice()
  const taken = auto.info
  await auto.close()
  const devices: DeviceListing[] = []
  for (const kind of ['webgpu', 'cpu'] as const) {
    try {
      const device = await openDevice({ kind })
      devices.push({ kind, info: device.info, whyNot: undefined, taken: taken.kind === kind })
      await device.close()
    } catch (error) {
      if (!(error instanceof CentroidalError)) throw error
      devices.push({ kind, info: undefined, whyNot: error.message, taken: false })
    }
  }
  return { devices, reason: taken.reason }
}

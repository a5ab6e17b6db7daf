/** Measuring a device: the fastest forms of its kernels, and the speeds that `auto` chooses by. */

import { abortSignal, callback, flag, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import type { OnProgress } from '../core/progress.ts'
import type { Device } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import { openDevice } from '../device/open.ts'
import type { DeviceSpeed } from '../device/speed.ts'
import type { FormTiming } from '../kernels/measured-forms.ts'
import { tuneKernels } from '../vectors/tuning.ts'
import { measureClosures } from './closures-speed.ts'
import { clusterSteps } from './cluster.ts'

/** Options of {@link tune}. */
export interface TuneOptions {
  /** An open device. Default: a WebGPU device is opened, a hardware GPU where there is one, else a software adapter. */
  readonly device?: Device | undefined
  /** Also time forms that round differently from the default ones; they are never selected. Default false. */
  readonly all?: boolean | undefined
  /** Stops the measurement: the call then rejects with the reason of the signal. Optional. */
  readonly signal?: AbortSignal | undefined
  /** Called from time to time with the share that is done, 0 to 1. Optional. */
  readonly onProgress?: OnProgress | undefined
}

/** The measurements of {@link tune}. */
export interface Tuning {
  /** The name of the device. */
  readonly adapter: string
  /**
   * The fastest form of each kernel that has several with the same bits; devices on this adapter use them from now on.
   * `narrow` holds those for rows of few columns, where they are others.
   */
  readonly forms: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  /** All forms that were timed. */
  readonly timings: readonly FormTiming[]
  /** How fast the device is, in classes, by which `auto` chooses. */
  readonly speed: DeviceSpeed
}

const CHECKS: OptionChecks<TuneOptions> = {
  device: (value, thing) => {
    if (isDevice(value)) return value
    throw badArgument(thing, value, 'give an open device.')
  },
  all: flag,
  signal: abortSignal,
  onProgress: callback,
}

/** Share of the time that kernels take. */
const KERNELS = 0.7

/**
 * Measures which forms of the WebGPU kernels are the fastest on this adapter, and how fast the device is, and remembers both
 * in the user's cache (in a page, in the cache storage of its origin). A hardware GPU is tuned automatically the first time
 * that it is used, in well under a second, unless `tune: false` is given to {@link openDevice}; this measures more, and
 * measures the CPU device, too. Results never depend on the forms. The speed decides what `method: 'auto'` and
 * `device: 'auto'` choose.
 *
 * @example
 * ```ts
 * import { openDevice, tune } from 'centroidal'
 *
 * const device = await openDevice()
 * const { speed, timings } = await tune({ device })
 * console.log(speed.exact.gflops)
 * for (const { kernel, form, gflops } of timings) console.log(kernel, form, gflops)
 * await device.close()
 * ```
 */
export async function tune(options: TuneOptions = {}): Promise<Tuning> {
  const { device: given, all = false, signal, onProgress } = optionsOf<TuneOptions>('tune', options, CHECKS)
  const device = given ?? (await openDevice({ kind: 'webgpu' }))
  try {
    const watch = { signal, onProgress: (share: number) => onProgress?.(share * KERNELS) }
    const { forms, timings } = await tuneKernels(device, watch, { everything: all })
    await measureClosures(device, clusterSteps, { signal })
    onProgress?.(1)
    return { adapter: device.info.name, forms: forms as Tuning['forms'], timings, speed: device.info.speed }
  } finally {
    if (given === undefined) await device.close()
  }
}

/** Choosing the fastest forms of kernels on a WebGPU adapter, by a short measurement that is remembered. */
import { abortSignal, callback, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import { type DeviceOptions, openDevice as openPlainDevice } from '../device/open.ts'
import { rememberedForms, rememberForms } from '../device/remembered-forms.ts'
import { type FormTiming, measureForms } from '../kernels/measured-forms.ts'

/** What can be asked of {@link tune}. */
export interface TuneOptions {
  /** An open WebGPU device. Default: one is opened, a hardware GPU where there is one, else a software adapter. */
  readonly device?: Device
  /** Stops the measurement: the call then rejects with the reason of the signal. Optional. */
  readonly signal?: AbortSignal
  /** Called now and then with the share that is done, 0 to 1. Optional. */
  readonly onProgress?: (share: number) => void
}

/** What {@link tune} measured. */
export interface Tuning {
  /** The name of the adapter. */
  readonly adapter: string
  /** The fastest form of each kernel, which devices on this adapter use from now on. */
  readonly forms: Readonly<Record<string, string>>
  /** All forms that were compared. */
  readonly timings: readonly FormTiming[]
}

const CHECKS: OptionChecks<TuneOptions> = {
  device: (value, thing) => {
    if (isDevice(value)) return value
    throw badArgument(thing, value, 'give an open device.')
  },
  signal: abortSignal,
  onProgress: callback,
}

/**
 * Measures which forms of the WebGPU kernels are the fastest on this adapter, and remembers them in the user's cache (in a
 * page, in its local storage). It takes well under a second on a GPU. A hardware GPU is tuned automatically the first time
 * that it is used, unless `tune: false` is given to {@link openDevice}. On hardware, results do not depend on the forms.
 *
 * @example
 * ```ts
 * import { openDevice, tune } from 'centroidal'
 *
 * const device = await openDevice()
 * if (device.info.kind === 'webgpu') {
 *   const { timings } = await tune({ device })
 *   for (const { kernel, form, gflops } of timings) console.log(kernel, form, gflops)
 * }
 * await device.close()
 * ```
 */
export async function tune(options: TuneOptions = {}): Promise<Tuning> {
  const { device: given, signal, onProgress } = optionsOf<TuneOptions>('tune', options, CHECKS)
  const device = given ?? (await openPlainDevice({ kind: 'webgpu' }))
  try {
    if (device.useForms === undefined) {
      throw new CentroidalError(
        'bad-option',
        'The CPU device has one form of each kernel: give a WebGPU device to tune.',
      )
    }
    const adapter = device.info.name
    const { forms, timings } = await measureForms(device, { signal, onProgress })
    rememberForms(adapter, forms)
    device.useForms(forms)
    return { adapter, forms, timings }
  } finally {
    if (given === undefined) await device.close()
  }
}

const tuned = /* @__PURE__ */ new WeakMap<Device, Promise<void>>()

/** Tunes a hardware GPU that was never tuned before. `software`: also software adapters, for tests. */
export function ensureTuned(device: Device, { tune: wanted, tiled }: DeviceOptions, software = false): Promise<void> {
  if (wanted === false || tiled !== undefined || device.useForms === undefined) return Promise.resolve()
  if (device.info.software && !software) return Promise.resolve()
  let done = tuned.get(device)
  if (done === undefined) {
    done = rememberedForms(device.info.name) ? Promise.resolve() : tune({ device }).then(() => {})
    tuned.set(device, done)
  }
  return done
}

/** Measuring a device, once: which forms of its kernels are the fastest, and how fast it assigns. Results are remembered. */
import type { Device, RunControl } from '../device/contract.ts'
import type { DeviceOptions } from '../device/open.ts'
import { rememberedTuning, rememberTuning } from '../device/remembered-tuning.ts'
import { speedClass, withMeasured } from '../device/speed.ts'
import { type MeasuredForms, measureExact, measureForms } from '../kernels/measured-forms.ts'

/**
 * Measures the forms of kernels and the speed of exact assignment; the device uses both from now on. `everything`: also
 * forms that are never exchanged, to be looked at.
 */
export async function tuneKernels(
  device: Device,
  control: RunControl = {},
  { everything = false } = {},
): Promise<MeasuredForms> {
  const found = device.useForms ? await measureForms(device, control, { everything }) : { forms: {}, timings: [] }
  device.useForms?.(found.forms)
  const gflops = await measureExact(device, control)
  await keepSpeed(device, 'exact', gflops, device.useForms && { forms: found.forms })
  return found
}

/** Remembers the class of a measured speed. What cannot be remembered is not used either: see speed.ts. */
export async function keepSpeed(
  device: Device,
  what: 'exact' | 'closures',
  gflops: number,
  also: Parameters<typeof rememberTuning>[1] = {},
): Promise<void> {
  const { name, speed } = device.info
  const known = await rememberedTuning(name)
  const found = { [what]: speedClass(gflops, known[what]) }
  if (await rememberTuning(name, { ...also, ...found })) device.useSpeed?.(withMeasured(speed, { ...known, ...found }))
}

const tuned = /* @__PURE__ */ new WeakMap<Device, Promise<boolean>>()

/**
 * Tunes a hardware GPU that was never tuned before, and tells whether it did. `software`: also software adapters, for
 * tests.
 */
export function ensureTuned(device: Device, { tune, tiled }: DeviceOptions, software = false): Promise<boolean> {
  if (tune === false || tiled !== undefined || device.useForms === undefined) return Promise.resolve(false)
  if (device.info.software && !software) return Promise.resolve(false)
  let done = tuned.get(device)
  if (done === undefined) {
    done = tuneOnce(device)
    tuned.set(device, done)
  }
  return done
}

async function tuneOnce(device: Device): Promise<boolean> {
  const { forms, exact } = await rememberedTuning(device.info.name)
  if (forms && exact !== undefined) return false
  await tuneKernels(device)
  return true
}

/** Whether the device is one that is measured without being asked: a hardware GPU, unless that was switched off. */
export function isTuned(device: Device): boolean {
  return tuned.has(device)
}

/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Which device a call works on: one that it was given, which stays open; one that it shares with other calls; or, for large
 * inputs, one of its own.
 */
import { choice, optionsOf } from '../core/arguments.ts'
import { badArgument } from '../core/errors.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import type { Device } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import {
  DEVICE_CHECKS,
  DEVICE_KINDS,
  type DeviceOptions,
  openForSharing,
  openDevice as openPlainDevice,
  prefersCpu,
} from '../device/open.ts'
import { type DeviceLease, SHARED_BYTES, SharedDevices } from '../device/shared.ts'
import { ensureTuned } from './tuning.ts'

/** An open device, which stays open; or what to open, or share with calls that ask for the same; undefined is `auto`. */
export type DeviceChoice = Device | DeviceOptions | 'auto' | 'webgpu' | 'cpu' | undefined

/** The devices that the calls of this process share. */
export const sharedDevices = /* @__PURE__ */ new SharedDevices((options) => openTuned(options, openForSharing))

/** A device that its caller opened. */
export interface OwnDevice extends Device {
  /** Closes it at the end of a block: `await using device = await openDevice()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What a caller gave as `device`. */
export function deviceChoice(value: unknown, thing: string): Exclude<DeviceChoice, undefined> {
  if (typeof value === 'string') return choice(DEVICE_KINDS)(value, thing)
  if (typeof value !== 'object' || value === null) {
    throw badArgument(thing, value, 'give auto, webgpu or cpu, options of openDevice, or an open device.')
  }
  return isDevice(value) ? value : optionsOf(`openDevice (${thing})`, value, DEVICE_CHECKS)
}

/** What of an input counts for its size. */
interface Sized {
  readonly rows: number
  readonly cols: number
  readonly sparse?: SparseMatrix | undefined
}

/**
 * Large inputs get a separate device: the time to open it is small compared with the work, and calls that run at the same
 * time do not compete for the memory of one device.
 */
export async function acquireDevice(choice: DeviceChoice, inputs: readonly Sized[]): Promise<DeviceLease> {
  if (isDevice(choice)) {
    // A closed device is an error even if there is nothing to compute.
    choice.requireOpen?.()
    return { device: choice, release: async () => {} }
  }
  if (inputs.reduce((sum, input) => sum + bytesOf(input), 0) > SHARED_BYTES) return openOwn(choice)
  return sharedDevices.acquire(optionsOfChoice(choice))
}

/**
 * Opens a device that the caller closes, with close() or `await using`. Calls without a device share one that the library
 * opens and closes.
 *
 * @example
 * ```ts
 * import { blobs, cluster, openDevice } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 200, cols: 4, clusters: 3 })
 * const device = await openDevice({ kind: 'cpu', threads: 2 })
 * try {
 *   const model = await cluster(vectors, { k: 3, device })
 *   await model.predict(vectors, { device })
 * } finally {
 *   await device.close()
 * }
 * device.info.kind // => 'cpu'
 * ```
 */
export function openDevice(options: DeviceOptions = {}): Promise<OwnDevice> {
  // The devices of both kinds have that method.
  return openTuned(options, openPlainDevice) as Promise<OwnDevice>
}

/** A hardware GPU is measured when it is first used, and `auto` chooses between it and the CPU device after that. */
async function openTuned(options: DeviceOptions, open: (options: DeviceOptions) => Promise<Device>): Promise<Device> {
  const device = await open(options)
  const measured = await ensureTuned(device, options)
  const auto = (options.kind ?? 'auto') === 'auto'
  if (!(measured && auto && (await prefersCpu(device, options)))) return device
  await device.close()
  return open(options)
}

function optionsOfChoice(choice: Exclude<DeviceChoice, Device>): DeviceOptions {
  return typeof choice === 'string' ? { kind: choice } : (choice ?? {})
}

/** All of `devices`, each of which is another one, or the one of `device`. */
export async function acquireDevices(
  choice: { readonly device?: DeviceChoice; readonly devices?: readonly DeviceChoice[] | undefined },
  inputs: readonly Sized[],
): Promise<{ devices: readonly Device[]; release(): Promise<void> }> {
  const acquired: DeviceLease[] = []
  const release = async (): Promise<void> => {
    for (const each of acquired.reverse()) await each.release()
  }
  try {
    if (choice.devices === undefined) acquired.push(await acquireDevice(choice.device, inputs))
    for (const each of choice.devices ?? []) {
      acquired.push(isDevice(each) ? await acquireDevice(each, inputs) : await openOwn(each))
    }
  } catch (error) {
    await release()
    throw error
  }
  return { devices: acquired.map(({ device }) => device), release }
}

async function openOwn(choice: Exclude<DeviceChoice, Device>): Promise<DeviceLease> {
  const device = await openDevice(optionsOfChoice(choice))
  return { device, release: () => device.close() }
}

export async function withDevice<T>(
  choice: DeviceChoice,
  inputs: readonly Sized[],
  work: (device: Device) => Promise<T>,
): Promise<T> {
  const { device, release } = await acquireDevice(choice, inputs)
  try {
    return await work(device)
  } finally {
    await release()
  }
}

/** At most: bytes and codes are taken for floats. */
function bytesOf({ rows, cols, sparse }: Sized): number {
  return 4 * (sparse ? 2 * sparse.values.length : rows * cols)
}

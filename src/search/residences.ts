/**
 * What an index keeps on devices between searches. On a device that the caller opened it stays until the index is closed; a
 * device that the caller did not give is released some time after the last search.
 */
import { CentroidalError } from '../core/errors.ts'
import type { Device } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import type { DeviceLease } from '../device/shared.ts'
import { acquireDevice, type DeviceChoice } from '../vectors/device-choice.ts'

/** Time without a search after which a device is released that the caller did not give. */
const IDLE_MS = 30_000

export interface Residence<T> {
  readonly device: Device
  readonly held: T
  /** Where the index has acquired the device. */
  readonly lease: DeviceLease | undefined
}

export interface ResidencePlan<T> {
  /** What is kept on a device; it may be filled later. */
  hold(device: Device): T
  /** The device for this choice, and the size of what it will hold. */
  open(choice: DeviceChoice): Parameters<typeof acquireDevice>
}

export class Residences<T extends { free(): void }> {
  readonly #plan: ResidencePlan<T>
  /** By device, or by the text of the choice. */
  readonly #residences = new Map<Device | string, Promise<Residence<T>>>()
  readonly #numbers = new WeakMap<object, number>()
  #nextNumber = 0
  #idle: ReturnType<typeof setTimeout> | undefined
  #lastSearch = 0
  #busy = 0

  constructor(plan: ResidencePlan<T>) {
    this.#plan = plan
  }

  /** Runs `use` with the data on a device. A lost device is removed, as its data is gone. */
  async use(choice: DeviceChoice, use: (residence: Residence<T>) => Promise<void>): Promise<void> {
    this.#busy++
    try {
      const residence = await this.#residenceOf(choice)
      try {
        await use(residence)
      } catch (error) {
        if (isLost(error)) await this.#forget(residence)
        throw error
      }
    } finally {
      this.#busy--
      this.#lastSearch = performance.now()
      if (this.#idle === undefined) this.#watchIdle(IDLE_MS)
    }
  }

  /** The same text for choices that lead to the same device. */
  keyOf(choice: DeviceChoice): string {
    return isDevice(choice) ? `device ${this.numberOf(choice)}` : textOf(choice)
  }

  /** A number for each object, -1 for none. */
  numberOf(object: object | undefined): number {
    if (object === undefined) return -1
    const known = this.#numbers.get(object)
    if (known !== undefined) return known
    this.#numbers.set(object, this.#nextNumber)
    return this.#nextNumber++
  }

  /** Frees what all devices hold. */
  async close(): Promise<void> {
    clearTimeout(this.#idle)
    this.#idle = undefined
    const residences = [...this.#residences.values()]
    this.#residences.clear()
    for (const opening of residences) await letGo(opening)
  }

  #residenceOf(choice: DeviceChoice): Promise<Residence<T>> {
    const place = isDevice(choice) ? choice : textOf(choice)
    const known = this.#residences.get(place)
    if (known) return known
    for (const given of this.#residences.keys()) {
      if (typeof given !== 'string' && isClosed(given)) this.#residences.delete(given)
    }
    const opening = this.#open(choice)
    this.#residences.set(place, opening)
    opening.catch(() => this.#residences.delete(place))
    return opening
  }

  async #open(choice: DeviceChoice): Promise<Residence<T>> {
    if (isDevice(choice)) return { device: choice, held: this.#plan.hold(choice), lease: undefined }
    const lease = await acquireDevice(...this.#plan.open(choice))
    return { device: lease.device, held: this.#plan.hold(lease.device), lease }
  }

  async #forget(residence: Residence<T>): Promise<void> {
    for (const [place, opening] of this.#residences) {
      if ((await opening.catch(() => undefined)) !== residence) continue
      this.#residences.delete(place)
      await letGo(opening)
    }
  }

  /** One timer for many searches: it looks when the last one was. */
  #watchIdle(ms: number): void {
    this.#idle = setTimeout(() => {
      this.#idle = undefined
      const left = this.#lastSearch + IDLE_MS - performance.now()
      if (left > 0 || this.#busy > 0) this.#watchIdle(Math.max(left, 1000))
      else void this.#letGoLeases()
    }, ms)
    // Only Node's timers hold the process, and only they have this method.
    ;(this.#idle as { unref?: () => void }).unref?.()
  }

  async #letGoLeases(): Promise<void> {
    for (const [place, opening] of this.#residences) {
      if (typeof place !== 'string') continue
      this.#residences.delete(place)
      await letGo(opening)
    }
  }
}

/** Whether an error says that the device is gone. */
export function isLost(error: unknown): boolean {
  return error instanceof CentroidalError && error.code === 'device-lost'
}

async function letGo<T extends { free(): void }>(opening: Promise<Residence<T>>): Promise<void> {
  const residence = await opening.catch(() => undefined)
  if (residence === undefined) return
  try {
    residence.held.free()
  } finally {
    await residence.lease?.release()
  }
}

function textOf(choice: DeviceChoice): string {
  return JSON.stringify(choice ?? 'auto')
}

function isClosed(device: Device): boolean {
  try {
    device.requireOpen?.()
    return false
  } catch {
    return true
  }
}

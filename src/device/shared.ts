/**
 * Devices that calls share when they name none: the first call opens one, the calls that follow find it open, and it is
 * closed when it has not been used for a while. An idle device never holds the process: its threads and the timer that
 * closes it are not waited for.
 */
import type { Device } from './contract.ts'
import type { DeviceOptions } from './open.ts'

/** How long a device without users stays open. */
const IDLE_MS = 5000
/** A device that holds more memory than this is closed with its last user, and takes no further ones. */
export const SHARED_BYTES = 64 * 2 ** 20

/** A device in use. */
export interface DeviceLease {
  readonly device: Device
  /** To be called once, when the work is done. */
  release(): Promise<void>
}

interface Entry {
  readonly opening: Promise<Device>
  /** Once it is open. */
  device: Device | undefined
  users: number
  closing: ReturnType<typeof setTimeout> | undefined
}

export class SharedDevices {
  readonly #open: (options: DeviceOptions) => Promise<Device>
  readonly #idleMs: number
  /** By options. Devices that take no further users are not here, even while they still have some. */
  readonly #entries = new Map<string, Entry>()

  constructor(open: (options: DeviceOptions) => Promise<Device>, idleMs = IDLE_MS) {
    this.#open = open
    this.#idleMs = idleMs
  }

  /** Devices that are open, or being opened, and take further users. */
  get size(): number {
    return this.#entries.size
  }

  /** The same options give the same device. */
  async acquire(options: DeviceOptions = {}): Promise<DeviceLease> {
    const key = keyOf(options)
    const entry = this.#usable(key) ?? this.#add(key, options)
    entry.users++
    clearTimeout(entry.closing)
    try {
      entry.device = await entry.opening
    } catch (error) {
      // The next call tries again.
      this.#forget(key, entry)
      throw error
    }
    return { device: entry.device, release: () => this.#release(key, entry) }
  }

  #add(key: string, options: DeviceOptions): Entry {
    const entry: Entry = { opening: this.#open(options), device: undefined, users: 0, closing: undefined }
    this.#entries.set(key, entry)
    return entry
  }

  /** The device of these options, unless it is lost or should not take further users. */
  #usable(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry?.device === undefined || isFit(entry.device)) return entry
    this.#forget(key, entry)
    // With users it is closed by the last of them.
    if (entry.users === 0) void close(entry)
    return undefined
  }

  async #release(key: string, entry: Entry): Promise<void> {
    entry.users--
    if (entry.users > 0) return
    const kept = this.#entries.get(key) === entry
    if (kept && entry.device !== undefined && isFit(entry.device)) {
      entry.closing = setTimeout(() => {
        this.#forget(key, entry)
        void close(entry)
      }, this.#idleMs)
      // Only Node's timers hold the process, and only they have this method.
      ;(entry.closing as { unref?: () => void }).unref?.()
      return
    }
    this.#forget(key, entry)
    await close(entry)
  }

  #forget(key: string, entry: Entry): void {
    clearTimeout(entry.closing)
    if (this.#entries.get(key) === entry) this.#entries.delete(key)
  }
}

/** Not closed, not lost, and small enough to be kept. */
function isFit(device: Device): boolean {
  try {
    device.requireOpen?.()
  } catch {
    return false
  }
  return (device.heldBytes ?? 0) <= SHARED_BYTES
}

/** A lost device may fail to close; whoever used it was told that it is lost. */
async function close(entry: Entry): Promise<void> {
  await entry.device?.close().catch(() => {})
}

/** Options that mean the same give the same text. */
function keyOf({ kind = 'auto', ...options }: DeviceOptions): string {
  return JSON.stringify(sorted({ kind, ...options }))
}

function sorted(options: object): [string, unknown][] {
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  const names = given.map(([name, value]): [string, unknown] => [
    name,
    typeof value === 'object' ? sorted(value) : value,
  ])
  return names.sort(([a], [b]) => (a < b ? -1 : 1))
}

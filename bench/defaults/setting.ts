/** What the sections of `npm run bench -- defaults` share: flags, the device, and seeds. */
import type { Device, MethodName } from '../../src/index.ts'

export interface Setting {
  readonly device: Device
  /** Of the device and of the peers. */
  readonly threads: number
  /** Runs take seeds from here on, and made data is made from it: figures are published for seeds nobody tuned with. */
  readonly firstSeed: number
  /** Runs of each method on each set, and those with ten restarts each. */
  readonly seeds: number
  readonly restartSeeds: number
  readonly methods: readonly ('auto' | MethodName)[]
  /** Only sets whose name contains this. */
  readonly only: string
  /** Files of descriptors and of word vectors, and how many of their rows are taken. */
  readonly data: string | undefined
  readonly words: string | undefined
  readonly rows: number
}

/** Prints its tables and returns what is to be kept of them. */
export type Section = (setting: Setting) => Promise<object>

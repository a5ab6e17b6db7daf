/** What the sections of `npm run bench -- defaults` share: flags, the device, seeds, and when egm is affordable. */
import { type Device, METHODS, type MethodName } from '../../src/index.ts'

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
  /** Files of descriptors and of word vectors, and how many of their rows `starts` takes. */
  readonly data: string | undefined
  readonly words: string | undefined
  readonly rows: number
  /** Mixtures that `count` makes. */
  readonly cases: number
  /** What `bic` does: most rows of a file (0: all), numbers of components, and seconds after which scikit-learn stops. */
  readonly bicRows: number
  readonly ks: readonly number[]
  readonly peerSeconds: number
  /** What `cost` takes: rows of the file (0: all), and the folder of an older build to compare with. */
  readonly costRows: number
  readonly before: string | undefined
}

/** Prints its tables and returns what is to be kept of them. */
export type Section = (setting: Setting) => Promise<object>

/** The methods that find the number of clusters. */
export type Finder = 'agm' | 'egm'

/** The most numbers that the first round of egm may compare. */
const MOST_COMPARED = 5e9

/** agm, and egm where every vector can be compared with every component it begins with. */
export function affordableFinders(rows: number, cols: number): Finder[] {
  const start = METHODS.egm.startCount?.({ criterion: 'bic' }, rows) ?? rows
  return rows * start * cols <= MOST_COMPARED ? ['agm', 'egm'] : ['agm']
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

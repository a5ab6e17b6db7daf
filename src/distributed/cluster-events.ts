/** What happens to a run on other machines. */

/** A process that owns shards. */
export interface WorkerFacts {
  /** Its number, which is never used again. */
  readonly worker: string
  /** For people. */
  readonly name: string
  /** Kind and name of its device. */
  readonly device: string
  /** Groups of shards. */
  readonly groups: readonly number[]
}

/** Events of a run on other machines. */
export type ClusterEvent =
  | { readonly kind: 'waiting'; readonly groups: number }
  | { readonly kind: 'workers'; readonly workers: readonly WorkerFacts[]; readonly total: number }
  | {
      readonly kind: 'left' | 'failed' | 'refused'
      readonly name: string
      readonly groups: readonly number[]
      readonly why?: string
    }
  /** Groups were taken back for workers that came later and own none. */
  | { readonly kind: 'rebalanced'; readonly groups: readonly number[]; readonly idle: readonly string[] }
  /** The store is tried again for so many seconds. */
  | { readonly kind: 'unreachable'; readonly why: string; readonly seconds: number }
  /** Workers compute on devices of different kinds: results may differ in the last digits from run to run. */
  | { readonly kind: 'mixed'; readonly devices: readonly string[] }

/** Kinds of devices whose results may differ in the last digits: all CPUs are one, and GPUs of one name. */
export function kindsOf(devices: readonly string[]): string[] {
  return [...new Set(devices.map((device) => (device.startsWith('cpu') ? 'cpu' : device)))].sort()
}

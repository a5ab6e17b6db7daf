/** Groups of shards that workers refused, or failed on, until somebody serves them. */
import type { CentroidalError } from '../core/errors.ts'
import type { Owners } from './owners.ts'

/** A group on which workers fail repeatedly ends the run. */
const MOST_FAILURES = 3
/** If all that try refuse a group, the run ends after this share of the lock, and some milliseconds at least. */
const [LOCK_SHARE, PATIENCE] = [0.4, 2500]

export class Refusals {
  readonly #failures = new Map<number, number>()
  readonly #refused = new Map<number, { readonly since: number; readonly why: CentroidalError }>()

  readonly #patience: number

  constructor(lock: number) {
    this.#patience = Math.max(PATIENCE, LOCK_SHARE * lock)
  }

  refuse(group: number, why: CentroidalError): void {
    this.#refused.set(group, this.#refused.get(group) ?? { since: Date.now(), why })
  }

  /** Throws when it was too often. */
  fail(group: number, why: CentroidalError): void {
    const failures = (this.#failures.get(group) ?? 0) + 1
    this.#failures.set(group, failures)
    if (failures >= MOST_FAILURES) throw why
  }

  /** Somebody has taken it. */
  taken(group: number): void {
    this.#refused.delete(group)
  }

  answered(group: number): void {
    this.#failures.delete(group)
  }

  /** Why a group without an owner was refused, after some time. */
  overdue(owners: Pick<Owners, 'of'>): CentroidalError | undefined {
    const since = Date.now() - this.#patience
    return [...this.#refused].find(([group, refused]) => owners.of(group) === undefined && refused.since < since)?.[1]
      .why
  }
}

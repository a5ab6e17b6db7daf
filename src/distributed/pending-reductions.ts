/** Reductions that workers were asked for and have not all answered yet. */
import { CentroidalError } from '../core/errors.ts'
import type { Place, Report } from './messages.ts'

export class PendingReductions {
  /** Where the sums are, in the order of the jobs. */
  readonly places: Promise<Place[]>
  readonly #seq: number
  readonly #count: number
  readonly #found = new Map<number, Place>()
  #settle: (places: Place[]) => void = () => {}
  fail: (error: unknown) => void = () => {}

  constructor(seq: number, count: number) {
    this.#seq = seq
    this.#count = count
    this.places = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.fail = reject
    })
    // It may fail while jobs are still sent.
    this.places.catch(() => {})
  }

  /** Numbers of the jobs without an answer. */
  get missing(): number[] {
    return Array.from({ length: this.#count }, (_, job) => job).filter((job) => !this.#found.has(job))
  }

  /** A job may be answered twice, with the same sums. */
  take({ seq, job, answer, error, name }: Report): void {
    if (seq !== this.#seq || job === undefined || job >= this.#count) return
    if (answer === undefined) throw new CentroidalError('bad-data', `Worker ${name}: ${error ?? 'it failed'}`)
    this.#found.set(job, answer)
    if (this.#found.size < this.#count) return
    this.#settle(Array.from({ length: this.#count }, (_, i) => this.#found.get(i) as Place))
  }
}

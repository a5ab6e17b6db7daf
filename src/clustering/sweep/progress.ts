/** How far a sweep is: clusterings with more clusters count for more. */
import type { ReadSweepOptions } from './options.ts'
import { sampleSize, TO_COMPARE } from './samples.ts'

/** The cost of a step apart from distances to centres, in numbers of clusters. */
const BASE = 50
/** Scoring costs about as much as this many clusterings of all vectors. */
const SCORING = 0.3

export class SweepProgress {
  readonly #options: ReadSweepOptions
  readonly #rows: number
  /** Share of the sweep before each step, and after the last. */
  readonly #shares: number[]
  #done = 0

  /** `rows` is how many vectors there are. */
  constructor(options: ReadSweepOptions, rows: number) {
    this.#options = options
    this.#rows = rows
    const costs = options.counts.map((k) => k + BASE)
    const total = costs.reduce((sum, cost) => sum + cost, 0)
    this.#shares = [0]
    for (const cost of costs) this.#shares.push(this.#shares[this.#shares.length - 1] + cost / total)
  }

  /** Rounds done of the clustering of one seed, of how many at most. */
  round(k: number, seed: number, done: number, most: number): void {
    this.#tell(k, this.#before(k, seed) + Math.min(1, done / most) * this.#costOf(k, seed))
  }

  clustered(k: number, seed: number): void {
    this.#tell(k, this.#before(k, seed + 1))
  }

  scored(k: number): void {
    this.#tell(k, this.#all(k))
  }

  /** The first seed clusters all vectors, the others a sample. */
  #costOf(k: number, seed: number): number {
    return seed === 0 ? 1 : sampleSize(this.#rows, k, TO_COMPARE) / this.#rows
  }

  #before(k: number, seed: number): number {
    return seed === 0 ? 0 : 1 + (seed - 1) * this.#costOf(k, 1)
  }

  #all(k: number): number {
    return this.#before(k, this.#options.seeds) + SCORING
  }

  /** `work`: of this step, in clusterings of all vectors. */
  #tell(k: number, work: number): void {
    const { counts, onProgress } = this.#options
    const step = counts.indexOf(k)
    const part = Math.min(1, work / this.#all(k))
    const share = this.#shares[step] + part * (this.#shares[step + 1] - this.#shares[step])
    // Shares never fall, whatever is reported late.
    this.#done = Math.max(this.#done, Math.min(1, share))
    onProgress?.(
      this.#done,
      `${k.toLocaleString('en')} ${k === 1 ? 'cluster' : 'clusters'} (${step + 1} of ${counts.length})`,
    )
  }
}

/** How far a sweep is: clusterings with more clusters count for more. */
import type { ReadSweepOptions } from './options.ts'

/** What a step costs besides its distances to centres, in numbers of clusters. */
const BASE = 50
/** Scoring costs about as much as this many seeds. */
const SCORING = 0.5

export class SweepProgress {
  readonly #options: ReadSweepOptions
  /** Share of the sweep before each step, and after the last. */
  readonly #shares: number[]
  #done = 0

  constructor(options: ReadSweepOptions) {
    this.#options = options
    const costs = options.counts.map((k) => k + BASE)
    const total = costs.reduce((sum, cost) => sum + cost, 0)
    this.#shares = [0]
    for (const cost of costs) this.#shares.push(this.#shares[this.#shares.length - 1] + cost / total)
  }

  /** Rounds done of the clustering of one seed, of how many at most. */
  round(k: number, seed: number, done: number, most: number): void {
    this.#tell(k, seed + Math.min(1, done / most))
  }

  clustered(k: number, seed: number): void {
    this.#tell(k, seed + 1)
  }

  scored(k: number): void {
    this.#tell(k, this.#options.seeds + SCORING)
  }

  /** `work`: of this step, in seeds. */
  #tell(k: number, work: number): void {
    const { counts, seeds, onProgress } = this.#options
    const step = counts.indexOf(k)
    const part = Math.min(1, work / (seeds + SCORING))
    const share = this.#shares[step] + part * (this.#shares[step + 1] - this.#shares[step])
    // Shares never fall, whatever is reported late.
    this.#done = Math.max(this.#done, Math.min(1, share))
    onProgress?.(
      `${k.toLocaleString('en')} ${k === 1 ? 'cluster' : 'clusters'} (${step + 1} of ${counts.length})`,
      this.#done,
    )
  }
}

/** How long a run may still take: from the rounds that are allowed, and from how fast the distortion flattens out. */
import type { IterationStats } from '../../index.ts'
import { duration } from '../format.ts'

export interface RunLimits {
  readonly iterations: number
  readonly tolerance: number
  readonly seconds: number
  readonly restarts: number
}

/** Rounds that the time of the next one is judged by. */
const RECENT = 5

export class TimeLeft {
  readonly #limits: RunLimits
  #rounds: IterationStats[] = []
  #seconds: number[] = []

  constructor(limits: RunLimits) {
    this.#limits = limits
  }

  take(stats: IterationStats): void {
    const last = this.#rounds[this.#rounds.length - 1]
    if (last !== undefined && last.restart !== stats.restart) this.#rounds = []
    else if (last !== undefined) this.#seconds = [...this.#seconds, stats.seconds - last.seconds].slice(-RECENT)
    this.#rounds.push(stats)
  }

  /** For example "at most 40 s left", or "~5 s left, at most 40 s". Empty while it is unknown. */
  words(): string {
    const now = this.#rounds[this.#rounds.length - 1]
    if (now === undefined || this.#seconds.length === 0) return ''
    const { iterations, restarts, seconds } = this.#limits
    const perRound = this.#seconds.reduce((sum, value) => sum + value, 0) / this.#seconds.length
    const starts = restarts - now.restart - 1
    const rounds = iterations - now.iteration + starts * iterations
    if (rounds <= 0) return ''
    const most = Math.min(rounds * perRound, Math.max(0, seconds - now.seconds) + perRound)
    const flat = this.#roundsUntilFlat()
    // The time of the next starts is unknown, so only that of the last one is estimated.
    const likely = starts === 0 && flat !== undefined ? flat * perRound : most
    if (likely > most * 0.8) return `at most ${duration(most)} left`
    return `~${duration(likely)} left, at most ${duration(most)}`
  }

  /** In Lloyd's later rounds the falls of the distortion follow a power of the round; follow it down to the tolerance. */
  #roundsUntilFlat(): number | undefined {
    const { tolerance } = this.#limits
    const recent = this.#rounds.slice(-RECENT - 1)
    if (tolerance <= 0 || recent.length < 4) return undefined
    const falls = recent.slice(1).map(({ distortion }, i) => 1 - distortion / recent[i].distortion)
    const [first, last] = [falls[0], falls[falls.length - 1]]
    if (!(first > last) || !(last > 0)) return undefined
    const round = recent[recent.length - 1].iteration
    const power = Math.log(first / last) / Math.log(round / recent[1].iteration)
    return Math.max(1, Math.ceil(round * ((last / tolerance) ** (1 / power) - 1)))
  }
}

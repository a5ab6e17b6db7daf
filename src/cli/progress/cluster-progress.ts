/** Progress messages of a run. */
import type { IterationStats } from '../../index.ts'
import { duration, number } from '../format.ts'
import { type RunLimits, TimeLeft } from './time-left.ts'
import type { ProgressView } from './view.ts'

/** Where in a run something is: starts from 0, rounds from 1. */
interface Place {
  readonly restart: number
  readonly round: number
}

export class ClusterProgress {
  readonly #view: ProgressView
  readonly #limits: RunLimits
  readonly #timeLeft: TimeLeft
  #last: IterationStats | undefined
  #details: string[] = []
  #workers: string[] = []

  constructor(view: ProgressView, limits: RunLimits) {
    this.#view = view
    this.#limits = limits
    this.#timeLeft = new TimeLeft(limits)
  }

  /** Reading, choosing the first centres, or the part of a round that is done. */
  phase(name: string, share: number): void {
    const round = Number(/^round (\d+)$/.exec(name)?.[1] ?? 0)
    if (round === 0) {
      this.#view.show({ label: name, share })
      return
    }
    const last = this.#last
    // Counting restarts with the next start.
    const restart = last === undefined ? 0 : last.restart + (round <= last.iteration ? 1 : 0)
    const place = { restart, round }
    this.#view.show({ label: this.#label(place), share: this.#shareDone(place, share), details: this.#details })
  }

  round(stats: IterationStats): void {
    this.#last = stats
    this.#timeLeft.take(stats)
    const left = this.#timeLeft.words() || `${duration(stats.seconds)} so far`
    const { components, purged, relocated } = stats.extra ?? {}
    const besides = components === undefined ? [] : [`${number(components)} components`]
    if (purged !== undefined && purged > 0) besides.push(`${number(purged)} purged`)
    if (relocated !== undefined && relocated > 0) besides.push(`${number(relocated)} relocated`)
    this.#details = [
      `distortion ${number(stats.distortion)}`,
      left,
      `${number(stats.moved)} moved`,
      ...this.#workers,
      ...besides,
    ]
    const place = { restart: stats.restart, round: stats.iteration }
    this.#view.show({
      label: this.#label(place),
      share: this.#shareDone(place, 1),
      details: this.#details,
      milestone: true,
    })
  }

  /** A permanent line, and the text shown next to the rounds from now on. */
  tell(text: string, workers: string): void {
    this.#workers = [workers]
    this.#view.tell(text)
  }

  stop(): void {
    this.#view.stop()
  }

  #label({ restart, round }: Place): string {
    const { iterations, restarts } = this.#limits
    const start = restarts > 1 ? `start ${restart + 1} of ${restarts}, ` : ''
    return `${start}round ${number(round)} of ${number(iterations)}`
  }

  /** Of all the rounds that are allowed: a run that flattens out earlier ends with a bar that is not full. */
  #shareDone({ restart, round }: Place, ofRound: number): number {
    const { iterations, restarts } = this.#limits
    return (restart * iterations + round - 1 + ofRound) / (iterations * restarts)
  }
}

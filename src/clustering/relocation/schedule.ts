/**
 * When a run relocates clusters. Decided from the statistics of the rounds alone, so that a resumed run decides as the
 * uninterrupted one did: a round that looked for clusters to relocate says how many there were, and what that gained.
 */

import type { StopReason } from '../../models/stats.ts'
import type { Round } from '../run-state.ts'

/** Progress is slow when a round lowers the distortion by less than this share. */
const SLOW = 0.01
/** A relocation that lowers the distortion by less than this share is the last one. */
const WORTHWHILE = 0.002
/** At the end of a run less will do where the tolerance is small: this many times the tolerance. */
const TOLERANCES = 20
/** With so few clusters one in the wrong place counts, and another look is cheap: the end of a run always takes it. */
const FEW = 256
/** Maximum number of relocations of a run: far more than needed, but a tolerance of 0 would not stop them. */
const MOST = 30

export interface NextRound {
  /** Why the run is over, if it is. */
  readonly over: StopReason | undefined
  /** Relocate clusters first; a run that is over goes on if that changes anything. */
  readonly relocate: boolean
}

export class RelocationSchedule {
  readonly #enabled: boolean
  readonly #atEnd: number
  #tried = 0
  /** The share by which the last relocation lowered the distortion. */
  #lastGain = Number.POSITIVE_INFINITY
  #distortion: number | undefined

  constructor(enabled: boolean, k: number, tolerance: number) {
    // It takes two clusters to merge and a third to split.
    this.#enabled = enabled && k > 2
    this.#atEnd = k <= FEW ? Number.NEGATIVE_INFINITY : Math.min(WORTHWHILE, TOLERANCES * tolerance)
  }

  /** What follows a round, after which the run would be over for the given reason. Called once for every round. */
  after({ distortion, extra }: Round, over: StopReason | undefined): NextRound {
    const before = this.#distortion
    this.#distortion = distortion
    const relocated = extra?.relocated
    if (relocated !== undefined) {
      this.#tried++
      this.#lastGain = relocated > 0 ? (extra?.relocationGain ?? 0) : Number.NEGATIVE_INFINITY
    }
    if (!this.#enabled || this.#tried >= MOST) return { over, relocate: false }
    if (over) return { over, relocate: relocated === undefined && this.#lastGain >= this.#atEnd }
    const slow = before !== undefined && before - distortion < SLOW * before
    return { over, relocate: slow && this.#lastGain >= WORTHWHILE }
  }
}

/** What is known of the rounds of a clustering. */
export type { StopReason } from '../core/rounds.ts'

/** Statistics of a round. */
export interface IterationStats {
  /** Number of the round, from 1. */
  readonly iteration: number
  /** Mean squared distance of a point to the centre of its label, both as they stand after the round, in the input's units. */
  readonly distortion: number
  /** Points whose label changed in this round. */
  readonly moved: number
  /** Candidate centres per point. */
  readonly candidates: number
  /** Wall time since the data was in memory, including seeding, compilation, and the earlier time of a resumed run. */
  readonly seconds: number
  /** Number of the restart, from 0. */
  readonly restart: number
  /** Method-specific statistics. */
  readonly extra?: ExtraFacts | undefined
}

/** Statistics of single methods. */
export interface ExtraFacts {
  /** egm, agm, gmm: components left after the round. */
  readonly components?: number
  /** egm, agm, gmm: mean log-likelihood of a point under the mixture the round began with, in nats. */
  readonly logLikelihood?: number
  /** egm, agm: by how many components there are fewer than before the round. */
  readonly purged?: number
  /**
   * egm, agm: Bayesian information criterion of the mixture the round began with; lower is better. Copies and
   * weights count by Kish's effective sample size. Where the criterion is `overlap` there is none.
   */
  readonly bic?: number
  /** The number of clusters merged and split in this round; set only in rounds with relocation. */
  readonly relocated?: number
  /** The fraction by which relocation lowered the distortion, before the next assignment. */
  readonly relocationGain?: number
}

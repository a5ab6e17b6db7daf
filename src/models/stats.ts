/** What is known of the rounds of a clustering. */
export type { StopReason } from '../core/rounds.ts'

/** What is known after a round. */
export interface IterationStats {
  /** Rounds done, from 1. */
  readonly iteration: number
  /** Mean squared distance of a point to the centre of its label, both as they stand after the round, in the input's units. */
  readonly distortion: number
  /** Points whose label changed in this round. */
  readonly moved: number
  /** Centres looked at per point. */
  readonly candidates: number
  /** Wall time since the data was in memory: seeding and compiling included, and what a resumed run took before. */
  readonly seconds: number
  /** Which restart this is, from 0. */
  readonly restart: number
  /** What the method has to tell besides. */
  readonly extra?: ExtraFacts | undefined
}

/** Numbers that only some methods have. */
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
  /** Set in rounds that looked for clusters to relocate: how many were merged with others and split off elsewhere. */
  readonly relocated?: number
  /** The share by which that lowered the distortion, before the points chose again. */
  readonly relocationGain?: number
}

/** What may change the components of a mixture after each round of expectation-maximization. */

import type { ExtraFacts } from '../../models/stats.ts'
import type { CandidateSource, Resumable, RunState } from '../run-state.ts'

export interface StepInput {
  /** Of each component: the share of its weight that comes from points whose label it is. */
  readonly ownShares: Float64Array
  /** Log-likelihood of all points under the mixture the round began with. */
  readonly logLikelihood: number
  readonly round: number
  /** The least variance of a component. */
  readonly floor: number
}

export interface StepResult {
  /** Number of candidates, in total. */
  readonly evaluated: number
  /** The new number of each component, NO_LABEL if it was removed; undefined if the lists of all points are to be discarded. */
  readonly renamed: Uint32Array | undefined
  readonly extra?: ExtraFacts
}

export interface ComponentStep extends Resumable {
  /** False while the number of components is still being searched for. */
  readonly done: boolean
  /** Changes the centres, the mixture and the labels of the state. */
  after(state: RunState, source: CandidateSource, input: StepInput): Promise<StepResult>
}

/**
 * Centres that step towards points, compared with in the k-means# paper.
 *
 * - minibatch (Sculley 2010): each point pulls its centre by 1 / (points that pulled it so far). A
 *   round here is every point once, where Sculley's is one batch: rounds then compare with those of
 *   other methods.
 * - lvq: online learning vector quantization with the rate of the k-means# paper, from 0.01 down by
 *   4e-4 a round. The text moves centres after every point; so does a batch of 1, larger ones choose
 *   among centres as they stood before the batch.
 */
import { allCandidates } from '../candidates/all.ts'
import type { MethodOption } from '../method-options.ts'
import type { Method } from '../run-state.ts'
import { stepUpdate } from '../updates/step.ts'

const batch = (fallback: number): MethodOption => ({
  name: 'batch',
  kind: 'whole',
  least: 1,
  most: 1_000_000,
  fallback,
  help: 'vectors that choose their centres at a time, before these move',
})

/** Rounds after which the rate of LVQ is zero. */
const RATE_ROUNDS = 25

export const minibatch: Method = {
  summary: 'centres step towards random batches of points (mini-batch k-means)',
  options: [batch(1024)],
  weights: false,
  candidates: allCandidates,
  update: (state) => stepUpdate(state, (count) => 1 / count),
}

export const lvq: Method = {
  summary: 'centres step towards one point after the other, at a falling rate (online LVQ)',
  options: [
    batch(256),
    {
      name: 'rate',
      kind: 'real',
      most: 1,
      fallback: 0.01,
      help: `share of the way a centre goes towards a vector; falls to 0 within ${RATE_ROUNDS} rounds`,
    },
  ],
  weights: false,
  candidates: allCandidates,
  update: (state) => {
    const rate = state.settings.rate as number
    return stepUpdate(state, (_count, iteration) => rate * Math.max(0, 1 - (iteration - 1) / RATE_ROUNDS))
  },
}

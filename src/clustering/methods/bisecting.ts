/**
 * Bisecting k-means: the largest cluster, or the one that spreads most, is split in two until there are
 * k. With moves inside it is the k-means# paper's BsKM#, on unit vectors (cosine) repeated bisecting
 * (RBK). The tree of splits is kept with the model. `refine` then runs the direct method from there,
 * after which the tree says where clusters came from, not where points belong.
 */
import { allCandidates } from '../candidates/all.ts'
import { ownCandidates } from '../candidates/own.ts'
import { BISECTING_DEFAULTS } from '../hierarchy-start.ts'
import type { Method } from '../run-state.ts'
import { meanUpdate } from '../updates/mean.ts'
import { moveUpdate } from '../updates/move.ts'
import { BATCH_OPTION } from './sharp.ts'

export const bisecting: Method = {
  summary: 'bisecting: clusters are split in two until there are k',
  options: [
    {
      name: 'splitMethod',
      kind: 'choice',
      choices: ['lloyd', 'sharp'],
      fallback: BISECTING_DEFAULTS.splitMethod,
      help: 'what splits a cluster in two, and refines',
    },
    {
      name: 'splitOrder',
      kind: 'choice',
      choices: ['size', 'spread'],
      fallback: BISECTING_DEFAULTS.splitOrder,
      help: 'split the largest cluster next, or the one whose vectors lie farthest from its centre on average',
    },
    {
      name: 'nodeRounds',
      kind: 'whole',
      least: 1,
      most: 10_000,
      fallback: BISECTING_DEFAULTS.nodeRounds,
      help: 'rounds of each split',
    },
    { name: 'refine', kind: 'switch', fallback: false, help: 'go on with all clusters at once when there are k' },
    BATCH_OPTION,
  ],
  start: 'bisecting',
  keepsTree: true,
  sparse: true,
  candidates: ({ settings }) => (settings.refine ? allCandidates() : ownCandidates()),
  update: (state) => {
    const { splitMethod, refine } = state.settings
    return splitMethod === 'sharp' && refine ? moveUpdate(state, { first: false }) : meanUpdate(state)
  },
}

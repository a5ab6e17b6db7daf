/**
 * Hierarchical k-means (Nister and Stewenius 2006): the leaves of a tree of small k-means, grown by
 * splitting the largest leaf until there are k. The tree is the start; the one round that follows
 * gives its leaves their means and the distortion. The tree is kept with the model, and new points
 * find their cluster by descending it.
 */
import { ownCandidates } from '../candidates/own.ts'
import { HKM_DEFAULTS } from '../hierarchy-start.ts'
import type { Method } from '../run-state.ts'
import { meanUpdate } from '../updates/mean.ts'

export const hkm: Method = {
  summary: 'hierarchical k-means: a tree of small k-means with k leaves',
  options: [
    {
      name: 'branching',
      kind: 'whole',
      least: 2,
      most: 256,
      fallback: HKM_DEFAULTS.branching,
      help: 'children of a node',
    },
    {
      name: 'nodeRounds',
      kind: 'whole',
      least: 1,
      most: 10_000,
      fallback: HKM_DEFAULTS.nodeRounds,
      help: 'rounds of Lloyd at each node',
    },
  ],
  start: 'hkm',
  keepsTree: true,
  sparse: true,
  candidates: ownCandidates,
  update: meanUpdate,
}

/** Cluster closures with means: the paper's own method. Defaults are the paper's, where it names them. */
import { closureCandidates } from '../candidates/closure.ts'
import type { MethodOption } from '../method-options.ts'
import type { Method } from '../run-state.ts'
import { meanUpdate } from '../updates/mean.ts'

export const CLOSURE_OPTIONS: readonly MethodOption[] = [
  { name: 'leafSize', kind: 'whole', fallback: 10, least: 1, most: 10_000, help: 'most points of a tree leaf' },
  { name: 'trees', kind: 'whole', fallback: 10, least: 1, most: 1000, help: 'most partition trees' },
  {
    name: 'neighborhoods',
    kind: 'choice',
    fallback: 'adaptive',
    choices: ['adaptive', 'static'],
    help: 'adaptive adds a tree when progress slows, static takes all at once',
  },
  {
    name: 'treesPerRound',
    kind: 'whole',
    fallback: 3,
    least: 1,
    most: 1000,
    help: 'adaptive: most trees looked at in a round, the newest first, then all in turn',
  },
  {
    name: 'treeThreshold',
    kind: 'real',
    fallback: 0.01,
    least: 0,
    most: 1,
    help: 'add a tree when a round lowers the objective by less than this share',
  },
]

export const closures: Method = {
  summary: 'cluster closures: a point looks at the clusters of its neighbours',
  options: CLOSURE_OPTIONS,
  start: 'tree',
  relocates: true,
  candidates: closureCandidates,
  update: meanUpdate,
}

/**
 * k-means# (Zhao, Deng, Ngo): a point moves as soon as that lowers the objective. With all clusters as
 * candidates it is the paper's; with those of a point's neighbours it costs the same whatever k, and
 * that combination is in none of the papers.
 */
import { allCandidates } from '../candidates/all.ts'
import { closureCandidates } from '../candidates/closure.ts'
import { nearestCandidates } from '../candidates/nearest.ts'
import type { MethodOption } from '../method-options.ts'
import type { Method } from '../run-state.ts'
import { moveUpdate } from '../updates/move.ts'
import { CLOSURE_OPTIONS } from './closures.ts'

export const BATCH_OPTION: MethodOption = {
  name: 'batch',
  kind: 'whole',
  least: 0,
  most: 1_000_000,
  fallback: 0,
  help: 'vectors whose moves are proposed at a time, whole leaves where there are trees; 1: one after the other; 0: 4,096, or a 128th of all vectors if that is more',
}

const MOVE_OPTIONS: readonly MethodOption[] = [
  BATCH_OPTION,
  {
    name: 'firstImprovement',
    kind: 'switch',
    fallback: false,
    help: 'take the first move that pays instead of the best',
  },
]

/** Moves make more of neighbours than means do: larger leaves than in the closures paper pay off. */
const LEAF_OPTION: MethodOption = {
  name: 'leafSize',
  kind: 'whole',
  least: 0,
  most: 10_000,
  fallback: 0,
  help: 'most points of a tree leaf; 0: 16, or 32 from 256 vectors for each cluster on',
}

export const sharp: Method = {
  summary: 'k-means#: points move one after another, as soon as that lowers the objective',
  options: [
    ...MOVE_OPTIONS,
    {
      name: 'nearest',
      kind: 'whole',
      least: 0,
      most: 255,
      fallback: 0,
      help: 'look only at this many clusters nearest to the own one; 0: at all',
    },
  ],
  sparse: true,
  relocates: true,
  candidates: (state) => {
    const nearest = state.settings.nearest as number
    return nearest > 0 ? nearestCandidates(state, nearest) : allCandidates()
  },
  update: (state) => moveUpdate(state, { first: state.settings.firstImprovement as boolean }),
}

export const closuresSharp: Method = {
  summary: 'k-means# among the clusters of neighbours, as closures looks at them: for many clusters',
  options: [...CLOSURE_OPTIONS.map((option) => (option.name === 'leafSize' ? LEAF_OPTION : option)), ...MOVE_OPTIONS],
  start: 'tree',
  relocates: true,
  candidates: closureCandidates,
  update: (state) => moveUpdate(state, { first: state.settings.firstImprovement as boolean }),
}

/**
 * Approximate k-means (Philbin et al. 2007) and robust approximate k-means (Li, Yang, Hua and Zhang 2014):
 * the nearest centre is looked for with a budget, in a k-means tree or in randomised k-d trees.
 */
import { searchCandidates } from '../candidates/search.ts'
import type { MethodOption } from '../method-options.ts'
import type { Method } from '../run-state.ts'
import { meanUpdate } from '../updates/mean.ts'

// Branching was measured on SIFT with 10,000 centres: for a precision of 0.9 a search of a tree of 16 looks at 207 nodes and
// centres, of a tree of 32 at 272.
const options = (precision: number): MethodOption[] => [
  {
    name: 'index',
    kind: 'choice',
    choices: ['kmeans', 'kd'],
    fallback: 'kmeans',
    help: 'what searches the centres: a k-means tree, or a forest of randomised k-d trees',
  },
  { name: 'trees', kind: 'whole', least: 1, most: 32, fallback: 4, help: 'trees of the k-d forest' },
  {
    name: 'branching',
    kind: 'whole',
    least: 2,
    most: 256,
    fallback: 16,
    help: 'children of a k-means tree node',
  },
  {
    name: 'checks',
    kind: 'whole',
    most: 1_000_000,
    fallback: 0,
    help: 'centres measured per search; 0 takes the fewest that reach the precision',
  },
  {
    name: 'precision',
    kind: 'real',
    most: 1,
    fallback: precision,
    help: 'share of searches that should find the nearest centre',
  },
]

export const akm: Method = {
  summary: 'approximate k-means: each round searches the centres with a budget',
  options: options(0.9),
  start: 'hkm',
  relocates: true,
  candidates: searchCandidates,
  update: meanUpdate,
}

export const rakm: Method = {
  summary: 'robust approximate k-means: cheap searches that differ by round and never make a point worse off',
  options: [
    ...options(0.5),
    {
      name: 'keep',
      kind: 'switch',
      fallback: true,
      help: 'keep the centre of the round before unless a nearer is found',
    },
    { name: 'reseed', kind: 'switch', fallback: true, help: 'build the index from another seed each round' },
    { name: 'probe', kind: 'switch', fallback: true, help: 'try one more centre each round, the same for all points' },
  ],
  start: 'hkm',
  relocates: true,
  candidates: searchCandidates,
  update: meanUpdate,
}

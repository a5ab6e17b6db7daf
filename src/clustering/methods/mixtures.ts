/**
 * Mixtures of spherical Gaussians, exact (egm) and approximate (agm), which find how many components there are; and the
 * ordinary kind with a given number (gmm).
 *
 * agm and egm follow Avrithis and Kalantidis, "Approximate Gaussian mixtures for large scale vocabularies" (2012): many
 * components to begin with, expectation-maximization in which points keep a list of their best components, and
 * components that go along the way. What is different by default (`criterion: 'bic'`):
 * - Which components go is decided by the Bayesian information criterion of the whole mixture, not by the overlap of two
 *   components; they are merged, not dropped, and split where that pays (mixture/count-search.ts).
 * - They begin with a few hundred well spread centres instead of all points, with the width of the points about them.
 *   The paper's width is far too large for vectors of many dimensions: see mixture/start.ts.
 * - Widths have a weak prior instead of being expanded (mixture/variance-prior.ts).
 * With `criterion: 'overlap'` they are the paper's, but for two things: widths are about the mean that shares were made
 * with (its section 4, not its equation 6), and when nothing overlaps any more, two components become one if the data
 * does not justify both (mixture/purge.ts).
 */
import { allCandidates } from '../candidates/all.ts'
import { listCandidates, searchWidth } from '../candidates/lists.ts'
import type { MethodOption } from '../method-options.ts'
import type { Method } from '../run-state.ts'
import { mixturePointBytes, mixtureUpdate } from '../updates/mixture.ts'

/** What every mixture can be told. */
const widths: readonly MethodOption[] = [
  {
    name: 'sigma',
    kind: 'real',
    fallback: 0,
    help: 'standard deviation components start with; 0: that of vectors about their nearest centre',
  },
  {
    name: 'floor',
    kind: 'real',
    fallback: 0,
    help: 'least standard deviation of a component; 0: a thousandth of that of the data',
  },
  {
    name: 'prior',
    kind: 'real',
    most: 1000,
    fallback: 0.1,
    help: 'vectors that the prior of the widths counts as; 0: none, and components may shrink onto single vectors',
  },
]

/** The numbers are those of section 5.2 of the paper. */
const count: readonly MethodOption[] = [
  {
    name: 'criterion',
    kind: 'choice',
    choices: ['bic', 'overlap'],
    fallback: 'bic',
    help: 'what decides how many components there are: the Bayesian information criterion, or overlap as in the paper',
  },
  {
    name: 'lambda',
    kind: 'real',
    most: 1,
    fallback: 0.2,
    when: { option: 'criterion', is: 'overlap' },
    help: 'criterion overlap: how far components expand towards the points of others, 0 to 1',
  },
  {
    name: 'tau',
    kind: 'real',
    most: 1,
    fallback: 0.55,
    when: { option: 'criterion', is: 'overlap' },
    help: 'criterion overlap: a component goes when it explains less than this share of itself, against those that stay',
  },
]

const search: readonly MethodOption[] = [
  {
    name: 'memory',
    kind: 'whole',
    least: 1,
    most: 256,
    fallback: 12,
    help: 'components a point remembers and shares itself among, the best of all it has heard of',
  },
  {
    name: 'checks',
    kind: 'whole',
    most: 4096,
    fallback: 0,
    help: 'components newly searched for a point each round; 0: twice as many as it remembers',
  },
  {
    name: 'index',
    kind: 'choice',
    choices: ['kmeans', 'kd'],
    fallback: 'kmeans',
    help: 'what searches the centres: a k-means tree, or a forest of randomised k-d trees',
  },
  { name: 'trees', kind: 'whole', least: 1, most: 32, fallback: 4, help: 'trees of the k-d forest' },
  { name: 'branching', kind: 'whole', least: 2, most: 256, fallback: 16, help: 'children of a k-means tree node' },
]

/** Components to begin with: more than any but the largest data needs, if they are split later. */
const FEWEST_TO_BEGIN = 512
const PER_ROOT = 4
const POINTS_PER_COMPONENT = 4
const SMALL = 10
/** Splitting may take the number this many times beyond the start. */
const GROWTH = 4

const finding: Pick<Method, 'findsCount' | 'startCount' | 'mostClusters' | 'countedStart'> = {
  findsCount: true,
  startCount({ criterion }, rows) {
    if (criterion === 'overlap') return rows
    const enough = Math.max(FEWEST_TO_BEGIN, Math.round(PER_ROOT * Math.sqrt(rows)))
    return Math.min(rows, Math.max(SMALL, Math.min(Math.ceil(rows / POINTS_PER_COMPONENT), enough)))
  },
  mostClusters: ({ criterion }, rows, k) => (criterion === 'overlap' ? k : Math.max(k, Math.min(rows, GROWTH * k))),
  countedStart: ({ criterion }) => (criterion === 'overlap' ? undefined : 'auto'),
}

export const egm: Method = {
  summary: 'Gaussian mixture that finds how many clusters there are; every point looks at every one',
  options: [...count, ...widths],
  ...finding,
  mixture: true,
  bytesPerPoint: mixturePointBytes,
  candidates: allCandidates,
  update: mixtureUpdate,
}

export const agm: Method = {
  summary: 'approximate Gaussian mixture: finds how many clusters there are; every point looks at a few of them',
  options: [...count, ...search, ...widths],
  ...finding,
  mixture: true,
  bytesPerPoint: (settings, stride) => Math.max(mixturePointBytes(settings, stride), 4 * searchWidth(settings)),
  candidates: listCandidates,
  update: mixtureUpdate,
}

export const gmm: Method = {
  summary: 'Gaussian mixture with spherical components: soft clusters, k of them',
  options: widths,
  mixture: true,
  bytesPerPoint: mixturePointBytes,
  candidates: allCandidates,
  update: mixtureUpdate,
}

/**
 * Mixtures of spherical Gaussians (Avrithis and Kalantidis, "Approximate Gaussian mixtures for large scale
 * vocabularies", 2012): expanding ones, exact (egm) and approximate (agm), which find how many components
 * there are; and the ordinary kind with a given number (gmm).
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
    help: 'standard deviation components start with; 0: the distance to the nearest other one',
  },
  {
    name: 'floor',
    kind: 'real',
    fallback: 0,
    help: 'least standard deviation of a component; 0: a thousandth of that of the data',
  },
]

/** As in section 5.2 of the paper. */
const expansion: readonly MethodOption[] = [
  {
    name: 'lambda',
    kind: 'real',
    most: 1,
    fallback: 0.2,
    help: 'how far components expand towards the points of others, 0 to 1',
  },
  {
    name: 'tau',
    kind: 'real',
    most: 1,
    fallback: 0.55,
    help: 'a component goes when it explains less than this share of itself, against those that stay',
  },
]

const search: readonly MethodOption[] = [
  {
    name: 'memory',
    kind: 'whole',
    least: 1,
    most: 256,
    fallback: 50,
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

export const egm: Method = {
  summary: 'expanding Gaussian mixtures: finds how many clusters there are; every point looks at every one',
  options: [...expansion, ...widths],
  findsCount: true,
  pointBytes: mixturePointBytes,
  candidates: allCandidates,
  update: mixtureUpdate,
}

export const agm: Method = {
  summary: 'approximate Gaussian mixtures: finds how many clusters there are; every point looks at a few of them',
  options: [...expansion, ...search, ...widths],
  findsCount: true,
  pointBytes: (settings, stride) => Math.max(mixturePointBytes(settings, stride), 4 * searchWidth(settings)),
  candidates: listCandidates,
  update: mixtureUpdate,
}

export const gmm: Method = {
  summary: 'Gaussian mixture with spherical components: soft clusters, k of them',
  options: widths,
  pointBytes: mixturePointBytes,
  candidates: allCandidates,
  update: mixtureUpdate,
}

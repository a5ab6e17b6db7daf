/**
 * Who the contract is checked on: every method there is, by enumeration, with further settings where
 * a method does something else with them. What a method is excused from is in EXCEPTIONS, with a reason.
 */
import {
  type ClusterModel,
  type ClusterOptions,
  type Matrix,
  METHODS,
  type MethodName,
  matrix,
} from '../../../src/index.ts'
import { normal } from '../clouds.ts'

export interface Subject {
  readonly name: string
  readonly method: MethodName
  readonly options: ClusterOptions
}

export const ROWS = 240
export const COLS = 5
export const K = 9

/** Points of a few groups that overlap: runs go on for some rounds. */
export function cloud(seed = 1, rows = ROWS, cols = COLS): Matrix {
  const noise = normal(rows, cols, seed)
  return matrix(
    noise.data.map((value, at) => value + 3 * ((Math.floor(at / cols) * 7 + (at % cols) * 3) % 4)),
    rows,
    cols,
  )
}

/** Settings that make small data go through all of a method. */
const SETTINGS: Partial<Record<MethodName, readonly Partial<ClusterOptions>[]>> = {
  sharp: [{ batch: 32 }, { batch: 32, nearest: 3 }, { batch: 16, firstImprovement: true }],
  'closures-sharp': [{ batch: 32, leafSize: 12, trees: 4 }],
  closures: [
    { leafSize: 12, trees: 4 },
    { leafSize: 12, trees: 3, neighborhoods: 'static' },
  ],
  bisecting: [{}, { splitMethod: 'sharp', refine: true, splitOrder: 'spread', batch: 32 }],
  minibatch: [{ batch: 32 }],
  lvq: [{ batch: 16 }],
  akm: [
    { checks: 3, branching: 3 },
    { index: 'kd', trees: 2 },
  ],
  rakm: [
    { checks: 3, branching: 3 },
    { checks: 2, index: 'kd', trees: 2 },
  ],
  hkm: [{ branching: 3 }],
  canopy: [{ canopyRadius: 0.6 }],
  agm: [{ memory: 6, checks: 8, branching: 3 }],
}

function subjectsOf(method: MethodName): Subject[] {
  return (SETTINGS[method] ?? [{}]).map((settings) => ({
    name: [method, ...Object.entries(settings).map(([name, value]) => `${name} ${value}`)].join(', '),
    method,
    options: {
      method,
      ...(METHODS[method].findsCount ? { start: 40 } : { k: K }),
      seed: 3,
      tolerance: 0,
      iterations: 6,
      ...settings,
    },
  }))
}

export const SUBJECTS: readonly Subject[] = (Object.keys(METHODS) as MethodName[]).flatMap(subjectsOf)

export type Check = 'weights' | 'permutation' | 'given start' | 'nearest labels'

/** What a method does not promise, and why. All other checks hold for all methods. */
export const EXCEPTIONS: Readonly<Record<Check, Partial<Record<MethodName, string>>>> = {
  weights: {
    minibatch: 'takes no weights',
    lvq: 'takes no weights',
  },
  permutation: {
    sharp: 'points move one after another, in a random order of their numbers',
    'closures-sharp': 'points move one after another; trees draw points by number',
    closures: 'trees draw points by number',
    minibatch: 'batches are drawn by number',
    lvq: 'batches are drawn by number',
    bisecting: "with splitMethod 'sharp' points move one after another",
    canopy: 'canopies are found on a sample drawn by number',
    akm: 'checks are tuned on a sample drawn by number',
    rakm: 'checks are tuned on a sample drawn by number',
  },
  'given start': {},
  'nearest labels': {
    closures: 'looks only at clusters of neighbours',
    'closures-sharp': 'looks only at clusters of neighbours, and a move counts the change of both centres',
    sharp: 'a move counts the change of both centres',
    akm: 'the search is approximate',
    rakm: 'the search is approximate',
    hkm: 'points stay in the leaf they came to',
    bisecting: 'points stay in the leaf they came to',
    canopy: 'looks only at centres of its canopies',
    egm: 'the likeliest component need not be the nearest',
    agm: 'the likeliest component need not be the nearest',
    gmm: 'the likeliest component need not be the nearest',
  },
}

export function excused(check: Check, { method }: Subject): boolean {
  return EXCEPTIONS[check][method] !== undefined
}

/** All a run gives, without what depends on the clock. */
export function bitsOf(model: ClusterModel): object {
  return {
    centers: model.centers.data,
    labels: model.labels,
    weights: model.weights,
    sigmas: model.sigmas,
    tree: model.tree,
    stopped: model.facts.stopped,
    iterations: model.facts.iterations.map(({ seconds, ...step }) => step),
  }
}

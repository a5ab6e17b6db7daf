/** Every bad option is one sentence that names it, its value and what would do. */
import { expect, test } from 'vitest'
import {
  CentroidalError,
  type ClusterOptions,
  cluster,
  METHODS,
  type MethodName,
  type OptionOfMethod,
  type VectorInput,
} from '../../src/index.ts'

const vectors = [
  [1, 2],
  [3, 4],
  [5, 7],
]
const bad: [string, VectorInput, object, RegExp][] = [
  ['k of 0', vectors, { k: 0 }, /Option k is 0: give a whole number of clusters, at least 1, or 'auto'\./],
  ['k of 1.5', vectors, { k: 1.5 }, /Option k is 1\.5/],
  ['k above n', vectors, { k: 4 }, /Option k is 4: there are only 3 vectors/],
  ['an unknown option', vectors, { k: 2, itterations: 3 }, /Option itterations is 3: there is no such option/],
  ['an unknown method', vectors, { k: 2, method: 'magic' }, /Option method is "magic": give one of auto, lloyd/],
  ['negative iterations', vectors, { k: 2, iterations: -1 }, /Option iterations is -1/],
  ['a seed that is text', vectors, { k: 2, seed: 'x' }, /Option seed is "x"/],
  ['an unknown start', vectors, { k: 2, start: 'middle' }, /Option start is "middle"/],
  [
    'centres of the wrong width',
    vectors,
    { k: 1, start: { data: new Float32Array(3), rows: 1, cols: 3 } },
    /a matrix of 1 x 3.*give 1 row of 2 columns/,
  ],
  [
    'more centres than clusters',
    vectors,
    { k: 2, start: { data: new Float32Array(6), rows: 3, cols: 2 } },
    /a matrix of 3 x 2.*give at most 2 rows of 2 columns/,
  ],
  ['an unknown metric', vectors, { k: 2, metric: 'manhattan' }, /Option metric is "manhattan"/],
  ['too few weights', vectors, { k: 2, weights: [1, 2] }, /give one for each of the 3 vectors/],
  ['a negative weight', vectors, { k: 2, weights: [1, -2, 1] }, /Weight 1 is -2/],
  ['no weight at all', vectors, { k: 2, weights: [0, 0, 0] }, /Option weights is "all zero"/],
  ['an unknown device', vectors, { k: 2, device: 'tpu' }, /Option device is "tpu": give one of auto, webgpu, cpu/],
  [
    'NaN',
    [
      [1, 2],
      [3, Number.NaN],
    ],
    { k: 1 },
    /Row 1 of the input holds NaN in column 1/,
  ],
  [
    'Infinity',
    [
      [1, 2],
      [Number.NEGATIVE_INFINITY, 1],
    ],
    { k: 1 },
    /Row 1 of the input holds -Infinity in column 0/,
  ],
  ['rows of different length', [[1, 2], [3]], { k: 1 }, /Row 1 of the input has 1 numbers, row 0 has 2/],
  [
    'zeros with cosine',
    [
      [1, 2],
      [0, 0],
    ],
    { k: 1, metric: 'cosine' },
    /Row 1 of the input is all zeros/,
  ],
  [
    'too few different rows',
    [
      [1, 2],
      [1, 2],
      [1, 2],
    ],
    { k: 2 },
    /only 1 different vectors/,
  ],
  ['nothing', [], { k: 1 }, /The input is empty/],
]

test.each(bad)('%s', async (_name, input, options, message) => {
  const run = cluster(input, { device: 'cpu', ...options } as unknown as ClusterOptions)
  await expect(run).rejects.toThrow(message)
  await expect(run).rejects.toBeInstanceOf(CentroidalError)
})

/** The compiler compares these with the type, the test with the tables of the methods. */
const OPTIONS: { readonly [Method in MethodName]: readonly OptionOfMethod[Method][] } = {
  lloyd: [],
  akm: ['index', 'trees', 'branching', 'checks', 'precision'],
  rakm: ['index', 'trees', 'branching', 'checks', 'precision', 'keep', 'reseed', 'probe'],
  hkm: ['branching', 'nodeRounds'],
  closures: ['leafSize', 'trees', 'neighborhoods', 'treesPerRound', 'treeThreshold'],
  'closures-sharp': [
    'leafSize',
    'trees',
    'neighborhoods',
    'treesPerRound',
    'treeThreshold',
    'batch',
    'firstImprovement',
  ],
  sharp: ['batch', 'firstImprovement', 'nearest'],
  canopy: ['canopyRadius'],
  minibatch: ['batch'],
  lvq: ['batch', 'rate'],
  egm: ['criterion', 'lambda', 'tau', 'sigma', 'floor', 'prior'],
  agm: ['criterion', 'lambda', 'tau', 'memory', 'checks', 'index', 'trees', 'branching', 'sigma', 'floor', 'prior'],
  gmm: ['sigma', 'floor', 'prior'],
  bisecting: ['splitMethod', 'splitOrder', 'nodeRounds', 'refine', 'batch'],
}

test.each(Object.keys(METHODS) as MethodName[])('the types of the options fit the table of %s', (method) => {
  const table = METHODS[method].options.map(({ name }) => name)
  expect([...OPTIONS[method]].sort()).toEqual([...table].sort())
})

/** Every export with its arguments: what is right for each, and which of the wrong values it takes all the same. */

import type {
  BlobsOptions,
  DeviceLimits,
  DeviceOptions,
  NeighborOptions,
  PartitionTreeOptions,
  ScoreOptions,
  SilhouetteOptions,
  WriteOptions,
} from '../../src/index.ts'
import * as library from '../../src/index.ts'
import { clusterCall } from './cluster-calls.ts'
import type { Fixtures } from './fixtures.ts'
import { machineCalls } from './machine-calls.ts'
import { modelCalls } from './model-calls.ts'
import { argument, type Call, ENDLESS, HUGE, limits, missing, optional, options, WATCH } from './places.ts'
import { searchCalls } from './search-calls.ts'
import { sweepCalls } from './sweep-calls.ts'
import { TAKEN } from './values.ts'

export function callsOf(f: Fixtures): Readonly<Record<string, readonly Call[] | 'constant' | 'internal'>> {
  const { device, vectors, images, model } = f
  const labelled = [argument('vectors', 'vectors', vectors), argument('labels', 'none', model.labels)]
  const watched = options<ScoreOptions>({}, { signal: 'signal', onProgress: 'callback' })
  return {
    METHODS: 'constant',
    MODEL_VERSION: 'constant',
    INDEX_VERSION: 'constant',
    CLUSTER_DEFAULTS: 'constant',
    START_NAMES: 'constant',
    QUANTIZER_DEFAULTS: 'constant',
    QUANTIZER_TYPES: 'constant',
    SUBSPACE_ORDERS: 'constant',
    CODE_DISTANCES: 'constant',
    SEARCH_METRICS: 'constant',
    CentroidalError: 'internal',
    meantName: 'internal',
    nearestName: 'internal',
    cluster: [
      ...(['lloyd', 'closures-sharp', 'gmm', 'agm', 'overlap', 'auto'] as const).map((kind) => clusterCall(f, kind)),
    ],
    clusterSteps: [
      {
        call: (v, o) => library.clusterSteps(v, o).next(),
        arguments: [argument('vectors', 'vectors', vectors), argument('options', 'none', { k: 3, device })],
      },
    ],
    ...sweepCalls(f),
    ...modelCalls(f),
    readSavedText: [
      {
        call: async (path, name) => {
          await model.save('noted')
          return library.readSavedText(path, name)
        },
        arguments: [
          argument('folder', 'none', 'noted', { skip: TAKEN.path }),
          argument('name', 'path', 'a.txt', { also: ['text with a zero byte'] }),
        ],
      },
    ],
    loadModel: [{ call: (path) => library.loadModel(path), arguments: [missing] }],
    matrix: [
      {
        call: (d, r, c) => library.matrix(d, r, c),
        arguments: [
          argument('data', 'none', new Float32Array(4)),
          argument('rows', 'none', 2),
          argument('cols', 'none', 2),
        ],
      },
    ],
    createRandom: [
      { call: (seed) => library.createRandom(seed).next(), arguments: [argument('seed', 'whole or zero', 1)] },
      { call: (bound) => library.createRandom(1).below(bound), arguments: [argument('bound', 'whole', 9)] },
      { call: (stream) => library.createRandom(1).fork(stream), arguments: [argument('stream', 'whole or zero', 9)] },
    ],
    sparseMatrix: [
      {
        call: (offsets, columns, values, rows, cols, name) =>
          library.sparseMatrix({ offsets, columns, values }, rows, cols, name),
        arguments: [
          argument('offsets', 'none', [0, 1, 2]),
          argument('columns', 'none', [0, 1]),
          argument('values', 'none', [1, 2]),
          argument('rows', 'none', 2),
          argument('cols', 'whole', 2, HUGE),
          argument('name', 'text', 'rows', { also: [...optional, 'empty text'] }),
        ],
      },
      {
        call: (parts) => library.sparseMatrix(parts, 2, 2),
        arguments: [argument('parts', 'none', { offsets: [0, 1, 2], columns: [0, 1], values: [1, 2] })],
      },
    ],
    ...machineCalls,
    openVectors: [{ call: (path) => library.openVectors(path), arguments: [missing] }],
    readVectors: [{ call: (path) => library.readVectors(path), arguments: [missing] }],
    readSparse: [{ call: (path) => library.readSparse(path), arguments: [missing] }],
    readIntegers: [{ call: (path) => library.readIntegers(path), arguments: [missing] }],
    blobs: [
      {
        call: (o) => library.blobs(o),
        arguments: [
          options<BlobsOptions>(
            { rows: 9, cols: 2, clusters: 2 },
            {
              rows: 'none',
              cols: 'none',
              clusters: 'none',
              spread: { place: 'real', also: optional, not: ['Infinity'], skip: ['1e300'] },
              seed: { place: 'whole or zero', also: optional },
              separated: { place: 'flag', also: optional },
            },
            true,
          ),
        ],
      },
    ],
    writeVectors: [
      {
        call: (path, v, o) => library.writeVectors(path, v, o),
        arguments: [
          argument('path', 'none', 'vectors.npy'),
          argument('vectors', 'vectors', vectors, { also: ['NaN in a row'] }),
          options<WriteOptions>({}, { onProgress: 'callback', float32: 'flag' }),
        ],
      },
    ],
    vectorBytes: [
      {
        call: (path, v, o) => library.vectorBytes(path, v, o),
        arguments: [
          argument('name', 'none', 'vectors.npy'),
          argument('vectors', 'vectors', vectors, { also: ['NaN in a row'] }),
          options<WriteOptions>({}, { onProgress: 'callback', float32: 'flag' }),
        ],
      },
    ],
    writeLabels: [
      {
        call: (path, l) => library.writeLabels(path, l),
        arguments: [argument('path', 'none', 'labels.npy'), argument('labels', 'none', images)],
      },
    ],
    labelBytes: [
      {
        call: (path, l) => library.labelBytes(path, l),
        arguments: [argument('name', 'none', 'labels.npy'), argument('labels', 'none', images)],
      },
    ],
    writeNeighbors: [
      {
        call: (path, l, c) => library.writeNeighbors(path, l, c),
        arguments: [
          argument('path', 'none', 'labels.npy'),
          argument('labels', 'none', images),
          argument('cols', 'none', 2),
        ],
      },
    ],
    listDevices: 'internal',
    tune: 'internal', // it measures for seconds on a software adapter: see test/vectors/tuning.test.ts
    openDevice: [
      {
        call: async (o) => (await library.openDevice(o)).close(),
        arguments: [
          {
            ...options<DeviceOptions>(
              { kind: 'cpu', shared: false },
              {
                kind: 'none',
                threads: 'none',
                memoryBytes: 'whole',
                totalBytes: 'whole',
                temporaryFolder: { place: 'path', also: ['text with a zero byte'] },
                limits: 'options',
                tiled: 'flag',
                tune: 'flag',
                gflops: { place: 'real', also: optional, not: ['zero', 'Infinity', '2^31', '2^53 - 1', '1e300'] },
                shared: 'flag',
              },
            ),
            // Without a kind, a device of the machine's own choice is opened, which takes long.
            place: 'none',
            also: [],
            skip: ['undefined', ...TAKEN.options],
          },
        ],
      },
      {
        call: async (o) => (await library.openDevice({ kind: 'cpu', shared: false, limits: o })).close(),
        arguments: [options<DeviceLimits>({} as DeviceLimits, limits)],
      },
    ],
    principalAxes: [
      {
        call: (v, c, w) => library.principalAxes(v, c, w),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('count', 'none', 2, { also: optional }),
          argument('weights', 'none', new Float32Array(24).fill(1), { also: optional }),
        ],
      },
      {
        call: (v) => library.principalAxes(vectors).project(v),
        arguments: [argument('vectors', 'vectors', vectors)],
      },
    ],
    distortion: [
      {
        call: (v, c, l, w) => library.distortion(v, c, l, w),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('centers', 'vectors', model.centers),
          argument('labels', 'none', model.labels),
          argument('weights', 'none', new Float32Array(24).fill(1), { also: optional }),
        ],
      },
    ],
    silhouette: [
      {
        call: (v, l, o) => library.silhouette(v, l, o),
        arguments: [
          ...labelled,
          options<SilhouetteOptions>({}, { signal: 'signal', onProgress: 'callback', method: 'none', metric: 'none' }),
        ],
      },
    ],
    daviesBouldin: [{ call: (v, l, o) => library.daviesBouldin(v, l, o), arguments: [...labelled, watched] }],
    calinskiHarabasz: [{ call: (v, l, o) => library.calinskiHarabasz(v, l, o), arguments: [...labelled, watched] }],
    SILHOUETTE_EXACT_ROWS: 'constant',
    imbalance: [{ call: (c) => library.imbalance(c), arguments: [argument('counts', 'none', [1, 2])] }],
    normalizedMutualInformation: [labelings(library.normalizedMutualInformation)],
    adjustedRandIndex: [labelings(library.adjustedRandIndex)],
    purity: [labelings(library.purity)],
    entropy: [labelings(library.entropy)],
    averagePrecision: [
      {
        call: (a, b) => library.averagePrecision(a, b),
        arguments: [argument('ranked', 'whole numbers', [3, 1]), argument('relevant', 'none', [1])],
      },
    ],
    meanAveragePrecision: [rankings(library.meanAveragePrecision), rankingLists(library.meanAveragePrecision)],
    nsScore: [rankings(library.nsScore), { ...rankingLists(library.nsScore) }],
    judgeRankings: [
      {
        call: (r, g) => library.judgeRankings(r, g),
        arguments: [
          argument('rankings', 'none', [{ query: 0, images: [0, 1] }]),
          argument('groups', 'none', new Map([[0, 7], [1, 7]])), // biome-ignore format: one line
        ],
      },
      {
        call: (q, i) => library.judgeRankings([{ query: q, images: i }], new Map([[0, 7], [1, 7]])), // biome-ignore format: one line
        arguments: [argument('query', 'none', 0, { also: ['zero'] }), argument('images', 'whole numbers', [0, 1])],
      },
    ],
    overlapAt: [
      {
        call: (a, b, n) => library.overlapAt(a, b, n),
        arguments: [
          argument('found', 'none', { rows: 1, cols: 1, data: [1] }),
          argument('truth', 'none', { rows: 1, cols: 1, data: [1] }),
          argument('n', 'none', 1),
        ],
      },
    ],
    recallAt: [
      {
        call: (a, b, r) => library.recallAt(a, b, r),
        arguments: [
          argument('found', 'none', { rows: 1, cols: 1, data: [1] }),
          argument('truth', 'none', { rows: 1, cols: 1, data: [1] }),
          argument('r', 'whole', 1),
        ],
      },
      {
        call: (rows, cols, data) => library.recallAt({ rows, cols, data }, { rows: 1, cols: 1, data: [1] }, 1),
        arguments: [
          argument('rows', 'none', 1),
          argument('cols', 'none', 1),
          argument('data', 'numbers', [1], { not: ['empty array'] }),
        ],
      },
    ],
    ...searchCalls(f),
    nearest: [
      {
        call: (v, a, o) => library.nearest(v, a, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          argument('among', 'vectors', model.centers),
          options<NeighborOptions>({ device }, { ...WATCH, m: 'none', metric: 'none' }),
        ],
      },
    ],
    partitionTrees: [
      {
        call: (v, o) => library.partitionTrees(v, o),
        arguments: [
          argument('vectors', 'vectors', vectors),
          options<PartitionTreeOptions>(
            { device },
            { ...WATCH, trees: 'none', leafSize: 'whole', seed: 'whole or zero' },
          ),
        ],
      },
    ],
    rerank: [
      {
        call: (c, q, v, n) => library.rerank(c, q, v, n),
        arguments: [
          argument('candidates', 'none', { m: 1, labels: new Uint32Array(24), distances: new Float32Array(24) }),
          argument('queries', 'vectors', vectors),
          argument('vectors', 'vectors', vectors),
          argument('nearest', 'none', 1, { also: optional }),
        ],
      },
    ],
  }
}

function labelings(call: (a: ArrayLike<number>, b: ArrayLike<number>) => number): Call {
  const names = { also: ['array of text'] }
  return { call, arguments: [argument('labels', 'none', [0, 1], names), argument('truth', 'none', [1, 1], names)] }
}

function rankings(call: typeof library.nsScore): Call {
  return { call, arguments: [argument('ranked', 'none', [[1]]), argument('relevant', 'none', [[1]])] }
}

function rankingLists(call: typeof library.nsScore): Call {
  return {
    call: (ranked, relevant) => call([ranked], [relevant]),
    arguments: [
      argument('ranked', 'whole numbers', [1]),
      argument('relevant', 'none', [1], { also: call === library.nsScore ? ['empty array', 'map'] : [], ...ENDLESS }),
    ],
  }
}

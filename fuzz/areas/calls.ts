/** Every public function with arguments that are right, to be made wrong one at a time. */

import type { Device } from '../../src/index.ts'
import * as library from '../../src/index.ts'
import type { Expected } from './nasty-values.ts'

/** What an argument is: its kind and a right value. Options are a table of such. */
export interface Argument {
  readonly expects: Expected
  readonly value: unknown
  /** Options by name, where the argument is an object of them. */
  readonly options?: Readonly<Record<string, Expected>>
  /** True where the argument may be left out. */
  readonly optional?: boolean
}

export interface Call {
  readonly name: string
  readonly arguments: readonly Argument[]
  /** True where the function returns a promise. */
  readonly later: boolean
  call(args: readonly unknown[]): unknown
}

export interface Fixtures {
  readonly model: library.ClusterModel
  readonly mixture: library.ClusterModel
  readonly quantizer: library.Quantizer
  readonly bits: library.Quantizer
  readonly codes: library.Matrix
  readonly vectors: library.Matrix
  readonly images: Uint32Array
}

const ROWS = 24
const COLS = 4
let made: Promise<Fixtures> | undefined

export function fixtures(): Promise<Fixtures> {
  made ??= makeFixtures()
  return made
}

async function makeFixtures(): Promise<Fixtures> {
  const { vectors } = library.blobs({ rows: ROWS, cols: COLS, clusters: 3, seed: 1 })
  const device = await library.openDevice({ kind: 'cpu', shared: false })
  const model = await library.cluster(vectors, { k: 3, device })
  const mixture = await library.cluster(vectors, { k: 3, method: 'gmm', device })
  const quantizer = await library.trainQuantizer(vectors, { type: 'pq', m: 2, codewords: 4, device })
  const bits = await library.trainQuantizer(vectors, { type: 'itq', m: 4, device })
  const codes = await quantizer.encode(vectors, { device })
  await device.close()
  return {
    model,
    mixture,
    quantizer,
    bits,
    codes,
    vectors,
    images: Uint32Array.from({ length: ROWS }, (_, i) => i >> 2),
  }
}

const CONTROL = { device: 'device', signal: 'signal', onProgress: 'function' } as const
const SCORE = { signal: 'signal', onProgress: 'function', bogus: 'other' } as const
const SWEEP: Readonly<Record<string, Expected>> = {
  ...CONTROL,
  k: 'other',
  method: 'text',
  seed: 'whole',
  seeds: 'whole',
  metric: 'text',
  keep: 'switch',
  onStep: 'function',
  bogus: 'other',
}
const CLUSTER: Readonly<Record<string, Expected>> = {
  ...CONTROL,
  k: 'whole',
  method: 'text',
  seed: 'whole',
  iterations: 'whole',
  tolerance: 'real',
  seconds: 'real',
  restarts: 'whole',
  start: 'other',
  metric: 'text',
  weights: 'numbers',
  empty: 'text',
  onIteration: 'function',
  checkpoint: 'other',
  resume: 'other',
  bogus: 'other',
}
const TRAIN: Readonly<Record<string, Expected>> = {
  ...CONTROL,
  type: 'text',
  m: 'whole',
  codewords: 'whole',
  iterations: 'whole',
  tolerance: 'real',
  seed: 'whole',
  order: 'text',
  rank: 'whole',
  onIteration: 'function',
}
const SEARCH = { ...CONTROL, nearest: 'whole', distance: 'text', candidates: 'whole', rerank: 'vectors' } as const
const WORDS = { ...CONTROL, words: 'whole', sigma: 'real', top: 'whole' } as const
const EXPECTED_OF = { whole: 'whole', real: 'real', choice: 'text', switch: 'switch' } as const

/** The calls, with objects of their own: some change what they are called on. */
export function callsOf(f: Fixtures, device: Device, folder: string): readonly Call[] {
  const L = library
  const vectors: Argument = { expects: 'vectors', value: f.vectors }
  const whole = (value: number, optional = false): Argument => ({ expects: 'whole', value, optional })
  const labels: Argument = { expects: 'numbers', value: f.model.labels }
  const location = (value: string): Argument => ({ expects: 'location', value })
  const options = (value: object, table: Readonly<Record<string, Expected>>): Argument => ({
    expects: 'options',
    value: 'device' in table ? { device, ...value } : value,
    options: table,
    optional: true,
  })
  const lists: Argument = { expects: 'other', value: [[1, 2], [2, 3]] } // biome-ignore format: short
  const neighbours: Argument = { expects: 'other', value: { rows: 2, cols: 2, data: Uint32Array.of(0, 1, 1, 0) } }
  const index = (): library.CodeIndex => new L.CodeIndex(f.quantizer, f.codes)
  const file = (): library.InvertedFile => new L.InvertedFile(f.model, f.quantizer)
  const vectorLists = (): library.VectorLists => new L.VectorLists(f.model)
  const images = (): library.ImageIndex => new L.ImageIndex(f.model)
  const random = L.createRandom(1)
  const now = (name: string, args: readonly Argument[], call: (...all: never[]) => unknown): Call => ({
    name,
    arguments: args,
    later: false,
    call: (all) => call(...(all as never[])),
  })
  const later = (name: string, args: readonly Argument[], call: (...all: never[]) => unknown): Call => ({
    ...now(name, args, call),
    later: true,
  })
  const methods = Object.entries(L.METHODS).map(([method, { options: own, findsCount }]) => {
    const table = Object.fromEntries(own.map(({ name, kind }) => [name, EXPECTED_OF[kind]]))
    const base = { method, iterations: 5, ...(findsCount ? {} : { k: 3 }) }
    return later(`cluster ${method}`, [vectors, options(base, { ...CLUSTER, ...table })], L.cluster as never)
  })
  return [
    ...methods,
    now('adjustedRandIndex', [labels, labels], L.adjustedRandIndex),
    now('averagePrecision', [labels, labels], L.averagePrecision),
    now('blobs', [options({ rows: 20, cols: 3, clusters: 2 }, { rows: 'whole', cols: 'whole', clusters: 'whole', seed: 'whole', spread: 'real', separated: 'switch', bogus: 'other' })], L.blobs), // biome-ignore format: a table
    later('buildIndex', [{ expects: 'other', value: f.model }, vectors, { expects: 'numbers', value: f.images }, options({}, { ...CONTROL, ids: 'numbers', bogus: 'other' })], L.buildIndex), // biome-ignore format: a table
    later('bic', [vectors, labels, options({}, SCORE)], L.bic),
    later('calinskiHarabasz', [vectors, labels, options({}, SCORE)], L.calinskiHarabasz),
    later('daviesBouldin', [vectors, labels, options({}, SCORE)], L.daviesBouldin),
    later('silhouette', [vectors, labels, options({}, { ...SCORE, method: 'text', metric: 'text' })], L.silhouette),
    later('sweep', [vectors, options({ k: [2, 3], seeds: 1 }, SWEEP)], L.sweep),
    later('sweepSteps', [vectors, options({ k: [2, 3], seeds: 1 }, SWEEP)], async (...all: never[]) => {
      for await (const step of (L.sweepSteps as (...args: never[]) => AsyncGenerator<library.SweepStep>)(...all)) if (step.k > 2) break
    }), // biome-ignore format: a table
    later('clusterSteps', [vectors, options({ k: 3 }, CLUSTER)], async (...all: never[]) => {
      for await (const step of (L.clusterSteps as (...args: never[]) => AsyncGenerator<library.ClusterStep>)(...all)) if (step.iteration > 5) break
    }), // biome-ignore format: a table
    later(
      'model.assign',
      [vectors, options({}, { ...CONTROL, descend: 'switch', bogus: 'other' })],
      f.model.assign.bind(f.model),
    ),
    later(
      'model.predict',
      [vectors, options({}, { ...CONTROL, descend: 'switch', bogus: 'other' })],
      f.model.predict.bind(f.model),
    ),
    later(
      'model.responsibilities',
      [vectors, whole(2), options({}, CONTROL)],
      f.mixture.responsibilities.bind(f.mixture),
    ),
    later('model.save', [location(`${folder}/m`)], f.model.save.bind(f.model)),
    now('new CodeIndex', [{ expects: 'other', value: f.quantizer }, { expects: 'other', value: f.codes, optional: true }, { expects: 'words', value: Uint32Array.from({ length: ROWS }, (_, i) => i), optional: true }], (...all: never[]) => new (L.CodeIndex as never as new (...args: never[]) => unknown)(...all)), // biome-ignore format: a table
    later(
      'codeIndex.add',
      [vectors, options({}, { ...CONTROL, ids: 'numbers', bogus: 'other' })],
      index().add.bind(index()),
    ),
    now('codeIndex.remove', [labels], index().remove.bind(index())),
    later('codeIndex.save', [location(`${folder}/c`)], index().save.bind(index())),
    later(
      'codeIndex.search',
      [vectors, options({ nearest: 3 }, { ...SEARCH, bogus: 'other' })],
      index().search.bind(index()),
    ),
    later('CodeIndex.load', [location(`${folder}/none`)], L.CodeIndex.load),
    now('createRandom', [whole(1)], L.createRandom),
    now('random.below', [whole(5)], random.below.bind(random)),
    now('random.fork', [whole(5)], random.fork.bind(random)),
    now('distortion', [vectors, { expects: 'other', value: f.model.centers }, labels, { expects: 'numbers', value: new Float32Array(ROWS).fill(1), optional: true }], L.distortion), // biome-ignore format: a table
    now('entropy', [labels, labels], L.entropy),
    now('new ImageIndex', [{ expects: 'other', value: f.model }, { expects: 'other', value: [], optional: true }], (...all: never[]) => new (L.ImageIndex as never as new (...args: never[]) => unknown)(...all)), // biome-ignore format: a table
    later('imageIndex.add', [vectors, { expects: 'numbers', value: f.images }, options({}, { ...CONTROL, ids: 'numbers', bogus: 'other' })], (...all: never[]) => (images().add as (...args: never[]) => unknown).apply(images(), all)), // biome-ignore format: a table
    now('imageIndex.bag', [whole(1)], images().bag.bind(images())),
    now('imageIndex.has', [whole(1)], images().has.bind(images())),
    later('imageIndex.search', [vectors, options({}, { ...WORDS, bogus: 'other' })], images().search.bind(images())),
    later('imageIndex.searchAll', [vectors, { expects: 'numbers', value: f.images }, options({}, { ...WORDS, ids: 'numbers', bogus: 'other' })], images().searchAll.bind(images())), // biome-ignore format: a table
    now('imageIndex.remove', [labels], images().remove.bind(images())),
    later('imageIndex.save', [location(`${folder}/i`)], images().save.bind(images())),
    now('faissBytes', [{ expects: 'other', value: f.vectors }], L.faissBytes),
    later('readFaiss', [location(`${folder}/none`)], L.readFaiss),
    now('new VectorLists', [{ expects: 'other', value: f.model }, options({}, { metric: 'text', bogus: 'other' })], (...all: never[]) => new (L.VectorLists as never as new (...args: never[]) => unknown)(...all)), // biome-ignore format: a table
    later(
      'vectorLists.add',
      [vectors, options({}, { ...CONTROL, ids: 'numbers', bogus: 'other' })],
      vectorLists().add.bind(vectorLists()),
    ),
    now('vectorLists.remove', [labels], vectorLists().remove.bind(vectorLists())),
    later('vectorLists.save', [location(`${folder}/l`)], vectorLists().save.bind(vectorLists())),
    later('vectorLists.search', [vectors, options({ nearest: 3 }, { ...CONTROL, nearest: 'whole', probe: 'whole', bogus: 'other' })], vectorLists().search.bind(vectorLists())), // biome-ignore format: a table
    later('VectorLists.load', [location(`${folder}/none`)], L.VectorLists.load),
    now('imbalance', [labels], L.imbalance),
    now('new InvertedFile', [{ expects: 'other', value: f.model }, { expects: 'other', value: f.quantizer }, { expects: 'other', value: undefined, optional: true }], (...all: never[]) => new (L.InvertedFile as never as new (...args: never[]) => unknown)(...all)), // biome-ignore format: a table
    later(
      'invertedFile.add',
      [vectors, options({}, { ...CONTROL, ids: 'numbers', bogus: 'other' })],
      file().add.bind(file()),
    ),
    now('invertedFile.remove', [labels], file().remove.bind(file())),
    later('invertedFile.save', [location(`${folder}/f`)], file().save.bind(file())),
    later('invertedFile.search', [vectors, options({ nearest: 3 }, { ...SEARCH, probe: 'whole', bogus: 'other' })], file().search.bind(file())), // biome-ignore format: a table
    later('InvertedFile.load', [location(`${folder}/none`)], L.InvertedFile.load),
    later('InvertedFile.train', [vectors, { expects: 'other', value: f.model }, options({ type: 'pq', m: 2, codewords: 4 }, TRAIN)], L.InvertedFile.train), // biome-ignore format: a table
    now('judgeRankings', [{ expects: 'other', value: [{ query: 1, images: [1, 2] }] }, { expects: 'other', value: new Map([[1, 1], [2, 1]]) }], L.judgeRankings), // biome-ignore format: a table
    later('labelBytes', [location('x.npy'), { expects: 'words', value: f.images }], L.labelBytes),
    later('loadIndex', [location(`${folder}/none`)], L.loadIndex),
    later('loadModel', [location(`${folder}/none`)], L.loadModel),
    later('loadQuantizer', [location(`${folder}/none`)], L.loadQuantizer),
    now('matrix', [{ expects: 'words', value: new Float32Array(6) }, whole(3), whole(2)], L.matrix),
    now('meanAveragePrecision', [lists, lists], L.meanAveragePrecision),
    now(
      'meantName',
      [
        { expects: 'other', value: 'n_clusters' },
        { expects: 'other', value: ['k', 'seed'] },
      ],
      L.meantName,
    ),
    now(
      'nearestName',
      [
        { expects: 'other', value: 'lloid' },
        { expects: 'other', value: ['lloyd', 'akm'] },
      ],
      L.nearestName,
    ),
    later('nearest', [vectors, { expects: 'other', value: f.vectors }, options({ m: 2 }, { ...CONTROL, m: 'whole', bogus: 'other' })], L.nearest), // biome-ignore format: a table
    now('normalize', [vectors], L.normalize),
    now('normalizedMutualInformation', [labels, labels], L.normalizedMutualInformation),
    now('nsScore', [lists, lists], L.nsScore),
    later('openDevice', [options({ kind: 'cpu', shared: false }, { kind: 'text', threads: 'whole', memoryBytes: 'real', limits: 'other', tiled: 'switch', shared: 'switch', bogus: 'other' })], async (...all: never[]) => { await (await (L.openDevice as (...args: never[]) => Promise<Device>)(...all)).close() }), // biome-ignore format: a table
    later('openVectors', [location(`${folder}/none.npy`)], L.openVectors),
    now('overlapAt', [neighbours, neighbours, whole(1)], L.overlapAt),
    later('partitionTrees', [vectors, options({}, { device: 'device', leafSize: 'whole', seed: 'whole', trees: 'whole', bogus: 'other' })], L.partitionTrees), // biome-ignore format: a table
    now('principalAxes', [vectors, whole(2, true), { expects: 'numbers', value: new Float32Array(ROWS).fill(1), optional: true }], L.principalAxes), // biome-ignore format: a table
    now('purity', [labels, labels], L.purity),
    later(
      'quantizer.decode',
      [{ expects: 'other', value: f.codes }, options({}, CONTROL)],
      f.quantizer.decode.bind(f.quantizer),
    ),
    later('quantizer.distortionOf', [vectors, options({}, CONTROL)], f.quantizer.distortionOf.bind(f.quantizer)),
    later('quantizer.encode', [vectors, options({}, CONTROL)], f.quantizer.encode.bind(f.quantizer)),
    later('quantizer.predict', [vectors, options({}, CONTROL)], f.bits.predict.bind(f.bits)),
    later('quantizer.save', [location(`${folder}/q`)], f.quantizer.save.bind(f.quantizer)),
    later('quantizer.search', [{ expects: 'other', value: f.codes }, vectors, options({ nearest: 3 }, { ...CONTROL, nearest: 'whole', distance: 'text' })], f.quantizer.search.bind(f.quantizer)), // biome-ignore format: a table
    later('readIntegers', [location(`${folder}/none.npy`)], L.readIntegers),
    later('readSavedText', [location(`${folder}/none`), { expects: 'other', value: 'run.json' }], L.readSavedText),
    later('readSparse', [location(`${folder}/none.npz`)], L.readSparse),
    later('readVectors', [location(`${folder}/none.npy`)], L.readVectors),
    now('recallAt', [neighbours, neighbours, whole(1)], L.recallAt),
    later('rerank', [{ expects: 'other', value: { m: 2, labels: new Uint32Array(2 * ROWS), distances: new Float32Array(2 * ROWS) } }, vectors, vectors, whole(1, true)], L.rerank), // biome-ignore format: a table
    now('sparseMatrix', [{ expects: 'other', value: { offsets: [0, 1, 2], columns: [0, 1], values: [1, 2] } }, whole(2), whole(3), { expects: 'other', value: 'name', optional: true }], L.sparseMatrix), // biome-ignore format: a table
    now('toArrays', [vectors], L.toArrays),
    later('trainQuantizer', [vectors, options({ type: 'ck', m: 2, codewords: 4, iterations: 5 }, { ...TRAIN, bogus: 'other' })], L.trainQuantizer), // biome-ignore format: a table
    later(
      'vectorBytes',
      [location('x.npy'), vectors, options({}, { onProgress: 'function', bogus: 'other' })],
      L.vectorBytes,
    ),
    now('vectorsOf', [{ expects: 'other', value: [{ at: [1, 2] }, { at: [3, 4] }] }, { expects: 'function', value: ({ at }: { at: number[] }) => at }], L.vectorsOf), // biome-ignore format: a table
    later('writeLabels', [location(`${folder}/l.npy`), { expects: 'words', value: f.images }], L.writeLabels),
    later(
      'writeNeighbors',
      [location(`${folder}/n.npy`), { expects: 'words', value: f.images }, whole(2)],
      L.writeNeighbors,
    ),
    later('writeVectors', [location(`${folder}/v.npy`), vectors, options({}, { onProgress: 'function', bogus: 'other' })], L.writeVectors), // biome-ignore format: a table
  ] as Call[]
}

/** Exports that no call above belongs to: the test line fails when there is one. */
export function uncalled(calls: readonly Call[]): string[] {
  const names = calls.map(({ name }) => name.replace(/^new /, '').split(/[ .]/)[0].toLowerCase())
  // tune measures for seconds and remembers what it found for the user: test/vectors/tuning.test.ts calls it.
  // Shards and stores have tests of their own in test/distributed, and their arguments in test/arguments.
  const machines = ['connect', 'work', 'openshards', 'writeshards', 'samplerows']
  const elsewhere = ['centroidalerror', 'clustermodel', 'quantizer', 'listdevices', 'tune', ...machines]
  return Object.entries(library)
    .filter(([, value]) => typeof value === 'function')
    .map(([name]) => name)
    .filter((name) => !names.includes(name.toLowerCase()) && !elsewhere.includes(name.toLowerCase()))
}

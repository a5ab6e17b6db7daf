/**
 * Calls of files, scores, images, machines and devices that compile, and which must not; see calls.ts. The compiler checks this
 * file, nothing here runs.
 */
import type { Device, Matrix, SparseMatrix, VectorSource, WorkOptions } from '../../src/index.ts'
import * as library from '../../src/index.ts'

declare const rows: number[][]
declare const labels: Uint32Array
declare const model: library.ClusterModel
declare const device: Device
declare const work: WorkOptions

export async function files(): Promise<void> {
  const source = await library.openVectors(['a.npy', new URL('file:///b.csv'), new Blob([])], {
    columns: ['x', 2],
    names: undefined,
    header: false,
  })
  source satisfies VectorSource
  ;(await library.readVectors('a.hdf5', { dataset: 'train' })) satisfies Matrix
  ;(await library.readSparse('a.npz')) satisfies SparseMatrix
  ;(await library.readIntegers('labels.npy')).data satisfies Int32Array | Uint32Array
  library.sampleRows(source.rows, 100, 1) satisfies Uint32Array
  library.sparseMatrix({ offsets: [0, 1], columns: [2], values: [3] }, 1, 5).values satisfies Float32Array
  await library.writeVectors('a.npy', rows, { float32: undefined })
  await library.writeLabels('labels.csv', labels)
  await library.writeNeighbors('n.ivecs', labels, 3)
  new Blob([await library.vectorBytes('a.npy', rows), await library.labelBytes('b.npy', labels)])
  ;(await library.readSavedText('run', 'notes.txt')) satisfies string | undefined
  // @ts-expect-error labels are a Uint32Array
  await library.writeLabels('labels.csv', ['a'])
  // @ts-expect-error the number of neighbours is missing
  await library.writeNeighbors('n.ivecs', labels)
  // @ts-expect-error no such option
  await library.readVectors('a.csv', { sep: ';' })
  // @ts-expect-error the shape is missing
  library.sparseMatrix({ offsets: [0], columns: [], values: [] })
}

export async function scores(): Promise<void> {
  const vectors = library.blobs({ rows: 9, cols: 2, clusters: 3, seed: undefined }).vectors
  const options = { metric: 'cosine', ...work } as const
  ;(await library.daviesBouldin(vectors, labels, options)) satisfies number
  ;(await library.calinskiHarabasz(vectors, labels, options)) satisfies number
  ;(await library.bic(vectors, labels, options)) satisfies number
  library.distortion(vectors, model.centers, labels) satisfies number
  library.imbalance(model.sizes) satisfies number
  library.purity(['a', 'b'], labels) satisfies number
  library.entropy([1, 2], ['x', 'y']) satisfies number
  library.normalizedMutualInformation(labels, ['x']) satisfies number
  ;(await library.principalAxes(vectors, 2)).project(vectors) satisfies Matrix
  library.averagePrecision([1, 2], [2]) satisfies number
  library.meanAveragePrecision satisfies (...values: never[]) => number
  library.nsScore satisfies (...values: never[]) => number
  library.createRandom(3).uniform() satisfies number
  // @ts-expect-error rows are missing
  library.blobs({ cols: 2, clusters: 3 })
  // @ts-expect-error classes are missing
  library.purity(labels)
  // @ts-expect-error not a metric of scores
  await library.daviesBouldin(vectors, labels, { metric: 'inner-product' })
  // @ts-expect-error a seed is a number
  library.createRandom('3')
}

export async function images(): Promise<void> {
  const index = await library.buildIndex(model, rows, [0, 0, 1], { ids: [0, 1, 2], ...work })
  const rankings = await index.searchAll(rows, [0, 0, 1], { top: 5, words: 2 })
  library.judgeRankings(rankings, new Map([[0, 1]])) satisfies library.RankingQuality
  ;(await library.loadIndex('photos')) satisfies library.ImageIndex
  ;(await library.ImageIndex.load('photos')).ids satisfies Uint32Array
  // @ts-expect-error the image of each vector is missing
  await library.buildIndex(model, rows)
  // @ts-expect-error the option is top
  await index.search(rows, { limit: 5 })
}

export async function machines(): Promise<void> {
  const pool = await library.connect('redis://localhost', { onEvent: undefined })
  const shards = await library.openShards('manifest.json')
  await library.cluster(shards, { k: 3, on: pool })
  await library.writeShards('manifest.json', ['a.npy'], { rows: 1000 })
  await library.work('redis://localhost', { signal: undefined })
  // @ts-expect-error an address is needed
  await library.connect()
  // @ts-expect-error other machines are what connect returned
  await library.cluster(shards, { k: 3, on: 'redis://localhost' })
}

export async function devices(): Promise<void> {
  ;(await library.tune({ device, all: undefined })).adapter satisfies string
  const [first] = (await library.listDevices()).devices
  first satisfies library.DeviceListing | undefined
  for await (const step of library.sweepSteps(rows, { k: [2, 3] })) step.k satisfies number
  ;(await library.loadQuantizer(new Blob([]))) satisfies library.Quantizer
  new library.CentroidalError('bad-data', 'a sentence').code satisfies library.ErrorCode
  library.METHODS.lloyd.options satisfies readonly library.MethodOption[]
  // @ts-expect-error a device is opened, not named
  await library.tune({ device: 'webgpu' })
  // @ts-expect-error not a code of an error
  new library.CentroidalError('wrong', 'a sentence')
}

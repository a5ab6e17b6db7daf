/**
 * Which calls compile and which must not. The compiler checks this file (npm run check); nothing here runs.
 * A line that must not compile and does is an error too, by @ts-expect-error.
 */
import type { ClusterOptions, Device, MethodName, ModelFacts, WorkOptions } from '../../src/index.ts'
import * as library from '../../src/index.ts'

declare const device: Device
declare const signal: AbortSignal | undefined
declare const k: number | undefined
declare const method: MethodName
declare const bytes: Uint8Array
declare const floats: Float32Array
declare const doubles: Float64Array
declare const rows: number[][]

// What may be undefined may be passed on, also under exactOptionalPropertyTypes.
const work: WorkOptions = { device: undefined, signal, onProgress: undefined }

export async function clustering(): Promise<void> {
  const model = await library.cluster(rows, { k, method: undefined, ...work })
  model.centers.data satisfies Float32Array
  model.centers.data.at(0) satisfies number | undefined
  model.facts satisfies ModelFacts
  await library.cluster([floats, floats], { k: 2, method })
  await library.cluster([doubles], { k: 2, device, start: [[1, 2]] })
  await library.cluster({ data: doubles, rows: 2, cols: 2 }, { k: 'auto', start: { data: [1, 2], rows: 1, cols: 2 } })
  await library.cluster(rows, { k: 2, method: 'closures', trees: 3, leafSize: undefined })
  await library.cluster(rows, { method: 'agm', start: 100, criterion: 'bic', memory: 8 })
  await library.cluster(rows, { k: 2, onProgress: (share, phase) => console.log(share.toFixed(2), phase?.length) })
  const options: ClusterOptions = { k: 8, method: 'rakm', precision: 0.5, reseed: false }
  for await (const step of library.clusterSteps(rows, options)) (await step.centers()).data satisfies Float32Array
  // @ts-expect-error options are needed
  await library.cluster(rows)
  // @ts-expect-error the option is k
  await library.cluster(rows, { clusters: 2 })
  // @ts-expect-error an option of another method
  await library.cluster(rows, { k: 2, method: 'lloyd', trees: 3 })
  // @ts-expect-error not a value of the option
  await library.cluster(rows, { method: 'agm', criterion: 'aic' })
  // @ts-expect-error one vector is not a set of vectors
  await library.cluster([1, 2, 3], { k: 2 })
  // @ts-expect-error text is not a number
  await library.cluster([['1']], { k: 1 })
  // @ts-expect-error vectors without a shape
  await library.cluster(floats, { k: 2 })
  // @ts-expect-error models are not changed
  model.centers.rows = 3
  // @ts-expect-error the share comes first
  await library.cluster(rows, { k: 2, onProgress: (phase: string) => console.log(phase) })
}

export async function models(model: library.ClusterModel): Promise<void> {
  ;(await model.predict(rows, work)) satisfies Uint32Array
  ;(await model.assign(rows, { descend: undefined })).distances satisfies Float32Array
  ;(await model.predict([1, 2], work)) satisfies number
  ;(await model.predict(floats)) satisfies number
  ;(await model.transform(rows, work)).data satisfies Float32Array
  const summaries = await model.summaries(rows, { count: undefined, names: ['a'], ...work })
  summaries[0].members[0].name satisfies string | undefined
  ;(await model.nearestMembers(rows, 3, work)) satisfies Uint32Array[]
  ;(await model.update(rows, work)).inertia satisfies number
  ;(await model.responsibilities(rows, 2, work)).shares satisfies Float32Array
  await model.save('folder', { files: undefined })
  ;(await library.loadModel(new Blob([model.toBytes()]))) satisfies library.ClusterModel
  ;(await library.loadModel('folder')).sizes satisfies Uint32Array
  // @ts-expect-error no such option
  await model.predict(rows, { metric: 'cosine' })
}

/** Facts of a model are told apart by its method. */
export function facts({ facts }: library.ClusterModel): void {
  if (facts.method === 'closures') {
    facts.options.settings.trees satisfies number
    facts.options.settings.neighborhoods satisfies 'adaptive' | 'static'
    // @ts-expect-error an option of another method
    facts.options.settings.batch
  } else if (facts.method === 'agm') {
    facts.options.settings.criterion satisfies 'bic' | 'overlap'
    facts.options.settings.lambda satisfies number | undefined
  } else if (facts.method === 'lloyd') {
    // @ts-expect-error lloyd has no options
    facts.options.settings.trees
  }
  facts.method satisfies MethodName | `own:${string}`
  facts.options.start satisfies string | number
  facts.options.methodReason satisfies string | undefined
  facts.options.shards satisfies number | readonly number[] | undefined
  facts.iterations[0].extra?.bic satisfies number | undefined
  facts.certainty?.sentence satisfies string | undefined
  // @ts-expect-error no such method
  facts.method === 'kmeans'
  // @ts-expect-error facts are not changed
  facts.options.seed = 1
}

export function matrices(): void {
  library.matrix(floats, 2, 2).data satisfies Float32Array
  library.matrix(bytes, 2, 2).data satisfies Uint8Array
  library.matrix(doubles, 2, 2).data satisfies Float32Array
  library.matrix([1, 2], 1, 2).data satisfies Float32Array
  library.matrix([[1, 2], floats]).data satisfies Float32Array
  library.toArrays(library.matrix(floats, 2, 2)) satisfies number[][]
  library.normalize(rows).data satisfies Float32Array
  const documents = [{ embedding: floats, title: 'a' }]
  library.vectorsOf(
    documents,
    ({ embedding }) => embedding,
    ({ title }) => title,
  ) satisfies library.VectorInput
  // @ts-expect-error not a vector
  library.vectorsOf(documents, ({ title }) => title)
  library.adjustedRandIndex(floats, ['cat', 'dog']) satisfies number
  // @ts-expect-error the shape is missing
  library.matrix(floats)
  // @ts-expect-error bytes with a sign
  library.matrix(new Int8Array(4), 2, 2)
}

export async function searching(quantizer: library.Quantizer, model: library.ClusterModel): Promise<void> {
  ;(await library.nearest(rows, floatsOf(), { m: 3, metric: 'cosine', ...work })).labels satisfies Uint32Array
  await library.nearest(rows, rows, { metric: 'inner-product' })
  // @ts-expect-error the option is m
  await library.nearest(rows, rows, { k: 3 })
  // @ts-expect-error not a metric
  await library.nearest(rows, rows, { metric: 'manhattan' })
  const codes = await quantizer.encode(rows, work)
  codes.data satisfies Uint8Array
  ;(await quantizer.decode(codes, work)).data satisfies Float32Array
  await quantizer.search(codes, rows, { nearest: 3, ...work })
  await library.trainQuantizer(rows, { type: 'pq', m: undefined, ...work })
  ;(await library.Quantizer.train(rows, { type: 'ok' })) satisfies library.Quantizer
  // @ts-expect-error the type is missing
  await library.trainQuantizer(rows, { m: 4 })
  const file = await library.InvertedFile.train(rows, model, { type: 'pq' })
  await file.search(rows, { probe: 4, ...work })
  // @ts-expect-error the option is probe
  await file.search(rows, { nprobe: 64 })
  await new library.CodeIndex(quantizer).add(rows, { ids: undefined, ...work })
  const index = await library.CodeIndex.train(rows, { type: 'ck', metric: 'cosine', ...work })
  ;(await index.search(rows, { nearest: 3, where: [1], within: 2, rerank: rows, ...work }))
    .distances satisfies Float32Array
  // @ts-expect-error the type is missing
  await library.CodeIndex.train(rows, { m: 4 })
  // @ts-expect-error the option is nearest
  await index.search(rows, { k: 3 })
  const lists = new library.VectorLists(model, { metric: 'inner-product' })
  ;(await lists.add(rows, { ids: [1, 2], ...work })) satisfies Uint32Array
  const found = await lists.search(rows, { probe: 2, nearest: 3, ...work })
  library.recallAt(found, await library.nearest(rows, rows), 1) satisfies number
  library.overlapAt(found, { rows: 1, cols: 1, data: [1] }, 1) satisfies number
  // @ts-expect-error a model finds no neighbours
  library.recallAt(model, found, 1)
  // @ts-expect-error exact searches have no candidates
  await lists.search(rows, { candidates: 3 })
  library.faissBytes(lists) satisfies Uint8Array
  library.faissBytes(floatsOf(), { metric: 'cosine' }) satisfies Uint8Array
  // @ts-expect-error a model has centres to write
  library.faissBytes(model)
  const read = await library.readFaiss('index.faiss')
  if (read.kind === 'vectors') read.vectors.data satisfies Float32Array
  else if (read.kind === 'lists') read.index satisfies library.InvertedFile
  // @ts-expect-error vectors have no index
  read.index
  for (const load of [
    library.CodeIndex.load,
    library.InvertedFile.load,
    library.VectorLists.load,
    library.Quantizer.load,
  ]) {
    await load('folder')
  }
  await using_(await library.InvertedFile.load('folder'))
  await library.rerank(await quantizer.search(codes, rows), rows, rows, 3)
  ;(await library.partitionTrees(rows, { trees: 2, ...work })) satisfies library.TreeLeaves[]
}

export async function others(): Promise<void> {
  await library.sweep(rows, { k: { from: 2, to: 8, steps: undefined }, ...work })
  await library.silhouette(floatsOf(), [0, 1], { metric: 'cosine', signal })
  await library.writeVectors('out.npy', floatsOf(), { onProgress: (share) => console.log(share) })
  const opened = await library.openDevice({ kind: undefined, threads: undefined })
  opened satisfies Device
  await using_(opened)
  // @ts-expect-error not a kind of device
  await library.openDevice({ kind: 'gpu' })
  // @ts-expect-error the counts are missing
  await library.sweep(rows, {})
}

function floatsOf(): library.Matrix<Float32Array> {
  return library.matrix(floats, 2, 2)
}

async function using_(opened: AsyncDisposable & { close(): Promise<void> }): Promise<void> {
  await opened.close()
}

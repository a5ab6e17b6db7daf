/// <reference lib="esnext.disposable" preserve="true" />
/**
 * An inverted file (Jégou, Douze, Schmid): the vectors are divided among the clusters of a model and stored as codes of
 * their residuals, and a query scans only the clusters nearest to it.
 *
 * Cost of a query: k distances to the centres, a table for each cluster it looks into, and the codes
 * in those, about probe n / k.
 */

import { numberSet, optionsOf, recordOf, uint32Array } from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, matrix, requireRows, toSource, type VectorInput } from '../core/matrix.ts'
import { sampledSource } from '../core/sampled-source.ts'
import { codeFolder, codeKind, readInvertedFile } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import type { FolderContents } from '../data/folder-save.ts'
import { type ClusterModel, clusterModel, MODEL_KIND, modelFrom } from '../models/model.ts'
import { requireKnownCodes } from '../quantize/codes.ts'
import { QUANTIZER_DEFAULTS, readQuantizerOptions, vectorsThatHelp } from '../quantize/options.ts'
import { QUANTIZER_KIND, type Quantizer, quantizerFrom, trainedQuantizer } from '../quantize/quantizer.ts'
import { checkResults, type RankedCodes } from '../quantize/ranked.ts'
import { trainQuantizer } from '../quantize/train.ts'
import { acquireDevice } from '../vectors/device-choice.ts'
import { ChangeLog, saveChanged } from './change-log.ts'
import { ADD_CHECKS, type AddOptions, candidateCount, INDEX_VERSION, newIds, newIdsFrom } from './code-index.ts'
import {
  FILE_CHECKS,
  type FileContent,
  type FileOptions,
  INVERTED_SEARCH_CHECKS,
  type InvertedFileOptions,
  type InvertedSearchOptions,
  metricOf,
  requireProbe,
  TRAIN_CHECKS,
} from './file-options.ts'
import type { SearchMetric } from './flat.ts'
import { inMetric, nearerThan } from './in-metric.ts'
import { type ByteScale, byteScaleOf, bytesOfRows, fromBytes, sideBySide } from './kept-bytes.ts'
import { ListGeometry } from './list-geometry.ts'
import { ListSearcher } from './list-searcher.ts'
import { columnsOf, ListStore } from './list-store.ts'
import { type KeptRows, rerankBy, rerankKept } from './rerank.ts'
import { leftOvers } from './residuals.ts'
import { Turns } from './turns.ts'

/** Rounds of training: more lower the distortion by about a hundredth, which re-ranking makes up for. */
const ROUNDS = 25

const KIND = codeKind('inverted file', INDEX_VERSION, { clusters: MODEL_KIND, quantizer: QUANTIZER_KIND })

/**
 * An inverted file (Jégou, Douze, Schmid): the vectors are divided among the clusters of a model and stored as codes of
 * their residuals, and a query scans only the clusters nearest to it.
 *
 * @example
 * ```ts
 * import { blobs, cluster, InvertedFile } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 600, cols: 16, clusters: 30 })
 * const model = await cluster(vectors, { k: 30 })
 * const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 4, codewords: 16 })
 * await file.add(vectors)
 * file.size // => 600
 * const { labels } = await file.search(vectors, { nearest: 1, probe: 2, rerank: vectors })
 * labels[0] // => 0
 * await file.save('vectors.file') // InvertedFile.load('vectors.file')
 * ```
 */
export class InvertedFile {
  /** The clusters, one for each list. */
  readonly model: ClusterModel
  /** The quantizer of the residuals. */
  readonly quantizer: Quantizer
  readonly #metric: SearchMetric
  readonly #store: ListStore
  /** Where vectors are kept in bytes. */
  readonly #scale: ByteScale | undefined
  readonly #searcher: ListSearcher
  readonly #log = new ChangeLog()
  readonly #turns = new Turns()
  /** Made when it is first needed. */
  #geometry: ListGeometry | undefined

  /** Trains the quantizer on the residuals of the vectors. The file is then empty: add vectors to it. */
  static async train(vectors: VectorInput, model: ClusterModel, options: InvertedFileOptions): Promise<InvertedFile> {
    clusterModel(model, 'the model')
    const { metric: chosen, keep, ...given } = recordOf(options, 'the options of InvertedFile.train')
    const own = optionsOf('InvertedFile.train', { metric: chosen, keep }, TRAIN_CHECKS)
    const metric = metricOf(model, own.metric)
    const asked = readQuantizerOptions(given)
    const { seed = QUANTIZER_DEFAULTS.seed } = asked
    const everything = toSource(vectors)
    const sample = asked.sample ?? vectorsThatHelp(asked.codewords)
    const source = asked.on ? everything : sampledSource(everything, sample, seed)
    const { device, release } = await acquireDevice(asked.device, [source])
    try {
      const labels = await model.predict(source, { device, ...(asked.signal ? { signal: asked.signal } : {}) })
      const residuals = leftOvers(await inMetric(source, metric), model.centers, labels)
      const quantizer = await trainQuantizer(residuals, { iterations: ROUNDS, ...asked, sample, device })
      const scale = own.keep === 'bytes' ? { scale: await byteScaleOf(source) } : {}
      return new InvertedFile(model, quantizer, undefined, { metric, ...scale })
    } finally {
      await release()
    }
  }

  /** An empty file; {@link InvertedFile.train} makes one with a quantizer that fits. */
  constructor(model: ClusterModel, quantizer: Quantizer, content?: FileContent, options: FileOptions = {}) {
    clusterModel(model, 'the model')
    trainedQuantizer(quantizer, 'the quantizer')
    if (model.centers.cols !== quantizer.codec.cols) {
      throw new CentroidalError(
        'bad-data',
        `The clusters have ${model.centers.cols} dimensions and the quantizer ${quantizer.codec.cols}: train it with InvertedFile.train.`,
      )
    }
    this.model = model
    this.quantizer = quantizer
    const { metric, scale } = optionsOf('InvertedFile', options, FILE_CHECKS)
    const { rows: k, cols } = model.centers
    if (scale !== undefined && scale.offsets.length !== cols) {
      throw badOption('scale', `one of ${scale.offsets.length} columns`, `give one of ${cols}, as the clusters have.`)
    }
    this.#metric = metricOf(model, metric)
    this.#scale = scale
    this.#store = new ListStore(k, quantizer.codeBytes, scale ? cols : 0)
    this.#searcher = new ListSearcher(() => this.#geometryOfLists(), model.centers, quantizer.codec, this.#store)
    if (content !== undefined) this.#fill(checkedContent(content, model, quantizer, scale))
  }

  /** Vectors in it. */
  get size(): number {
    return this.#store.size
  }

  /** The ids, list by list. */
  get ids(): Uint32Array {
    return this.#store.idList()
  }

  /** The metric. */
  get metric(): SearchMetric {
    return this.#metric
  }

  /** Whether the file stores vectors for re-ranking, as bytes. */
  get keep(): 'bytes' | undefined {
    return this.#scale && 'bytes'
  }

  /** Encodes and adds vectors; returns their ids. Searches can run at the same time. */
  async add(vectors: VectorInput, options: AddOptions = {}): Promise<Uint32Array> {
    const { ids, device: chosen, signal, onProgress } = optionsOf('add', options, ADD_CHECKS)
    const source = toSource(vectors, 'the vectors to add')
    this.#freeIds(source.rows, ids)
    const { device, release } = await acquireDevice(chosen, [source])
    try {
      const lists = await this.model.predict(source, { device, ...(signal ? { signal } : {}) })
      const rest = leftOvers(await inMetric(source, this.#metric), this.model.centers, lists)
      const codes = await this.quantizer.encode(rest, { device, signal, onProgress })
      const kept = this.#scale && (await bytesOfRows(source, this.#scale))
      // Other vectors may have been added meanwhile.
      const numbers = this.#freeIds(source.rows, ids)
      this.#fill({ codes, ids: numbers, lists, ...(kept ? { kept } : {}) })
      return numbers
    } finally {
      await release()
    }
  }

  #fill({ codes, ids, lists, kept }: FileContent): void {
    const bytes = codes.data as Uint8Array
    const terms = this.#geometryOfLists().terms(bytes, lists)
    this.#store.add({ rows: kept ? sideBySide(codes, kept) : bytes, ids, lists }, terms)
    this.#log.added(ids)
  }

  /** Removes vectors; returns how many of these ids were in it. */
  remove(ids: Iterable<number>): number {
    let removed = 0
    for (const id of numberSet(ids, 'the list of ids')) {
      if (!this.#store.remove(id)) continue
      this.#log.removed(id)
      removed++
    }
    return removed
  }

  /**
   * The ids of the nearest vectors of each query, among those in the clusters that are scanned. The data of a search stays
   * on the device until {@link InvertedFile.close}; concurrent searches are batched.
   */
  async search(queries: VectorInput, options: InvertedSearchOptions = {}): Promise<RankedCodes> {
    const asked = optionsOf('search', options, INVERTED_SEARCH_CHECKS)
    const source = toSource(queries, 'the queries')
    const { nearest, wanted } = candidateCount(asked)
    const probe = asked.probe ?? Math.min(8, this.model.centers.rows)
    requireProbe(probe, this.model.centers.rows)
    if (source.cols !== this.model.centers.cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the file ${this.model.centers.cols}: give queries with the same columns as the vectors in it.`,
      )
    }
    checkResults(source.rows, wanted)
    requireRows(source)
    const { distance = 'asymmetric', within, where, device, signal, onProgress } = asked
    const vectors = asked.rerank
    const kept = vectors === true ? this.#keptRows() : undefined
    // Candidates are judged by their codes; what is found by the vectors themselves.
    const range = vectors === undefined ? within : undefined
    const request = { source, probe, nearest: wanted, distance, within: range, where, device, signal, onProgress }
    const found = await this.#searcher.search(request)
    if (vectors === undefined) return found
    const exact =
      kept === undefined
        ? await rerankBy(this.#metric, found, source, vectors as VectorInput, nearest, this.#turns)
        : await rerankKept(this.#metric, found, source, kept, nearest)
    return nearerThan(within, exact)
  }

  #keptRows(): KeptRows {
    const scale = this.#scale
    if (scale === undefined) {
      throw badOption(
        'rerank',
        true,
        "the inverted file does not keep vectors; train it with keep: 'bytes', or give the vectors.",
      )
    }
    const store = this.#store
    return {
      cols: scale.offsets.length,
      read(id, out) {
        const slot = store.slotOf(id)
        if (slot !== undefined) fromBytes(store.rows, slot * store.rowBytes + store.codeBytes, scale, out)
        return slot !== undefined
      },
    }
  }

  /** Frees the memory of devices once pending searches are done. A later search loads the file again. */
  close(): Promise<void> {
    return this.#searcher.close()
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #geometryOfLists(): ListGeometry {
    this.#geometry ??= new ListGeometry(this.model.centers, this.quantizer.codec, this.#metric)
    return this.#geometry
  }

  /** Ids for new vectors: the given ones, if they are free, or the next ones. */
  #freeIds(count: number, given: ArrayLike<number> | undefined): Uint32Array {
    const store = this.#store
    return newIdsFrom(store.nextId, (id) => store.has(id), count, given)
  }

  /**
   * Writes codes, ids and lists, with the clusters in clusters/ and the quantizer in quantizer/. In the folder this file
   * was loaded from or last saved to, only the changes are written, as additional files. If the process is stopped, the
   * folder contains either the old or the new save.
   */
  async save(folder: string): Promise<void> {
    await saveChanged(folder, KIND, this.#log, (id) => this.#store.has(id), {
      whole: () => ({ contents: this.folderContents(), size: this.size }),
      facts: () => this.#facts(),
      rows: (wanted) => {
        const { rows, ids, lists } = this.#store.rowsOf(wanted)
        const { codes, kept } = this.#split(rows, ids.length)
        return { codes, ids, lists, bytes: kept }
      },
    })
  }

  /** Rows of the store as codes and what is kept behind them. */
  #split(rows: Uint8Array, count: number): { readonly codes: Matrix; readonly kept: Matrix | undefined } {
    const { rowBytes, codeBytes } = this.#store
    const part = (from: number, to: number): Matrix => matrix(columnsOf(rows, rowBytes, from, to), count, to - from)
    return { codes: part(0, codeBytes), kept: this.#scale && part(codeBytes, rowBytes) }
  }

  #facts(): object {
    return {
      size: this.size,
      clusters: this.model.centers.rows,
      ...(this.#metric === 'inner-product' ? { metric: this.#metric } : {}),
      ...(this.#scale ? { keep: 'bytes' } : {}),
    }
  }

  /** @internal Everything, list after list. */
  content(): FileContent {
    const { rows, ids, lists } = this.#store.content()
    return { ids, lists, ...this.#split(rows, ids.length) }
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const { rows, ids, lists } = this.#store.content()
    const { codes, kept } = this.#split(rows, ids.length)
    const arrays = { codes, ids, lists, kept: kept && this.#scale && { bytes: kept, ...this.#scale } }
    const folders = { clusters: this.model.folderContents(), quantizer: this.quantizer.folderContents() }
    return codeFolder(KIND, this.#facts(), arrays, folders)
  }

  /** Loads what `save` wrote. */
  static async load(folder: string): Promise<InvertedFile> {
    const saved = await loadFolder(folder, KIND)
    const model = await modelFrom(saved.folder('clusters'))
    const quantizer = await quantizerFrom(saved.folder('quantizer'))
    const { metric, kept, written, changes, ...content } = await readInvertedFile(
      saved,
      quantizer.codeBytes,
      model.centers,
    )
    requireKnownCodes(content.codes, quantizer.facts)
    const options = { ...(metric ? { metric } : {}), ...(kept ? { scale: kept } : {}) }
    const file = new InvertedFile(model, quantizer, { ...content, ...(kept ? { kept: kept.bytes } : {}) }, options)
    file.#log.isSaved(saved.inPlace, written, changes)
    return file
  }
}

function checkedContent(
  content: FileContent,
  model: ClusterModel,
  quantizer: Quantizer,
  scale: ByteScale | undefined,
): FileContent {
  if (typeof content !== 'object' || content === null) {
    throw badOption('content', content, 'give an object with codes, ids and lists, or leave it out.')
  }
  const codes = denseMatrix(content.codes, 'the codes')
  requireKnownCodes(codes, quantizer.facts)
  const ids = newIds(codes.rows, uint32Array(content.ids, 'the list of ids'))
  const lists = uint32Array(content.lists, 'the list of clusters')
  const { rows: k, cols } = model.centers
  if (lists.length !== codes.rows || lists.some((list) => list >= k)) {
    throw new CentroidalError(
      'bad-data',
      `The list of clusters has ${lists.length} numbers for ${codes.rows} codes: give one below ${k} for each.`,
    )
  }
  if (scale === undefined) return { codes, ids, lists }
  const kept = denseMatrix(content.kept, 'the kept vectors')
  if (!(kept.data instanceof Uint8Array) || kept.rows !== codes.rows || kept.cols !== cols) {
    throw new CentroidalError(
      'bad-data',
      `The kept vectors are not ${codes.rows} x ${cols} bytes: give one row for each code.`,
    )
  }
  return { codes, ids, lists, kept }
}

/**
 * An inverted file (Jégou, Douze, Schmid): vectors are filed under the clusters of a model, as codes of
 * what is left after subtracting the centre, and a query looks only into the clusters nearest to it.
 *
 * Cost of a query: k distances to the centres, a table for each cluster it looks into, and the codes
 * in those, about probe n / k.
 */

import { choice, numberSet, type OptionChecks, optionsOf, uint32Array, whole } from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { codeFolder, codeKind, readInvertedFile } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import type { Device } from '../device/contract.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { ScanTask } from '../kernels/scan-codes.ts'
import { type ClusterModel, clusterModel, MODEL_KIND, modelFrom } from '../models/model.ts'
import { emptyCodes, paddedCodes, requireKnownCodes } from '../quantize/codes.ts'
import { type QuantizerOptions, readQuantizerOptions } from '../quantize/options.ts'
import { QUANTIZER_KIND, type Quantizer, quantizerFrom, trainedQuantizer } from '../quantize/quantizer.ts'
import { checkResults, finishDistances, padded, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import { checkDistance, queryPoints, Scanner } from '../quantize/scan.ts'
import { trainQuantizer } from '../quantize/train.ts'
import { acquireDevice, withDevice } from '../vectors/device-choice.ts'
import { chooseFrame } from '../vectors/frame.ts'
import { exactNearest } from '../vectors/nearest.ts'
import {
  ADD_CHECKS,
  type AddOptions,
  candidateCount,
  INDEX_SEARCH_CHECKS,
  INDEX_VERSION,
  type IndexSearchOptions,
  joined,
  joinedIds,
  newIds,
  rowsOf,
} from './code-index.ts'
import { rerank } from './rerank.ts'
import { leftOvers, repeated } from './residuals.ts'

const KIND = codeKind('inverted file', INDEX_VERSION, { clusters: MODEL_KIND, quantizer: QUANTIZER_KIND })

/** What can be asked of a search in an inverted file. */
export interface InvertedSearchOptions extends Omit<IndexSearchOptions, 'distance'> {
  /** Clusters a query looks into. Default 8: more find more, and take as much longer. */
  readonly probe?: number | undefined
  /** How to measure. Default `asymmetric`, the most accurate. */
  readonly distance?: 'asymmetric' | 'symmetric' | undefined
}

const SEARCH_CHECKS: OptionChecks<InvertedSearchOptions> = {
  ...INDEX_SEARCH_CHECKS,
  probe: whole(1),
  distance: choice(['asymmetric', 'symmetric']),
}

/** Codes sorted by cluster, for as long as nothing is added or removed. */
interface Filed {
  readonly codes: Matrix
  /** Where each cluster begins, and the end of the last. */
  readonly offsets: Uint32Array
  readonly ids: Uint32Array
}

/**
 * An inverted file (Jégou, Douze, Schmid): vectors are filed under the clusters of a model, as codes of what is left after
 * subtracting the centre, and a query looks only into the clusters nearest to it.
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
  /** The clusters vectors are filed under. */
  readonly model: ClusterModel
  /** What makes codes of what is left. */
  readonly quantizer: Quantizer
  #codes: Matrix
  #ids: Uint32Array
  /** The cluster of each vector. */
  #lists: Uint32Array
  #filed: Filed | undefined

  /** Trains the quantizer on what is left of vectors after subtracting their centres. The file is empty then: add to it. */
  static async train(vectors: VectorInput, model: ClusterModel, options: QuantizerOptions): Promise<InvertedFile> {
    requireEuclidean(clusterModel(model, 'the model'))
    options = readQuantizerOptions(options)
    const source = toSource(vectors)
    const { device, release } = await acquireDevice(options.device, [source])
    try {
      const labels = await model.predict(source, { device, ...(options.signal ? { signal: options.signal } : {}) })
      const quantizer = await trainQuantizer(leftOvers(source, model.centers, labels), { ...options, device })
      return new InvertedFile(model, quantizer)
    } finally {
      await release()
    }
  }

  /** An empty file; {@link InvertedFile.train} makes one with a quantizer that fits. */
  constructor(
    model: ClusterModel,
    quantizer: Quantizer,
    content?: { codes: Matrix; ids: Uint32Array; lists: Uint32Array },
  ) {
    requireEuclidean(clusterModel(model, 'the model'))
    trainedQuantizer(quantizer, 'the quantizer')
    if (model.centers.cols !== quantizer.codec.cols) {
      throw new CentroidalError(
        'bad-data',
        `The clusters have ${model.centers.cols} dimensions and the quantizer ${quantizer.codec.cols}: train it with InvertedFile.train.`,
      )
    }
    this.model = model
    this.quantizer = quantizer
    const { codes, ids, lists } =
      content === undefined
        ? { codes: emptyCodes(quantizer.facts), ids: new Uint32Array(0), lists: new Uint32Array(0) }
        : checkedContent(content, model, quantizer)
    this.#codes = codes
    this.#ids = ids
    this.#lists = lists
  }

  /** Vectors in it. */
  get size(): number {
    return this.#codes.rows
  }

  /** Their numbers, in the order they were added. */
  get ids(): Uint32Array {
    return this.#ids
  }

  /** Encodes vectors and files them; gives back their ids. */
  async add(vectors: VectorInput, options: AddOptions = {}): Promise<Uint32Array> {
    const { ids, device: chosen, signal, onProgress } = optionsOf('add', options, ADD_CHECKS)
    const source = toSource(vectors, 'the vectors to add')
    const { device, release } = await acquireDevice(chosen, [source])
    try {
      const numbers = newIds(this.#ids, source.rows, ids)
      const lists = await this.model.predict(source, { device, ...(signal ? { signal } : {}) })
      const rest = leftOvers(source, this.model.centers, lists)
      const codes = await this.quantizer.encode(rest, { device, signal, onProgress })
      this.#codes = joined(this.#codes, codes)
      this.#ids = joinedIds(this.#ids, numbers)
      this.#lists = joinedIds(this.#lists, lists)
      this.#filed = undefined
      return numbers
    } finally {
      await release()
    }
  }

  /** Takes vectors out; gives back how many of these ids there were. */
  remove(ids: Iterable<number>): number {
    const gone = numberSet(ids, 'the list of ids')
    const kept: number[] = []
    this.#ids.forEach((id, i) => {
      if (!gone.has(id)) kept.push(i)
    })
    const removed = this.size - kept.length
    if (removed > 0) {
      this.#codes = rowsOf(this.#codes, kept)
      this.#ids = Uint32Array.from(kept, (i) => this.#ids[i])
      this.#lists = Uint32Array.from(kept, (i) => this.#lists[i])
      this.#filed = undefined
    }
    return removed
  }

  /** The ids of the nearest vectors of each query, among those in the clusters it looks into. */
  async search(queries: VectorInput, options: InvertedSearchOptions = {}): Promise<RankedCodes> {
    options = optionsOf('search', options, SEARCH_CHECKS)
    const source = toSource(queries, 'the queries')
    const { nearest, wanted } = candidateCount(options)
    const probe = options.probe ?? Math.min(8, this.model.centers.rows)
    const most = Math.min(this.model.centers.rows, MOST_NEAREST)
    if (probe > most) throw badOption('probe', probe, `give at most ${most}: there are no more clusters to look into.`)
    if (source.cols !== this.model.centers.cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the file ${this.model.centers.cols}: give queries like the vectors in it.`,
      )
    }
    checkResults(source.rows, wanted)
    const found = await withDevice(options.device, [this.#codes, source], (device) =>
      this.#search(device, source, probe, wanted, options),
    )
    return options.rerank === undefined ? found : rerank(found, source, options.rerank, nearest)
  }

  async #search(
    device: Device,
    source: VectorSource,
    probe: number,
    asked: number,
    { signal, onProgress, distance = 'asymmetric' }: InvertedSearchOptions,
  ): Promise<RankedCodes> {
    const { codec } = this.quantizer
    checkDistance(distance, codec)
    const { codes, offsets, ids } = this.#file()
    // A list longer than there are codes would cost time and stay empty at its end.
    const nearest = Math.max(1, Math.min(asked, codes.rows))
    const out = rankedBuffer(source.rows, nearest)
    if (codes.rows === 0) return padded(out, asked)
    const frame = await chooseFrame(source, 'euclidean')
    const { labels: lists } = await exactNearest(device, source, this.model.centers, frame, probe, { signal })
    const scanner = new Scanner(device, codec)
    try {
      scanner.load(paddedCodes(codes, scanner.shape, 0, codes.rows))
      const batch = Math.max(1, Math.floor(scanner.mostQueries(nearest) / probe))
      for (let first = 0; first < source.rows; first += batch) {
        const end = Math.min(first + batch, source.rows)
        const own = lists.subarray(first * probe, end * probe)
        const pairs = leftOvers(await repeated(source, first, end, probe), this.model.centers, own)
        const { points, rest } = await queryPoints(device, codec, pairs, distance, signal)
        const tasks = listTasks(own, offsets)
        // What no direction sees differs from cluster to cluster: such lists can only be merged with it added.
        const merge = rest ? 1 : probe
        const lone = await scanner.run(points, tasks, 1, merge, nearest, { signal })
        const found = rest ? mergedOnHost(lone, rest, probe, nearest) : lone
        out.labels.set(found.labels, first * nearest)
        out.distances.set(found.distances, first * nearest)
        onProgress?.(end / source.rows)
      }
    } finally {
      scanner.free()
    }
    finishDistances(out, undefined, codec.frame.scale)
    return padded({ ...out, labels: out.labels.map((at) => (at === NO_LABEL ? NO_LABEL : ids[at])) }, asked)
  }

  #file(): Filed {
    if (this.#filed) return this.#filed
    const k = this.model.centers.rows
    const offsets = new Uint32Array(k + 1)
    for (const list of this.#lists) offsets[list + 1]++
    for (let j = 0; j < k; j++) offsets[j + 1] += offsets[j]
    const next = offsets.slice()
    const order = new Uint32Array(this.size)
    this.#lists.forEach((list, i) => {
      order[next[list]++] = i
    })
    this.#filed = { codes: rowsOf(this.#codes, order), offsets, ids: order.map((i) => this.#ids[i]) }
    return this.#filed
  }

  /**
   * Writes codes, ids and lists, with the clusters in clusters/ and the quantizer in quantizer/. An earlier save in the
   * folder is replaced as a whole.
   */
  async save(folder: string): Promise<void> {
    await saveFolder(folder, this.folderContents())
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const facts = { size: this.size, clusters: this.model.centers.rows }
    const arrays = { codes: this.#codes, ids: this.#ids, lists: this.#lists }
    const folders = { clusters: this.model.folderContents(), quantizer: this.quantizer.folderContents() }
    return codeFolder(KIND, facts, arrays, folders)
  }

  /** Loads what `save` wrote. */
  static async load(folder: string): Promise<InvertedFile> {
    const saved = await loadFolder(folder, KIND)
    const model = await modelFrom(saved.folder('clusters'))
    const quantizer = await quantizerFrom(saved.folder('quantizer'))
    const content = await readInvertedFile(saved, quantizer.codeBytes, model.centers.rows)
    requireKnownCodes(content.codes, quantizer.facts)
    return new InvertedFile(model, quantizer, content)
  }
}

function checkedContent(
  content: { codes: Matrix; ids: Uint32Array; lists: Uint32Array },
  model: ClusterModel,
  quantizer: Quantizer,
): { codes: Matrix; ids: Uint32Array; lists: Uint32Array } {
  if (typeof content !== 'object' || content === null) {
    throw badOption('content', content, 'give an object with codes, ids and lists, or leave it out.')
  }
  const codes = denseMatrix(content.codes, 'the codes')
  requireKnownCodes(codes, quantizer.facts)
  const ids = newIds(new Uint32Array(0), codes.rows, uint32Array(content.ids, 'the list of ids'))
  const lists = uint32Array(content.lists, 'the list of clusters')
  const k = model.centers.rows
  if (lists.length !== codes.rows || lists.some((list) => list >= k)) {
    throw new CentroidalError(
      'bad-data',
      `The list of clusters has ${lists.length} numbers for ${codes.rows} codes: give one below ${k} for each.`,
    )
  }
  return { codes, ids, lists }
}

function requireEuclidean(model: ClusterModel): void {
  if (model.facts.metric === 'euclidean') return
  throw badOption('model', `a clustering by ${model.facts.metric}`, 'inverted files require a Euclidean model.')
}

/** Looks into the same cluster, four at a time. */
function listTasks(lists: Uint32Array, offsets: Uint32Array): ScanTask[] {
  const order = Uint32Array.from({ length: lists.length }, (_, i) => i).sort((a, b) => lists[a] - lists[b] || a - b)
  const tasks: ScanTask[] = []
  for (let at = 0; at < order.length; ) {
    const list = lists[order[at]]
    const queries: number[] = []
    while (queries.length < 4 && at < order.length && lists[order[at]] === list) queries.push(order[at++])
    tasks.push({ queries, first: offsets[list], last: offsets[list + 1], part: 0 })
  }
  return tasks
}

function mergedOnHost(
  found: { labels: Uint32Array; distances: Float32Array },
  rest: Float64Array,
  probe: number,
  nearest: number,
): RankedCodes {
  const queries = rest.length / probe
  const out = rankedBuffer(queries, nearest)
  const full = found.distances.map((distance, i) => distance + rest[Math.floor(i / nearest)])
  for (let query = 0; query < queries; query++) {
    const order = Array.from({ length: probe * nearest }, (_, i) => query * probe * nearest + i)
      .filter((place) => found.labels[place] !== NO_LABEL)
      .sort((a, b) => full[a] - full[b] || found.labels[a] - found.labels[b])
    order.slice(0, nearest).forEach((place, i) => {
      out.labels[query * nearest + i] = found.labels[place]
      out.distances[query * nearest + i] = full[place]
    })
  }
  return out
}

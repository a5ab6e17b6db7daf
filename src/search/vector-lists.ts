/// <reference lib="esnext.disposable" preserve="true" />
/**
 * An inverted file that keeps vectors as they are (IVF-flat): exact distances to all vectors in the lists that a query looks
 * into. Computed on the host; an InvertedFile of codes is smaller, and faster with many vectors.
 */
import { numberList, numberSet, type OptionChecks, optionsOf, real, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix, requireRows, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { listFolder, listKind, readVectorLists } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import { type ClusterModel, clusterModel, MODEL_KIND, modelFrom } from '../models/model.ts'
import { checkResults, MOST_RESULTS, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import { chunks } from '../vectors/frame.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import { INDEX_VERSION, newIdsFrom } from './code-index.ts'
import { FILE_CHECKS, type FileOptions, metricOf, requireProbe } from './file-options.ts'
import { nearest as nearestOf, type SearchMetric } from './flat.ts'
import { allowedIds, allowedSlots, type IdFilter } from './id-filter.ts'
import { inMetric } from './in-metric.ts'
import { ListStore } from './list-store.ts'
import { measureBy } from './rerank.ts'

const KIND = listKind(INDEX_VERSION, { clusters: MODEL_KIND })

/** What can be asked when vectors are added. */
export interface AddVectorsOptions extends WorkOptions {
  /** Ids of the vectors, all different. Default: numbers after the highest so far. */
  readonly ids?: ArrayLike<number> | undefined
}

/** What can be asked of a search among the vectors of lists. */
export interface VectorSearchOptions extends WorkOptions {
  /** Number of results per query. Default 10. */
  readonly nearest?: number | undefined
  /** Lists that a query looks into. Default 8: more find more, and take as much longer. */
  readonly probe?: number | undefined
  /** Find nothing farther than this, in the units of `distances`. Default: no limit. */
  readonly within?: number | undefined
  /** Search among these ids only: an array or a Set, or bits, where bit i % 8 of byte i / 8 stands for id i. Default: all. */
  readonly where?: IdFilter | undefined
}

/** Vectors as the lists hold them, list after list. */
export interface VectorListsContent {
  /** The vectors; of length one where the metric is `cosine`. */
  readonly vectors: Matrix<Float32Array>
  /** Their numbers. */
  readonly ids: Uint32Array
  /** The cluster of each. */
  readonly lists: Uint32Array
}

const ADD_CHECKS: OptionChecks<AddVectorsOptions> = { ...WORK_CHECKS, ids: numberList }

const SEARCH_CHECKS: OptionChecks<VectorSearchOptions> = {
  ...WORK_CHECKS,
  nearest: whole(1, MOST_RESULTS),
  probe: whole(1),
  within: real(Number.NEGATIVE_INFINITY),
  where: allowedIds,
}

/**
 * Vectors filed under the clusters of a model, as they are: a query is compared exactly with all vectors of the clusters it
 * looks into (IVF-flat of faiss). {@link InvertedFile} keeps codes instead, which take far less memory.
 *
 * @example
 * ```ts
 * import { blobs, cluster, VectorLists } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 600, cols: 16, clusters: 30 })
 * const lists = new VectorLists(await cluster(vectors, { k: 30 }))
 * await lists.add(vectors)
 * const { labels, distances } = await lists.search(vectors, { nearest: 1, probe: 2 })
 * labels[0] // => 0
 * distances[0] // => 0
 * await lists.save('vectors.lists') // VectorLists.load('vectors.lists')
 * ```
 */
export class VectorLists {
  /** The clusters, one for each list. */
  readonly model: ClusterModel
  /** The metric. */
  readonly metric: SearchMetric
  readonly #store: ListStore

  /** Without vectors; add them. */
  constructor(model: ClusterModel, options: Pick<FileOptions, 'metric'> = {}) {
    this.model = clusterModel(model, 'the model')
    const { metric } = optionsOf('VectorLists', options, { metric: FILE_CHECKS.metric })
    this.metric = metricOf(model, metric)
    const { rows: k, cols } = model.centers
    this.#store = new ListStore(k, 4 * cols)
  }

  /** @internal With vectors; lists are checked. */
  static of(model: ClusterModel, metric: SearchMetric, { vectors, ids, lists }: VectorListsContent): VectorLists {
    const made = new VectorLists(model, { metric })
    made.#fill(vectors.data, ids, lists)
    return made
  }

  /** Vectors in it. */
  get size(): number {
    return this.#store.size
  }

  /** The ids, list by list. */
  get ids(): Uint32Array {
    return this.#store.idList()
  }

  /** Files vectors under the clusters they are nearest to; gives back their ids. */
  async add(vectors: VectorInput, options: AddVectorsOptions = {}): Promise<Uint32Array> {
    const { ids, ...work } = optionsOf('add', options, ADD_CHECKS)
    const source = toSource(vectors, 'the vectors to add')
    this.#freeIds(source.rows, ids)
    const lists = await this.model.predict(source, work)
    const unit = await inMetric(source, this.metric)
    const rows = new Float32Array(source.rows * source.cols)
    for await (const { first, data } of chunks(unit)) rows.set(data, first * source.cols)
    // Other vectors may have been added meanwhile.
    const numbers = this.#freeIds(source.rows, ids)
    this.#fill(rows, numbers, lists)
    return numbers
  }

  #freeIds(count: number, given: ArrayLike<number> | undefined): Uint32Array {
    const store = this.#store
    return newIdsFrom(store.nextId, (id) => store.has(id), count, given)
  }

  #fill(rows: Float32Array, ids: Uint32Array, lists: Uint32Array): void {
    const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength)
    this.#store.add({ rows: bytes, ids, lists }, new Float32Array(ids.length))
  }

  /** Removes vectors; returns how many of these ids were in it. */
  remove(ids: Iterable<number>): number {
    let removed = 0
    for (const id of numberSet(ids, 'the list of ids')) if (this.#store.remove(id)) removed++
    return removed
  }

  /** The ids of the nearest vectors of each query, among those in the clusters it looks into. */
  async search(queries: VectorInput, options: VectorSearchOptions = {}): Promise<RankedCodes> {
    const asked = optionsOf('search', options, SEARCH_CHECKS)
    const { nearest = 10, probe = Math.min(8, this.model.centers.rows), within, where, ...work } = asked
    const source = toSource(queries, 'the queries')
    const { rows: k, cols } = this.model.centers
    requireProbe(probe, k)
    if (source.cols !== cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the lists ${cols}: give queries like the vectors in them.`,
      )
    }
    checkResults(source.rows, nearest)
    requireRows(source)
    const unit = await inMetric(source, this.metric)
    const metric = this.metric === 'inner-product' ? 'inner-product' : 'euclidean'
    const chosen = await nearestOf(unit, this.model.centers, { m: probe, metric, ...work })
    return this.#scanned(unit, chosen.labels, { probe, nearest, within, where, signal: work.signal })
  }

  async #scanned(
    source: VectorSource,
    lists: Uint32Array,
    { probe, nearest, within = Number.POSITIVE_INFINITY, where, signal }: Scan,
  ): Promise<RankedCodes> {
    const store = this.#store
    const { cols } = source
    const out = rankedBuffer(source.rows, nearest)
    const allowed = where && allowedSlots(where, store)
    const measure = measureBy(this.metric === 'inner-product' ? 'inner-product' : 'euclidean')
    const scale = this.metric === 'cosine' ? 0.5 : 1
    const heap = new Ranked(nearest)
    for await (const { first, data } of chunks(source)) {
      signal?.throwIfAborted()
      const numbers = data instanceof Float32Array ? data : Float32Array.from(data)
      const rows = new Float32Array(store.rows.buffer, store.rows.byteOffset, store.rows.byteLength / 4)
      for (let i = 0; i * cols < numbers.length; i++) {
        heap.clear()
        for (const list of lists.subarray((first + i) * probe, (first + i + 1) * probe)) {
          const start = store.extents[2 * list]
          for (let slot = start; slot < start + store.extents[2 * list + 1]; slot++) {
            if (allowed && ((allowed[slot >> 3] >> (slot & 7)) & 1) === 0) continue
            const distance = scale * measure(rows, slot * cols, numbers, i * cols, cols)
            if (distance <= within) heap.add(distance, store.ids[slot])
          }
        }
        heap.write(out, (first + i) * nearest)
      }
    }
    return out
  }

  /** For `await using`; nothing of it is kept on devices. */
  async close(): Promise<void> {}

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal Everything, list after list. */
  content(): VectorListsContent {
    const { rows, ids, lists } = this.#store.content()
    return { vectors: matrix(new Float32Array(rows.buffer), ids.length, this.model.centers.cols), ids, lists }
  }

  /** Writes vectors.npy, ids.npy, lists.npy and model.json into a folder, with the clusters in clusters/. */
  async save(folder: string): Promise<void> {
    await saveFolder(folder, this.folderContents())
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    return listFolder(KIND, this.metric, this.content(), this.model.folderContents())
  }

  /** Loads what `save` wrote. */
  static async load(folder: string): Promise<VectorLists> {
    const saved = await loadFolder(folder, KIND)
    const model = await modelFrom(saved.folder('clusters'))
    const { metric, ...content } = await readVectorLists(saved, model.centers)
    return VectorLists.of(model, metricOf(model, metric), content)
  }
}

interface Scan {
  readonly probe: number
  readonly nearest: number
  readonly within: number | undefined
  readonly where: IdFilter | undefined
  readonly signal: AbortSignal | undefined
}

/** The nearest of what was added, by insertion; ties go to the lowest id. */
class Ranked {
  readonly #distances: Float64Array
  readonly #ids: Uint32Array
  #size = 0

  constructor(most: number) {
    this.#distances = new Float64Array(most)
    this.#ids = new Uint32Array(most)
  }

  clear(): void {
    this.#size = 0
  }

  add(distance: number, id: number): void {
    const most = this.#ids.length
    const comesBefore = (at: number): boolean =>
      distance < this.#distances[at] || (distance === this.#distances[at] && id < this.#ids[at])
    if (this.#size === most && !comesBefore(most - 1)) return
    let at = this.#size < most ? this.#size++ : most - 1
    for (; at > 0 && comesBefore(at - 1); at--) {
      this.#distances[at] = this.#distances[at - 1]
      this.#ids[at] = this.#ids[at - 1]
    }
    this.#distances[at] = distance
    this.#ids[at] = id
  }

  write({ labels, distances }: RankedCodes, at: number): void {
    labels.set(this.#ids.subarray(0, this.#size), at)
    distances.set(this.#distances.subarray(0, this.#size), at)
  }
}

/// <reference lib="esnext.disposable" preserve="true" />
/**
 * Codes with numbers of their own: vectors are added and removed by id, and searched flat. For
 * millions of vectors see InvertedFile, which looks at a part of them only.
 */
import {
  choice,
  numberList,
  numberSet,
  type OptionChecks,
  optionsOf,
  real,
  recordOf,
  uint32Array,
  whole,
} from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, requireRows, toSource, type VectorInput } from '../core/matrix.ts'
import { codeFolder, codeKind, readCodeIndex } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import type { FolderContents } from '../data/folder-save.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { emptyCodes, requireKnownCodes } from '../quantize/codes.ts'
import { type CodeSearchOptions, SEARCH_CHECKS } from '../quantize/flat-search.ts'
import { type QuantizerOptions, readQuantizerOptions } from '../quantize/options.ts'
import {
  CODING_CHECKS,
  type CodingOptions,
  QUANTIZER_KIND,
  type Quantizer,
  quantizerFrom,
  trainedQuantizer,
} from '../quantize/quantizer.ts'
import { checkResults, MOST_RESULTS, type RankedCodes } from '../quantize/ranked.ts'
import { trainQuantizer } from '../quantize/train.ts'
import { ChangeLog, saveChanged } from './change-log.ts'
import { CodeSearcher } from './code-searcher.ts'
import { CodeStore } from './code-store.ts'
import { SEARCH_METRICS, type SearchMetric } from './flat.ts'
import { allowedIds, type IdFilter } from './id-filter.ts'
import { IdTable } from './id-table.ts'
import { inMetric, nearerThan } from './in-metric.ts'
import { rerankBy } from './rerank.ts'
import { Turns } from './turns.ts'

/** The format version in model.json of indexes of codes; folders of other versions are refused. */
export const INDEX_VERSION = 2

const KIND = codeKind('code index', INDEX_VERSION, { quantizer: QUANTIZER_KIND })

/** Options of adding vectors to an index. */
export interface AddOptions extends CodingOptions {
  /** Ids of the vectors, all different. Default: numbers after the highest so far. */
  readonly ids?: ArrayLike<number> | undefined
}

/** Options of an index of codes. */
export interface CodeIndexOptions {
  /**
   * The metric: `euclidean` (squared distances), `cosine` (1 - cosine similarity), or `inner-product` (with negative sign).
   * For `cosine`, vectors are encoded and searched at length one: train the quantizer on normalised vectors, see {@link
   * normalize}. Default `euclidean`.
   */
  readonly metric?: SearchMetric | undefined
}

const INDEX_CHECKS: OptionChecks<CodeIndexOptions> = { metric: choice(SEARCH_METRICS) }

/** Options of a search in an index of codes. */
export interface IndexSearchOptions extends CodeSearchOptions {
  /** Largest distance of a result; there may be fewer than `nearest` results. Default: no limit. */
  readonly within?: number | undefined
  /** Search among these ids only: an array or a Set, or bits, where bit i % 8 of byte i / 8 stands for id i. Default: all. */
  readonly where?: IdFilter | undefined
  /** The vectors that were added, where id i is row i: candidates are re-ranked by exact distances. Optional. */
  readonly rerank?: VectorInput | undefined
  /** Number of candidates to re-rank. Default: ten times `nearest`. */
  readonly candidates?: number | undefined
}

export const ADD_CHECKS: OptionChecks<AddOptions> = { ...CODING_CHECKS, ids: numberList }

export const INDEX_SEARCH_CHECKS: OptionChecks<IndexSearchOptions> = {
  ...SEARCH_CHECKS,
  within: real(Number.NEGATIVE_INFINITY),
  where: allowedIds,
  rerank: (value, thing) => toSource(value as VectorInput, thing),
  candidates: whole(1, MOST_RESULTS),
}

/**
 * Codes with ids: vectors are added and removed by id, and a search compares with every code. For millions of vectors,
 * {@link InvertedFile} scans only some of them.
 *
 * @example
 * ```ts
 * import { blobs, CodeIndex } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const index = await CodeIndex.train(vectors, { type: 'pq', m: 4, codewords: 16 })
 * await index.add(vectors)
 * index.remove([3, 5]) // => 2
 * index.size // => 398
 * const { labels } = await index.search(vectors, { nearest: 1, rerank: vectors })
 * labels[0] // => 0
 * await index.save('codes.index') // CodeIndex.load('codes.index')
 * ```
 */
export class CodeIndex {
  /** The quantizer of the codes. */
  readonly quantizer: Quantizer
  /** The metric. */
  readonly metric: SearchMetric
  readonly #store: CodeStore
  readonly #searcher: CodeSearcher
  readonly #log = new ChangeLog()
  readonly #turns = new Turns()

  /** An index of existing codes, or an empty one; `ids` are 0, 1, 2 and so on by default. */
  constructor(quantizer: Quantizer, codes?: Matrix, ids?: Uint32Array, options: CodeIndexOptions = {}) {
    this.metric = optionsOf('CodeIndex', options, INDEX_CHECKS).metric ?? 'euclidean'
    this.quantizer = trainedQuantizer(quantizer, 'the quantizer')
    const known = codes === undefined ? emptyCodes(quantizer.facts) : denseMatrix(codes, 'the codes')
    requireKnownCodes(known, quantizer.facts)
    const { rows } = known
    const numbers =
      ids === undefined
        ? Uint32Array.from({ length: rows }, (_, i) => i)
        : newIds(rows, uint32Array(ids, 'the list of ids'))
    this.#store = new CodeStore(known, numbers)
    this.#searcher = new CodeSearcher(quantizer.codec, this.#store, this.metric === 'inner-product')
  }

  /** Trains a quantizer on vectors, by cosine on their directions. The index is empty then: add to it. */
  static async train(vectors: VectorInput, options: CodeIndexOptions & QuantizerOptions): Promise<CodeIndex> {
    const { metric: chosen, ...given } = recordOf(options, 'the options of CodeIndex.train')
    const { metric = 'euclidean' } = optionsOf('CodeIndex.train', { metric: chosen }, INDEX_CHECKS)
    const asked = readQuantizerOptions(given)
    const source = await inMetric(toSource(vectors), metric)
    return new CodeIndex(await trainQuantizer(source, asked), undefined, undefined, { metric })
  }

  /** Vectors in it. */
  get size(): number {
    return this.#store.size
  }

  /** The ids, in the order in which the vectors were added. */
  get ids(): Uint32Array {
    return this.#store.ids
  }

  /** Their codes, in the same order. */
  get codes(): Matrix {
    return this.#store.codes
  }

  /** Encodes and adds vectors; returns their ids. Searches can run at the same time. */
  async add(vectors: VectorInput, options: AddOptions = {}): Promise<Uint32Array> {
    const { ids, ...coding } = optionsOf('add', options, ADD_CHECKS)
    const source = toSource(vectors, 'the vectors to add')
    this.#freeIds(source.rows, ids)
    const codes = await this.quantizer.encode(await inMetric(source, this.metric), coding)
    // Other vectors may have been added meanwhile.
    const numbers = this.#freeIds(codes.rows, ids)
    this.#store.add(codes, numbers)
    this.#log.added(numbers)
    return numbers
  }

  #freeIds(count: number, given: ArrayLike<number> | undefined): Uint32Array {
    const store = this.#store
    return newIdsFrom(store.nextId, (id) => store.has(id), count, given)
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
   * The ids of the nearest vectors of each query. The codes stay on the device until {@link CodeIndex.close}; concurrent
   * searches are batched.
   */
  async search(queries: VectorInput, options: IndexSearchOptions = {}): Promise<RankedCodes> {
    const asked = optionsOf('search', options, INDEX_SEARCH_CHECKS)
    const { rerank: vectors, distance = 'asymmetric', within, where, device, signal, onProgress } = asked
    if (this.metric === 'inner-product' && distance !== 'asymmetric') {
      throw badOption('distance', distance, 'an index of inner products supports asymmetric only; leave it out.')
    }
    const { nearest, wanted } = candidateCount(asked)
    const source = toSource(queries, 'the queries')
    requireRows(source)
    const { cols } = this.quantizer.codec
    if (source.cols !== cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the quantizer ${cols}: give vectors with the same columns as those it was trained on.`,
      )
    }
    checkResults(source.rows, wanted)
    const inward = await inMetric(source, this.metric)
    const request = { source: inward, nearest: wanted, distance, where, device, signal, onProgress }
    const found = await this.#searcher.search(request)
    if (vectors !== undefined)
      return nearerThan(within, await rerankBy(this.metric, found, source, vectors, nearest, this.#turns))
    // Between vectors of length one, half the squared distance is one less the cosine.
    const halved = this.metric === 'cosine' && distance !== 'hamming'
    if (halved) for (let i = 0; i < found.distances.length; i++) found.distances[i] /= 2
    return nearerThan(within, found)
  }

  /** Frees the memory of devices once pending searches are done. A later search loads the index again. */
  close(): Promise<void> {
    return this.#searcher.close()
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Writes codes.npy, ids.npy and model.json into a folder, and the quantizer into quantizer/ in it. In the folder this
   * index was loaded from or last saved to, only the changes are written, as additional files. If the process is stopped,
   * the folder contains either the old or the new save.
   */
  async save(folder: string): Promise<void> {
    await saveChanged(folder, KIND, this.#log, (id) => this.#store.has(id), {
      whole: () => ({ contents: this.folderContents(), size: this.size }),
      facts: () => this.#facts(),
      rows: (ids) => this.#store.rowsOf(ids),
    })
  }

  #facts(): object {
    return { size: this.size, ...(this.metric === 'euclidean' ? {} : { metric: this.metric }) }
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const { codes, ids } = this.#store
    const arrays = { codes, ids }
    return codeFolder(KIND, this.#facts(), arrays, { quantizer: this.quantizer.folderContents() })
  }

  /** Loads what `save` wrote. */
  static async load(folder: string): Promise<CodeIndex> {
    const saved = await loadFolder(folder, KIND)
    const quantizer = await quantizerFrom(saved.folder('quantizer'))
    const { codes, ids, metric, written, changes } = await readCodeIndex(saved, quantizer.codeBytes)
    requireKnownCodes(codes, quantizer.facts)
    const index = new CodeIndex(quantizer, codes, ids, { metric })
    index.#log.isSaved(saved.inPlace, written, changes)
    return index
  }
}

/** How many to find at first: more, where they are measured again. */
export function candidateCount({
  nearest = 10,
  rerank: vectors,
  candidates,
}: Pick<IndexSearchOptions, 'nearest' | 'candidates'> & { readonly rerank?: unknown }): {
  nearest: number
  wanted: number
} {
  if (candidates !== undefined && vectors === undefined) {
    throw badOption(
      'candidates',
      candidates,
      'it applies to exact re-ranking only; also give the vectors as option rerank.',
    )
  }
  const wanted = vectors === undefined ? nearest : (candidates ?? Math.min(10 * nearest, MOST_RESULTS))
  if (wanted < nearest) throw badOption('candidates', wanted, `give at least as many as nearest, ${nearest}.`)
  return { nearest, wanted }
}

/** Ids of a list of `count` vectors: all different. */
export function newIds(count: number, given: ArrayLike<number>): Uint32Array {
  return newIdsFrom(0, () => false, count, given)
}

/** Ids for `count` new vectors: the given ones, if they are free, or the next ones; `next` and all ids above it are free. */
export function newIdsFrom(
  next: number,
  isTaken: (id: number) => boolean,
  count: number,
  given: ArrayLike<number> | undefined,
): Uint32Array {
  if (given === undefined) {
    if (next + count > NO_LABEL) {
      throw badOption(
        'ids',
        undefined,
        `the next id would be ${next}, above the largest, ${NO_LABEL - 1}; give unused ids.`,
      )
    }
    return Uint32Array.from({ length: count }, (_, i) => next + i)
  }
  if (given.length !== count)
    throw badOption('ids', `${given.length} numbers`, `give one for each of the ${count} vectors.`)
  const own = new IdTable(count)
  return Uint32Array.from({ length: count }, (_, i) => {
    const id = given[i]
    if (!Number.isInteger(id) || id < 0 || id >= NO_LABEL) {
      throw badOption('ids', id, `give whole numbers from 0 to ${NO_LABEL - 1}.`)
    }
    if ((id < next && isTaken(id)) || own.get(id) !== undefined)
      throw new CentroidalError('bad-option', `Id ${id} is already in use: remove it first, or give another.`)
    own.set(id, i)
    return id
  })
}

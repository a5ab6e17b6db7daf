/**
 * An inverted file (Jégou, Douze, Schmid): vectors are filed under the clusters of a model, as codes of
 * what is left after subtracting the centre, and a query looks only into the clusters nearest to it.
 *
 * Cost of a query: k distances to the centres, a table for each cluster it looks into, and the codes
 * in those, about probe n / k.
 */

import {
  choice,
  numberSet,
  type OptionChecks,
  optionsOf,
  real,
  recordOf,
  uint32Array,
  whole,
} from '../core/arguments.ts'
import { trustedSource } from '../core/checked-source.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import {
  denseMatrix,
  type Matrix,
  matrix,
  requireRows,
  toSource,
  type VectorInput,
  type VectorSource,
} from '../core/matrix.ts'
import { sampledSource } from '../core/sampled-source.ts'
import { codeFolder, codeKind, readInvertedFile } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { type ClusterModel, clusterModel, MODEL_KIND, modelFrom } from '../models/model.ts'
import { requireKnownCodes } from '../quantize/codes.ts'
import {
  QUANTIZER_DEFAULTS,
  type QuantizerOptions,
  readQuantizerOptions,
  vectorsThatHelp,
} from '../quantize/options.ts'
import { QUANTIZER_KIND, type Quantizer, quantizerFrom, trainedQuantizer } from '../quantize/quantizer.ts'
import { checkResults, type RankedCodes } from '../quantize/ranked.ts'
import { trainQuantizer } from '../quantize/train.ts'
import { acquireDevice } from '../vectors/device-choice.ts'
import { chooseFrame, intoFrame } from '../vectors/frame.ts'
import {
  ADD_CHECKS,
  type AddOptions,
  candidateCount,
  INDEX_SEARCH_CHECKS,
  INDEX_VERSION,
  type IndexSearchOptions,
  newIds,
  newIdsFrom,
} from './code-index.ts'
import { allowedIds, type IdFilter } from './id-filter.ts'
import { ListGeometry, type SearchMetric } from './list-geometry.ts'
import { ListSearcher } from './list-searcher.ts'
import { ListStore } from './list-store.ts'
import { rerankBy } from './rerank.ts'
import { leftOvers } from './residuals.ts'

const KIND = codeKind('inverted file', INDEX_VERSION, { clusters: MODEL_KIND, quantizer: QUANTIZER_KIND })

/** What can be asked of a search in an inverted file. */
export interface InvertedSearchOptions extends Omit<IndexSearchOptions, 'distance'> {
  /** Clusters a query looks into. Default 8: more find more, and take as much longer. */
  readonly probe?: number
  /** How to measure. Default `asymmetric`, the most accurate. */
  readonly distance?: 'asymmetric' | 'symmetric'
  /** Nothing farther than this is found, so that there may be fewer than `nearest`. Default: no limit. */
  readonly within?: number
  /** Only these ids are found: an array or a Set, or bits, where bit i % 8 of byte i / 8 stands for id i. Default: all. */
  readonly where?: IdFilter
}

/** All there are, for programs that offer a choice. */
export const SEARCH_METRICS: readonly SearchMetric[] = ['euclidean', 'cosine', 'inner']

/** What can be asked of an inverted file. */
export interface FileOptions {
  /**
   * How nearness is measured: `euclidean` (squared distances), `cosine` (one less the cosine), or `inner` (the negative inner
   * product). Default: as the model was made; `inner` takes a Euclidean model.
   */
  readonly metric?: SearchMetric
}

/** Rounds of training: more lower the distortion by about a hundredth, which re-ranking makes up for. */
const ROUNDS = 25

const FILE_CHECKS: OptionChecks<FileOptions> = { metric: choice(SEARCH_METRICS) }

/** What can be asked of an inverted file and its quantizer, which takes at most 25 rounds by default. */
export interface InvertedFileOptions extends FileOptions, QuantizerOptions {}

const SEARCH_CHECKS: OptionChecks<InvertedSearchOptions> = {
  ...INDEX_SEARCH_CHECKS,
  within: real(Number.NEGATIVE_INFINITY),
  where: allowedIds,
  probe: whole(1),
  distance: choice(['asymmetric', 'symmetric']),
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
  readonly #metric: SearchMetric
  readonly #store: ListStore
  readonly #searcher: ListSearcher
  /** Made when it is first needed. */
  #geometry: ListGeometry | undefined

  /** Trains the quantizer on what is left of vectors after subtracting their centres. The file is empty then: add to it. */
  static async train(vectors: VectorInput, model: ClusterModel, options: InvertedFileOptions): Promise<InvertedFile> {
    clusterModel(model, 'the model')
    const { metric: chosen, ...given } = recordOf(options, 'the options of InvertedFile.train')
    const metric = metricOf(model, optionsOf('InvertedFile', { metric: chosen }, FILE_CHECKS).metric)
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
      return new InvertedFile(model, quantizer, undefined, { metric })
    } finally {
      await release()
    }
  }

  /** An empty file; {@link InvertedFile.train} makes one with a quantizer that fits. */
  constructor(
    model: ClusterModel,
    quantizer: Quantizer,
    content?: { codes: Matrix; ids: Uint32Array; lists: Uint32Array },
    options: FileOptions = {},
  ) {
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
    this.#metric = metricOf(model, optionsOf('InvertedFile', options, FILE_CHECKS).metric)
    this.#store = new ListStore(model.centers.rows, quantizer.codeBytes)
    this.#searcher = new ListSearcher(() => this.#geometryOfLists(), model.centers, quantizer.codec, this.#store)
    if (content !== undefined) this.#fill(checkedContent(content, model, quantizer))
  }

  /** Vectors in it. */
  get size(): number {
    return this.#store.size
  }

  /** Their numbers, list after list. */
  get ids(): Uint32Array {
    return this.#store.content().ids
  }

  /** How nearness is measured. */
  get metric(): SearchMetric {
    return this.#metric
  }

  /** Encodes vectors and files them; gives back their ids. Searches may go on meanwhile. */
  async add(vectors: VectorInput, options: AddOptions = {}): Promise<Uint32Array> {
    const { ids, device: chosen, signal, onProgress } = optionsOf('add', options, ADD_CHECKS)
    const source = toSource(vectors, 'the vectors to add')
    this.#freeIds(source.rows, ids)
    const { device, release } = await acquireDevice(chosen, [source])
    try {
      const lists = await this.model.predict(source, { device, ...(signal ? { signal } : {}) })
      const rest = leftOvers(await inMetric(source, this.#metric), this.model.centers, lists)
      const codes = await this.quantizer.encode(rest, { device, signal, onProgress })
      // Other vectors may have been added meanwhile.
      const numbers = this.#freeIds(source.rows, ids)
      this.#fill({ codes, ids: numbers, lists })
      return numbers
    } finally {
      await release()
    }
  }

  #fill({ codes, ids, lists }: { codes: Matrix; ids: Uint32Array; lists: Uint32Array }): void {
    const bytes = codes.data as Uint8Array
    this.#store.add({ codes: bytes, ids, lists }, this.#geometryOfLists().terms(bytes, lists))
  }

  /** Takes vectors out; gives back how many of these ids there were. */
  remove(ids: Iterable<number>): number {
    let removed = 0
    for (const id of numberSet(ids, 'the list of ids')) if (this.#store.remove(id)) removed++
    return removed
  }

  /**
   * The ids of the nearest vectors of each query, among those in the clusters it looks into. What a search needs stays on the
   * device until {@link InvertedFile.close}; searches that are asked for at the same time are answered together.
   */
  async search(queries: VectorInput, options: InvertedSearchOptions = {}): Promise<RankedCodes> {
    const asked = optionsOf('search', options, SEARCH_CHECKS)
    const source = toSource(queries, 'the queries')
    const { nearest, wanted } = candidateCount(asked)
    const probe = asked.probe ?? Math.min(8, this.model.centers.rows)
    const most = Math.min(this.model.centers.rows, MOST_NEAREST)
    if (probe > most) throw badOption('probe', probe, `give at most ${most}: there are no more clusters to look into.`)
    if (source.cols !== this.model.centers.cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the file ${this.model.centers.cols}: give queries like the vectors in it.`,
      )
    }
    checkResults(source.rows, wanted)
    requireRows(source)
    const { distance = 'asymmetric', within, where, device, signal, onProgress, rerank: vectors } = asked
    // Candidates are judged by their codes; what is found by the vectors themselves.
    const range = vectors === undefined ? within : undefined
    const request = { source, probe, nearest: wanted, distance, within: range, where, device, signal, onProgress }
    const found = await this.#searcher.search(request)
    if (vectors === undefined) return found
    return nearerThan(within, await rerankBy(this.#metric, found, source, vectors, nearest))
  }

  /** Frees what devices hold of the file, once the searches that wait are done. A later search loads it again. */
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

  /** Ids for new vectors: the given ones, if nobody has them, or the next ones. */
  #freeIds(count: number, given: ArrayLike<number> | undefined): Uint32Array {
    const store = this.#store
    return newIdsFrom(store.nextId, (id) => store.has(id), count, given)
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
    const facts = {
      size: this.size,
      clusters: this.model.centers.rows,
      ...(this.#metric === 'inner' ? { metric: this.#metric } : {}),
    }
    const { codes, ids, lists } = this.#store.content()
    const arrays = { codes: matrix(codes, ids.length, this.quantizer.codeBytes), ids, lists }
    const folders = { clusters: this.model.folderContents(), quantizer: this.quantizer.folderContents() }
    return codeFolder(KIND, facts, arrays, folders)
  }

  /** Loads what `save` wrote. */
  static async load(folder: string): Promise<InvertedFile> {
    const saved = await loadFolder(folder, KIND)
    const model = await modelFrom(saved.folder('clusters'))
    const quantizer = await quantizerFrom(saved.folder('quantizer'))
    const { metric, ...content } = await readInvertedFile(saved, quantizer.codeBytes, model.centers.rows)
    requireKnownCodes(content.codes, quantizer.facts)
    return new InvertedFile(model, quantizer, content, metric ? { metric } : {})
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

/** Clusters by the angle make a file by the angle; clusters by distance one by distance or by inner products. */
function metricOf(model: ClusterModel, asked: SearchMetric | undefined): SearchMetric {
  const { metric } = model.facts
  if (asked === undefined || asked === metric) return metric
  if (asked === 'inner' && metric === 'euclidean') return asked
  throw badOption(
    'metric',
    asked,
    `the model was made by ${metric}; cluster by ${asked === 'cosine' ? 'cosine' : 'euclidean'} for it.`,
  )
}

/** Vectors as they are filed: at length one for angles. */
async function inMetric(source: VectorSource, metric: SearchMetric): Promise<VectorSource> {
  if (metric !== 'cosine') return source
  const frame = { ...(await chooseFrame(source, 'cosine')), type: 'f32' } as const
  const { rows, cols, name } = source
  const read = async (start: number, end: number) => intoFrame(await source.read(start, end), cols, frame)
  return trustedSource({ rows, cols, type: 'f32', name, read })
}

/** Results of a range search: what is farther is taken out. */
function nearerThan(within: number | undefined, found: RankedCodes): RankedCodes {
  if (within === undefined) return found
  found.distances.forEach((distance, i) => {
    if (distance <= within) return
    found.labels[i] = NO_LABEL
    found.distances[i] = Number.POSITIVE_INFINITY
  })
  return found
}

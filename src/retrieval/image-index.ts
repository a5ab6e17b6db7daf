/** Images by their words: built from descriptors, asked with descriptors, kept in a folder. */

import { numberList, type OptionChecks, optionsOf, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { toSource, type VectorInput } from '../core/matrix.ts'
import { imageFolder, imageKind, readImageIndex } from '../data/code-folder.ts'
import { loadFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import { type ClusterModel, clusterModel, MODEL_KIND, modelFrom } from '../models/model.ts'
import { type Bag, checkedBags, requireId, rowsByImage } from './bags.ts'
import { bagsOf, SOFT_WORD_CHECKS, type SoftWordOptions, WORD_CHECKS, type WordOptions } from './visual-words.ts'
import { type Ranking, WordIndex } from './word-index.ts'

/** The format version in index.json; folders of other versions are refused. */
export const INDEX_VERSION = 2

const KIND = imageKind(INDEX_VERSION, MODEL_KIND)

/** Options of adding images to an index. */
export interface IndexOptions extends WordOptions {
  /** Images that may have no vectors: they are counted, but never found. Default: none. */
  readonly ids?: ArrayLike<number> | undefined
}

/** Options of a query. */
export interface QueryOptions extends SoftWordOptions {
  /** Maximum number of images in a ranking. Default: all that share a word with the query. */
  readonly top?: number | undefined
}

const INDEX_CHECKS: OptionChecks<IndexOptions> = { ...WORD_CHECKS, ids: numberList }

const QUERY_CHECKS: OptionChecks<QueryOptions> = {
  ...SOFT_WORD_CHECKS,
  top: (value, thing) => (value === Number.POSITIVE_INFINITY ? value : whole(1)(value, thing)),
}

/** The ranking of one of several queries. */
export interface QueryRanking extends Ranking {
  /** Number of the query image. */
  readonly query: number
}

/**
 * Images as bags of visual words, ranked by the cosine similarity of their tf-idf vectors to a query. The weight of a word
 * is its count times ln(images / images that contain it), so words that occur in every image have weight 0.
 *
 * @example
 * ```ts
 * import { blobs, cluster, ImageIndex } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 8, clusters: 40 })
 * const images = Uint32Array.from({ length: 400 }, (_, row) => Math.floor(row / 20)) // 20 images of 20 descriptors
 * const index = new ImageIndex(await cluster(vectors, { k: 40 }))
 * await index.add(vectors, images)
 * index.size // => 20
 * const [first] = await index.searchAll(vectors, images, { top: 5 })
 * first?.images[0] // => 0
 * index.remove(7)
 * index.has(7) // => false
 * ```
 */
export class ImageIndex {
  /** The clustering whose clusters are the words. */
  readonly vocabulary: ClusterModel
  readonly #bags: Map<number, Bag>
  #ids: Uint32Array | undefined
  #inverted: WordIndex | undefined

  /** An index without images; {@link buildIndex} makes one with some. */
  constructor(vocabulary: ClusterModel, bags: Iterable<readonly [number, Bag]> = []) {
    this.vocabulary = clusterModel(vocabulary, 'the vocabulary')
    this.#bags = new Map(checkedBags(bags, vocabulary.centers.rows))
  }

  /** Images. */
  get size(): number {
    return this.#bags.size
  }

  /** The numbers of the images, ascending. */
  get ids(): Uint32Array {
    this.#ids ??= Uint32Array.from(this.#bags.keys()).sort()
    return this.#ids.slice()
  }

  /** Whether the index contains an image. */
  has(id: number): boolean {
    requireId(id, '')
    return this.#bags.has(id)
  }

  /** The words of an image in ascending order, and their counts. */
  bag(id: number): { readonly words: Uint32Array; readonly counts: Uint32Array } {
    const { words, counts } = this.#require(id)
    return { words: words.slice(), counts: Uint32Array.from(counts) }
  }

  /**
   * Adds images: `images` contains the image number of each vector, in any order. The next query recomputes all weights, so
   * adding many images at once is faster than adding them one by one between queries.
   */
  async add(vectors: VectorInput, images: ArrayLike<number>, options: IndexOptions = {}): Promise<void> {
    const { ids: also, ...rest } = optionsOf('add', options, INDEX_CHECKS)
    const source = toSource(vectors, 'the vectors to index')
    const grouped = rowsByImage(images, source.rows, source.name, also)
    const refuseKnown = (): void => {
      for (const id of grouped.ids) {
        if (!this.#bags.has(id)) continue
        throw new CentroidalError(
          'bad-data',
          `Image ${id} is already in the index: remove it first, or give the new image another number.`,
        )
      }
    }
    refuseKnown()
    const bags = await bagsOf(this.vocabulary, source, grouped, rest)
    // Somebody else may have added while words were looked for.
    refuseKnown()
    bags.forEach((bag, i) => {
      this.#bags.set(grouped.ids[i], bag)
    })
    this.#changed()
  }

  /** Removes images; if one of them is not in the index, none is removed. */
  remove(ids: number | ArrayLike<number>): void {
    const gone = new Set(typeof ids === 'number' ? [ids] : Array.from(numberList(ids, 'the list of image numbers')))
    for (const id of gone) this.#require(id)
    for (const id of gone) this.#bags.delete(id)
    this.#changed()
  }

  /**
   * Ranks the images for a query image that is given by its vectors.
   */
  async search(vectors: VectorInput, options: QueryOptions = {}): Promise<Ranking> {
    const asked = optionsOf('search', options, QUERY_CHECKS)
    const source = toSource(vectors, 'the query')
    const [{ images, scores }] = await this.searchAll(source, new Uint32Array(source.rows), { ...asked, ids: [0] })
    return { images, scores }
  }

  /**
   * Ranks the images for several queries, which is faster than one at a time. `images` contains the query number of each
   * vector; the results are in ascending order of these numbers. Queries need not be in the index. `ids` lists further
   * queries, which may have no vectors and then get empty rankings.
   */
  async searchAll(
    vectors: VectorInput,
    images: ArrayLike<number>,
    options: QueryOptions & Pick<IndexOptions, 'ids'> = {},
  ): Promise<QueryRanking[]> {
    const checks = { ...QUERY_CHECKS, ids: INDEX_CHECKS.ids }
    const { top = Infinity, ids: also, ...rest } = optionsOf<typeof options>('searchAll', options, checks)
    const source = toSource(vectors, 'the queries')
    const grouped = rowsByImage(images, source.rows, source.name, also)
    const bags = await bagsOf(this.vocabulary, source, grouped, rest)
    const inverted = this.#prepared()
    return bags.map((bag, i) => ({ query: grouped.ids[i], ...inverted.rank(bag, top) }))
  }

  /**
   * Writes the words of the images and the vocabulary into a folder, which is made if needed. An earlier save there is
   * replaced as a whole.
   */
  async save(folder: string): Promise<void> {
    await saveFolder(folder, this.folderContents())
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const { ids } = this
    const bags = Array.from(ids, (id) => this.#require(id))
    const offsets = new Uint32Array(ids.length + 1)
    bags.forEach(({ words }, i) => {
      offsets[i + 1] = offsets[i] + words.length
    })
    const words = new Uint32Array(offsets[ids.length])
    const counts = new Uint32Array(offsets[ids.length])
    bags.forEach((bag, i) => {
      words.set(bag.words, offsets[i])
      counts.set(bag.counts, offsets[i])
    })
    const { centers } = this.vocabulary
    const arrays = { ids, offsets, words, counts }
    return imageFolder(KIND, arrays, centers, this.vocabulary.folderContents())
  }

  /** What {@link loadIndex} does. */
  static async load(folder: string): Promise<ImageIndex> {
    return loadIndex(folder)
  }

  #prepared(): WordIndex {
    if (this.#inverted === undefined) {
      const { ids } = this
      const bags = Array.from(ids, (id) => this.#require(id))
      this.#inverted = new WordIndex(ids, bags, this.vocabulary.centers.rows)
    }
    return this.#inverted
  }

  #changed(): void {
    this.#ids = undefined
    this.#inverted = undefined
  }

  #require(id: number): Bag {
    requireId(id, '')
    const bag = this.#bags.get(id)
    if (bag !== undefined) return bag
    throw new CentroidalError(
      'bad-data',
      `Image ${id} is not among the ${this.size} images of the index: the property ids lists them.`,
    )
  }
}

/**
 * An index of images: `images` holds the image number of each vector, in any order; the clusters of `model` are the
 * words.
 *
 * @example
 * ```ts
 * import { blobs, buildIndex, cluster, matrix } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 8, clusters: 40 })
 * const imageOfVector = Uint32Array.from({ length: 400 }, (_, row) => Math.floor(row / 20))
 * const model = await cluster(vectors, { k: 40 })
 * const index = await buildIndex(model, vectors, imageOfVector)
 * const descriptors = matrix(vectors.data.subarray(0, 20 * 8), 20, 8) // those of image 0
 * const { images, scores } = await index.search(descriptors, { words: 3, top: 10 })
 * images[0] // => 0
 * ```
 */
export async function buildIndex(
  model: ClusterModel,
  vectors: VectorInput,
  images: ArrayLike<number>,
  options: IndexOptions = {},
): Promise<ImageIndex> {
  const index = new ImageIndex(model)
  await index.add(vectors, images, options)
  return index
}

/**
 * Loads what {@link ImageIndex.save} or `centroidal index --out` wrote.
 *
 * @example
 * ```ts
 * import { blobs, buildIndex, cluster, loadIndex } from 'centroidal'
 *
 * const { vectors, labels } = blobs({ rows: 100, cols: 8, clusters: 10 })
 * const index = await buildIndex(await cluster(vectors, { k: 10 }), vectors, labels)
 * await index.save('photos.index')
 * const again = await loadIndex('photos.index')
 * again.size // => 10
 * ```
 */
export async function loadIndex(folder: string): Promise<ImageIndex> {
  const saved = await loadFolder(folder, KIND)
  const vocabulary = await modelFrom(saved.folder('vocabulary'))
  const { ids, offsets, words, counts } = await readImageIndex(saved, vocabulary.centers)
  const bagAt = (i: number): Bag => ({
    words: words.subarray(offsets[i], offsets[i + 1]),
    counts: counts.subarray(offsets[i], offsets[i + 1]),
  })
  return new ImageIndex(
    vocabulary,
    Array.from(ids, (id, i) => [id, bagAt(i)] as const),
  )
}

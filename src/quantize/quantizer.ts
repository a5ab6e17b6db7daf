/** A trained quantizer: vectors to codes and back, search among codes, and a folder to keep it in. */

import { instance, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, matrix, toSource, type VectorInput, type VectorSource } from '../core/matrix.ts'
import { loadFolder, type SavedFolder } from '../data/folder-load.ts'
import { type FolderContents, saveFolder } from '../data/folder-save.ts'
import { packedFolder } from '../data/packed-folder.ts'
import { quantizerFolder, quantizerKind, readQuantizerFolder } from '../data/quantizer-folder.ts'
import type { SaveOptions } from '../data/saved-texts.ts'
import type { DeviceInfo } from '../device/contract.ts'
import { bookStride } from '../kernels/encode.ts'
import { withDevice } from '../vectors/device-choice.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import type { Codec } from './codec.ts'
import { codeRowBytes, requireKnownCodes, unpackCodes } from './codes.ts'
import { decodeCodes, encodeVectors } from './encode.ts'
import { type CodeSearchOptions, checkDistance, SEARCH_CHECKS, searchCodes } from './flat-search.ts'
import type { QuantizerOptions, ResolvedQuantizerOptions } from './options.ts'
import type { RankedCodes } from './ranked.ts'
import type { QuantizerStats, QuantizerStop } from './stats.ts'

/** The format version in model.json; folders of other versions are refused. */
export const QUANTIZER_VERSION = 2

/** @internal Folders of quantizers. */
export const QUANTIZER_KIND = quantizerKind(QUANTIZER_VERSION)

/** Statistics and options of the training of a quantizer. */
export interface QuantizerFacts extends Omit<ResolvedQuantizerOptions, 'iterations'> {
  /** Number of training vectors. */
  readonly rows: number
  /** Why the training ended. */
  readonly stopped: QuantizerStop
  /** Every round, in order. */
  readonly iterations: readonly QuantizerStats[]
  /** The device, and why it was selected. */
  readonly device: Pick<DeviceInfo, 'kind' | 'name' | 'reason'>
}

/** Options of encoding and decoding. */
export type CodingOptions = WorkOptions

export const CODING_CHECKS: OptionChecks<CodingOptions> = WORK_CHECKS

/**
 * A trained quantizer: vectors to codes of a few bytes and back, and search among codes. {@link trainQuantizer} makes one.
 *
 * @example
 * ```ts
 * import { blobs, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const quantizer = await trainQuantizer(vectors, { type: 'ck', m: 4, codewords: 16 })
 * const codes = await quantizer.encode(vectors)
 * codes.cols === quantizer.codeBytes // => true
 * const restored = await quantizer.decode(codes)
 * restored.cols // => 16
 * const { labels } = await quantizer.search(codes, vectors, { nearest: 5 })
 * labels.length // => 2000
 * ```
 */
export class Quantizer {
  /** @internal Books and rotation, as they are kept. */
  readonly codec: Codec
  /** Statistics and options of the training. */
  readonly facts: QuantizerFacts

  /** @internal `trainQuantizer` and `loadQuantizer` make quantizers. */
  constructor(codec: Codec, facts: QuantizerFacts) {
    this.codec = codec
    this.facts = facts
  }

  /** Mean squared distance of a training vector to what its codes stand for; NaN where it is not known, see {@link readFaiss}. */
  get distortion(): number {
    return this.facts.iterations[this.facts.iterations.length - 1]?.distortion ?? Number.NaN
  }

  /** Bytes of the codes of one vector. */
  get codeBytes(): number {
    return codeRowBytes(this.facts)
  }

  /** Encodes vectors: a matrix of bytes, one row per vector. */
  async encode(input: VectorInput, options: CodingOptions = {}): Promise<Matrix<Uint8Array>> {
    const asked = optionsOf('encode', options, CODING_CHECKS)
    const source = this.#sourceOf(input, 'the vectors to encode')
    const { codes } = await withDevice(asked.device, [source], (device) =>
      encodeVectors(device, source, this.codec, asked),
    )
    return codes
  }

  /** The vectors that the codes represent. */
  async decode(codes: Matrix, options: CodingOptions = {}): Promise<Matrix<Float32Array>> {
    const asked = optionsOf('decode', options, CODING_CHECKS)
    const known = denseMatrix(codes, 'the codes')
    requireKnownCodes(known, this.facts)
    return withDevice(asked.device, [known], (device) => decodeCodes(device, known, this.codec, asked))
  }

  /** Mean squared distance of vectors to their decoded codes. */
  async distortionOf(input: VectorInput, options: CodingOptions = {}): Promise<number> {
    const asked = optionsOf('distortionOf', options, CODING_CHECKS)
    const source = this.#sourceOf(input, 'the vectors')
    const { error } = await withDevice(asked.device, [source], (device) =>
      encodeVectors(device, source, this.codec, { ...asked, errors: true }),
    )
    return error / source.rows
  }

  /**
   * The nearest codes of queries: a flat search, which compares with every code. Each call copies the codes to the device;
   * a CodeIndex keeps them there.
   */
  async search(codes: Matrix, queries: VectorInput, options: CodeSearchOptions = {}): Promise<RankedCodes> {
    const asked = optionsOf('search', options, SEARCH_CHECKS)
    const known = denseMatrix(codes, 'the codes')
    requireKnownCodes(known, this.facts)
    const source = this.#sourceOf(queries, 'the queries')
    checkDistance(asked.distance ?? 'asymmetric', this.codec)
    return withDevice(asked.device, [known, source], (device) => searchCodes(device, this.codec, known, source, asked))
  }

  /** Number of words of the whole codebook: codewords to the power of m. */
  get words(): number {
    return this.facts.codewords ** this.facts.m
  }

  /**
   * All codes of a vector as one number, the first code being the most significant: with m = 2 and h codewords, one of h x
   * h words.
   */
  async predict(input: VectorInput, options: CodingOptions = {}): Promise<Uint32Array> {
    const { m, codewords } = this.facts
    if (this.words > 2 ** 32) {
      throw badOption('m', m, `${codewords} codewords to the power of ${m} exceed a 32-bit label; use encode.`)
    }
    const codes = unpackCodes(await this.encode(input, options), this.facts)
    return Uint32Array.from({ length: codes.length / m }, (_, i) => {
      let word = 0
      for (let s = 0; s < m; s++) word = word * codewords + codes[i * m + s]
      return word
    })
  }

  /**
   * Writes books.npy and model.json into a folder, which is made if needed; also rotation.npy and offset.npy where vectors are
   * turned and shifted: `ok`, `ck`, `itq`, and orders `random` and `principal`. An earlier save there is replaced as a whole.
   */
  async save(folder: string, options: SaveOptions = {}): Promise<void> {
    await saveFolder(folder, this.folderContents(), options)
  }

  /** The files that `save` writes, in one zip archive, for pages. `loadQuantizer` reads it as a Blob. */
  toBytes(): Uint8Array<ArrayBuffer> {
    return packedFolder(this.folderContents())
  }

  /** What {@link trainQuantizer} does, and set there. */
  declare static train: (vectors: VectorInput, options: QuantizerOptions) => Promise<Quantizer>

  /** What {@link loadQuantizer} does. */
  static async load(folder: string | Blob): Promise<Quantizer> {
    return loadQuantizer(folder)
  }

  /** @internal What `save` writes. */
  folderContents(): FolderContents {
    const { cols, frame, ranges, codewords, rotation, offset, books } = this.codec
    const m = ranges.length - 1
    const facts = {
      ...this.facts,
      // Of codewords from elsewhere it is not known.
      ...(this.facts.iterations.length === 0 ? {} : { distortion: this.distortion }),
      cols,
      ranges,
      frame: { ...frame, shift: frame.shift && Array.from(frame.shift) },
    }
    return quantizerFolder(QUANTIZER_VERSION, facts, {
      books: matrix(books, m * codewords, bookStride(ranges)),
      rotation: rotation && matrix(rotation, ranges[m], cols),
      offset: offset && matrix(offset, 1, cols),
    })
  }

  #sourceOf(input: VectorInput, name: string): VectorSource {
    const source = toSource(input, name)
    if (source.cols !== this.codec.cols) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} has ${source.cols} columns and the quantizer ${this.codec.cols}: give vectors with the same columns as those it was trained on.`,
      )
    }
    return source
  }
}

/** A quantizer that a caller gave. */
export const trainedQuantizer = instance(Quantizer, 'give a quantizer from trainQuantizer() or loadQuantizer().')

/**
 * Loads what {@link Quantizer.save} or `centroidal quantize --out` wrote; or {@link Quantizer.toBytes}, as a Blob or a File.
 *
 * @example
 * ```ts
 * import { blobs, loadQuantizer, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 300, cols: 16, clusters: 20 })
 * await (await trainQuantizer(vectors, { type: 'ok', m: 8 })).save('quantizer')
 * const quantizer = await loadQuantizer('quantizer')
 * quantizer.codeBytes // => 1
 * ```
 */
export async function loadQuantizer(folder: string | Blob): Promise<Quantizer> {
  return quantizerFrom(await loadFolder(folder, QUANTIZER_KIND))
}

/** @internal A quantizer in a folder that has been read, which may be inside another one. */
export async function quantizerFrom(saved: SavedFolder): Promise<Quantizer> {
  const { facts, ...codec } = await readQuantizerFolder(saved)
  return new Quantizer({ ...codec, codewords: facts.codewords }, facts)
}

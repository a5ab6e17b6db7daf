/** Vectors and indexes as files that `faiss.read_index` opens. */
import { choice, type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix } from '../core/matrix.ts'
import { CodeIndex } from './code-index.ts'
import { FaissWriter } from './faiss-file.ts'
import { type FaissSpace, faissSpaceOf, type LinearTransform, repacked, storedBits } from './faiss-space.ts'
import { SEARCH_METRICS, type SearchMetric } from './flat.ts'
import { InvertedFile } from './inverted-file.ts'
import { VectorLists } from './vector-lists.ts'

/** Lists that a query looks into, until somebody sets it in faiss: as here. */
const PROBE = 8

/** What can be asked of a file for faiss. */
export interface FaissOptions {
  /** How nearness is measured among vectors. An index has a metric of its own. Default `euclidean`. */
  readonly metric?: SearchMetric | undefined
}

const CHECKS: OptionChecks<FaissOptions> = { metric: choice(SEARCH_METRICS) }

/**
 * An index for faiss, as the bytes of a file; it finds the same neighbours as here, by asymmetric distances.
 *
 * - Vectors, such as the centres of a model: `IndexFlat`.
 * - A {@link CodeIndex}: `IndexPQ`, inside an `IndexIDMap` where ids are not 0, 1, 2 and so on.
 * - An {@link InvertedFile}: `IndexIVFPQ`. Its quantizer has to keep all dimensions.
 * - {@link VectorLists}: `IndexIVFFlat`.
 *
 * Where vectors are turned or brought to length one, an `IndexPreTransform` is around it. {@link readFaiss} reads such files.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { blobs, cluster, CodeIndex, faissBytes, InvertedFile, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const model = await cluster(vectors, { k: 20 })
 * await writeFile('centers.faiss', faissBytes(model.centers))
 * const index = new CodeIndex(await trainQuantizer(vectors, { type: 'ck', m: 4, codewords: 16 }))
 * await index.add(vectors)
 * await writeFile('codes.faiss', faissBytes(index)) // faiss.read_index('codes.faiss')
 * const file = await InvertedFile.train(vectors, model, { type: 'pq', m: 4, codewords: 16 })
 * await file.add(vectors)
 * await writeFile('lists.faiss', faissBytes(file))
 * ```
 */
export function faissBytes(
  contents: Matrix | CodeIndex | InvertedFile | VectorLists,
  options: FaissOptions = {},
): Uint8Array<ArrayBuffer> {
  const { metric } = optionsOf('faissBytes', options, CHECKS)
  const file = new FaissWriter()
  const indexed = contents instanceof CodeIndex || contents instanceof InvertedFile || contents instanceof VectorLists
  if (!indexed) writeFlat(file, denseMatrix(contents, 'the vectors'), metric ?? 'euclidean')
  else if (metric !== undefined && metric !== contents.metric) {
    throw badOption('metric', metric, `the index is searched by ${contents.metric}; leave it out.`)
  } else if (contents instanceof CodeIndex) writeCodes(file, contents)
  else if (contents instanceof InvertedFile) writeLists(file, contents)
  else writeVectorLists(file, contents)
  return file.finished()
}

function writeFlat(file: FaissWriter, { rows, cols, data }: Matrix, metric: SearchMetric): void {
  if (metric === 'cosine') writeTransforms(file, { cols, rows, unit: true, transform: undefined })
  const inner = metric === 'inner-product'
  file.header(inner ? 'IxFI' : 'IxF2', { cols, rows, inner })
  file.vector(metric === 'cosine' ? unitRows(data, cols) : Float32Array.from(data))
}

function unitRows(data: ArrayLike<number>, cols: number): Float32Array {
  const out = Float32Array.from(data)
  for (let at = 0; at < out.length; at += cols) {
    let square = 0
    for (let j = at; j < at + cols; j++) square += out[j] * out[j]
    if (!(square > 0))
      throw new CentroidalError('bad-data', `Row ${at / cols} of the vectors has no direction: remove it.`)
    for (let j = at; j < at + cols; j++) out[j] /= Math.sqrt(square)
  }
  return out
}

interface Preparation {
  readonly cols: number
  readonly rows: number
  /** Vectors are brought to length one first. */
  readonly unit: boolean
  readonly transform: LinearTransform | undefined
}

/** An IndexPreTransform, if there is anything to do; what it prepares vectors for follows. */
function writeTransforms(file: FaissWriter, { cols, rows, unit, transform }: Preparation): void {
  if (!unit && transform === undefined) return
  file.header('IxPT', { cols, rows, inner: false })
  file.int32((unit ? 1 : 0) + (transform ? 1 : 0))
  if (unit) {
    file.text('VNrm')
    file.float(2)
    sizes(cols, cols)
  }
  if (transform) {
    file.text('LTra')
    file.bool(true)
    file.vector(transform.rows)
    file.vector(transform.bias)
    sizes(transform.inputs, transform.outputs)
  }

  function sizes(inputs: number, outputs: number): void {
    file.int32(inputs)
    file.int32(outputs)
    file.bool(true)
  }
}

function writeCodes(file: FaissWriter, index: CodeIndex): void {
  const { codec } = index.quantizer
  const { ids, size, metric } = index
  const inner = metric === 'inner-product'
  const space = faissSpaceOf(codec, !inner)
  const numbered = ids.every((id, i) => id === i)
  if (!numbered) file.header('IxMp', { cols: codec.cols, rows: size, inner })
  writeTransforms(file, { cols: codec.cols, rows: size, unit: metric === 'cosine', transform: space.transform })
  file.header('IxPq', { cols: space.m * space.width, rows: size, inner })
  writeQuantizer(file, space)
  file.vector(repacked(index.codes.data as Uint8Array, size, space.m, storedBits(space.m, codec.codewords), space.bits))
  // Search by tables; no signs, no polysemous codes.
  file.int32(0)
  file.bool(false)
  file.int32(0)
  if (numbered) return
  file.int64(size)
  file.int64s(ids)
}

function writeQuantizer(file: FaissWriter, { m, width, bits, codewords }: FaissSpace): void {
  file.int64(m * width)
  file.int64(m)
  file.int64(bits)
  file.vector(codewords)
}

interface Lists {
  readonly k: number
  readonly rows: Uint8Array
  /** Bytes of a row. */
  readonly width: number
  readonly ids: Uint32Array
  /** Rising. */
  readonly lists: Uint32Array
}

/** The header of an inverted file with the centres of its lists. */
function writeListHeader(
  file: FaissWriter,
  name: string,
  rows: number,
  centers: Matrix<Float32Array>,
  inner: boolean,
): void {
  const { rows: k, cols } = centers
  file.header(name, { cols, rows, inner })
  file.int64(k)
  file.int64(Math.min(PROBE, k))
  writeFlat(file, centers, inner ? 'inner-product' : 'euclidean')
  // Vectors are not looked up by their number.
  file.bool(false)
  file.int64(0)
}

function writeListContents(file: FaissWriter, { k, rows, width, ids, lists }: Lists): void {
  const sizes = new Uint32Array(k)
  for (const list of lists) sizes[list]++
  file.text('ilar')
  file.int64(k)
  file.int64(width)
  file.text('full')
  file.int64(k)
  file.int64s(sizes)
  let at = 0
  for (const size of sizes) {
    file.bytes(rows.subarray(at * width, (at + size) * width))
    file.int64s(ids.subarray(at, at + size))
    at += size
  }
}

function writeLists(file: FaissWriter, index: InvertedFile): void {
  const { model, quantizer, metric, size } = index
  const { codec } = quantizer
  const { cols } = model.centers
  if (codec.ranges[codec.ranges.length - 1] !== cols) {
    throw new CentroidalError(
      'bad-option',
      `A file for faiss needs a quantizer that keeps all ${cols} dimensions, and this one keeps ${codec.ranges[codec.ranges.length - 1]}: train it without rank, as pq or ck.`,
    )
  }
  const inner = metric === 'inner-product'
  const space = faissSpaceOf(codec, false)
  writeTransforms(file, { cols, rows: size, unit: metric === 'cosine', transform: space.transform })
  const { m, width, bits } = space
  const { codes, ids, lists } = index.content()
  writeListHeader(file, 'IwPQ', size, turned(model.centers, space.transform), inner)
  // Codes of residuals.
  file.bool(true)
  const codeBytes = Math.ceil((m * bits) / 8)
  file.int64(codeBytes)
  writeQuantizer(file, { m, width, bits, codewords: space.codewords, transform: undefined })
  const rows = repacked(codes.data as Uint8Array, size, m, storedBits(m, codec.codewords), bits)
  writeListContents(file, { k: model.centers.rows, rows, width: codeBytes, ids, lists })
}

/** Centres where vectors are when they are compared. */
function turned(centers: Matrix<Float32Array>, transform: LinearTransform | undefined): Matrix<Float32Array> {
  if (transform === undefined) return centers
  const { rows, cols, data } = centers
  const out = new Float32Array(rows * transform.outputs)
  for (let i = 0; i < rows; i++) {
    for (let t = 0; t < transform.outputs; t++) {
      let sum = 0
      for (let j = 0; j < cols; j++) sum += transform.rows[t * cols + j] * data[i * cols + j]
      out[i * transform.outputs + t] = sum
    }
  }
  return { rows, cols: transform.outputs, data: out }
}

function writeVectorLists(file: FaissWriter, index: VectorLists): void {
  const { model, metric, size } = index
  const { cols } = model.centers
  writeTransforms(file, { cols, rows: size, unit: metric === 'cosine', transform: undefined })
  writeListHeader(file, 'IwFl', size, model.centers, metric === 'inner-product')
  const { vectors, ids, lists } = index.content()
  const rows = new Uint8Array(vectors.data.buffer, vectors.data.byteOffset, vectors.data.byteLength)
  writeListContents(file, { k: model.centers.rows, rows, width: 4 * cols, ids, lists })
}

/** Indexes that faiss wrote, as the indexes of this library. */
import { platform } from '#platform'
import { location as checkLocation, type Location } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix } from '../core/matrix.ts'
import { modelOfCenters } from '../models/centers-only.ts'
import { quantizerOf } from '../quantize/codec-only.ts'
import { CodeIndex } from './code-index.ts'
import { FaissReader } from './faiss-file.ts'
import { codecOf, type FaissSpace, type LinearTransform, repacked, storedBits, turnedBack } from './faiss-space.ts'
import type { SearchMetric } from './flat.ts'
import { InvertedFile } from './inverted-file.ts'
import { VectorLists } from './vector-lists.ts'

/** What a file of faiss holds. */
export type FaissContents =
  | {
      /** Vectors, of an `IndexFlat`. */
      readonly kind: 'vectors'
      /** The vectors; of length one where the metric is `cosine`. */
      readonly vectors: Matrix<Float32Array>
      /** Their numbers, where they are not 0, 1, 2 and so on. */
      readonly ids: Uint32Array | undefined
      /** The metric. */
      readonly metric: SearchMetric
    }
  | {
      /** Codes, of an `IndexPQ`. */
      readonly kind: 'codes'
      /** To be searched and changed. */
      readonly index: CodeIndex
    }
  | {
      /** Codes in lists, of an `IndexIVFPQ`. */
      readonly kind: 'lists'
      /** To be searched and changed. */
      readonly index: InvertedFile
    }
  | {
      /** Vectors in lists, of an `IndexIVFFlat`. */
      readonly kind: 'vector-lists'
      /** To be searched and changed. */
      readonly index: VectorLists
    }

/**
 * Reads what `faiss.write_index` wrote, or {@link faissBytes}: `IndexFlat`, `IndexPQ`, `IndexIVFPQ` (of residuals) and
 * `IndexIVFFlat`, by L2 or inner product, also inside an `IndexIDMap` and behind an `IndexPreTransform` that rotates (OPQ),
 * shifts or normalizes vectors. Searches find what they find in faiss.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { blobs, cluster, faissBytes, InvertedFile, readFaiss } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const file = await InvertedFile.train(vectors, await cluster(vectors, { k: 20 }), { type: 'pq', m: 4, codewords: 16 })
 * await file.add(vectors)
 * await writeFile('vectors.faiss', faissBytes(file))
 * const read = await readFaiss('vectors.faiss')
 * read.kind // => 'lists'
 * if (read.kind === 'lists') console.log(await read.index.search(vectors, { nearest: 5, probe: 4 }))
 * ```
 */
export async function readFaiss(location: Location): Promise<FaissContents> {
  const source = await platform.openBytes(checkLocation(location, 'the location'))
  try {
    const reader = new FaissReader(await source.read(0, source.size), source.name)
    const contents = readIndex(reader)
    reader.end()
    return contents
  } finally {
    await source.close()
  }
}

/** What happens to vectors before they are compared. */
interface Prepared {
  /** They are brought to length one. */
  readonly unit: boolean
  readonly transform: LinearTransform | undefined
}

const AS_THEY_ARE: Prepared = { unit: false, transform: undefined }

function readIndex(file: FaissReader, before: Prepared = AS_THEY_ARE): FaissContents {
  const name = file.text()
  switch (name) {
    case 'IxF2':
    case 'IxFI':
    case 'IxFl':
      return readFlat(file, before)
    case 'IxPq':
      return readCodes(file, before)
    case 'IwFl':
    case 'IwPQ':
      return readLists(file, name, before)
    case 'IxPT':
      return readIndex(file, readTransforms(file, before))
    case 'IxMp':
    case 'IxM2':
      return readNumbered(file, before)
    default:
      throw new CentroidalError(
        'bad-file',
        `${JSON.stringify(file.name)} holds an index that faiss calls ${JSON.stringify(name)}: IndexFlat, IndexPQ, IndexIVFPQ and IndexIVFFlat are read here, inside IndexIDMap and IndexPreTransform too.`,
      )
  }
}

function metricOf(file: FaissReader, inner: boolean, { unit }: Prepared): SearchMetric {
  if (!unit) return inner ? 'inner-product' : 'euclidean'
  if (!inner) return 'cosine'
  throw file.wrong('brings vectors to length one and compares them by inner products, where L2 distances are needed')
}

function readVectors(file: FaissReader): { readonly vectors: Matrix<Float32Array>; readonly inner: boolean } {
  const { rows, cols, inner } = file.header()
  return { vectors: matrix(file.floatVector(rows * cols), rows, cols), inner }
}

function readFlat(file: FaissReader, before: Prepared): FaissContents {
  const { vectors, inner } = readVectors(file)
  if (before.transform) throw file.wrong('transforms vectors before it keeps them as they are, which is not read')
  return { kind: 'vectors', vectors, ids: undefined, metric: metricOf(file, inner, before) }
}

/** Ids come after the index that they are for. */
function readNumbered(file: FaissReader, before: Prepared): FaissContents {
  const { rows } = file.header()
  const inner = readIndex(file, before)
  const ids = file.ids(file.size())
  if (ids.length !== rows || new Set(ids).size !== rows) throw file.wrong(`does not have ${rows} different ids`)
  if (inner.kind === 'vectors' && inner.vectors.rows === rows) return { ...inner, ids }
  if (inner.kind !== 'codes' || inner.index.size !== rows) throw file.wrong('numbers an index that has numbers already')
  const { quantizer, codes, metric } = inner.index
  return { kind: 'codes', index: new CodeIndex(quantizer, codes, ids, { metric }) }
}

function readTransforms(file: FaissReader, before: Prepared): Prepared {
  file.header()
  const count = file.int32()
  let after = before
  for (let i = 0; i < count; i++) after = readTransform(file, after)
  return after
}

function readTransform(file: FaissReader, { unit, transform }: Prepared): Prepared {
  const name = file.text()
  if (name === 'VNrm') {
    const norm = file.float()
    readSizes(file)
    if (norm === 2 && !unit && transform === undefined) return { unit: true, transform }
    throw file.wrong('brings vectors to length one after another transformation, or by another norm, which is not read')
  }
  if (name === 'VCnt') {
    const mean = file.floatVector()
    const { inputs } = readSizes(file, mean.length)
    const rows = new Float32Array(inputs * inputs)
    for (let j = 0; j < inputs; j++) rows[j * inputs + j] = 1
    const bias = mean.map((value) => -value)
    return { unit, transform: following(file, transform, { rows, bias, inputs, outputs: inputs }) }
  }
  if (name !== 'LTra' && name !== 'rrot') {
    throw file.wrong(
      `has a transformation that faiss calls ${JSON.stringify(name)}: LinearTransform, OPQMatrix, RandomRotationMatrix, CenteringTransform and NormalizationTransform are read`,
    )
  }
  const hasBias = file.bool()
  const rows = file.floatVector()
  const bias = file.floatVector()
  const { inputs, outputs } = readSizes(file)
  if (rows.length !== inputs * outputs || (hasBias && bias.length !== outputs)) {
    throw file.wrong(`has a transformation of ${rows.length} numbers for ${inputs} x ${outputs}`)
  }
  const own = { rows, bias: hasBias ? bias : new Float32Array(outputs), inputs, outputs }
  return { unit, transform: following(file, transform, own) }
}

function readSizes(file: FaissReader, wanted?: number): { readonly inputs: number; readonly outputs: number } {
  const [inputs, outputs] = [file.int32(), file.int32()]
  file.bool()
  if (inputs >= 1 && outputs >= 1 && (wanted === undefined || inputs === wanted)) return { inputs, outputs }
  throw file.wrong(`has a transformation of ${inputs} dimensions to ${outputs}`)
}

/** One transform after another. */
function following(file: FaissReader, first: LinearTransform | undefined, second: LinearTransform): LinearTransform {
  if (first === undefined) return second
  if (first.outputs !== second.inputs) throw file.wrong('has transformations that do not fit each other')
  const { inputs } = first
  const { outputs } = second
  const rows = new Float32Array(outputs * inputs)
  const bias = second.bias.slice()
  for (let t = 0; t < outputs; t++) {
    for (let s = 0; s < second.inputs; s++) {
      const factor = second.rows[t * second.inputs + s]
      for (let j = 0; j < inputs; j++) rows[t * inputs + j] += factor * first.rows[s * inputs + j]
      bias[t] += factor * first.bias[s]
    }
  }
  return { rows, bias, inputs, outputs }
}

function readQuantizer(file: FaissReader, cols: number, transform: LinearTransform | undefined): FaissSpace {
  const [dims, m, bits] = [file.size(), file.size(), file.size()]
  if (dims !== cols || m < 1 || dims % m !== 0 || bits < 1 || bits > 16) {
    throw file.wrong(`has a product quantizer of ${m} codes of ${bits} bits for ${dims} dimensions`)
  }
  const width = dims / m
  return { m, width, bits, transform, codewords: file.floatVector(m * 2 ** bits * width) }
}

function codecFor(file: FaissReader, space: FaissSpace) {
  const codec = codecOf(space)
  if (codec !== undefined) return codec
  throw file.wrong(
    'transforms vectors in a way that changes distances, and only rotations, shifts and projections are read',
  )
}

function readCodes(file: FaissReader, before: Prepared): FaissContents {
  const { cols, rows, inner } = file.header()
  const space = readQuantizer(file, cols, before.transform)
  const { m, bits } = space
  const codes = file.byteVector(rows * Math.ceil((m * bits) / 8))
  // How to search, and polysemous codes, which are other numbers for the same codewords.
  file.int32()
  file.bool()
  file.int32()
  const quantizer = quantizerOf(codecFor(file, space))
  const stored = repacked(codes, rows, m, bits, storedBits(m, 2 ** bits))
  const metric = metricOf(file, inner, before)
  return {
    kind: 'codes',
    index: new CodeIndex(quantizer, matrix(stored, rows, quantizer.codeBytes), undefined, { metric }),
  }
}

function readLists(file: FaissReader, name: 'IwFl' | 'IwPQ', before: Prepared): FaissContents {
  const { cols, rows, inner } = file.header()
  const metric = metricOf(file, inner, before)
  const k = file.size()
  file.size()
  const chooser = file.text()
  if (!['IxF2', 'IxFI', 'IxFl'].includes(chooser)) {
    throw file.wrong(
      `chooses lists by an index that faiss calls ${JSON.stringify(chooser)}, and only IndexFlat is read`,
    )
  }
  const { vectors: centers, inner: byProducts } = readVectors(file)
  if (centers.rows !== k || centers.cols !== cols) throw file.wrong(`has ${centers.rows} centres for ${k} lists`)
  if (byProducts !== inner) throw file.wrong('chooses lists by another metric than it compares vectors by')
  skipDirectMap(file)
  if (name === 'IwFl') {
    if (before.transform) throw file.wrong('transforms vectors before it keeps them as they are, which is not read')
    const { contents, ...filed } = readContents(file, k, 4 * cols)
    const vectors = matrix(new Float32Array(contents.slice().buffer), filed.ids.length, cols)
    requireCount(file, filed.ids.length, rows)
    return {
      kind: 'vector-lists',
      index: VectorLists.of(modelOfCenters(centers, metric), metric, { vectors, ...filed }),
    }
  }
  if (!file.bool()) throw file.wrong('has codes of whole vectors, and only codes of residuals (by_residual) are read')
  const width = file.size()
  const space = readQuantizer(file, cols, before.transform)
  const { m, bits } = space
  if (width !== Math.ceil((m * bits) / 8))
    throw file.wrong(`has codes of ${width} bytes for ${m} codes of ${bits} bits`)
  const { contents, ...filed } = readContents(file, k, width)
  requireCount(file, filed.ids.length, rows)
  const codec = codecFor(file, space)
  if (codec.ranges[m] !== codec.cols) throw file.wrong('keeps fewer dimensions than vectors have, which is not read')
  // Residuals do not know of shifts; centres do.
  const quantizer = quantizerOf({ ...codec, frame: { ...codec.frame, shift: undefined } })
  const model = modelOfCenters(withoutTransform(centers, before.transform), metric)
  const stored = repacked(contents, filed.ids.length, m, bits, storedBits(m, 2 ** bits))
  const codes = matrix(stored, filed.ids.length, quantizer.codeBytes)
  return { kind: 'lists', index: new InvertedFile(model, quantizer, { codes, ...filed }, { metric }) }
}

/** Where centres are before vectors are turned and shifted. */
function withoutTransform(
  { data, rows }: Matrix<Float32Array>,
  transform: LinearTransform | undefined,
): Matrix<Float32Array> {
  if (transform === undefined) return { data, rows, cols: data.length / rows }
  const { inputs, outputs } = transform
  const out = new Float32Array(rows * inputs)
  for (let i = 0; i < rows; i++) {
    const shifted = Array.from({ length: outputs }, (_, t) => data[i * outputs + t] - transform.bias[t])
    out.set(turnedBack(transform.rows, shifted, inputs), i * inputs)
  }
  return { data: out, rows, cols: inputs }
}

function requireCount(file: FaissReader, found: number, told: number): void {
  if (found !== told) throw file.wrong(`has ${found} vectors in its lists and says that there are ${told}`)
}

/** Where each vector lies: the same follows from the lists. */
function skipDirectMap(file: FaissReader): void {
  const kind = file.byte()
  file.take(8 * file.size())
  if (kind === 2) file.take(16 * file.size())
}

interface Filed {
  readonly contents: Uint8Array
  readonly ids: Uint32Array
  readonly lists: Uint32Array
}

function readContents(file: FaissReader, k: number, width: number): Filed {
  const kind = file.text()
  if (kind !== 'ilar') {
    throw file.wrong(`has lists of a kind that faiss calls ${JSON.stringify(kind)}, and only those in memory are read`)
  }
  if (file.size() !== k || file.size() !== width) throw file.wrong('has lists of another number or width than it says')
  const sizes = readListSizes(file, k)
  const parts: Uint8Array[] = []
  const ids: Uint32Array[] = []
  const lists: number[] = []
  sizes.forEach((size, list) => {
    if (size === 0) return
    parts.push(file.take(size * width))
    ids.push(file.ids(size))
    lists.push(list)
  })
  const count = sizes.reduce((sum, size) => sum + size, 0)
  const out = { contents: new Uint8Array(count * width), ids: new Uint32Array(count), lists: new Uint32Array(count) }
  let at = 0
  parts.forEach((part, i) => {
    out.contents.set(part, at * width)
    out.ids.set(ids[i], at)
    out.lists.fill(lists[i], at, at + ids[i].length)
    at += ids[i].length
  })
  return out
}

/** One for each list, or pairs of a list and its size, where most are empty. */
function readListSizes(file: FaissReader, k: number): Float64Array {
  const layout = file.text()
  const numbers = file.sizes()
  const sizes = new Float64Array(k)
  if (layout === 'full' && numbers.length === k) sizes.set(numbers)
  else if (layout === 'sprs' && numbers.length % 2 === 0) {
    for (let i = 0; i < numbers.length; i += 2) {
      if (numbers[i] >= k) throw file.wrong(`has a list ${numbers[i]} of ${k}`)
      sizes[numbers[i]] = numbers[i + 1]
    }
  } else throw file.wrong('does not say how large its lists are')
  return sizes
}

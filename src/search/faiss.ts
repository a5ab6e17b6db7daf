/**
 * Indexes as faiss keeps them in files: `faiss.read_index` opens what is written here. The layout is that of faiss 1.7:
 * a name of four letters, the header (dimensions, vectors, two numbers without meaning, trained, metric), then the contents.
 */
import { CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix } from '../core/matrix.ts'
import { bookStride } from '../kernels/encode.ts'
import { codeLayout } from '../kernels/scan-codes.ts'
import type { Codec } from '../quantize/codec.ts'
import { CodeIndex } from './code-index.ts'

const METRIC_L2 = 1

/**
 * An index for faiss, as the bytes of a file. Vectors, such as the centres of a model, become an `IndexFlatL2`. An index of
 * codes becomes an `IndexPQ`, behind an `IndexPreTransform` where the quantizer rotates vectors, and inside an `IndexIDMap`
 * where ids are not 0, 1, 2 and so on. It finds the same neighbours as here, by asymmetric distances. Subspaces have to be
 * equally wide, and the number of codewords 2, 4, 16 or 256.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { blobs, cluster, CodeIndex, faissBytes, trainQuantizer } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 400, cols: 16, clusters: 20 })
 * const model = await cluster(vectors, { k: 20 })
 * await writeFile('centers.faiss', faissBytes(model.centers))
 * const index = new CodeIndex(await trainQuantizer(vectors, { type: 'ck', m: 4, codewords: 16 }))
 * await index.add(vectors)
 * await writeFile('codes.faiss', faissBytes(index)) // faiss.read_index('codes.faiss')
 * ```
 */
export function faissBytes(contents: Matrix | CodeIndex): Uint8Array<ArrayBuffer> {
  const file = new FaissFile()
  if (contents instanceof CodeIndex) writeCodes(file, contents)
  else writeFlat(file, denseMatrix(contents, 'the vectors'))
  return file.bytes()
}

function writeFlat(file: FaissFile, { rows, cols, data }: Matrix): void {
  file.header('IxF2', cols, rows)
  file.vector(Float32Array.from(data))
}

function writeCodes(file: FaissFile, index: CodeIndex): void {
  const { codec } = index.quantizer
  requireFitting(codec)
  const { ids, size } = index
  const numbered = ids.every((id, i) => id === i)
  if (!numbered) file.header('IxMp', codec.cols, size)
  const space = codec.ranges[codec.ranges.length - 1]
  if (codec.rotation) {
    file.header('IxPT', codec.cols, size)
    file.int32(1)
    writeRotation(file, codec, codec.rotation, space)
  }
  file.header('IxPq', space, size)
  const m = codec.ranges.length - 1
  file.int64(space)
  file.int64(m)
  file.int64(Math.log2(codec.codewords))
  file.vector(codewords(codec))
  file.vector(index.codes.data)
  // Search by tables; no signs, no polysemous codes.
  file.int32(0)
  file.bool(false)
  file.int32(0)
  if (numbered) return
  file.int64(size)
  for (const id of ids) file.int64(id)
}

function requireFitting({ ranges, codewords, frame }: Codec): void {
  const m = ranges.length - 1
  const wanted = (cure: string): CentroidalError =>
    new CentroidalError('bad-option', `A file for faiss requires ${cure}.`)
  if (ranges[m] % m !== 0)
    throw wanted(`subspaces of the same width: ${ranges[m]} dimensions are not divisible by ${m}`)
  const { bits } = codeLayout(m, codewords)
  if (bits > 8 || codewords !== 2 ** bits) throw wanted(`2, 4, 16 or 256 codewords, not ${codewords}`)
  if (frame.unit) throw wanted('a quantizer by Euclidean distance')
}

/** y = A x + b: the rotation, of vectors that are shifted where the quantizer shifts them. */
function writeRotation(file: FaissFile, { cols, frame }: Codec, rotation: Float32Array, space: number): void {
  const bias = new Float32Array(space)
  for (let t = 0; frame.shift && t < space; t++) {
    let sum = 0
    for (let j = 0; j < cols; j++) sum += rotation[t * cols + j] * frame.shift[j]
    bias[t] = -sum
  }
  file.text('LTra')
  file.bool(true)
  file.vector(rotation)
  file.vector(bias)
  file.int32(cols)
  file.int32(space)
  file.bool(true)
}

/** m x h x width, without padding, in the units of the vectors. */
function codewords({ ranges, codewords: h, frame, rotation, books }: Codec): Float32Array {
  const m = ranges.length - 1
  const stride = bookStride(ranges)
  const width = ranges[m] / m
  const out = new Float32Array(m * h * width)
  for (let word = 0; word < m * h; word++) {
    for (let j = 0; j < width; j++) {
      const shift = rotation ? 0 : (frame.shift?.[Math.floor(word / h) * width + j] ?? 0)
      out[word * width + j] = books[word * stride + j] / frame.scale + shift
    }
  }
  return out
}

/** Numbers one after the other, little-endian. */
class FaissFile {
  readonly #parts: Uint8Array[] = []

  text(name: string): void {
    this.#parts.push(new TextEncoder().encode(name))
  }

  int32(value: number): void {
    this.#add(Int32Array.of(value))
  }

  int64(value: number): void {
    this.#add(BigInt64Array.of(BigInt(value)))
  }

  bool(value: boolean): void {
    this.#add(Uint8Array.of(value ? 1 : 0))
  }

  /** Its length, then its numbers. */
  vector(values: Float32Array | Uint8Array): void {
    this.int64(values.length)
    this.#add(values)
  }

  header(name: string, cols: number, rows: number): void {
    this.text(name)
    this.int32(cols)
    this.int64(rows)
    this.int64(1 << 20)
    this.int64(1 << 20)
    this.bool(true)
    this.int32(METRIC_L2)
  }

  bytes(): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(this.#parts.reduce((sum, { length }) => sum + length, 0))
    let at = 0
    for (const part of this.#parts) {
      out.set(part, at)
      at += part.length
    }
    return out
  }

  #add(values: ArrayBufferView): void {
    this.#parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  }
}

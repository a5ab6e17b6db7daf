/** Vectors and labels into files, in pieces, by the extension of the name. */

import { platform } from '#platform'
import { callback, flag, type OptionChecks, optionsOf, path, uint32Array, whole } from '../core/arguments.ts'
import type { ByteSink } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { isWideMatrix, toSource, type Vector, type VectorInput, type VectorSource } from '../core/matrix.ts'
import type { OnProgress } from '../core/progress.ts'
import { convertInto } from './convert.ts'
import type { Format, SparseFormat } from './formats.ts'
import { formatOf, isPacked, sparseFormatOf } from './formats.ts'
import { gzipSink } from './gzip.ts'
import { MemorySink } from './memory-sink.ts'
import type { StoredData, StoredType } from './table.ts'
import { allocate, rowsPerPiece } from './table.ts'

/** Options of writing vectors. */
export interface WriteOptions {
  /** Called after every piece with the share that is written. Optional. */
  readonly onProgress?: OnProgress | undefined
  /**
   * Rounds 64-bit numbers to 32-bit floats. Default: they are written in 64 bits, or refused if the format does not support
   * them.
   */
  readonly float32?: boolean | undefined
}

const CHECKS: OptionChecks<WriteOptions> = { onProgress: callback, float32: flag }

/** What is written, whatever it came from. */
interface Rows {
  readonly name: string
  readonly shape: readonly number[]
  readonly type: StoredType
  read(start: number, end: number): Promise<StoredData>
}

/**
 * Writes vectors, in the format the name ends with; .gz after it packs them. bvecs and ivecs take floats only if all of
 * them are whole and fit; .npz and .mat take sparse rows only, and sparse rows go with their zeros into the others. Nothing is there under that
 * name before all of it is. A source stays open: who opened it closes it.
 *
 * @example
 * ```ts
 * import { matrix, readVectors, writeVectors } from 'centroidal'
 *
 * await writeVectors('pixels.bvecs', matrix(Uint8Array.of(0, 128, 255, 7), 2, 2))
 * const { data } = await readVectors('pixels.bvecs')
 * data // => [0, 128, 255, 7]
 * ```
 */
export async function writeVectors(location: string, input: VectorInput, options: WriteOptions = {}): Promise<void> {
  await (await stageVectors(location, input, options)).close()
}

/**
 * The bytes that `writeVectors` would write to a file of that name: for pages, which hand files out instead of writing
 * them. Takes as much memory as the file is long.
 *
 * @param name - A file name; its extension says the format: .npy, .fvecs, .bvecs, .ivecs, .csv, .tsv, .npz or .mat, and .gz after it to pack it.
 *
 * @example
 * ```ts
 * import { blobs, vectorBytes } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 10, cols: 4, clusters: 2 })
 * const bytes = await vectorBytes('vectors.npy', vectors)
 * const file = new Blob([bytes]) // to be downloaded
 * file.size // => 288
 * ```
 */
export async function vectorBytes(
  name: string,
  input: VectorInput,
  options: WriteOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new MemorySink()
  await (await stageVectors(name, input, options, async () => sink)).close()
  return sink.bytes()
}

/**
 * The bytes that `writeLabels` would write to a file of that name: .npy (uint32), .ivecs, .csv or .tsv.
 *
 * @example
 * ```ts
 * import { labelBytes } from 'centroidal'
 *
 * const bytes = await labelBytes('labels.csv', Uint32Array.of(2, 0, 1))
 * new TextDecoder().decode(bytes).trim().split('\n').length // => 3
 * ```
 */
export async function labelBytes(name: string, labels: Uint32Array): Promise<Uint8Array<ArrayBuffer>> {
  const sink = new MemorySink()
  await (await stageLabels(name, labels, async () => sink)).close()
  return sink.bytes()
}

/** Where bytes go: a file, unless they are to stay in memory. */
type OpenSink = (location: string) => Promise<ByteSink>

const toFile: OpenSink = (location) => platform.createBytes(location)

async function openSink(location: string, open: OpenSink): Promise<ByteSink> {
  const sink = await open(location)
  return isPacked(location) ? gzipSink(sink) : sink
}

/** Everything is written, but not yet visible: close() moves it into place, abort() removes it. */
export async function stageVectors(
  location: string,
  input: VectorInput,
  options: WriteOptions = {},
  open: OpenSink = toFile,
): Promise<ByteSink> {
  path(location, 'the path')
  const checked = optionsOf('writeVectors', options, CHECKS)
  const source = allDigits(input)
  const sparse = sparseFormatOf(location)
  if (sparse) return stageSparse(location, sparse, source, checked, open)
  const format = formatOf(location)
  const { rows, cols, name } = source
  const wide = source.read64 && checked.float32 !== true
  const read = (start: number, end: number): Promise<StoredData> =>
    wide ? source.read64!(start, end) : source.read(start, end)
  return stageRows(
    location,
    format,
    { name, shape: [rows, cols], type: wide ? 'f64' : source.type, read },
    checked,
    open,
  )
}

/** Numbers that 32-bit floats do not hold are written in 64 bits. */
function allDigits(input: VectorInput): VectorSource {
  const source = toSource(input)
  const isWide = isWideMatrix(input)
  if (source.read64 || !(isWide || Array.isArray(input))) return source
  const { cols } = source
  const rows = isWide ? [] : (input as readonly Vector[])
  const differs = (values: ArrayLike<number>): boolean =>
    !(values instanceof Float32Array) &&
    Array.prototype.some.call(values, (value) => !Object.is(Math.fround(value), value))
  if (!(isWide ? differs(input.data) : rows.some(differs))) return source
  return {
    ...source,
    async read64(start, end) {
      if (isWide) return Float64Array.from(input.data.slice(start * cols, end * cols))
      const out = new Float64Array((end - start) * cols)
      for (let row = start; row < end; row++) out.set(rows[row], (row - start) * cols)
      return out
    },
  }
}

async function stageSparse(
  location: string,
  format: SparseFormat,
  { sparse, name }: VectorSource,
  { onProgress }: WriteOptions,
  open: OpenSink,
): Promise<ByteSink> {
  if (sparse === undefined) {
    throw new CentroidalError(
      'bad-data',
      `${JSON.stringify(location)} is a file of sparse rows, and ${name} has dense rows: write them as .npy.`,
    )
  }
  const sink = await openSink(location, open)
  try {
    await sink.write(format.bytes(sparse))
    onProgress?.(1)
    return sink
  } catch (error) {
    await sink.abort()
    throw error
  }
}

/**
 * Writes one label per row: .npy (uint32), .ivecs, .csv or .tsv.
 *
 * @example
 * ```ts
 * import { blobs, cluster, readIntegers, writeLabels } from 'centroidal'
 *
 * const model = await cluster(blobs({ rows: 90, cols: 4, clusters: 3 }).vectors, { k: 3 })
 * await writeLabels('labels.npy', model.labels)
 * const labels = await readIntegers('labels.npy')
 * labels.rows // => 90
 * ```
 */
export async function writeLabels(location: string, labels: Uint32Array): Promise<void> {
  await (await stageLabels(location, labels)).close()
}

/**
 * Writes lists of row numbers, `cols` for each query: .npy (int32), .ivecs, .csv or .tsv. 0xffffffff, for nothing,
 * becomes -1.
 *
 * @example
 * ```ts
 * import { blobs, nearest, readIntegers, writeNeighbors } from 'centroidal'
 *
 * const { vectors } = blobs({ rows: 50, cols: 4, clusters: 5 })
 * const { labels, m } = await nearest(vectors, vectors, { m: 3 })
 * await writeNeighbors('neighbours.ivecs', labels, m)
 * const lists = await readIntegers('neighbours.ivecs')
 * lists.rows // => 50
 * lists.cols // => 3
 * lists.data[0] // => 0
 * ```
 */
export async function writeNeighbors(location: string, labels: Uint32Array, cols: number): Promise<void> {
  path(location, 'the path')
  uint32Array(labels, 'the list of neighbours')
  whole(1)(cols, 'the number of neighbours of a query')
  if (labels.length % cols !== 0) {
    throw new CentroidalError(
      'bad-data',
      `There are ${labels.length} neighbours, which is not a multiple of the list length ${cols}: give ${cols} for each query.`,
    )
  }
  const format = formatOf(location, 'labels')
  const signed = new Int32Array(labels.buffer, labels.byteOffset, labels.length)
  const read = async (start: number, end: number): Promise<StoredData> => signed.subarray(start * cols, end * cols)
  const rows = { name: 'the neighbours', shape: [labels.length / cols, cols], type: 'i32' as const, read }
  await (await stageRows(location, format, rows, {}, toFile)).close()
}

export async function stageLabels(location: string, labels: Uint32Array, open: OpenSink = toFile): Promise<ByteSink> {
  path(location, 'the path')
  uint32Array(labels, 'the list of labels')
  const format = formatOf(location, 'labels')
  const read = async (start: number, end: number): Promise<StoredData> => labels.subarray(start, end)
  return stageRows(location, format, { name: 'the labels', shape: [labels.length], type: 'u32', read }, {}, open)
}

async function stageRows(
  location: string,
  format: Format,
  input: Rows,
  { onProgress }: WriteOptions,
  open: OpenSink,
): Promise<ByteSink> {
  const [rows, cols = 1] = input.shape
  if (rows === 0 && !format.holdsNoRows) {
    throw new CentroidalError(
      'bad-data',
      `${JSON.stringify(location)} would be empty, as ${input.name} has no rows: a ${format.extension} file needs at least one.`,
    )
  }
  const stored = format.storedAs(input.type)
  const encoder = format.encoder(input.shape, stored)
  const sink = await openSink(location, open)
  try {
    await sink.write(encoder.head)
    // Text grows to a dozen bytes per value; counting eight for all keeps every piece moderate.
    const step = rowsPerPiece(cols, 8)
    for (let row = 0; row < rows; row += step) {
      const end = Math.min(row + step, rows)
      const data = await input.read(row, end)
      await sink.write(encoder.encode(asStored(data, input, stored, row, cols)))
      onProgress?.(end / rows)
    }
    return sink
  } catch (error) {
    await sink.abort()
    throw error
  }
}

function asStored(data: StoredData, input: Rows, stored: StoredType, firstRow: number, cols: number): StoredData {
  if (stored === input.type) return data
  const out = allocate(stored, data.length, input.name)
  try {
    convertInto(data, out, stored, { name: input.name, cols, firstRow })
  } catch (error) {
    if (input.type !== 'f64' || stored !== 'f32' || !(error instanceof CentroidalError)) throw error
    throw new CentroidalError(
      'bad-data',
      `${error.message} Write 64-bit floats as .npy or .csv, or round them with the option float32.`,
    )
  }
  return out
}

/** Vectors and whole numbers from files, Blobs and URLs. */
import { platform } from '#platform'
import type { ByteSource, Location } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import { isMatrix, readAll, sparseSource, toSource } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { notRepresentable, readAs } from './convert.ts'
import { formatOf, type SparseFormat, sparseFormatOf } from './formats.ts'
import type { Table } from './table.ts'
import { allocate, bytesPerValue, rowsPerPiece } from './table.ts'

/** Labels, or the ids of nearest neighbours. */
export interface Integers {
  /** Labels, or lists. */
  readonly rows: number
  /** Numbers in a row; 1 for labels. */
  readonly cols: number
  /** rows x cols, row-major. */
  readonly data: Int32Array | Uint32Array
}

/**
 * Opens a file whose rows are read on demand; close() it afterwards. Types other than f32 and u8 become f32, where that is
 * exact. Sparse rows (.npz, .mat) are read at once and stay sparse.
 *
 * @example
 * ```ts
 * import { blobs, cluster, openVectors, writeVectors } from 'centroidal'
 *
 * await writeVectors('many.npy', blobs({ rows: 200, cols: 4, clusters: 3 }).vectors)
 * const source = await openVectors('many.npy')
 * source.rows // => 200
 * const model = await cluster(source, { k: 3 }) // reads it in pieces
 * await source.close?.()
 * ```
 */
export async function openVectors(location: Location): Promise<VectorSource> {
  const format = sparseFormatOf(location)
  if (format) {
    const { read, name } = await readWhole(location, format)
    return isMatrix(read) ? toSource(read, name) : sparseSource(read, name)
  }
  return sourceOf(await openTable(location))
}

function sourceOf(table: Table): VectorSource {
  const { rows, cols, type, name } = table
  const close = (): Promise<void> => table.close()
  if (type === 'f32' || type === 'u8') {
    // The table gives arrays of the type it declares.
    return { rows, cols, type, name, read: table.read as VectorSource['read'], close }
  }
  return { rows, cols, type: 'f32', name, read: (start, end) => readAs(table, 'f32', start, end), close }
}

/** Dense vectors in bytes that are read on demand, such as an object in a bucket; the name tells the format. */
export async function openVectorBytes(bytes: ByteSource): Promise<VectorSource> {
  const table = await formatOf(bytes.name).open(bytes)
  return sourceOf(table)
}

/**
 * Dense vectors of a file, all in memory: .fvecs, .bvecs, .ivecs, .npy, .csv or .tsv, by its name. Bytes stay bytes.
 *
 * @example
 * ```ts
 * import { blobs, readVectors, writeVectors } from 'centroidal'
 *
 * await writeVectors('points.csv', blobs({ rows: 20, cols: 2, clusters: 4 }).vectors)
 * const vectors = await readVectors('points.csv')
 * vectors.rows // => 20
 * vectors.cols // => 2
 * ```
 */
export async function readVectors(location: Location): Promise<Matrix> {
  const source = await openVectors(location)
  if (source.sparse) {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(source.name)} holds sparse rows, dense ones are needed here: read them with readSparse or openVectors.`,
    )
  }
  try {
    return await readAll(source)
  } finally {
    await source.close?.()
  }
}

/**
 * Sparse rows of a file: .npz as SciPy writes it, or .mat as CLUTO does.
 *
 * @example
 * ```ts
 * import { readSparse, sparseMatrix, writeVectors } from 'centroidal'
 *
 * await writeVectors('docs.npz', sparseMatrix({ offsets: [0, 1, 3], columns: [4, 0, 2], values: [1, 2, 3] }, 2, 5))
 * const documents = await readSparse('docs.npz')
 * documents.columns // => [4, 0, 2]
 * ```
 */
export async function readSparse(location: Location): Promise<SparseMatrix> {
  const format = sparseFormatOf(location)
  if (format === undefined) {
    // Says which formats there are if there is none by that name.
    const { extension } = formatOf(location)
    throw new CentroidalError('bad-file', `A ${extension} file holds dense rows: read it with readVectors.`)
  }
  const { read, name } = await readWhole(location, format)
  if (!isMatrix(read)) return read
  throw new CentroidalError('bad-file', `${JSON.stringify(name)} holds dense rows: read it with readVectors.`)
}

async function readWhole(
  location: Location,
  format: SparseFormat,
): Promise<{ read: SparseMatrix | Matrix; name: string }> {
  const source = await platform.openBytes(location)
  try {
    return { read: await format.read(source), name: source.name }
  } finally {
    await source.close()
  }
}

/**
 * Whole numbers of a file, such as labels or lists of neighbours, of any stored type; floats and text must be whole.
 * Unsigned where the file or the values are.
 *
 * @example
 * ```ts
 * import { readIntegers, writeLabels } from 'centroidal'
 *
 * await writeLabels('labels.npy', Uint32Array.of(2, 0, 1))
 * const { data } = await readIntegers('labels.npy')
 * data // => [2, 0, 1]
 * ```
 */
export async function readIntegers(location: Location): Promise<Integers> {
  const table = await openTable(location)
  try {
    return { rows: table.rows, cols: table.cols, data: await wholeNumbers(table) }
  } finally {
    await table.close()
  }
}

async function openTable(location: Location): Promise<Table> {
  const format = formatOf(location)
  const source = await platform.openBytes(location)
  try {
    return await format.open(source)
  } catch (error) {
    await source.close()
    throw error
  }
}

async function wholeNumbers(table: Table): Promise<Int32Array | Uint32Array> {
  switch (table.type) {
    case 'i32':
      return (await table.read(0, table.rows)) as Int32Array
    case 'u32':
      return (await table.read(0, table.rows)) as Uint32Array
    case 'u8':
      return Uint32Array.from(await table.read(0, table.rows))
    default:
      return wholeFloats(table)
  }
}

/** int32 where all fit, else uint32. The bits are the same until the first value that only one of them can hold. */
async function wholeFloats(table: Table): Promise<Int32Array | Uint32Array> {
  const { rows, cols, name } = table
  const signed = allocate('i32', rows * cols, name)
  const unsigned = new Uint32Array(signed.buffer)
  let lowest = 0
  let highest = 0
  const step = rowsPerPiece(cols, bytesPerValue(table.type))
  for (let row = 0; row < rows; row += step) {
    const values = await table.read(row, Math.min(row + step, rows))
    for (let i = 0; i < values.length; i++) {
      const value = values[i]
      const at = row * cols + i
      signed[at] = value
      if (value < lowest) lowest = value
      if (value > highest) highest = value
      const kept = value < 0 ? signed[at] : unsigned[at]
      if (kept === value && (lowest === 0 || highest <= 0x7fffffff)) continue
      const meaning = 'a whole number of 32 bits, all of them signed or all unsigned'
      throw notRepresentable(value, meaning, i, { name: JSON.stringify(name), cols, firstRow: row })
    }
  }
  return highest > 0x7fffffff ? unsigned : signed
}

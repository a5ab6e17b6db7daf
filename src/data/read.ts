/** Vectors and whole numbers from files, Blobs and URLs. */
import { platform } from '#platform'
import { type ByteSource, location as checkLocation, type FileLocation } from '../core/bytes.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import { isMatrix, readAll, sparseSource, toSource } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { type ReadOptions, readOptions } from './columns.ts'
import { notRepresentable } from './convert.ts'
import { joinSources } from './joined.ts'
import { tableSource } from './narrowed.ts'
import { isReadable, isTable, openContents, openTableBytes, readableFormats } from './readers.ts'
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
 * Opens files whose rows are read on demand; close() them afterwards. docs/formats.md lists the formats. A folder, a pattern
 * such as `parts/*.npy` and an array of locations are one set of vectors: in the order of the array, and otherwise by name,
 * with numbers in names by their value. Formats that hold sparse rows (.npz, .mat) are read at once and stay sparse.
 *
 * Numbers are given as 32-bit floats or bytes. Where a file has more digits than that, `read64` gives all of them, and
 * clustering shifts them before it rounds; `read` fails if rounding would lose differences between rows.
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
export async function openVectors(
  location: FileLocation | readonly FileLocation[],
  options: ReadOptions = {},
): Promise<VectorSource> {
  const checked = readOptions('openVectors', options)
  const locations = await filesOf(location)
  const sources: VectorSource[] = []
  try {
    for (const one of locations) sources.push(await openOne(one, checked))
    return sources.length === 1 ? sources[0] : joinSources(sources)
  } catch (error) {
    for (const source of sources) await source.close?.()
    throw error
  }
}

/** Folders and patterns as the files they stand for. */
async function filesOf(given: FileLocation | readonly FileLocation[]): Promise<FileLocation[]> {
  const locations = Array.isArray(given) ? (given as readonly FileLocation[]) : [given as FileLocation]
  if (locations.length === 0) throw badArgument('the list of locations', given, 'give at least one file.')
  const files: FileLocation[] = []
  for (const one of locations) {
    checkLocation(one, 'the location')
    if (typeof one !== 'string') {
      files.push(one)
      continue
    }
    const found = await platform.listFiles(one)
    if (found.length === 1 && found[0] === one) {
      files.push(one)
      continue
    }
    const readable = found.filter((path) => isReadable(path))
    if (readable.length === 0) {
      throw new CentroidalError(
        'bad-file',
        `${JSON.stringify(one)} matches no file of vectors: give files that end in ${readableFormats()}.`,
      )
    }
    files.push(...readable)
  }
  return files
}

async function openOne(location: FileLocation, options: ReadOptions): Promise<VectorSource> {
  const { contents, name } = await openContents(location, options)
  if (isTable(contents)) return tableSource(contents)
  return isMatrix(contents) ? toSource(contents, name) : sparseSource(contents, name)
}

/** Dense vectors in bytes that are read on demand, such as an object in a bucket; the name tells the format. */
export async function openVectorBytes(bytes: ByteSource): Promise<VectorSource> {
  return tableSource(await openTableBytes(bytes))
}

/**
 * Dense vectors of a file, all in memory, as 32-bit floats or bytes. Takes what {@link openVectors} takes.
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
export async function readVectors(
  location: FileLocation | readonly FileLocation[],
  options: ReadOptions = {},
): Promise<Matrix> {
  const source = await openVectors(location, options)
  try {
    if (!source.sparse) return await readAll(source)
  } finally {
    await source.close?.()
  }
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(source.name)} contains sparse rows, but dense rows are required here: read them with readSparse or openVectors.`,
  )
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
export async function readSparse(location: FileLocation): Promise<SparseMatrix> {
  const { contents, name } = await openContents(location, {})
  if (isTable(contents)) await contents.close()
  else if (!isMatrix(contents)) return contents
  throw new CentroidalError('bad-file', `${JSON.stringify(name)} contains dense rows: read it with readVectors.`)
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
export async function readIntegers(location: FileLocation, options: ReadOptions = {}): Promise<Integers> {
  const { contents, name } = await openContents(location, {
    ...readOptions('readIntegers', options),
    countedHeader: false,
  })
  if (!isTable(contents)) {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(name)} does not contain whole numbers: give a .npy or .ivecs file.`,
    )
  }
  const table = contents
  try {
    return { rows: table.rows, cols: table.cols, data: await wholeNumbers(table) }
  } finally {
    await table.close()
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

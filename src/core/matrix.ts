/**
 * Vectors as the library sees them: n rows of d columns, row-major, 32-bit floats or bytes.
 * Bytes stay bytes; nothing is widened until a kernel needs it.
 */

import { badData, checkShape, isBigIntArray } from './arguments.ts'
import { checkedSource, trustedSource } from './checked-source.ts'
import { CentroidalError, capital, show } from './errors.ts'
import { denseRows, isSparse, type SparseMatrix, sparseMatrix } from './sparse.ts'

/** 32-bit floats, or bytes. */
export type ElementType = 'f32' | 'u8'
/** Numbers of vectors, row after row. */
export type VectorData = Float32Array | Uint8Array

/** Dense vectors with their shape; {@link matrix} checks that it fits. */
export interface Matrix {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector. */
  readonly cols: number
  /** rows x cols, row-major, no padding. */
  readonly data: VectorData
}

/** Found when the vectors were last read as a whole. All of them are finite. */
export interface KnownVectors {
  /** The largest absolute value. */
  readonly largest: number
  /** The first row that is all zeros. */
  readonly zeroRow?: number | undefined
}

/** Vectors read in pieces, so that a set larger than memory can still be clustered. */
export interface VectorSource {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector. */
  readonly cols: number
  /** What `read` gives. */
  readonly type: ElementType
  /** Names the source in errors: a path, or "the input". */
  readonly name: string
  /** The rows where they are sparse, all of them. `read` then gives them with their zeros: ask it for few at a time. */
  readonly sparse?: SparseMatrix | undefined
  /** Rows of each shard, where the source is made of shards: results are then the same wherever the shards are processed. */
  readonly shards?: readonly number[] | undefined
  /** What is known of all vectors, so that they need not be read for it. */
  readonly known?: KnownVectors | undefined
  /** Rows start (inclusive) to end (exclusive), row-major. */
  read(start: number, end: number): Promise<VectorData>
  /** Lets go of the file, where there is one. */
  close?(): Promise<void>
}

/** What the public functions take. */
export type VectorInput =
  | Matrix
  | SparseMatrix
  | VectorSource
  | readonly (readonly number[])[]
  | readonly Float32Array[]

/**
 * Numbers and their shape, checked. Nothing is copied.
 *
 * @example
 * ```ts
 * import { matrix } from 'centroidal'
 *
 * const vectors = matrix(new Float32Array([0, 0, 1, 1, 9, 9]), 3, 2)
 * vectors.rows // => 3
 * vectors.cols // => 2
 * ```
 */
export function matrix(data: VectorData, rows: number, cols: number): Matrix {
  checkShape(rows, cols, 'matrix')
  if (!isVectorData(data))
    throw badData(`The data of the matrix is ${show(data)}: give a Float32Array or a Uint8Array.`)
  if (data.length !== rows * cols) {
    throw new CentroidalError(
      'bad-data',
      `${data.length} numbers do not make ${rows} rows of ${cols} columns (${rows * cols} needed).`,
    )
  }
  return { rows, cols, data }
}

function isVectorData(value: unknown): value is VectorData {
  return value instanceof Float32Array || value instanceof Uint8Array
}

/** A Matrix that a caller gave, checked; `thing` names it in errors. */
export function denseMatrix(value: unknown, thing: string): Matrix {
  if (!isMatrix(value)) {
    throw badData(
      `${capital(thing)} is ${show(value)}: give a Matrix, such as matrix(data, rows, cols) with a Float32Array or a Uint8Array.`,
    )
  }
  return matrix(value.data, value.rows, value.cols)
}

export function elementType(data: VectorData): ElementType {
  return data instanceof Uint8Array ? 'u8' : 'f32'
}

export function elementBytes(type: ElementType): number {
  return type === 'u8' ? 1 : 4
}

export function isMatrix(value: unknown): value is Matrix {
  return typeof value === 'object' && value !== null && isVectorData((value as Matrix).data)
}

export function isSource(value: unknown): value is VectorSource {
  return typeof value === 'object' && value !== null && typeof (value as VectorSource).read === 'function'
}

/** A view of whole rows, no copy. */
export function rowsOf(m: Matrix, start: number, end: number): VectorData {
  return m.data.subarray(start * m.cols, end * m.cols)
}

/** Any accepted input as a source, checked; arrays of arrays become one Float32Array. */
export function toSource(input: VectorInput, name = 'the input'): VectorSource {
  if (isSource(input)) return checkedSource(input, name)
  if (isSparse(input)) return sparseSource(sparseMatrix(input, input.rows, input.cols, name), name)
  const m = isMatrix(input) ? matrix(input.data, input.rows, input.cols) : fromRows(input, name)
  return trustedSource({
    rows: m.rows,
    cols: m.cols,
    type: elementType(m.data),
    name,
    read: async (start, end) => rowsOf(m, start, end),
  })
}

/** A checked sparse matrix as a source. */
export function sparseSource(sparse: SparseMatrix, name: string): VectorSource {
  const { rows, cols } = sparse
  const read = async (start: number, end: number): Promise<VectorData> => denseRows(sparse, start, end)
  return trustedSource({ rows, cols, type: 'f32', name, sparse, read })
}

function fromRows(rows: unknown, name: string): Matrix {
  if (!Array.isArray(rows)) {
    throw badData(
      `${capital(name)} is ${show(rows)}: give a Matrix ({ data, rows, cols }), a SparseMatrix, an array of arrays of numbers, or a source with read(start, end).`,
    )
  }
  const cols = rows.length === 0 ? 0 : rowLength(rows[0], 0, name)
  if (cols === 0) throw badData(`${capital(name)} is empty: give at least one row of at least one number.`)
  const data = allocated(rows.length, cols, name)
  // By index: forEach would leave out holes.
  for (let i = 0; i < rows.length; i++) {
    const length = rowLength(rows[i], i, name)
    if (length !== cols) {
      throw badData(`Row ${i} of ${name} has ${length} numbers, row 0 has ${cols}: all rows need the same length.`)
    }
    if (ArrayBuffer.isView(rows[i])) data.set(rows[i], i * cols)
    else copyNumbers(rows[i], data, i, name)
  }
  return { rows: rows.length, cols, data }
}

function rowLength(row: unknown, i: number, name: string): number {
  if (Array.isArray(row)) return row.length
  if (ArrayBuffer.isView(row) && !(row instanceof DataView) && !isBigIntArray(row)) {
    return (row as Float32Array).length
  }
  throw badData(`Row ${i} of ${name} is ${show(row)}: give an array of numbers.`)
}

/** Text, null and holes would become 0 or NaN in a typed array without a word. */
function copyNumbers(row: readonly unknown[], data: Float32Array, i: number, name: string): void {
  const at = i * row.length
  for (let j = 0; j < row.length; j++) {
    const value = row[j]
    if (typeof value !== 'number') {
      throw badData(`Row ${i} of ${name} holds ${show(value)} in column ${j}: give a number, or remove the row.`)
    }
    data[at + j] = value
  }
}

function allocated(rows: number, cols: number, name: string): Float32Array {
  try {
    return new Float32Array(rows * cols)
  } catch (cause) {
    throw new CentroidalError(
      'out-of-memory',
      `${capital(name)} has ${rows} x ${cols} numbers, more than can be allocated: give fewer rows, or a source.`,
      { cause },
    )
  }
}

/** The whole source in memory. */
export async function readAll(source: VectorSource): Promise<Matrix> {
  return { rows: source.rows, cols: source.cols, data: await source.read(0, source.rows) }
}

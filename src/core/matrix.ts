/**
 * Vectors as the library sees them: n rows of d columns, row-major, 32-bit floats or bytes.
 * Bytes stay bytes; nothing is widened until a kernel needs it.
 */

import { checkedSource } from './checked-source.ts'
import { CentroidalError, show } from './errors.ts'
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
  if (!Number.isInteger(rows) || !Number.isInteger(cols) || rows < 0 || cols < 1) {
    throw new CentroidalError(
      'bad-data',
      `A matrix of ${rows} x ${cols} cannot be: give whole numbers, at least one column.`,
    )
  }
  if (data.length !== rows * cols) {
    throw new CentroidalError(
      'bad-data',
      `${data.length} numbers do not make ${rows} rows of ${cols} columns (${rows * cols} needed).`,
    )
  }
  return { rows, cols, data }
}

export function elementType(data: VectorData): ElementType {
  return data instanceof Uint8Array ? 'u8' : 'f32'
}

export function elementBytes(type: ElementType): number {
  return type === 'u8' ? 1 : 4
}

export function isMatrix(value: unknown): value is Matrix {
  const m = value as Matrix
  return typeof m === 'object' && m !== null && (m.data instanceof Float32Array || m.data instanceof Uint8Array)
}

export function isSource(value: unknown): value is VectorSource {
  return typeof (value as VectorSource)?.read === 'function'
}

/** A view of whole rows, no copy. */
export function rowsOf(m: Matrix, start: number, end: number): VectorData {
  return m.data.subarray(start * m.cols, end * m.cols)
}

/** Any accepted input as a source; arrays of arrays become one Float32Array. */
export function toSource(input: VectorInput, name = 'the input'): VectorSource {
  if (isSource(input)) return checkedSource(input, name)
  if (isSparse(input)) return sparseSource(sparseMatrix(input, input.rows, input.cols, name), name)
  const m = isMatrix(input) ? matrix(input.data, input.rows, input.cols) : fromRows(input, name)
  return {
    rows: m.rows,
    cols: m.cols,
    type: elementType(m.data),
    name,
    read: async (start, end) => rowsOf(m, start, end),
  }
}

/** A checked sparse matrix as a source. */
export function sparseSource(sparse: SparseMatrix, name: string): VectorSource {
  const { rows, cols } = sparse
  return { rows, cols, type: 'f32', name, sparse, read: async (start, end) => denseRows(sparse, start, end) }
}

function fromRows(rows: readonly ArrayLike<number>[], name: string): Matrix {
  if (!Array.isArray(rows)) {
    throw new CentroidalError(
      'bad-data',
      `${capital(name)} is ${show(rows)}: give a Matrix ({ data, rows, cols }), a SparseMatrix, an array of arrays of numbers, or a source with read(start, end).`,
    )
  }
  const cols = rows[0]?.length ?? 0
  if (cols === 0)
    throw new CentroidalError('bad-data', `${capital(name)} is empty: give at least one row of at least one number.`)
  const data = new Float32Array(rows.length * cols)
  rows.forEach((row, i) => {
    if (row.length !== cols) {
      throw new CentroidalError(
        'bad-data',
        `Row ${i} of ${name} has ${row.length} numbers, row 0 has ${cols}: all rows need the same length.`,
      )
    }
    data.set(row, i * cols)
  })
  return { rows: rows.length, cols, data }
}

/** The whole source in memory. */
export async function readAll(source: VectorSource): Promise<Matrix> {
  return { rows: source.rows, cols: source.cols, data: await source.read(0, source.rows) }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/**
 * Vectors as the library sees them: n rows of d columns, row-major, 32-bit floats or bytes.
 * Bytes stay bytes; nothing is widened until a kernel needs it.
 */

import { badData, checkShape, isBigIntArray } from './arguments.ts'
import { checkedSource, trustedSource } from './checked-source.ts'
import { CentroidalError, capital, show } from './errors.ts'
import { Narrowing } from './narrowing.ts'
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
  /**
   * The same rows in 64 bits, where the numbers may have more digits than 32-bit floats keep. Clustering shifts them near
   * zero before it rounds them; `read` fails where rounding would lose differences between rows.
   */
  read64?(start: number, end: number): Promise<Float64Array>
  /** Names of the rows, where the file has a column of them. */
  names?(): Promise<readonly string[]>
  /** How the file was understood, where that is not obvious: a header, an index column, columns left out. */
  readonly notes?: readonly string[]
  /** Lets go of the file, where there is one. */
  close?(): Promise<void>
}

/** Rows as they were given: in 64 bits where the source has them. */
export type WideData = VectorData | Float64Array

/** Before anything else is said about a set without vectors. */
export function requireRows({ rows, name }: VectorSource): void {
  if (rows === 0) throw badData(`${capital(name)} has no rows: give at least one vector.`)
}

/** For those who shift rows before they narrow them. */
export function readWide(source: VectorSource, start: number, end: number): Promise<WideData> {
  return source.read64 ? source.read64(start, end) : source.read(start, end)
}

/** What the public functions take. */
export type VectorInput =
  | Matrix
  | SparseMatrix
  | VectorSource
  | readonly (readonly number[])[]
  | readonly Float32Array[]
  | readonly Float64Array[]

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
  if (!isMatrix(input)) return rowsSource(input, name)
  const m = matrix(input.data, input.rows, input.cols)
  return matrixSource(m, name)
}

/** Numbers of the sources that were made of a matrix. */
const held = new WeakMap<VectorSource, VectorData>()

/** All numbers of a source that lies in memory, for those who would read single rows of it. */
export function heldNumbers(source: VectorSource): VectorData | undefined {
  return held.get(source)
}

function matrixSource(m: Matrix, name: string): VectorSource {
  const source = trustedSource({
    rows: m.rows,
    cols: m.cols,
    type: elementType(m.data),
    name,
    read: async (start, end) => rowsOf(m, start, end),
  })
  held.set(source, m.data)
  return source
}

/** A checked sparse matrix as a source. */
export function sparseSource(sparse: SparseMatrix, name: string): VectorSource {
  const { rows, cols } = sparse
  const read = async (start: number, end: number): Promise<VectorData> => denseRows(sparse, start, end)
  return trustedSource({ rows, cols, type: 'f32', name, sparse, read })
}

/** An array of arrays: copied to 32-bit floats where that loses nothing that matters. */
function rowsSource(input: unknown, name: string): VectorSource {
  const { rows, cols } = shapeOfRows(input, name)
  const data = allocated(rows.length, cols, name)
  const narrowing = new Narrowing(cols)
  // By index: forEach would leave out holes.
  for (let i = 0; i < rows.length; i++) {
    const row = checkedRow(rows[i], i, cols, name)
    data.set(row, i * cols)
    if (!(row instanceof Float32Array)) narrowing.add(row)
  }
  const source = matrixSource({ rows: rows.length, cols, data }, name)
  if (!narrowing.loses) return source
  return trustedSource({
    ...source,
    async read() {
      throw narrowing.refusal(name)
    },
    async read64(start, end) {
      const wide = new Float64Array((end - start) * cols)
      for (let i = start; i < end; i++) wide.set(rows[i] as ArrayLike<number>, (i - start) * cols)
      return wide
    },
  })
}

function shapeOfRows(input: unknown, name: string): { rows: readonly unknown[]; cols: number } {
  if (!Array.isArray(input)) {
    throw badData(
      `${capital(name)} is ${shown(input)}: give a Matrix ({ data, rows, cols }), a SparseMatrix, an array of arrays of numbers, or a source with read(start, end).`,
    )
  }
  if (input.length === 0) throw badData(`${capital(name)} is empty: give at least one row of at least one number.`)
  const [first] = input
  if (typeof first === 'number') {
    throw badData(
      `${capital(name)} is an array of ${input.length} numbers: give an array of arrays, one for each vector, such as [[1, 2], [3, 4]], or matrix(data, rows, cols).`,
    )
  }
  const cols = rowLength(first, 0, name)
  if (cols === 0) throw badData(`Row 0 of ${name} is empty: give at least one number in each row.`)
  return { rows: input, cols }
}

/** Says what is wrong with an object that looks like a matrix. */
function shown(input: unknown): string {
  if (ArrayBuffer.isView(input)) return `${show(input)} without a shape`
  const data = typeof input === 'object' && input !== null ? (input as { data?: unknown }).data : undefined
  if (data === undefined) return show(input)
  const cure = data instanceof Float64Array ? ', and its data must be a Float32Array or a Uint8Array' : ''
  return `an object whose data is ${show(data)}${cure}`
}

function rowLength(row: unknown, i: number, name: string): number {
  if (Array.isArray(row)) return row.length
  if (ArrayBuffer.isView(row) && !(row instanceof DataView) && !isBigIntArray(row)) {
    return (row as Float32Array).length
  }
  throw badData(`Row ${i} of ${name} is ${show(row)}: give an array of numbers.`)
}

/** Text, null and holes would become 0 or NaN in a typed array without a word. */
function checkedRow(row: unknown, i: number, cols: number, name: string): ArrayLike<number> {
  const length = rowLength(row, i, name)
  if (length !== cols) {
    throw badData(`Row ${i} of ${name} has ${length} numbers, row 0 has ${cols}: all rows need the same length.`)
  }
  if (ArrayBuffer.isView(row)) return row as Float32Array
  const values = row as readonly unknown[]
  for (let j = 0; j < cols; j++) {
    if (typeof values[j] === 'number') continue
    throw badData(`Row ${i} of ${name} holds ${show(values[j])} in column ${j}: give a number, or remove the row.`)
  }
  return values as readonly number[]
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

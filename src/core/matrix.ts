/**
 * Vectors as the library sees them: n rows of d columns, row-major, 32-bit floats or bytes.
 * Bytes stay bytes; nothing is widened until a kernel needs it.
 */

import { badData, checkShape, numberList } from './arguments.ts'
import { allocated, castAdvice, checkedRow, shapeOfRows } from './array-rows.ts'
import { checkedSource, trustedSource } from './checked-source.ts'
import { capital, show } from './errors.ts'
import { Narrowing } from './narrowing.ts'
import { denseRows, isSparse, type SparseMatrix, sparseMatrix } from './sparse.ts'

/** 32-bit floats, or bytes. */
export type ElementType = 'f32' | 'u8'
/** Values of vectors, row by row. */
export type VectorData = Float32Array | Uint8Array

/**
 * Dense vectors with their shape; {@link matrix} checks that it fits. `T` is the array that holds the numbers: results that
 * are always floats, such as the centres of a model, are a `Matrix<Float32Array>`.
 */
export interface Matrix<T extends VectorData = VectorData> {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector. */
  readonly cols: number
  /** rows x cols, row-major, no padding. */
  readonly data: T
}

/** 64-bit numbers or an array, with their shape. They are clustered with full precision. */
export interface WideMatrix {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector. */
  readonly cols: number
  /** rows x cols, row-major, no padding. */
  readonly data: Float64Array | readonly number[]
}

/** One vector. */
export type Vector = readonly number[] | Float32Array | Float64Array | Uint8Array

/** Found when the vectors were last read as a whole. All of them are finite. */
export interface KnownVectors {
  /** The largest absolute value. */
  readonly largest: number
  /** The first row that is all zeros. */
  readonly zeroRow?: number | undefined
}

/** Vectors that are read in parts, so that sets larger than memory can be clustered. */
export interface VectorSource {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector. */
  readonly cols: number
  /** Element type of `read`. */
  readonly type: ElementType
  /** Names the source in errors: a path, or "the input". */
  readonly name: string
  /** All rows, if they are sparse. `read` then returns dense rows: read only a few at a time. */
  readonly sparse?: SparseMatrix | undefined
  /** Rows of each shard, where the source is made of shards: results are then the same wherever the shards are processed. */
  readonly shards?: readonly number[] | undefined
  /** Properties of all vectors that are already known. */
  readonly known?: KnownVectors | undefined
  /** Rows start (inclusive) to end (exclusive), row-major. */
  read(start: number, end: number): Promise<VectorData>
  /**
   * Optional: the rows from `start` on into an array of the caller, as many as it holds. Sources that have it are read without
   * allocating memory for every piece.
   */
  readInto?(start: number, into: VectorData): Promise<void>
  /**
   * The same rows in 64 bits, where the numbers may have more digits than 32-bit floats keep. Clustering shifts them near
   * zero before it rounds them; `read` fails where rounding would lose differences between rows.
   */
  read64?(start: number, end: number): Promise<Float64Array>
  /** Names of the rows, where the file has a column of them. */
  names?(): Promise<readonly string[]>
  /** How the file was interpreted, if that is not obvious: a header, an index column, columns left out. */
  readonly notes?: readonly string[]
  /** Closes the file, if there is one. */
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

/** Vectors as the public functions accept them. */
export type VectorInput = Matrix | WideMatrix | SparseMatrix | VectorSource | readonly Vector[]

/**
 * Numbers and their shape, checked. A Float32Array or a Uint8Array is not copied. A Float64Array or a plain array becomes a
 * Float32Array; where that would lose differences between rows, `{ data, rows, cols }` can be clustered as it is.
 *
 * @example
 * ```ts
 * import { matrix } from 'centroidal'
 *
 * const vectors = matrix(new Float32Array([0, 0, 1, 1, 9, 9]), 3, 2)
 * vectors.rows // => 3
 * vectors.cols // => 2
 * matrix([[1, 2], [3, 4]]).data // => [1, 2, 3, 4]
 * ```
 */
export function matrix<T extends VectorData | Float64Array | readonly number[] | readonly Vector[]>(
  data: T,
  ...shape: T extends readonly Vector[] ? [] : [rows: number, cols: number]
): Matrix<T extends VectorData ? T : Float32Array>
export function matrix(data: unknown, ...shape: readonly [] | readonly [rows: number, cols: number]): Matrix {
  const [rows, cols] = shape
  if (rows === undefined && cols === undefined && Array.isArray(data)) return matrixOfRows(data, 'the matrix')
  return shapedMatrix(data, rows as number, cols as number)
}

function shapedMatrix(data: unknown, rows: number, cols: number): Matrix {
  const wide = isWideData(data)
  checkMatrixShape(data, wide || isVectorData(data), rows, cols)
  if (!wide) return { rows, cols, data: data as VectorData }
  const narrowing = new Narrowing(cols)
  narrowing.add(checkedNumbers(data, 'the matrix'))
  if (narrowing.loses) throw narrowing.refusal('the matrix')
  return { rows, cols, data: Float32Array.from(data) }
}

/** Vectors in memory as a Matrix; `thing` names them in errors. */
export function toMatrix(input: unknown, thing: string): Matrix {
  if (Array.isArray(input)) return matrixOfRows(input, thing)
  return isWideMatrix(input) ? shapedMatrix(input.data, input.rows, input.cols) : denseMatrix(input, thing)
}

function matrixOfRows(input: readonly unknown[], thing: string): Matrix<Float32Array> {
  const { rows, cols } = shapeOfRows(input, thing)
  const data = allocated(rows.length, cols, thing)
  for (let i = 0; i < rows.length; i++) data.set(checkedRow(rows[i], i, cols, thing), i * cols)
  return { rows: rows.length, cols, data }
}

/**
 * The rows of a matrix as arrays of numbers, for programs that work with those.
 *
 * @example
 * ```ts
 * import { cluster, toArrays } from 'centroidal'
 *
 * const model = await cluster([[0, 1], [0, 3], [8, 9]], { k: 2 })
 * toArrays(model.centers).sort() // => [[0, 2], [8, 9]]
 * ```
 */
export function toArrays(vectors: Matrix): number[][] {
  const { rows, cols, data } = denseMatrix(vectors, 'the vectors')
  return Array.from({ length: rows }, (_, row) => Array.from(data.subarray(row * cols, (row + 1) * cols)))
}

function checkMatrixShape(data: unknown, fits: boolean, rows: number, cols: number): void {
  checkShape(rows, cols, 'matrix')
  if (!fits) {
    throw badData(
      `The data of the matrix is ${show(data)}: give a Float32Array, a Uint8Array, a Float64Array or an array of numbers${castAdvice(data)}.`,
    )
  }
  const { length } = data as VectorData
  if (length === rows * cols) return
  throw badData(`${length} numbers do not match ${rows} rows of ${cols} columns: give ${rows * cols} numbers.`)
}

function isWideData(value: unknown): value is Float64Array | readonly number[] {
  return value instanceof Float64Array || Array.isArray(value)
}

export function isWideMatrix(value: unknown): value is WideMatrix {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return isWideData((value as WideMatrix).data) && 'rows' in value && 'cols' in value
}

/** Holes, null and text would become 0 or NaN. */
function checkedNumbers(data: Float64Array | readonly number[], thing: string): ArrayLike<number> {
  return data instanceof Float64Array ? data : numberList(data, `the data of ${thing}`)
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
  return shapedMatrix(value.data, value.rows, value.cols)
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

/** One vector, and not a set of them. */
export function isNumberList(value: unknown): value is Vector {
  if (Array.isArray(value)) return typeof value[0] === 'number'
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
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
  if (isWideMatrix(input)) return wideSource(input, name)
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

/** An array of arrays: copied to 32-bit floats if no relevant precision is lost. */
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
  return refusingSource(source, narrowing, (start, end) => {
    const wide = new Float64Array((end - start) * cols)
    for (let i = start; i < end; i++) wide.set(rows[i] as ArrayLike<number>, (i - start) * cols)
    return wide
  })
}

/** Numbers in 64 bits, of a shape. */
function wideSource({ data, rows, cols }: WideMatrix, name: string): VectorSource {
  checkMatrixShape(data, true, rows, cols)
  const values = checkedNumbers(data, name)
  const narrow = allocated(rows, cols, name)
  narrow.set(values)
  const narrowing = new Narrowing(cols)
  narrowing.add(values)
  const source = matrixSource({ rows, cols, data: narrow }, name)
  if (!narrowing.loses) return source
  const wide = Float64Array.from(values)
  return refusingSource(source, narrowing, (start, end) => wide.subarray(start * cols, end * cols))
}

/** Rows that 32-bit floats cannot tell apart are read in 64 bits, or not at all. */
function refusingSource(
  source: VectorSource,
  narrowing: Narrowing,
  read64: (start: number, end: number) => Float64Array,
): VectorSource {
  return trustedSource({
    ...source,
    async read() {
      throw narrowing.refusal(source.name)
    },
    read64: async (start, end) => read64(start, end),
  })
}

/** The whole source in memory. */
export async function readAll(source: VectorSource): Promise<Matrix> {
  return { rows: source.rows, cols: source.cols, data: await source.read(0, source.rows) }
}

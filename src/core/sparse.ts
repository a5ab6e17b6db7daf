/**
 * Rows that are mostly zeros, such as documents: only the other numbers are kept, row after row, each
 * with its column (CSR). Columns rise within a row and none occurs twice; `sparseMatrix` sees to that.
 */
import { checkShape, numberList } from './arguments.ts'
import { CentroidalError, capital, show } from './errors.ts'

/** Rows that are mostly zeros: only the other numbers are kept, row after row (CSR). {@link sparseMatrix} makes one. */
export interface SparseMatrix {
  /** Vectors. */
  readonly rows: number
  /** Dimensions of a vector, zeros included. */
  readonly cols: number
  /** Row i has entries offsets[i] to offsets[i + 1]: rows + 1 numbers. */
  readonly offsets: Uint32Array
  /** The column of each entry, from 0. */
  readonly columns: Uint32Array
  /** The value of each entry. */
  readonly values: Float32Array
}

/** What `sparseMatrix` makes one of. SciPy calls them indptr, indices and data. */
export interface SparseParts {
  /** Row i has entries offsets[i] to offsets[i + 1]: rows + 1 numbers. */
  readonly offsets: ArrayLike<number>
  /** The column of each entry, from 0. */
  readonly columns: ArrayLike<number>
  /** The value of each entry. */
  readonly values: ArrayLike<number>
}

/**
 * Sparse rows from their parts, checked and in order: columns may come in any order, and a column that occurs twice in a
 * row is added up, as SciPy does. Arrays that are already as they should be are taken without a copy. `name` stands for
 * the input in errors.
 *
 * @example
 * ```ts
 * import { cluster, sparseMatrix } from 'centroidal'
 *
 * // Three documents over five words: which words each has, and how often.
 * const parts = { offsets: [0, 2, 4, 5], columns: [0, 1, 0, 1, 4], values: [2, 1, 1, 1, 3] }
 * const documents = sparseMatrix(parts, 3, 5)
 * const { labels } = await cluster(documents, { k: 2, metric: 'cosine' })
 * labels[0] === labels[1] // => true
 * ```
 */
export function sparseMatrix(parts: SparseParts, rows: number, cols: number, name = 'the input'): SparseMatrix {
  if (typeof name !== 'string') throw bad(`The name of the input is ${show(name)}: give a string.`)
  checkShape(rows, cols, 'sparse matrix')
  if (typeof parts !== 'object' || parts === null) {
    throw bad(`The parts of ${name} are ${show(parts)}: give an object with offsets, columns and values.`)
  }
  const columns = numberList(parts.columns, `columns of ${name}`)
  const values = numberList(parts.values, `values of ${name}`)
  if (columns.length !== values.length) {
    throw bad(`${name} has ${columns.length} columns for ${values.length} values: one column for each value is needed.`)
  }
  const offsets = checkedOffsets(numberList(parts.offsets, `offsets of ${name}`), values.length, rows, name)
  const kept = values instanceof Float32Array ? values : Float32Array.from(values)
  const m = { rows, cols, offsets, columns: checkedColumns(columns, offsets, cols, name), values: kept }
  const ordered = isOrdered(m) ? m : inOrder(m)
  requireFinite(ordered, name)
  return ordered
}

function checkedOffsets(offsets: ArrayLike<number>, entries: number, rows: number, name: string): Uint32Array {
  if (offsets.length !== rows + 1) {
    throw bad(`${name} has ${offsets.length} offsets for ${rows} rows: ${rows + 1} are needed.`)
  }
  if (offsets[0] !== 0 || offsets[rows] !== entries) {
    throw bad(
      `The offsets of ${name} go from ${offsets[0]} to ${offsets[rows]}: they must go from 0 to the number of values, ${entries}.`,
    )
  }
  for (let row = 0; row < rows; row++) {
    if (!(offsets[row + 1] >= offsets[row]) || !Number.isInteger(offsets[row])) {
      throw bad(
        `Row ${row} of ${name} goes from entry ${offsets[row]} to ${offsets[row + 1]}: offsets must be whole numbers that do not fall.`,
      )
    }
  }
  return offsets instanceof Uint32Array ? offsets : Uint32Array.from(offsets)
}

function checkedColumns(columns: ArrayLike<number>, offsets: Uint32Array, cols: number, name: string): Uint32Array {
  for (let at = 0; at < columns.length; at++) {
    const column = columns[at]
    if (column >= 0 && column < cols && Number.isInteger(column)) continue
    throw bad(
      `Row ${rowOf(offsets, at)} of ${name} has an entry in column ${show(column)}: they go from 0 to ${cols - 1}.`,
    )
  }
  return columns instanceof Uint32Array ? columns : Uint32Array.from(columns)
}

function requireFinite({ offsets, columns, values }: SparseMatrix, name: string): void {
  for (let at = 0; at < values.length; at++) {
    if (Number.isFinite(values[at])) continue
    throw bad(
      `Row ${rowOf(offsets, at)} of ${name} holds ${values[at]} in column ${columns[at]}: remove or fix the row, all numbers must be finite.`,
    )
  }
}

/** The row an entry belongs to. */
function rowOf(offsets: Uint32Array, entry: number): number {
  let row = 0
  while (offsets[row + 1] <= entry) row++
  return row
}

function isOrdered({ rows, offsets, columns }: SparseMatrix): boolean {
  for (let row = 0; row < rows; row++) {
    for (let at = offsets[row] + 1; at < offsets[row + 1]; at++) if (columns[at] <= columns[at - 1]) return false
  }
  return true
}

function inOrder({ rows, cols, offsets, columns, values }: SparseMatrix): SparseMatrix {
  const newOffsets = new Uint32Array(rows + 1)
  const newColumns = new Uint32Array(columns.length)
  const newValues = new Float32Array(values.length)
  let filled = 0
  for (let row = 0; row < rows; row++) {
    const order = entriesByColumn(columns, offsets[row], offsets[row + 1])
    for (let i = 0; i < order.length; i += 2) {
      const at = order[i]
      if (filled > newOffsets[row] && newColumns[filled - 1] === columns[at]) newValues[filled - 1] += values[at]
      else {
        newColumns[filled] = columns[at]
        newValues[filled++] = values[at]
      }
    }
    newOffsets[row + 1] = filled
  }
  return { rows, cols, offsets: newOffsets, columns: newColumns.slice(0, filled), values: newValues.slice(0, filled) }
}

/**
 * The entries of a row by rising column, at every second place. Entries and columns are sorted as one 64-bit number,
 * because a row may have as many entries as the file has bytes: an array of objects would not fit in memory.
 */
function entriesByColumn(columns: Uint32Array, start: number, end: number): Uint32Array {
  const pairs = new Uint32Array(2 * (end - start))
  for (let at = start; at < end; at++) {
    pairs[2 * (at - start)] = at
    pairs[2 * (at - start) + 1] = columns[at]
  }
  new BigUint64Array(pairs.buffer).sort()
  return pairs
}

export function isSparse(value: unknown): value is SparseMatrix {
  const m = value as SparseMatrix
  return typeof m === 'object' && m !== null && m.values instanceof Float32Array && m.columns instanceof Uint32Array
}

/** Some of the rows, in the order of `indices`. */
export function pickRows(m: SparseMatrix, indices: ArrayLike<number>): SparseMatrix {
  const offsets = new Uint32Array(indices.length + 1)
  for (let i = 0; i < indices.length; i++) {
    offsets[i + 1] = offsets[i] + m.offsets[indices[i] + 1] - m.offsets[indices[i]]
  }
  const columns = new Uint32Array(offsets[indices.length])
  const values = new Float32Array(offsets[indices.length])
  for (let i = 0; i < indices.length; i++) {
    const from = m.offsets[indices[i]]
    const to = m.offsets[indices[i] + 1]
    columns.set(m.columns.subarray(from, to), offsets[i])
    values.set(m.values.subarray(from, to), offsets[i])
  }
  return { rows: indices.length, cols: m.cols, offsets, columns, values }
}

/** Rows start to end with their zeros: for a few rows at a time. */
export function denseRows(m: SparseMatrix, start: number, end: number): Float32Array {
  const data = new Float32Array((end - start) * m.cols)
  for (let row = start; row < end; row++) {
    const out = (row - start) * m.cols
    for (let at = m.offsets[row]; at < m.offsets[row + 1]; at++) data[out + m.columns[at]] = m.values[at]
  }
  return data
}

function bad(message: string): CentroidalError {
  return new CentroidalError('bad-data', capital(message))
}

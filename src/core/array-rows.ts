/** Rows as arrays of numbers, checked one by one, and what is said about the rest. */
import { badData, isBigIntArray } from './arguments.ts'
import { CentroidalError, capital, show } from './errors.ts'

export function shapeOfRows(input: unknown, name: string): { rows: readonly unknown[]; cols: number } {
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
  if (data instanceof Float64Array || Array.isArray(data))
    return `an object whose data is ${show(data)}, without rows and cols`
  const cure = castAdvice(data) && ', which is not taken: give it as Float32Array.from(data)'
  return `an object whose data is ${show(data)}${cure}`
}

function rowLength(row: unknown, i: number, name: string): number {
  if (Array.isArray(row)) return row.length
  if (ArrayBuffer.isView(row) && !(row instanceof DataView) && !isBigIntArray(row)) {
    return (row as Float32Array).length
  }
  const pick =
    i === 0 && typeof row === 'object' && row !== null ? ', or pick the vectors of objects with vectorsOf' : ''
  throw badData(`Row ${i} of ${name} is ${show(row)}: give an array of numbers${pick}.`)
}

/** Text, null and holes would silently become 0 or NaN in a typed array. */
export function checkedRow(row: unknown, i: number, cols: number, name: string): ArrayLike<number> {
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

export function allocated(rows: number, cols: number, name: string): Float32Array {
  try {
    return new Float32Array(rows * cols)
  } catch (cause) {
    throw new CentroidalError(
      'out-of-memory',
      `${capital(name)} has ${rows} x ${cols} numbers, more than can be allocated: give fewer rows, or a source that reads them in parts.`,
      { cause },
    )
  }
}

/** Other integers are widened: as bytes, those below 0 or above 255 would become other numbers. */
export function castAdvice(data: unknown): string {
  return ArrayBuffer.isView(data) && !(data instanceof DataView) && !isBigIntArray(data)
    ? ', such as Float32Array.from(data)'
    : ''
}

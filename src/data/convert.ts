/** Conversion between stored types, refused if it would lose information. */
import { CentroidalError } from '../core/errors.ts'
import type { StoredData, StoredType, Table } from './table.ts'
import { allocate, bytesPerValue, checkRows, rowsPerPiece } from './table.ts'

/** Where the numbers came from, for errors. Rows and columns are counted from 0. */
export interface Origin {
  /** As it reads inside a sentence: a path in quotes, or "the input". */
  readonly name: string
  readonly cols: number
  readonly firstRow: number
}

const MEANING: Readonly<Record<StoredType, string>> = {
  f32: 'a 32-bit float',
  f64: 'a 64-bit float',
  u8: 'a byte (a whole number from 0 to 255)',
  i32: 'a whole number from -2147483648 to 2147483647',
  u32: 'a whole number from 0 to 4294967295',
}

/**
 * Writes `data` into `out`. Numbers must come out exactly. With `rounds`, they may lose digits as 32-bit floats, but not
 * become infinite: whether those digits matter, narrowed.ts decides.
 */
export function convertInto(data: StoredData, out: StoredData, to: StoredType, origin: Origin, rounds = false): void {
  for (let i = 0; i < data.length; i++) {
    const value = data[i]
    out[i] = value
    const stored = out[i]
    if (stored === value) continue
    if (rounds && to === 'f32' ? Number.isFinite(stored) || !Number.isFinite(value) : Number.isNaN(stored)) continue
    throw notRepresentable(value, MEANING[to], i, origin)
  }
}

export function notRepresentable(value: number, meaning: string, index: number, origin: Origin): CentroidalError {
  const row = origin.firstRow + Math.floor(index / origin.cols)
  return new CentroidalError(
    'bad-data',
    `Row ${row}, column ${index % origin.cols} of ${origin.name} is ${value}, which cannot be kept as ${meaning}.`,
  )
}

/** Rows of a table as another type. Goes piece by piece, so that the stored type is never in memory as a whole. */
export async function readAs<T extends StoredType>(table: Table, to: T, start: number, end: number) {
  checkRows(table, start, end)
  const { name, cols } = table
  const out = allocate(to, (end - start) * cols, name)
  const step = rowsPerPiece(cols, bytesPerValue(table.type))
  for (let row = start; row < end; row += step) {
    const data = await table.read(row, Math.min(row + step, end))
    const origin = { name: JSON.stringify(name), cols, firstRow: row }
    convertInto(data, out.subarray((row - start) * cols) as StoredData, to, origin, table.type === 'f64')
  }
  return out
}

/** Values of columns, as Parquet, Arrow and JSON give them, as rows of numbers. */
import type { ByteSource } from '../core/bytes.ts'
import { badFile } from './table.ts'

/** Where a value was found, for errors. */
export interface ValuePlace {
  /** Counts from 0. */
  readonly row: number
  readonly column: string
}

/** A number; booleans are 0 and 1, and 64-bit integers must be exact. */
export function numberOf(source: ByteSource, value: unknown, place: ValuePlace): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (typeof value === 'bigint') {
    const number = Number(value)
    if (Number.isSafeInteger(number)) return number
    throw badValue(source, place, `${value}, which is beyond 2^53: subtract an offset before saving`)
  }
  const missing = value === null || value === undefined
  throw badValue(source, place, missing ? 'no value: remove the row or fill it in' : `${shown(value)}, not a number`)
}

/** The numbers of a vector, into out[at ..]. */
export function vectorInto(
  source: ByteSource,
  value: unknown,
  cols: number,
  out: Float32Array | Float64Array,
  at: number,
  place: ValuePlace,
): void {
  if (!isList(value)) {
    const missing = value === null || value === undefined
    throw badValue(source, place, missing ? 'no vector: remove the row' : `${shown(value)}, not a vector`)
  }
  if (value.length !== cols) {
    throw badValue(
      source,
      place,
      `a vector of ${value.length} numbers, and row 0 one of ${cols}: all need the same length`,
    )
  }
  for (let j = 0; j < cols; j++) out[at + j] = numberOf(source, value[j], place)
}

export function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

export function nameOf(value: unknown): string {
  return value === null || value === undefined ? '' : String(value)
}

function shown(value: unknown): string {
  if (isList(value)) return `a list of ${value.length}`
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : typeof value
}

function badValue(source: ByteSource, { row, column }: ValuePlace, rest: string) {
  return badFile(source, `, row ${row}: column ${JSON.stringify(column.slice(0, 60))} holds ${rest}.`)
}

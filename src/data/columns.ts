/**
 * Files with named columns (text, Parquet, Arrow, JSON lines): which columns are the vectors, which one names the rows, and
 * what to tell about the rest.
 */
import { type OptionChecks, optionsOf } from '../core/arguments.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'

/** How a file is to be read, where its contents leave a choice. */
export interface ReadOptions {
  /**
   * The columns to read, in this order: names, or numbers from 0. A range such as `'2-9'` is possible too. Default: every
   * column of numbers, without an index column.
   */
  readonly columns?: readonly (string | number)[] | undefined
  /** The column that names the rows, by name or number. Default: the first column of text. */
  readonly names?: string | number | undefined
  /** The array to read of a file that holds several (.hdf5, .npz, .safetensors). A path may also end in `#name`. */
  readonly dataset?: string | undefined
  /** The format, by its extension, such as `'npy'`. Default: by the name of the file. */
  readonly format?: string | undefined
  /** Whether the first line of a text file is a header. Default: decided by what it holds. */
  readonly header?: boolean | undefined
}

/** Further options for readers of files. */
export interface OpenOptions extends ReadOptions {
  /** False: a first line 0,1,2 is a row, as in lists of neighbours. */
  readonly countedHeader?: boolean
}

const CHECKS: OptionChecks<ReadOptions> = {
  columns: (value, thing) => {
    const listed = Array.isArray(value) && value.length > 0 && value.every(isColumn)
    if (listed) return value as readonly (string | number)[]
    throw badArgument(thing, value, 'give an array of column names or numbers.')
  },
  names: (value, thing) => {
    if (isColumn(value)) return value
    throw badArgument(thing, value, 'give the name or the number of a column.')
  },
  dataset: text,
  format: text,
  header: (value, thing) => {
    if (typeof value === 'boolean') return value
    throw badArgument(thing, value, 'give true or false.')
  },
}

function isColumn(value: unknown): value is string | number {
  return typeof value === 'string' || (Number.isSafeInteger(value) && Number(value) >= 0)
}

function text(value: unknown, thing: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw badArgument(thing, value, 'give a string.')
}

export function readOptions(where: string, given: unknown): ReadOptions {
  return optionsOf(where, given, CHECKS)
}

export interface Column {
  /** Empty where the file has no names. */
  readonly name: string
  /** `list`: a vector in each row. `other`: neither numbers nor text, such as dates. */
  readonly kind: 'number' | 'list' | 'text' | 'other'
}

export interface ChosenColumns {
  /** Columns of numbers, or one column of lists. */
  readonly vectors: readonly number[]
  readonly names: number | undefined
  readonly notes: readonly string[]
}

/** What pandas calls an index that it writes as a column. */
const INDEX_NAMES = ['', 'Unnamed: 0', '__index_level_0__']

/** `file` as it reads inside a sentence. `named`: the file gives names to its columns. */
export function chooseColumns(
  file: string,
  columns: readonly Column[],
  options: ReadOptions,
  named: boolean,
): ChosenColumns {
  const notes: string[] = []
  const index =
    named && options.columns === undefined ? columns.findIndex(({ name }) => INDEX_NAMES.includes(name)) : -1
  const given = options.names === undefined ? undefined : columnNumber(file, columns, options.names)
  const left = columns.map((_, i) => i).filter((i) => i !== index && i !== given)
  const vectors = options.columns
    ? options.columns.flatMap((column) => columnRange(file, columns, column))
    : defaultVectors(file, columns, left)
  if (vectors.length === 0) {
    throw bad(`${file} has no column of numbers: ${listed(columns)}. Choose columns with the option columns.`)
  }
  requireNumbers(file, columns, vectors)
  const texts = left.filter((i) => columns[i].kind === 'text' && !vectors.includes(i))
  const names = given ?? (index >= 0 && columns[index].kind === 'text' ? index : texts[0])
  if (index >= 0)
    notes.push(
      `The first column is an index${names === index ? ' and names the rows' : ''}: it is not part of the vectors.`,
    )
  else if (names !== undefined && given === undefined) {
    notes.push(`Column ${called(columns, names)} holds text and names the rows.`)
  }
  if (options.columns === undefined) {
    const rest = left.filter((i) => i !== names && !vectors.includes(i))
    if (rest.length > 0) notes.push(`Not part of the vectors: ${list(rest.map((i) => called(columns, i)))}.`)
  }
  return { vectors, names, notes }
}

function defaultVectors(file: string, columns: readonly Column[], left: readonly number[]): number[] {
  const lists = left.filter((i) => columns[i].kind === 'list')
  if (lists.length > 1) {
    throw bad(
      `${file} has vectors in ${lists.length} columns, ${list(lists.map((i) => called(columns, i)))}: choose one with the option columns.`,
    )
  }
  return lists.length === 1 ? lists : left.filter((i) => columns[i].kind === 'number')
}

function requireNumbers(file: string, columns: readonly Column[], vectors: readonly number[]): void {
  for (const i of vectors) {
    const { kind } = columns[i]
    if (kind === 'number' || (kind === 'list' && vectors.length === 1)) continue
    const fault = kind === 'list' ? 'holds vectors and cannot be combined with other columns' : 'does not hold numbers'
    throw bad(`Column ${called(columns, i)} of ${file} ${fault}: choose other columns.`)
  }
}

/** A name, or a number from 0; a name goes first, as columns may be called 0, 1, 2. */
function columnNumber(file: string, columns: readonly Column[], wanted: string | number): number {
  const byName = columns.findIndex(({ name }) => name === String(wanted))
  if (byName >= 0) return byName
  const number = /^\d+$/.test(String(wanted)) ? Number(wanted) : -1
  if (number >= 0 && number < columns.length) return number
  throw bad(`${file} has no column ${JSON.stringify(wanted)}: ${listed(columns)}.`)
}

function columnRange(file: string, columns: readonly Column[], wanted: string | number): number[] {
  const range = typeof wanted === 'string' ? /^(\d+)-(\d+)$/.exec(wanted) : null
  if (range === null || columns.some(({ name }) => name === wanted)) return [columnNumber(file, columns, wanted)]
  const [first, last] = [Number(range[1]), Number(range[2])]
  if (first > last || last >= columns.length) {
    throw bad(`${file} has no columns ${wanted}: ${listed(columns)}.`)
  }
  return Array.from({ length: last - first + 1 }, (_, i) => first + i)
}

/** Columns of a file that has no names for them. */
export function columnsByNumber(file: string, count: number, columns: NonNullable<ReadOptions['columns']>): number[] {
  const unnamed = { name: '', kind: 'number' } as const
  return columns.flatMap((column) => columnRange(file, new Array<Column>(count).fill(unnamed), column))
}

function called(columns: readonly Column[], i: number): string {
  return columns[i].name === '' ? String(i) : JSON.stringify(columns[i].name.slice(0, 60))
}

const MOST_LISTED = 12

function listed(columns: readonly Column[]): string {
  if (columns.every(({ name }) => name === '')) return `its columns are 0 to ${columns.length - 1}`
  const shown = columns.slice(0, MOST_LISTED).map((_, i) => called(columns, i))
  const more = columns.length - shown.length
  return `its columns are ${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function list(words: readonly string[]): string {
  const shown =
    words.length > MOST_LISTED ? [...words.slice(0, MOST_LISTED), `${words.length - MOST_LISTED} more`] : words
  return shown.length === 1 ? shown[0] : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

function bad(message: string): CentroidalError {
  return new CentroidalError('bad-file', message)
}

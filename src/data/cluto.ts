/**
 * CLUTO's .mat: text. The first line says rows, columns and, if the matrix is sparse, entries. Then a
 * line a row: pairs of a column, counted from 1, and a value; or, if it is dense, all its values.
 */
import type { ByteSource } from '../core/bytes.ts'
import { type Matrix, matrix } from '../core/matrix.ts'
import { type SparseMatrix, sparseMatrix } from '../core/sparse.ts'
import { shortest } from './csv-write.ts'
import { allocate, badFile } from './table.ts'

const NEWLINE = 10
/** Longer lines cannot be decoded at once. */
const LONGEST_LINE_BYTES = 1 << 28
const LONGEST_QUOTE = 40

export async function readCluto(source: ByteSource): Promise<SparseMatrix | Matrix> {
  const lines = new Lines(source, await source.read(0, source.size))
  const [rows, cols, entries] = readHeader(source, lines)
  const read =
    entries === undefined ? readDense(source, lines, rows, cols) : readSparse(source, lines, rows, cols, entries)
  while (lines.next()) {
    if (lines.text.trim() === '') continue
    throw lines.bad(`there are more lines than the ${rows} rows that the first line announces: correct the first line.`)
  }
  return read
}

function readHeader(source: ByteSource, lines: Lines): number[] {
  if (!lines.next()) throw badFile(source, ' is empty: the first line gives rows, columns and entries.')
  if (lines.text.startsWith('MATLAB')) {
    throw badFile(
      source,
      ' is a file of MATLAB, not of CLUTO: load it with scipy.io.loadmat and save the matrix with scipy.sparse.save_npz as .npz.',
    )
  }
  const sizes = lines.numbers(4)
  const whole = sizes.every((size) => Number.isInteger(size) && size >= 0)
  if ((sizes.length !== 2 && sizes.length !== 3) || !whole || sizes[1] === 0) {
    throw lines.bad(
      `found ${JSON.stringify(lines.text.slice(0, 60))}: it gives rows, columns and, if the matrix is sparse, entries.`,
    )
  }
  return sizes
}

function readSparse(source: ByteSource, lines: Lines, rows: number, cols: number, entries: number): SparseMatrix {
  // An entry takes four bytes at least: a size that cannot be is found before memory is asked for.
  if (entries * 4 > source.size || rows > source.size)
    throw lines.bad(`${rows} rows and ${entries} entries do not fit the file: it was cut, or the line is wrong.`)
  const offsets = allocate('u32', rows + 1, source.name)
  const columns = allocate('u32', entries, source.name)
  const values = allocate('f32', entries, source.name)
  let filled = 0
  for (let row = 0; row < rows; row++) {
    if (!lines.next()) throw tooShort(source, rows, row)
    for (let column = lines.number(); column !== undefined; column = lines.number()) {
      const value = lines.number()
      if (value === undefined) throw lines.bad(`column ${column} has no value: pairs of column and value are needed.`)
      if (!(Number.isInteger(column) && column >= 1 && column <= cols)) {
        throw lines.bad(`column ${column} does not exist: columns go from 1 to ${cols}.`)
      }
      if (filled === entries) {
        throw lines.bad(`there are more than the ${entries} entries that the first line announces.`)
      }
      columns[filled] = column - 1
      values[filled++] = value
    }
    offsets[row + 1] = filled
  }
  if (filled !== entries) {
    throw badFile(
      source,
      ` has ${filled} entries and its first line says ${entries}: it was cut, or that line is wrong.`,
    )
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols, JSON.stringify(source.name))
}

function readDense(source: ByteSource, lines: Lines, rows: number, cols: number): Matrix {
  if (rows * cols > source.size)
    throw lines.bad(`${rows} x ${cols} numbers do not fit the file: it was cut, or the line is wrong.`)
  const data = allocate('f32', rows * cols, source.name)
  for (let row = 0; row < rows; row++) {
    if (!lines.next()) throw tooShort(source, rows, row)
    const numbers = lines.numbers(cols + 1)
    if (numbers.length !== cols) {
      const found = numbers.length > cols ? `more than ${cols}` : numbers.length
      throw lines.bad(`there are ${found} numbers, ${cols} are needed.`)
    }
    data.set(numbers, row * cols)
  }
  return matrix(data, rows, cols)
}

function tooShort(source: ByteSource, rows: number, found: number) {
  return badFile(
    source,
    ` ends after ${found} rows and its first line says ${rows}: it was cut, or that line is wrong.`,
  )
}

/** One line after the other, so that the text is never in memory a second time. */
class Lines {
  text = ''
  readonly #source: ByteSource
  readonly #bytes: Uint8Array
  readonly #decoder = new TextDecoder()
  #at = 0
  #line = 0
  /** Characters of `text` that number() has read. */
  #read = 0

  constructor(source: ByteSource, bytes: Uint8Array) {
    this.#source = source
    this.#bytes = bytes
  }

  /** False at the end. */
  next(): boolean {
    if (this.#at >= this.#bytes.length) return false
    const newline = this.#bytes.indexOf(NEWLINE, this.#at)
    const end = newline < 0 ? this.#bytes.length : newline
    if (end - this.#at > LONGEST_LINE_BYTES) {
      throw badFile(
        this.#source,
        `, byte ${this.#at}: no line break in ${LONGEST_LINE_BYTES} bytes; is it a text file?`,
      )
    }
    this.text = this.#decoder.decode(this.#bytes.subarray(this.#at, end))
    this.#at = end + 1
    this.#line++
    this.#read = 0
    return true
  }

  /** The next number of the line; undefined at its end. */
  number(): number | undefined {
    const { text } = this
    let start = this.#read
    while (start < text.length && isBlank(text.charCodeAt(start))) start++
    if (start === text.length) return undefined
    let end = start
    while (end < text.length && !isBlank(text.charCodeAt(end))) end++
    this.#read = end
    const word = text.slice(start, end)
    const value = Number(word)
    if (Number.isFinite(Math.fround(value))) return value
    throw this.bad(`${JSON.stringify(word.slice(0, LONGEST_QUOTE))} is not a finite number of 32 bits.`)
  }

  /** The numbers that are left in the line, but not more than `most`. */
  numbers(most: number): number[] {
    const numbers: number[] = []
    while (numbers.length < most) {
      const value = this.number()
      if (value === undefined) break
      numbers.push(value)
    }
    return numbers
  }

  bad(rest: string) {
    return badFile(this.#source, `, line ${this.#line}: ${rest}`)
  }
}

/** Space, tab, line feed, vertical tab, form feed, carriage return. */
function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

export function clutoBytes({ rows, cols, offsets, columns, values }: SparseMatrix): Uint8Array {
  const lines = [`${rows} ${cols} ${values.length}`]
  for (let row = 0; row < rows; row++) {
    const words: string[] = []
    for (let at = offsets[row]; at < offsets[row + 1]; at++) words.push(`${columns[at] + 1} ${shortest(values[at])}`)
    lines.push(words.join(' '))
  }
  return new TextEncoder().encode(`${lines.join('\n')}\n`)
}

/** One line of numbers: the separator, the positions of the cells, and their values. */

const TAB = 0x09
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const HASH = 0x23
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const SEMICOLON = 0x3b

/** Up to here a whole mantissa and a power of ten are both exact, and so one division rounds correctly. */
const EXACT_DIGITS = 15
const POWERS_OF_TEN = Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power)

/** Written so that a long run of digits can be matched in one way only, and takes linear time. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const NOT_A_NUMBER = /^[+-]?nan$/i
const INFINITE = /^([+-]?)inf(?:inity)?$/i

export const NEWLINE = 0x0a

/** Created once, because creating one costs more than reading a cell. They are stateless. */
const utf8 = new TextDecoder()
/** One character per byte, so that places in the line are places in the text. */
const byteForByte = new TextDecoder('latin1')

/** A stretch of bytes without its newline. */
export interface Line {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

/** A cell that is no number, or a row of another length than expected. `column` counts from 1, as spreadsheets do. */
export type Fault = { readonly column: number; readonly text: string } | { readonly cells: number }

/** Neither blank nor, unless `comments` count, a comment. */
export function hasCells(line: Line, comments = false): boolean {
  for (let i = line.start; i < line.end; i++) {
    const byte = line.bytes[i]
    if (byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN) return comments || byte !== HASH
  }
  return false
}

/**
 * Semicolons and tabs go before commas: in "1,5;2,5" the comma is a decimal one, and an error about "1,5" is better than
 * four unintended numbers. SPACE stands for any run of blanks.
 */
export function separatorOf(line: Line): number {
  // Tabs around the numbers are indentation, not separators.
  let start = line.start
  while (start < line.end && isPadding(line.bytes[start], SPACE)) start++
  const end = trimmedEnd(line.bytes, start, line.end, SPACE)
  const trimmed = line.bytes.slice(start, end)
  // Separators inside quotes belong to the text.
  for (let i = trimmed.indexOf(QUOTE); i >= 0; ) {
    const close = trimmed.indexOf(QUOTE, i + 1)
    if (close < 0) break
    trimmed.fill(QUOTE, i, close)
    i = trimmed.indexOf(QUOTE, close + 1)
  }
  return [SEMICOLON, TAB, COMMA].find((separator) => trimmed.includes(separator)) ?? SPACE
}

/** Counted in the bytes: a line may have millions of cells, and as strings they would not fit in memory. */
export function countCells(line: Line, separator: number): number {
  let count = 0
  for (let next = firstCell(line, separator); next; next = cellAfter(line, separator, next.end)) count++
  return count
}

/** The first cells of a line as text, at most so many. */
export function cellsOf(line: Line, separator: number, most: number): string[] {
  const cells: string[] = []
  for (
    let next = firstCell(line, separator);
    next && cells.length < most;
    next = cellAfter(line, separator, next.end)
  ) {
    cells.push(textIn(line.bytes, next.start, next.end))
  }
  return cells
}

/** One cell of a line as text; empty where the line has none. */
export function cellText(line: Line, separator: number, index: number): string {
  let next = firstCell(line, separator)
  for (let i = 0; next && i < index; i++) next = cellAfter(line, separator, next.end)
  return next ? textIn(line.bytes, next.start, next.end) : ''
}

interface Span {
  readonly start: number
  readonly end: number
}

function firstCell({ bytes, start, end }: Line, separator: number): Span | undefined {
  return cellFrom(bytes, start, trimmedEnd(bytes, start, end, separator), separator)
}

/** The cell after the one that ends at `at`. */
function cellAfter({ bytes, start, end }: Line, separator: number, at: number): Span | undefined {
  const last = trimmedEnd(bytes, start, end, separator)
  if (at >= last) return undefined
  return cellFrom(bytes, separator === SPACE ? at : at + 1, last, separator)
}

function cellFrom(bytes: Uint8Array, from: number, end: number, separator: number): Span {
  let start = from
  while (start < end && isPadding(bytes[start], separator)) start++
  return { start, end: cellEnd(bytes, start, end, separator) }
}

function textIn(bytes: Uint8Array, start: number, end: number): string {
  return bare(utf8.decode(bytes.subarray(start, end)))
}

/** A cell that says a number. */
export function isNumber(cell: string): boolean {
  return numberIn(cell) !== undefined
}

const MISSING = /^(?:na|n\/a|null|none|nil|missing)$/i

/** A cell with text; misspelt numbers and symbols for missing values do not count as text. */
export function isText(cell: string): boolean {
  return (
    /^[^\d+\-.,;]/u.test(cell) && /\p{L}|[^\x20-\x7e]|^[^\s\d?]$/u.test(cell) && !isNumber(cell) && !MISSING.test(cell)
  )
}

/** The number a cell says, undefined if none. Spellings of NaN and infinity are those of NumPy. */
function numberIn(text: string): number | undefined {
  if (NUMBER.test(text)) return Number(text)
  if (NOT_A_NUMBER.test(text)) return Number.NaN
  const infinite = INFINITE.exec(text)
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity
  return undefined
}

/** Which cells of a line are numbers of a vector: see Layout. */
export interface CellTargets {
  readonly separator: number
  readonly cells: number
  readonly targets: Int32Array | undefined
}

/**
 * Parses a line into out[at .. at + cols]; what lies outside `out` is checked only. Returns what is wrong with the line,
 * if anything.
 */
export function parseLine(
  line: Line,
  { separator, cells, targets }: CellTargets,
  out: Float64Array,
  at: number,
): Fault | undefined {
  const { bytes } = line
  const end = trimmedEnd(bytes, line.start, line.end, separator)
  let text: string | undefined
  let i = line.start
  for (let cell = 0; cell < cells; cell++) {
    const column = targets ? targets[cell] : cell
    while (i < end && isPadding(bytes[i], separator)) i++
    const cellStart = i
    // Plain decimals, nearly all there are, are read digit by digit; the rest goes through a string.
    const negative = bytes[i] === MINUS
    if (negative || bytes[i] === PLUS) i++
    let mantissa = 0
    let digits = 0
    let decimals = 0
    for (; i < end && isDigit(bytes[i]); i++, digits++) mantissa = mantissa * 10 + (bytes[i] - ZERO)
    if (i < end && bytes[i] === POINT) {
      for (i++; i < end && isDigit(bytes[i]); i++, decimals++) mantissa = mantissa * 10 + (bytes[i] - ZERO)
      digits += decimals
    }
    const afterNumber = i
    while (i < end && isPadding(bytes[i], separator)) i++
    const complete = i >= end || bytes[i] === separator || (separator === SPACE && i > afterNumber)
    if (complete && digits > 0 && digits <= EXACT_DIGITS) {
      const value = mantissa / POWERS_OF_TEN[decimals]
      if (column >= 0) out[at + column] = negative ? -value : value
    } else {
      i = cellEnd(bytes, cellStart, end, separator)
      if (column >= 0) {
        // Decoding the line once is several times faster than every cell by itself.
        text ??= byteForByte.decode(bytes.subarray(line.start, end))
        const value = numberIn(bare(text.slice(cellStart - line.start, i - line.start)))
        if (value === undefined) return { column: cell + 1, text: textIn(bytes, cellStart, i) }
        out[at + column] = value
      }
      while (i < end && isPadding(bytes[i], separator)) i++
    }
    const last = cell === cells - 1
    if (i >= end !== last) return { cells: countCells(line, separator) }
    if (separator !== SPACE) i++
  }
  return undefined
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= ZERO + 9
}

function isPadding(byte: number, separator: number): boolean {
  return byte === SPACE || byte === CARRIAGE_RETURN || (byte === TAB && separator !== TAB)
}

function trimmedEnd(bytes: Uint8Array, start: number, end: number, separator: number): number {
  let trimmed = end
  while (trimmed > start && isPadding(bytes[trimmed - 1], separator)) trimmed--
  return trimmed
}

/** A cell in quotes may hold separators; a quote inside it is written twice. Without its second quote it is plain text. */
function cellEnd(bytes: Uint8Array, start: number, end: number, separator: number): number {
  let i = start
  if (bytes[i] === QUOTE && start < end) {
    let close = bytes.indexOf(QUOTE, i + 1)
    while (close >= 0 && close + 1 < end && bytes[close + 1] === QUOTE) close = bytes.indexOf(QUOTE, close + 2)
    const after = close + 1
    if (
      close >= 0 &&
      close < end &&
      (after === end || bytes[after] === separator || isPadding(bytes[after], separator))
    ) {
      i = after
    }
  }
  while (i < end && bytes[i] !== separator && !(separator === SPACE && isPadding(bytes[i], separator))) i++
  return i
}

/** Without blanks around it, and without the quotes that some programs put around every cell. */
function bare(cell: string): string {
  const text = cell.trim()
  const quoted = text.length >= 2 && text.charCodeAt(0) === QUOTE && text.charCodeAt(text.length - 1) === QUOTE
  return quoted ? text.slice(1, -1).replaceAll('""', '"').trim() : text
}

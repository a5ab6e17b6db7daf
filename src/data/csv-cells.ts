/** One line of numbers: which character separates them, where the cells are, what they say. */

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

/** Made once: making one costs more than reading a cell. They keep nothing between calls. */
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

/** Neither blank nor a comment. */
export function hasCells(line: Line): boolean {
  for (let i = line.start; i < line.end; i++) {
    const byte = line.bytes[i]
    if (byte !== SPACE && byte !== TAB && byte !== CARRIAGE_RETURN) return byte !== HASH
  }
  return false
}

/**
 * Semicolons and tabs go before commas: in "1,5;2,5" the comma is a decimal one, and an error about "1,5" is better
 * than four numbers that nobody meant. SPACE stands for any run of blanks.
 */
export function separatorOf(line: Line): number {
  // Tabs around the numbers are indentation, not separators.
  let start = line.start
  while (start < line.end && isPadding(line.bytes[start], SPACE)) start++
  const trimmed = line.bytes.subarray(start, trimmedEnd(line.bytes, start, line.end, SPACE))
  return [SEMICOLON, TAB, COMMA].find((separator) => trimmed.includes(separator)) ?? SPACE
}

/** Counted in the bytes: a line may have millions of cells, and as strings they would not fit in memory. */
export function countCells({ bytes, start, end }: Line, separator: number): number {
  let count = separator === SPACE ? 0 : 1
  for (let i = start, inside = false; i < end; i++) {
    if (separator !== SPACE) {
      if (bytes[i] === separator) count++
      continue
    }
    const padding = isPadding(bytes[i], separator)
    if (!padding && !inside) count++
    inside = !padding
  }
  return count
}

/** The number a cell says, undefined if none. Spellings of NaN and infinity are those of NumPy. */
function numberIn(text: string): number | undefined {
  if (NUMBER.test(text)) return Number(text)
  if (NOT_A_NUMBER.test(text)) return Number.NaN
  const infinite = INFINITE.exec(text)
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity
  return undefined
}

/**
 * Parses a line into out[at .. at + cols]; what lies outside `out` is checked only. Returns what is wrong with the line,
 * if anything.
 */
export function parseLine(
  line: Line,
  separator: number,
  out: Float64Array,
  at: number,
  cols: number,
): Fault | undefined {
  const { bytes } = line
  const end = trimmedEnd(bytes, line.start, line.end, separator)
  let text: string | undefined
  let i = line.start
  for (let column = 0; column < cols; column++) {
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
      out[at + column] = negative ? -value : value
    } else {
      i = cellEnd(bytes, cellStart, end, separator)
      // Decoding the line once is several times faster than every cell by itself.
      text ??= byteForByte.decode(bytes.subarray(line.start, end))
      const value = numberIn(bare(text.slice(cellStart - line.start, i - line.start)))
      if (value === undefined) {
        return { column: column + 1, text: bare(utf8.decode(bytes.subarray(cellStart, i))) }
      }
      out[at + column] = value
      while (i < end && isPadding(bytes[i], separator)) i++
    }
    const last = column === cols - 1
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

function cellEnd(bytes: Uint8Array, start: number, end: number, separator: number): number {
  let i = start
  while (i < end && bytes[i] !== separator && !(separator === SPACE && isPadding(bytes[i], separator))) i++
  return i
}

/** Without blanks around it, and without the quotes that some programs put around every cell. */
function bare(cell: string): string {
  const text = cell.trim()
  const quoted = text.length >= 2 && text.charCodeAt(0) === QUOTE && text.charCodeAt(text.length - 1) === QUOTE
  return quoted ? text.slice(1, -1).trim() : text
}

/**
 * What the lines of a text file are: a header or not, which columns hold numbers, where rows begin. One scan over the file
 * finds the line breaks and remembers where a row begins every so many bytes.
 */
import type { ByteSource } from '../core/bytes.ts'
import { type ChosenColumns, type Column, chooseColumns, type OpenOptions } from './columns.ts'
import { cellsOf, countCells, hasCells, isNumber, isText, type Line, NEWLINE, separatorOf } from './csv-cells.ts'
import { badFile } from './table.ts'

const TEXT_PIECE_BYTES = 1 << 20
const LONGEST_LINE_BYTES = 1 << 28

/** The beginning of a line: lines count from 1, as editors do; rows count from 0. */
export interface Position {
  readonly row: number
  readonly line: number
  readonly offset: number
}

export interface Layout {
  readonly rows: number
  readonly cols: number
  readonly separator: number
  /** Cells of a line. */
  readonly cells: number
  /** For each cell of a line the column of the vectors it is, or -1. Undefined: all are, in their order. */
  readonly targets: Int32Array | undefined
  /** The cell that names the row. */
  readonly names: number | undefined
  readonly notes: readonly string[]
  /** Where the first row stands, for errors about rows of another length. */
  readonly firstLine: number
  /** In order; the first is at or before row 0. */
  readonly checkpoints: readonly Position[]
}

/** Pieces that end with a whole line. */
export async function* wholeLines(
  source: ByteSource,
  from: number,
): AsyncGenerator<{ bytes: Uint8Array; offset: number }> {
  let offset = from
  let length = TEXT_PIECE_BYTES
  while (offset < source.size) {
    const end = Math.min(offset + length, source.size)
    const bytes = await source.read(offset, end)
    const cut = end === source.size ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1
    if (cut > 0) {
      yield { bytes: bytes.subarray(0, cut), offset }
      offset += cut
      length = TEXT_PIECE_BYTES
    } else {
      // One line fills the piece: read it again, longer.
      length *= 2
      if (length > LONGEST_LINE_BYTES) {
        throw badFile(source, `, byte ${offset}: no line break in ${LONGEST_LINE_BYTES} bytes; is it a text file?`)
      }
    }
  }
}

export function lineAt(bytes: Uint8Array, start: number): Line {
  const end = bytes.indexOf(NEWLINE, start)
  return { bytes, start, end: end < 0 ? bytes.length : end }
}

/** After the byte order mark that some editors write. */
export async function textStart(source: ByteSource): Promise<number> {
  const start = await source.read(0, Math.min(3, source.size))
  if ((start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff)) {
    throw badFile(source, ' is UTF-16 text: save it as UTF-8.')
  }
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0
}

/** A line that has cells. */
interface FoundLine {
  readonly line: Line
  readonly number: number
  readonly next: number
}

type Shape = Omit<Layout, 'rows' | 'checkpoints' | 'firstLine'>

export async function scan(source: ByteSource, options: OpenOptions): Promise<Layout> {
  const start = await textStart(source)
  const [first, second] = await firstLines(source, start)
  if (first === undefined) throw badFile(source, ' is empty: expected lines of numbers.')
  const header = options.header ?? isHeader(first.line, second?.line, options.countedHeader !== false)
  const row = header ? second : first
  if (row === undefined) throw badFile(source, ' has a header line but no rows: expected a line of numbers.')
  const shape = shapeOf(source, header ? first.line : undefined, row.line, options)
  const from: Position = header
    ? { row: 0, line: first.number + 1, offset: first.next }
    : { row: 0, line: 1, offset: start }
  return { ...shape, firstLine: row.number, ...(await countRows(source, from, shape)) }
}

async function firstLines(source: ByteSource, start: number): Promise<FoundLine[]> {
  const found: FoundLine[] = []
  let number = 1
  for await (const { bytes, offset } of wholeLines(source, start)) {
    for (let at = 0; at < bytes.length && found.length < 2; number++) {
      const line = lineAt(bytes, at)
      at = line.end + 1
      if (hasCells(line)) found.push({ line, number, next: Math.min(offset + at, source.size) })
    }
    if (found.length === 2) break
  }
  return found
}

async function countRows(
  source: ByteSource,
  from: Position,
  shape: Shape,
): Promise<Pick<Layout, 'rows' | 'checkpoints'>> {
  const checkpoints: Position[] = []
  let { row, line: number } = from
  for await (const { bytes, offset } of wholeLines(source, from.offset)) {
    checkpoints.push({ row, line: number, offset })
    for (let at = 0; at < bytes.length; number++) {
      const line = lineAt(bytes, at)
      at = line.end + 1
      if (isRow(line, shape)) row++
    }
  }
  return { rows: row, checkpoints }
}

/** Neither blank nor a comment. A row whose name is # has all its cells. */
export function isRow(line: Line, { names, cells, separator }: Pick<Shape, 'names' | 'cells' | 'separator'>): boolean {
  const first = hasCells(line)
  if (first || names !== 0 || cells < 2) return first
  return hasCells(line, true) && countCells(line, separator) === cells
}

/**
 * The first line is a header if it has text where the second has numbers, if it counts the columns as pandas does by
 * default (0,1,2), or if it begins with an empty cell. word2vec's text begins with the sizes of the table.
 */
function isHeader(first: Line, second: Line | undefined, mayCount: boolean): boolean {
  const a = cellsOf(first, separatorOf(first), MOST_CELLS)
  if (second === undefined) return a.some((cell) => !isNumber(cell))
  const separator = separatorOf(second)
  const b = cellsOf(second, separator, MOST_CELLS)
  if (a.length === 2 && a.every((cell) => /^\d+$/.test(cell)) && isText(b[0]) && b.length === Number(a[1]) + 1)
    return true
  const words = a.map((cell, i) => (isNumber(cell) ? -1 : i)).filter((i) => i >= 0)
  if (a[0] === '' && a.length > 1) return true
  if (words.some((i) => b[i] === undefined || !isText(b[i]))) return true
  const numbers = a.filter((cell) => isNumber(cell))
  const counted = mayCount && numbers.length > 1 && numbers.every((cell, i) => cell === String(i))
  // 0,1,2 and then 3,4,5 is data that counts.
  const goesOn = b.filter((cell) => isNumber(cell)).every((cell, i) => Number(cell) === numbers.length + i)
  return counted && !goesOn
}

/** Number of cells examined to detect a header: a line can have millions. */
const MOST_CELLS = 1 << 16

function shapeOf(source: ByteSource, header: Line | undefined, row: Line, options: OpenOptions): Shape {
  const separator = separatorOf(row)
  const cells = countCells(row, separator)
  const values = cellsOf(row, separator, MOST_CELLS)
  const titles = header ? cellsOf(header, separatorOf(header), MOST_CELLS) : []
  // R leaves out the title of the row names.
  if (titles.length === cells - 1) titles.unshift('')
  const named = titles.length === cells
  const plain = values.every((cell) => !isText(cell)) && !(named && titles[0] === '' && cells > 1)
  if (plain && options.columns === undefined && options.names === undefined) {
    return { cols: cells, cells, separator, targets: undefined, names: undefined, notes: headerNotes(titles) }
  }
  const columns = Array.from({ length: cells }, (_, i): Column => {
    const name = named ? titles[i] : ''
    return { name: i > 0 || name !== '' ? name : '', kind: isText(values[i] ?? '') ? 'text' : 'number' }
  })
  const chosen = chooseColumns(JSON.stringify(source.name), columns, options, named)
  return {
    cells,
    separator,
    ...targetsOf(chosen, cells),
    names: chosen.names,
    notes: [...headerNotes(titles), ...chosen.notes],
  }
}

function targetsOf({ vectors }: ChosenColumns, cells: number): Pick<Layout, 'cols' | 'targets'> {
  const targets = new Int32Array(cells).fill(-1)
  vectors.forEach((cell, column) => {
    targets[cell] = column
  })
  return { cols: vectors.length, targets }
}

/** A header of numbers could have been meant as a row. */
function headerNotes(titles: readonly string[]): string[] {
  const numbers = titles.filter((title) => isNumber(title))
  if (numbers.length < 2 || numbers.some((title, i) => title !== String(i))) return []
  return [`The first line (${titles.slice(0, 4).join(',')}${titles.length > 4 ? ',...' : ''}) was read as a header.`]
}

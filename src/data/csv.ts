/**
 * Text files of numbers. Opening scans once for the line breaks and remembers where a row begins every so many
 * bytes; reading parses only the lines asked for, and the text is never in memory as a whole.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { Fault, Line } from './csv-cells.ts'
import { countCells, hasCells, NEWLINE, parseLine, separatorOf } from './csv-cells.ts'
import type { Table } from './table.ts'
import { allocate, badFile, checkRows } from './table.ts'

const TEXT_PIECE_BYTES = 1 << 20
const LONGEST_LINE_BYTES = 1 << 28
const LONGEST_QUOTE = 40
/** For lines that are only checked. */
const NOWHERE = new Float64Array(0)

/** The beginning of a line: lines count from 1, as editors do; rows count from 0. */
interface Position {
  readonly row: number
  readonly line: number
  readonly offset: number
}

interface Layout {
  readonly rows: number
  readonly cols: number
  readonly separator: number
  /** Where the first row stands, for errors about rows of another length. */
  readonly firstLine: number
  /** In order; the first is at or before row 0. */
  readonly checkpoints: readonly Position[]
}

export async function openCsv(source: ByteSource): Promise<Table> {
  const layout = await scan(source)
  const { rows, cols } = layout
  // A number and what follows it take two bytes at least. If the file is too short for its rows, one of them has fewer
  // numbers than the first: it is found now, before memory is asked for.
  if (2 * rows * cols > source.size + 1) {
    await parseRows(source, layout, layout.checkpoints[0], 0, rows, NOWHERE)
  }
  return {
    rows,
    cols,
    type: 'f64',
    name: source.name,
    async read(start, end) {
      checkRows({ rows, name: source.name }, start, end)
      const out = allocate('f64', (end - start) * cols, source.name)
      if (start === end) return out
      const from = layout.checkpoints.findLast((checkpoint) => checkpoint.row <= start)!
      await parseRows(source, layout, from, start, end, out)
      return out
    },
    close: () => source.close(),
  }
}

/** Pieces that end with a whole line. */
async function* wholeLines(source: ByteSource, from: number): AsyncGenerator<{ bytes: Uint8Array; offset: number }> {
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

function lineAt(bytes: Uint8Array, start: number): Line {
  const end = bytes.indexOf(NEWLINE, start)
  return { bytes, start, end: end < 0 ? bytes.length : end }
}

async function scan(source: ByteSource): Promise<Layout> {
  const checkpoints: Position[] = []
  let seenFirst = false
  let firstRow: { cols: number; separator: number; firstLine: number } | undefined
  let row = 0
  let lineNumber = 1
  for await (const { bytes, offset } of wholeLines(source, await textStart(source))) {
    checkpoints.push({ row, line: lineNumber, offset })
    for (let at = 0; at < bytes.length; lineNumber++) {
      const line = lineAt(bytes, at)
      at = line.end + 1
      if (!hasCells(line)) continue
      if (!seenFirst) {
        seenFirst = true
        if (isHeader(line)) {
          // Rows are counted from after the header on.
          checkpoints.splice(0, checkpoints.length, { row: 0, line: lineNumber + 1, offset: offset + at })
          continue
        }
      }
      if (firstRow === undefined) {
        const separator = separatorOf(line)
        firstRow = { cols: countCells(line, separator), separator, firstLine: lineNumber }
      }
      row++
    }
  }
  if (firstRow === undefined) {
    throw badFile(
      source,
      seenFirst
        ? ' has a header line but no rows: expected a line of numbers.'
        : ' is empty: expected lines of numbers.',
    )
  }
  return { rows: row, checkpoints, ...firstRow }
}

function isHeader(line: Line): boolean {
  const separator = separatorOf(line)
  return parseLine(line, separator, NOWHERE, 0, countCells(line, separator)) !== undefined
}

/** After the byte order mark that some editors write. */
async function textStart(source: ByteSource): Promise<number> {
  const start = await source.read(0, Math.min(3, source.size))
  if ((start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff)) {
    throw badFile(source, ' is UTF-16 text: save it as UTF-8.')
  }
  return start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf ? 3 : 0
}

async function parseRows(
  source: ByteSource,
  layout: Layout,
  from: Position,
  start: number,
  end: number,
  out: Float64Array,
): Promise<void> {
  let { row, line: lineNumber } = from
  for await (const { bytes } of wholeLines(source, from.offset)) {
    for (let at = 0; at < bytes.length; lineNumber++) {
      const line = lineAt(bytes, at)
      at = line.end + 1
      if (!hasCells(line)) continue
      if (row >= start) {
        const fault = parseLine(line, layout.separator, out, (row - start) * layout.cols, layout.cols)
        if (fault) throw faultError(source, layout, lineNumber, fault)
      }
      row++
      if (row === end) return
    }
  }
  throw badFile(source, ` changed while it was being read: row ${row} is gone; read it again.`)
}

function faultError(source: ByteSource, layout: Layout, line: number, fault: Fault): Error {
  if ('cells' in fault) {
    return badFile(
      source,
      `, line ${line}: expected ${count(layout.cols)}, as in line ${layout.firstLine}, found ${fault.cells}.`,
    )
  }
  const shown = fault.text.length > LONGEST_QUOTE ? `${fault.text.slice(0, LONGEST_QUOTE)}...` : fault.text
  const found = shown === '' ? 'nothing' : JSON.stringify(shown)
  return badFile(source, `, line ${line}, column ${fault.column}: expected a number, found ${found}.`)
}

function count(cols: number): string {
  return cols === 1 ? '1 number' : `${cols} numbers`
}

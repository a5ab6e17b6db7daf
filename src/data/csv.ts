/**
 * Text files of numbers. Opening scans once for the line breaks (csv-layout.ts); reading parses only the lines asked for,
 * and the text is never in memory as a whole.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { OpenOptions } from './columns.ts'
import type { Fault } from './csv-cells.ts'
import { cellText, parseLine } from './csv-cells.ts'
import { isRow, type Layout, lineAt, type Position, scan, wholeLines } from './csv-layout.ts'
import type { Table } from './table.ts'
import { allocate, badFile, checkRows } from './table.ts'

const LONGEST_QUOTE = 40
/** For lines that are only checked. */
const NOWHERE = new Float64Array(0)

export async function openCsv(source: ByteSource, options: OpenOptions = {}): Promise<Table> {
  const layout = await scan(source, options)
  const { rows, cols, cells, notes } = layout
  // A number and what follows it take two bytes at least. If the file is too short for its rows, one of them has fewer
  // numbers than the first: it is found now, before memory is asked for.
  if (2 * rows * cells > source.size + 1) {
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
    ...(layout.names === undefined ? {} : { names: () => readNames(source, layout) }),
    ...(notes.length === 0 ? {} : { notes }),
    close: () => source.close(),
  }
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
      if (!isRow(line, layout)) continue
      if (row >= start) {
        const fault = parseLine(line, layout, out, (row - start) * layout.cols)
        if (fault) throw faultError(source, layout, lineNumber, fault)
      }
      row++
      if (row === end) return
    }
  }
  throw badFile(source, ` changed while it was being read: row ${row} is gone; read it again.`)
}

async function readNames(source: ByteSource, layout: Layout): Promise<string[]> {
  const names: string[] = []
  for await (const { bytes } of wholeLines(source, layout.checkpoints[0].offset)) {
    for (let at = 0; at < bytes.length; ) {
      const line = lineAt(bytes, at)
      at = line.end + 1
      if (isRow(line, layout)) names.push(cellText(line, layout.separator, layout.names!))
    }
  }
  return names
}

function faultError(source: ByteSource, layout: Layout, line: number, fault: Fault): Error {
  if ('cells' in fault) {
    return badFile(
      source,
      `, line ${line}: expected ${count(layout)}, as in line ${layout.firstLine}, found ${fault.cells}.`,
    )
  }
  const shown = fault.text.length > LONGEST_QUOTE ? `${fault.text.slice(0, LONGEST_QUOTE)}...` : fault.text
  const found = shown === '' ? 'nothing' : JSON.stringify(shown)
  return badFile(source, `, line ${line}, column ${fault.column}: expected a number, found ${found}.`)
}

function count({ cells, targets }: Layout): string {
  const what = targets ? 'cell' : 'number'
  return cells === 1 ? `1 ${what}` : `${cells} ${what}s`
}

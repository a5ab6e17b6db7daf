/**
 * JSON lines: in each line an array of numbers, or an object with a vector, or with numbers, under its keys. Opening scans
 * once for the line breaks; reading parses only the lines asked for.
 */
import type { ByteSource } from '../core/bytes.ts'
import { isList, nameOf, numberOf, vectorInto } from './column-values.ts'
import { type Column, chooseColumns, columnsByNumber, type ReadOptions } from './columns.ts'
import { lineAt, textStart, wholeLines } from './csv-layout.ts'
import { allocate, badFile, checkRows, type Table } from './table.ts'

interface Position {
  readonly row: number
  readonly line: number
  readonly offset: number
}

/** How a line becomes a row. */
interface Shape {
  readonly cols: number
  /** Keys of numbers, or positions in an array. */
  readonly picked: readonly (string | number)[] | undefined
  /** The key of a vector. */
  readonly vector: string | undefined
  readonly names: string | undefined
  readonly notes: readonly string[]
}

const decoder = new TextDecoder()

export async function openJsonl(source: ByteSource, options: ReadOptions = {}): Promise<Table> {
  const start = await textStart(source)
  const { rows, checkpoints, first } = await scan(source, start)
  const shape = shapeOf(source, first, options)
  const { cols, names, notes } = shape
  return {
    rows,
    cols,
    type: 'f64',
    name: source.name,
    async read(from, to) {
      checkRows({ rows, name: source.name }, from, to)
      const out = allocate('f64', (to - from) * cols, source.name)
      const place = checkpoints.findLast(({ row }) => row <= from)!
      for await (const { row, value } of values(source, place, from, to)) {
        fill(source, shape, value, row, out, (row - from) * cols)
      }
      return out
    },
    ...(names === undefined
      ? {}
      : {
          async names() {
            const found: string[] = []
            for await (const { value } of values(source, checkpoints[0], 0, rows)) {
              found.push(nameOf((value as Record<string, unknown> | null)?.[names]))
            }
            return found
          },
        }),
    ...(notes.length > 0 ? { notes } : {}),
    close: () => source.close(),
  }
}

async function scan(
  source: ByteSource,
  start: number,
): Promise<{ rows: number; checkpoints: Position[]; first: unknown }> {
  const checkpoints: Position[] = []
  let first: unknown
  let row = 0
  let number = 1
  for await (const { bytes, offset } of wholeLines(source, start)) {
    checkpoints.push({ row, line: number, offset })
    for (let at = 0; at < bytes.length; number++) {
      const line = lineAt(bytes, at)
      if (!isBlank(bytes, at, line.end)) {
        if (row === 0) first = parsed(source, bytes.subarray(at, line.end), number)
        row++
      }
      at = line.end + 1
    }
  }
  if (row === 0) throw badFile(source, ' is empty: expected an array or an object in each line.')
  return { rows: row, checkpoints, first }
}

async function* values(
  source: ByteSource,
  from: Position,
  start: number,
  end: number,
): AsyncGenerator<{ row: number; value: unknown }> {
  let { row, line: number } = from
  if (start === end) return
  for await (const { bytes } of wholeLines(source, from.offset)) {
    for (let at = 0; at < bytes.length; number++) {
      const line = lineAt(bytes, at)
      if (!isBlank(bytes, at, line.end)) {
        if (row >= start) yield { row, value: parsed(source, bytes.subarray(at, line.end), number) }
        row++
        if (row === end) return
      }
      at = line.end + 1
    }
  }
  throw badFile(source, ` changed while it was being read: row ${row} is gone; read it again.`)
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] > 0x20) return false
  return true
}

function parsed(source: ByteSource, bytes: Uint8Array, line: number): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch {
    throw badFile(source, `, line ${line}: expected JSON, such as [0.1, 0.2] or {"embedding": [0.1, 0.2]}.`)
  }
}

function shapeOf(source: ByteSource, first: unknown, options: ReadOptions): Shape {
  const file = JSON.stringify(source.name)
  if (Array.isArray(first)) {
    if (first.length === 0)
      throw badFile(source, ' has an empty array in its first row: at least one number is needed.')
    const picked = options.columns && columnsByNumber(file, first.length, options.columns)
    return { cols: picked?.length ?? first.length, picked, vector: undefined, names: undefined, notes: [] }
  }
  if (typeof first !== 'object' || first === null) {
    throw badFile(source, ' has neither an array nor an object in its first row: each row must be one of them.')
  }
  const entries = Object.entries(first)
  const columns = entries.map(([name, value]): Column => ({ name, kind: columnKind(value) }))
  const { vectors, names, notes } = chooseColumns(file, columns, options, true)
  const named = names === undefined ? undefined : columns[names].name
  const [only] = vectors
  if (vectors.length === 1 && columns[only].kind === 'list') {
    const { length } = entries[only][1] as readonly unknown[]
    return { cols: length, picked: undefined, vector: columns[only].name, names: named, notes }
  }
  const picked = vectors.map((i) => columns[i].name)
  return { cols: picked.length, picked, vector: undefined, names: named, notes }
}

function columnKind(value: unknown): Column['kind'] {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'string') return 'text'
  if (!isList(value) || value.length === 0) return 'other'
  return typeof value[0] === 'number' ? 'list' : 'other'
}

function fill(source: ByteSource, shape: Shape, value: unknown, row: number, out: Float64Array, at: number): void {
  const { cols, picked, vector } = shape
  if (vector !== undefined || picked === undefined) {
    const list = vector === undefined ? value : (value as Record<string, unknown> | null)?.[vector]
    vectorInto(source, list, cols, out, at, { row, column: vector ?? 'the array' })
    return
  }
  picked.forEach((key, column) => {
    const found = (value as Record<string | number, unknown> | null)?.[key]
    out[at + column] = numberOf(source, found, { row, column: String(key) })
  })
}

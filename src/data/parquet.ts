/** Parquet, by hyparquet: a row group at a time, and only the columns that are used. */
import type { FileMetaData, SchemaTree } from 'hyparquet'
import type { ByteSource } from '../core/bytes.ts'
import { isList, nameOf, numberOf, vectorInto } from './column-values.ts'
import { type Column, chooseColumns, type ReadOptions } from './columns.ts'
import { LARGEST_GROWTH, SAFE_BYTES } from './npz.ts'
import { optionalPackage, readBy } from './optional-package.ts'
import { allocate, badFile, checkRows, type Table } from './table.ts'

const PACKAGES = 'hyparquet hyparquet-compressors'
/** Numbers of these types are exact as 32-bit floats. */
const NARROW = ['FLOAT', 'BOOLEAN']
const NUMBERS = ['BOOLEAN', 'INT32', 'INT64', 'FLOAT', 'DOUBLE']
/** Whole numbers that stand for something else. */
const TIMES = /^(?:DATE|TIME|INTERVAL)/

type Hyparquet = typeof import('hyparquet')
type Compressors = typeof import('hyparquet-compressors')
type Row = Readonly<Record<string, unknown>>

/** What is needed to read some rows of some columns. */
interface Reader {
  readonly rows: number
  /** The first row of each row group, and the number of rows. */
  readonly bounds: readonly number[]
  read(columns: readonly string[], start: number, end: number): Promise<readonly Row[]>
}

export async function openParquet(source: ByteSource, options: ReadOptions = {}): Promise<Table> {
  const hyparquet = await optionalPackage<Hyparquet>('hyparquet', 'Reading Parquet', PACKAGES)
  const { compressors } = await optionalPackage<Compressors>('hyparquet-compressors', 'Reading Parquet', PACKAGES)
  const file = {
    byteLength: source.size,
    async slice(start: number, end = source.size) {
      const bytes = await source.read(Math.max(0, start), Math.min(end, source.size))
      return bytes.slice().buffer as ArrayBuffer
    },
  }
  return readBy(source.name, 'Parquet', async () => {
    const metadata = await hyparquet.parquetMetadataAsync(file)
    const reader = readerOf(source, metadata, (columns, rowStart, rowEnd) =>
      hyparquet.parquetReadObjects({ file, metadata, compressors, columns: [...columns], rowStart, rowEnd }),
    )
    return tableOf(source, hyparquet.parquetSchema(metadata).children, reader, options)
  })
}

function readerOf(source: ByteSource, metadata: FileMetaData, read: Reader['read']): Reader {
  const bounds = [0]
  for (const group of metadata.row_groups) bounds.push(bounds.at(-1)! + Number(group.num_rows))
  const rows = bounds.at(-1)!
  if (!Number.isSafeInteger(rows) || bounds.some((bound, i) => i > 0 && bound < bounds[i - 1])) {
    throw badFile(source, ' has row groups of impossible sizes: it was damaged, copy or save it again.')
  }
  return { rows, bounds, read }
}

async function tableOf(
  source: ByteSource,
  fields: readonly SchemaTree[],
  reader: Reader,
  options: ReadOptions,
): Promise<Table> {
  const { name } = source
  const { rows } = reader
  const columns = fields.map((field): Column => ({ name: field.element.name ?? '', kind: columnKind(field) }))
  const { vectors, names, notes } = chooseColumns(JSON.stringify(name), columns, options, true)
  const wanted = vectors.map((i) => columns[i].name)
  // What cannot be is found before memory is asked for.
  const expected = rows * wanted.length * 4
  if (expected > SAFE_BYTES && expected > LARGEST_GROWTH * source.size) {
    throw badFile(
      source,
      ` says it has ${rows} rows in ${source.size} bytes, which looks like a damaged or malicious file.`,
    )
  }
  const isVector = columns[vectors[0]].kind === 'list'
  const cols = isVector ? await vectorLength(source, reader, wanted[0]) : wanted.length
  const type = vectors.every((i) => isNarrow(fields[i])) ? 'f32' : 'f64'
  let group = -1
  let kept: Float32Array | Float64Array = new Float32Array(0)

  async function load(index: number): Promise<void> {
    if (index === group) return
    const [first, end] = [reader.bounds[index], reader.bounds[index + 1]]
    const found = await readBy(name, 'Parquet', () => reader.read(wanted, first, end))
    if (found.length !== end - first) {
      throw badFile(source, ` has ${found.length} rows in a group of ${end - first}: it was damaged, copy it again.`)
    }
    const out = floats(type, found.length * cols, name)
    found.forEach((row, i) => {
      if (isVector) vectorInto(source, row[wanted[0]], cols, out, i * cols, { row: first + i, column: wanted[0] })
      else {
        wanted.forEach((column, j) => {
          out[i * cols + j] = numberOf(source, row[column], { row: first + i, column })
        })
      }
    })
    kept = out
    group = index
  }

  return {
    rows,
    cols,
    type,
    name,
    async read(start, end) {
      checkRows({ rows, name }, start, end)
      const out = floats(type, (end - start) * cols, name)
      for (let index = 0; index + 1 < reader.bounds.length; index++) {
        const [first, last] = [reader.bounds[index], reader.bounds[index + 1]]
        const [from, to] = [Math.max(start, first), Math.min(end, last)]
        if (from >= to) continue
        await load(index)
        out.set(kept.subarray((from - first) * cols, (to - first) * cols), (from - start) * cols)
      }
      return out
    },
    ...(names === undefined
      ? {}
      : {
          async names() {
            const column = columns[names].name
            const found = await readBy(name, 'Parquet', () => reader.read([column], 0, rows))
            return found.map((row) => nameOf(row[column]))
          },
        }),
    ...(notes.length > 0 ? { notes } : {}),
    close: () => source.close(),
  }
}

function floats(type: 'f32' | 'f64', length: number, name: string): Float32Array | Float64Array {
  return type === 'f32' ? allocate('f32', length, name) : allocate('f64', length, name)
}

async function vectorLength(source: ByteSource, { rows, read }: Reader, column: string): Promise<number> {
  if (rows === 0) {
    throw badFile(source, ` has no rows, so that the length of its vectors is not known: at least one row is needed.`)
  }
  const [first] = await readBy(source.name, 'Parquet', () => read([column], 0, 1))
  const value = first?.[column]
  if (isList(value) && value.length > 0) return value.length
  throw badFile(source, `, row 0: column ${JSON.stringify(column)} holds no vector; remove the row.`)
}

function columnKind({ element, children }: SchemaTree): Column['kind'] {
  const logical = element.logical_type?.type ?? element.converted_type ?? ''
  if (children.length > 0) {
    const leaf = leafOf(children)
    const isListType = element.converted_type === 'LIST' || element.logical_type?.type === 'LIST'
    return isListType && leaf !== undefined && columnKind(leaf) === 'number' ? 'list' : 'other'
  }
  if (element.repetition_type === 'REPEATED') return NUMBERS.includes(element.type ?? '') ? 'list' : 'other'
  if (logical === 'FLOAT16' || logical === 'DECIMAL') return 'number'
  if (TIMES.test(logical)) return 'other'
  if (NUMBERS.includes(element.type ?? '')) return 'number'
  return element.type === 'BYTE_ARRAY' && logical !== 'JSON' && logical !== 'BSON' ? 'text' : 'other'
}

/** The leaf of a list of three levels, as Parquet has them, or of two. */
function leafOf(children: readonly SchemaTree[]): SchemaTree | undefined {
  let [node] = children
  if (children.length !== 1) return undefined
  if (node.children.length === 1) node = node.children[0]
  return node.children.length === 0 ? node : undefined
}

function isNarrow(field: SchemaTree): boolean {
  const { element } = field.children.length > 0 ? leafOf(field.children)! : field
  return NARROW.includes(element.type ?? '') || element.logical_type?.type === 'FLOAT16'
}

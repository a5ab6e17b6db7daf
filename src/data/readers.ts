/** Which file is read how: by the extension of its name, or by the format that the caller names. */
import { platform } from '#platform'
import type { ByteSource, FileLocation } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { isMatrix, type Matrix } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { openArrow } from './arrow.ts'
import { readCluto } from './cluto.ts'
import { columnsByNumber, type OpenOptions } from './columns.ts'
import { openCsv } from './csv.ts'
import { nameOf } from './formats.ts'
import { gunzipped } from './gzip.ts'
import { openHdf5 } from './hdf5.ts'
import { openJsonl } from './jsonl.ts'
import { openNpy } from './npy.ts'
import { readNpz } from './npz.ts'
import { openParquet } from './parquet.ts'
import { openSafetensors } from './safetensors.ts'
import { allocate, type Table } from './table.ts'
import { openVecs } from './vecs.ts'

/** What a file holds: rows on demand, or sparse or dense rows that are in memory already. */
export type Contents = Table | SparseMatrix | Matrix

interface Reader {
  readonly extensions: readonly string[]
  /** It chooses columns by itself, by their names. */
  readonly named?: true
  /** It holds several arrays, of which one is chosen. */
  readonly datasets?: true
  open(source: ByteSource, options: OpenOptions): Promise<Contents>
}

const READERS: readonly Reader[] = [
  { extensions: ['npy'], open: openNpy },
  { extensions: ['npz'], datasets: true, open: readNpz },
  { extensions: ['fvecs'], open: (source) => openVecs(source, 'fvecs') },
  { extensions: ['bvecs'], open: (source) => openVecs(source, 'bvecs') },
  { extensions: ['ivecs'], open: (source) => openVecs(source, 'ivecs') },
  { extensions: ['csv', 'tsv', 'txt', 'vec'], named: true, open: openCsv },
  { extensions: ['jsonl', 'ndjson'], named: true, open: openJsonl },
  { extensions: ['parquet'], named: true, open: openParquet },
  { extensions: ['arrow', 'feather', 'arrows', 'ipc'], named: true, open: openArrow },
  { extensions: ['hdf5', 'h5'], datasets: true, open: openHdf5 },
  { extensions: ['safetensors'], datasets: true, open: openSafetensors },
  { extensions: ['mat'], open: readCluto },
]

const EXTENSIONS = READERS.flatMap(({ extensions }) => extensions)

/** Of all formats that are read, in a sentence. */
export function readableFormats(): string {
  return `.${EXTENSIONS.join(' .')}, each also with .gz`
}

interface Found {
  readonly reader: Reader
  readonly packed: boolean
  /** Without the name of a dataset. */
  readonly location: FileLocation
  readonly dataset: string | undefined
}

/** Whether a file in a folder is one of those that are read. */
export function isReadable(name: string): boolean {
  return readerFor(name) !== undefined
}

function readerFor(name: string): Reader | undefined {
  const plain = name.toLowerCase().replace(/\.gz$/, '')
  return READERS.find(({ extensions }) => extensions.some((extension) => plain.endsWith(`.${extension}`)))
}

function find(location: FileLocation, { format, dataset }: OpenOptions): Found {
  const name = nameOf(location)
  const packed = (text: string): boolean =>
    text
      .toLowerCase()
      .replace(/[?#].*$/s, '')
      .endsWith('.gz')
  if (format !== undefined) {
    const reader = readerFor(`.${format.replace(/^\./, '')}`)
    if (reader) return { reader, packed: packed(format) || packed(name ?? ''), location, dataset }
    throw new CentroidalError(
      'bad-option',
      `Option format is ${JSON.stringify(format)}: give one of ${EXTENSIONS.join(', ')}.`,
    )
  }
  if (name === undefined) {
    throw new CentroidalError(
      'bad-file',
      `The format of a Blob without a name is unknown: give a File whose name ends in one of ${readableFormats()}, or the option format.`,
    )
  }
  // A path may hold ? and #; an address may have a query after its name. The plain reading goes first.
  const plain = readerFor(name)
  if (plain) return { reader: plain, packed: packed(name), location, dataset }
  const cut = name.replace(/[?#].*$/s, '')
  const reader = readerFor(cut)
  if (reader === undefined) throw unknownFormat(name)
  const hash = /#(.+)$/s.exec(name)?.[1]
  const path =
    typeof location === 'string' && reader.datasets && hash !== undefined ? location.replace(/#.*$/s, '') : location
  return { reader, packed: packed(cut), location: path, dataset: dataset ?? (reader.datasets ? hash : undefined) }
}

function unknownFormat(name: string): CentroidalError {
  return new CentroidalError(
    'bad-file',
    `${JSON.stringify(name)} has no extension of a supported format: ${readableFormats()}. If the file is in one of these formats, give the option format.`,
  )
}

export async function openContents(
  from: FileLocation,
  options: OpenOptions,
): Promise<{ contents: Contents; name: string }> {
  const { reader, packed, location, dataset } = find(from, options)
  let source = await platform.openBytes(location)
  try {
    if (packed) source = await gunzipped(source)
    const contents = await reader.open(source, { ...options, dataset })
    const kept = isTable(contents)
    if (!kept) await source.close()
    if (options.columns === undefined || reader.named) return { contents, name: source.name }
    if (kept) return { contents: withColumns(contents, options.columns), name: source.name }
    throw new CentroidalError(
      'bad-option',
      `Option columns does not apply to ${JSON.stringify(source.name)}, whose format has no columns to choose; leave it out.`,
    )
  } catch (error) {
    await source.close()
    throw error
  }
}

/** The table in bytes that are read on demand; their name tells the format. */
export async function openTableBytes(bytes: ByteSource): Promise<Table> {
  const { reader, packed, dataset } = find(bytes.name, {})
  const contents = packed ? undefined : await reader.open(bytes, { dataset })
  if (contents !== undefined && isTable(contents)) return contents
  throw new CentroidalError('bad-file', `${JSON.stringify(bytes.name)} cannot be read in parts: convert it to .npy.`)
}

export function isTable(contents: Contents): contents is Table {
  return !isMatrix(contents) && 'read' in contents
}

/** Some columns of a table, in any order. */
function withColumns(table: Table, wanted: NonNullable<OpenOptions['columns']>): Table {
  const { rows, type, name } = table
  const chosen = columnsByNumber(JSON.stringify(name), table.cols, wanted)
  const cols = chosen.length
  return {
    ...table,
    rows,
    cols,
    async read(start, end) {
      const data = await table.read(start, end)
      const out = allocate(type, (end - start) * cols, name)
      for (let row = 0; row < end - start; row++) {
        for (let j = 0; j < cols; j++) out[row * cols + j] = data[row * table.cols + chosen[j]]
      }
      return out
    },
  }
}

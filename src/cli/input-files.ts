/** Files of vectors that a command reads: one or several, folders, patterns, or standard input. */
import { basename } from 'node:path'
import { type Command, Option } from 'commander'
import { CentroidalError, openShards, openVectors, type ReadOptions, type VectorSource } from '../index.ts'
import { quoted, type Session } from './session.ts'

export interface InputFlags {
  readonly columns?: readonly string[]
  readonly nameColumn?: string
  readonly format?: string
  /** False for --no-header. */
  readonly header?: boolean
}

/** A manifest of shards. */
const MANIFEST = /\.json$/i

/** Standard input, where a file is expected. */
export const STDIN = '-'

/** For the help of an argument. */
export const VECTOR_FILES =
  '.npy .npz .fvecs .bvecs .ivecs .csv .tsv .txt .jsonl .parquet .arrow .hdf5 .safetensors .mat, each also .gz; several files, a folder, - for standard input, or a manifest of shards (.json)'

export function addInputOptions(command: Command): Command {
  const options = [
    new Option('--columns <list>', 'columns to read, by name or number from 0, such as x,y or 2-9').argParser(
      readColumns,
    ),
    new Option('--name-column <column>', 'the column that names the rows (default: the first column of text)'),
    new Option('--format <name>', 'format of the vectors, such as npy (default: by the extension)'),
    new Option('--no-header', 'treat the first line of a text file as a row, not as a header'),
  ]
  for (const option of options) command.addOption(option.helpGroup('Input:'))
  return command
}

function readColumns(text: string): string[] {
  const columns = text.split(',').map((column) => column.trim())
  if (columns.every((column) => column !== '')) return columns
  throw new CentroidalError(
    'bad-option',
    `Option --columns is ${JSON.stringify(text)}: give comma-separated names or numbers, such as x,y or 0,1.`,
  )
}

/**
 * The vectors of all files as one set: with `on` as shards, otherwise a manifest of shards or files. `noRows` allows none.
 * How they were interpreted is reported on stderr, unless `quiet`.
 */
export async function openInput(
  session: Session,
  files: string | readonly string[],
  flags: InputFlags & { readonly quiet?: boolean; readonly on?: string },
  noRows = false,
): Promise<VectorSource> {
  const paths = typeof files === 'string' ? [files] : files
  if (paths.length === 1 && MANIFEST.test(paths[0])) return openShards(paths[0])
  if (flags.on !== undefined) return openShards(paths)
  const options: ReadOptions = {
    columns: flags.columns,
    names: flags.nameColumn,
    header: flags.header === false ? false : undefined,
  }
  const locations = await Promise.all(paths.map((path) => (path === STDIN ? standardInput(flags.format) : path)))
  // The name of standard input says its format.
  const format = paths.includes(STDIN) ? undefined : flags.format
  const source = await openVectors(locations, { ...options, format })
  if (source.rows === 0 && !noRows) {
    await source.close?.()
    throw new CentroidalError('bad-data', `${JSON.stringify(inputName(paths))} has no rows: give at least one vector.`)
  }
  if (!flags.quiet) for (const note of source.notes ?? []) session.stderr.line(note)
  return source
}

/** As it is called in reports: one name for all files. */
export function inputName(files: readonly string[]): string {
  const [first] = files
  return files.length === 1 ? first : `${first} and ${files.length - 1} more`
}

export function inputTitle(files: readonly string[]): string {
  return files[0] === STDIN ? 'standard input' : inputName([basename(files[0]), ...files.slice(1)])
}

/** As it is typed in a command. */
export function typedInput(files: readonly string[]): string {
  return files.map(quoted).join(' ')
}

async function standardInput(format: string | undefined): Promise<File> {
  const pieces: Buffer[] = []
  for await (const piece of process.stdin) pieces.push(piece as Buffer)
  const bytes = Buffer.concat(pieces)
  if (bytes.length === 0) {
    throw new CentroidalError('bad-file', 'Standard input is empty: pipe a file of vectors into the command.')
  }
  return new File([bytes], `standard input.${format ?? formatByContent(bytes)}`)
}

/** Formats that begin with a signature, and text. */
function formatByContent(bytes: Buffer): string {
  const start = bytes.subarray(0, 8).toString('latin1')
  const signatures: readonly (readonly [string, string])[] = [
    ['\x93NUMPY', 'npy'],
    ['PK\x03\x04', 'npz'],
    ['PAR1', 'parquet'],
    ['ARROW1', 'arrow'],
    ['\x89HDF', 'hdf5'],
  ]
  const found = signatures.find(([signature]) => start.startsWith(signature))
  if (found) return found[1]
  if (start.startsWith('\x1f\x8b')) {
    throw new CentroidalError(
      'bad-option',
      'Standard input is compressed with gzip: give its format, such as --format csv.gz.',
    )
  }
  const text = bytes.subarray(0, 4096)
  if (text.includes(0)) {
    throw new CentroidalError('bad-option', 'The format of standard input is unknown: give it, such as --format fvecs.')
  }
  return /^\s*[[{]/.test(text.toString('utf8')) ? 'jsonl' : 'csv'
}

/** Which file is read and written how: by the extension of its name. */
import type { ByteSource } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import { openCsv } from './csv.ts'
import { csvEncoder } from './csv-write.ts'
import { npyEncoder, openNpy } from './npy.ts'
import type { Encoder, StoredType, Table } from './table.ts'
import type { VecsKind } from './vecs.ts'
import { openVecs, vecsEncoder, vecsType } from './vecs.ts'

export interface Format {
  readonly extension: string
  /** One label per row makes sense in it. */
  readonly holdsLabels: boolean
  /** A file of no rows still says how many columns they would have. */
  readonly holdsNoRows: boolean
  open(source: ByteSource): Promise<Table>
  /** The type in which it stores numbers that are given as `type`. */
  storedAs(type: StoredType): StoredType
  /** For an array of one or two dimensions whose numbers are already of the stored type. */
  encoder(shape: readonly number[], type: StoredType): Encoder
}

const FORMATS: readonly Format[] = [
  vecs('fvecs'),
  vecs('bvecs'),
  vecs('ivecs'),
  {
    extension: '.npy',
    holdsLabels: true,
    holdsNoRows: true,
    open: openNpy,
    storedAs: (type) => type,
    encoder: npyEncoder,
  },
  text('.csv', ','),
  text('.tsv', '\t'),
]

function vecs(kind: VecsKind): Format {
  return {
    extension: `.${kind}`,
    holdsLabels: kind === 'ivecs',
    holdsNoRows: false,
    open: (source) => openVecs(source, kind),
    storedAs: () => vecsType(kind),
    encoder: ([, cols = 1]) => vecsEncoder(kind, cols),
  }
}

function text(extension: string, separator: string): Format {
  return {
    extension,
    holdsLabels: true,
    holdsNoRows: false,
    open: openCsv,
    storedAs: (type) => type,
    encoder: ([, cols = 1]) => csvEncoder(cols, separator),
  }
}

/** The format of a path, a URL, or a Blob that has a name (a File). */
export function formatOf(location: string | URL | Blob, use: 'vectors' | 'labels' = 'vectors'): Format {
  const usable = FORMATS.filter((format) => use === 'vectors' || format.holdsLabels)
  const extensions = usable.map((format) => format.extension).join(' ')
  const name = nameOf(location)
  if (name === undefined) {
    throw new CentroidalError(
      'bad-file',
      `A Blob without a name does not tell its format: give a File whose name ends in one of ${extensions}.`,
    )
  }
  // A path may hold ? and #; an address may have a query after its name. The plain reading goes first.
  const found = [name, name.replace(/[?#].*$/s, '')]
    .map((candidate) => usable.find((format) => candidate.toLowerCase().endsWith(format.extension)))
    .find((format) => format !== undefined)
  if (found) return found
  const instead = use === 'labels' ? 'Labels go into' : 'The formats are known by'
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(name)} has no extension that works here. ${instead} ${extensions}.`,
  )
}

function nameOf(location: string | URL | Blob): string | undefined {
  if (typeof location === 'string') return location
  if (location instanceof URL) return location.href
  return (location as Partial<File>).name
}

/** Which file is written how, by the extension of its name. How files are read: readers.ts. */
import { location as checkLocation } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { clutoBytes } from './cluto.ts'
import { csvEncoder } from './csv-write.ts'
import { npyEncoder } from './npy.ts'
import { npzBytes } from './npz.ts'
import type { Encoder, StoredType } from './table.ts'
import type { VecsKind } from './vecs.ts'
import { vecsEncoder, vecsType } from './vecs.ts'

export interface Format {
  readonly extension: string
  /** One label per row makes sense in it. */
  readonly holdsLabels: boolean
  /** A file of no rows still says how many columns they would have. */
  readonly holdsNoRows: boolean
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
    storedAs: (type) => type,
    encoder: npyEncoder,
  },
  text('.csv', ','),
  text('.tsv', '\t'),
]

/** Sparse rows, written as a whole. */
export interface SparseFormat {
  readonly extension: string
  bytes(m: SparseMatrix): Uint8Array
}

const SPARSE_FORMATS: readonly SparseFormat[] = [
  { extension: '.npz', bytes: npzBytes },
  { extension: '.mat', bytes: clutoBytes },
]

function vecs(kind: VecsKind): Format {
  return {
    extension: `.${kind}`,
    holdsLabels: kind === 'ivecs',
    holdsNoRows: false,
    storedAs: () => vecsType(kind),
    encoder: ([, cols = 1]) => vecsEncoder(kind, cols),
  }
}

function text(extension: string, separator: string): Format {
  return {
    extension,
    holdsLabels: true,
    holdsNoRows: false,
    storedAs: (type) => type,
    encoder: ([, cols = 1]) => csvEncoder(cols, separator),
  }
}

/** The format of a path, a URL, or a Blob that has a name (a File). */
export function formatOf(location: string | URL | Blob, use: 'vectors' | 'labels' = 'vectors'): Format {
  const usable = FORMATS.filter((format) => use === 'vectors' || format.holdsLabels)
  const listed = use === 'vectors' ? [...usable, ...SPARSE_FORMATS] : usable
  const extensions = listed.map((format) => format.extension).join(' ')
  const name = nameOf(location)
  if (name === undefined) {
    throw new CentroidalError(
      'bad-file',
      `The format of a Blob without a name is unknown: give a File whose name ends in one of ${extensions}.`,
    )
  }
  const found = byExtension(usable, name)
  if (found) return found
  const sparse = byExtension(SPARSE_FORMATS, name)
  if (sparse && use === 'vectors') {
    throw new CentroidalError(
      'bad-file',
      `${JSON.stringify(name)}: a ${sparse.extension} file cannot contain dense rows; use .npy.`,
    )
  }
  throw new CentroidalError(
    'bad-file',
    `${JSON.stringify(name)} cannot be written: the formats for ${use} are ${extensions}, each also with .gz.`,
  )
}

/** Undefined where the name is not that of a file of sparse rows. */
export function sparseFormatOf(location: string | URL | Blob): SparseFormat | undefined {
  const name = nameOf(location)
  return name === undefined ? undefined : byExtension(SPARSE_FORMATS, name)
}

/** Whether a file is to be packed. */
export function isPacked(location: string): boolean {
  return location.toLowerCase().endsWith('.gz')
}

function byExtension<T extends { readonly extension: string }>(formats: readonly T[], name: string): T | undefined {
  // A path may hold ? and #; an address may have a query after its name. The plain reading goes first.
  return [name, name.replace(/[?#].*$/s, '')]
    .map((candidate) => candidate.toLowerCase().replace(/\.gz$/, ''))
    .map((candidate) => formats.find((format) => candidate.endsWith(format.extension)))
    .find((format) => format !== undefined)
}

export function nameOf(location: string | URL | Blob): string | undefined {
  checkLocation(location, 'the location')
  if (typeof location === 'string') return location
  if (location instanceof URL) return location.href
  const { name } = location as Partial<File>
  return typeof name === 'string' ? name : undefined
}

/**
 * .npz: a zip archive of .npy files. SciPy saves a sparse matrix as format, shape, data and, by its format, indptr and
 * indices (csr, csc) or row and col (coo). np.savez saves dense arrays, of which one is read.
 */
import { zipSync } from 'fflate'
import type { ByteSource } from '../core/bytes.ts'
import { type SparseMatrix, sparseMatrix } from '../core/sparse.ts'
import type { ReadOptions } from './columns.ts'
import { npyBytes, npyHeader, openNpy } from './npy.ts'
import { badFile, bytesOf, type StoredData, type Table } from './table.ts'
import { openMember, readDirectory, type ZipMember } from './zip.ts'

const CURE = 'save it with scipy.sparse.save_npz(file, matrix.tocsr())'

/** The name of the format and two numbers, with their headers, are far shorter. */
const LONGEST_TEXT = 1 << 16
/**
 * Beyond this size, archives that grow more than 200-fold are refused: deflate makes gigabytes out of a few megabytes,
 * and rows of real data do not shrink like that.
 */
export const SAFE_BYTES = 1 << 26
export const LARGEST_GROWTH = 200

type Members = ReadonlyMap<string, ZipMember>

export async function readNpz(source: ByteSource, { dataset }: ReadOptions = {}): Promise<SparseMatrix | Table> {
  const members = await findMembers(source)
  const isSparse = members.has('format') && members.has('shape') && members.has('data')
  if (!isSparse || dataset !== undefined) return denseArray(source, members, dataset)
  const format = await textOf(source, members.get('format')!)
  const [rows, cols] = await shapeOf(source, members.get('shape')!)
  switch (format) {
    case 'csr':
      return readCompressed(source, members, rows, cols)
    case 'csc':
      return transposed(await readCompressed(source, members, cols, rows), source.name)
    case 'coo':
      return readCoordinates(source, members, rows, cols)
    default:
      throw badFile(source, ` holds a sparse matrix in format ${JSON.stringify(format)}: ${CURE}.`)
  }
}

/** Rows of a csr matrix, columns of a csc matrix. */
async function readCompressed(source: ByteSource, members: Members, rows: number, cols: number): Promise<SparseMatrix> {
  // The lengths are known from the headers, before anything is inflated.
  const offsets = await openArray(source, members, 'indptr')
  const columns = await openArray(source, members, 'indices')
  const values = await openArray(source, members, 'data')
  if (lengthOf(offsets) !== rows + 1) {
    throw badFile(source, ` has ${lengthOf(offsets)} offsets for ${rows} rows: ${rows + 1} are needed.`)
  }
  requireSameLength(source, columns, values)
  const parts = { offsets: await all(offsets), columns: await all(columns), values: await all(values) }
  return sparseMatrix(parts, rows, Math.max(cols, 1), JSON.stringify(source.name))
}

async function readCoordinates(
  source: ByteSource,
  members: Members,
  rows: number,
  cols: number,
): Promise<SparseMatrix> {
  const rowNumbers = await openArray(source, members, 'row')
  const columns = await openArray(source, members, 'col')
  const values = await openArray(source, members, 'data')
  requireSameLength(source, columns, values)
  requireSameLength(source, rowNumbers, values)
  const entries = { rows: await all(rowNumbers), columns: await all(columns), values: await all(values) }
  for (let i = 0; i < entries.rows.length; i++) {
    if (entries.rows[i] >= 0 && entries.rows[i] < rows) continue
    throw badFile(source, ` has an entry in row ${entries.rows[i]}: its rows go from 0 to ${rows - 1}.`)
  }
  return inRows(entries, rows, cols, source.name)
}

/** Entries by rows and columns; equal ones are added up, as SciPy does. */
function inRows(
  entries: { rows: ArrayLike<number>; columns: ArrayLike<number>; values: ArrayLike<number> },
  rows: number,
  cols: number,
  name: string,
): SparseMatrix {
  const { length } = entries.values
  const offsets = new Uint32Array(rows + 1)
  for (let i = 0; i < length; i++) offsets[entries.rows[i] + 1]++
  for (let row = 0; row < rows; row++) offsets[row + 1] += offsets[row]
  const next = offsets.slice()
  const columns = new Float64Array(length)
  const values = new Float32Array(length)
  for (let i = 0; i < length; i++) {
    const at = next[entries.rows[i]]++
    columns[at] = entries.columns[i]
    values[at] = entries.values[i]
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols, JSON.stringify(name))
}

function transposed(m: SparseMatrix, name: string): SparseMatrix {
  const columns = new Uint32Array(m.values.length)
  for (let row = 0; row < m.rows; row++) columns.fill(row, m.offsets[row], m.offsets[row + 1])
  return inRows({ rows: m.columns, columns, values: m.values }, m.cols, m.rows, name)
}

/** An array that np.savez saved: the one that was asked for, or the only one. */
async function denseArray(source: ByteSource, members: Members, dataset: string | undefined): Promise<Table> {
  const names = [...members.keys()]
  const listed = names.slice(0, 20).join(', ') || 'nothing'
  const wanted = dataset ?? (names.length === 1 ? names[0] : undefined)
  const member = wanted === undefined ? undefined : members.get(wanted)
  if (member === undefined) {
    const fault = dataset === undefined ? 'several arrays' : `no array ${JSON.stringify(dataset)}`
    const cure = names.length === 0 ? 'save one with np.savez' : `choose one, as in ${source.name}#${names[0]}`
    throw badFile(
      source,
      names.length === 0
        ? ` holds no arrays: ${cure}.`
        : ` holds ${fault} but ${listed}: ${cure}, or for a sparse matrix ${CURE}.`,
    )
  }
  // A compressed member can only be read from its beginning, so that it is unpacked once.
  const whole = openMember(source, member)
  const bytes = await whole.read(0, member.size)
  const table = await openNpy({
    name: whole.name,
    size: bytes.length,
    read: async (start, end) => bytes.subarray(start, end),
    close: async () => {},
  })
  return { ...table, name: source.name, close: () => source.close() }
}

/** The arrays of the archive by their names, without .npy. */
async function findMembers(source: ByteSource): Promise<Members> {
  const found = (await readDirectory(source)).filter(({ name }) => name.endsWith('.npy'))
  const members = new Map(found.map((member) => [member.name.slice(0, -4), member]))
  if (members.size < found.length) {
    const twice = found.find(({ name }, i) => found.findIndex((other) => other.name === name) < i)!
    throw badFile(source, ` contains ${twice.name} more than once: ${CURE}.`)
  }
  const total = found.reduce((sum, { size }) => sum + size, 0)
  if (total > SAFE_BYTES && total > LARGEST_GROWTH * source.size) {
    throw badFile(
      source,
      ` would grow from ${source.size} to ${total} bytes when unpacked, which looks like a damaged or malicious file: if it is right, save it with scipy.sparse.save_npz(file, matrix, compressed=False).`,
    )
  }
  return members
}

async function openArray(source: ByteSource, members: Members, name: string): Promise<Table> {
  const member = members.get(name)
  if (member === undefined) {
    throw badFile(source, ` contains ${[...members.keys()].join(', ').slice(0, 200)} but not ${name}: ${CURE}.`)
  }
  return openNpy(openMember(source, member))
}

function requireSameLength(source: ByteSource, columns: Table, values: Table): void {
  if (lengthOf(columns) === lengthOf(values)) return
  throw badFile(
    source,
    ` has ${lengthOf(columns)} columns for ${lengthOf(values)} values: one column for each value is needed.`,
  )
}

async function shapeOf(source: ByteSource, member: ZipMember): Promise<[rows: number, cols: number]> {
  const table = await openNpy(openMember(source, shortMember(source, member)))
  const shape = await all(table)
  const [rows, cols] = shape
  if (shape.length !== 2 || !(rows >= 0 && cols >= 1)) {
    throw badFile(
      source,
      ` has shape (${shape.slice(0, 8).join(', ')}): two dimensions and at least one column are needed.`,
    )
  }
  return [rows, cols]
}

function shortMember(source: ByteSource, member: ZipMember): ZipMember {
  if (member.size <= LONGEST_TEXT) return member
  throw badFile(source, ` has a ${member.name} of ${member.size} bytes, far more than it needs: ${CURE}.`)
}

function lengthOf({ rows, cols }: Table): number {
  return rows * cols
}

function all(table: Table): Promise<StoredData> {
  return table.read(0, table.rows)
}

/** The text of a .npy of one string: what stands behind its header, in one or four bytes a letter. */
async function textOf(source: ByteSource, member: ZipMember): Promise<string> {
  const bytes = await openMember(source, shortMember(source, member)).read(0, member.size)
  const header = bytes.length < 10 ? 0 : 10 + bytes[8] + 256 * bytes[9]
  return new TextDecoder().decode(bytes.subarray(header).filter((byte) => byte !== 0)).slice(0, 40)
}

/** As SciPy writes it, compressed. */
export function npzBytes({ rows, cols, offsets, columns, values }: SparseMatrix): Uint8Array {
  const whole = (data: Uint32Array): Uint8Array => join(npyHeader([data.length], 'i32'), bytesOf(data))
  const files = {
    'indices.npy': whole(columns),
    'indptr.npy': whole(offsets),
    'format.npy': join(npyBytes('|S3', '()'), new TextEncoder().encode('csr')),
    'shape.npy': whole(Uint32Array.of(rows, cols)),
    'data.npy': join(npyHeader([values.length], 'f32'), bytesOf(values)),
  }
  // The earliest date of the zip format, so that the same matrix gives the same bytes.
  return zipSync(files, { mtime: new Date(1980, 0, 1) })
}

function join(head: Uint8Array, rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

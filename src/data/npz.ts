/** SciPy's .npz of a sparse matrix: a zip archive with indptr, indices, data, shape and format, each a .npy. */
import { zipSync } from 'fflate'
import type { ByteSource } from '../core/bytes.ts'
import { type SparseMatrix, sparseMatrix } from '../core/sparse.ts'
import { npyBytes, npyHeader, openNpy } from './npy.ts'
import { badFile, bytesOf, type StoredData, type Table } from './table.ts'
import { openMember, readDirectory, type ZipMember } from './zip.ts'

const CURE = 'save it with scipy.sparse.save_npz(file, matrix.tocsr())'
const MEMBERS = ['format', 'shape', 'indptr', 'indices', 'data'] as const
type Member = (typeof MEMBERS)[number]

/** The name of the format and two numbers, with their headers, are far shorter. */
const LONGEST_TEXT = 1 << 16
/**
 * Beyond this size, archives that grow more than 200-fold are refused: deflate makes gigabytes out of a few megabytes,
 * and rows of real data do not shrink like that.
 */
const SAFE_BYTES = 1 << 26
const LARGEST_GROWTH = 200

export async function readNpz(source: ByteSource): Promise<SparseMatrix> {
  const members = await findMembers(source)
  const format = await textOf(source, members.format)
  if (format !== 'csr') {
    throw badFile(source, ` holds a sparse matrix in format ${JSON.stringify(format)}, not csr: ${CURE}.`)
  }
  const [rows, cols] = await shapeOf(source, members.shape)
  // The lengths are known from the headers, before anything is inflated.
  const offsets = await openNpy(openMember(source, members.indptr))
  const columns = await openNpy(openMember(source, members.indices))
  const values = await openNpy(openMember(source, members.data))
  if (lengthOf(offsets) !== rows + 1) {
    throw badFile(source, ` has ${lengthOf(offsets)} offsets for ${rows} rows: ${rows + 1} are needed.`)
  }
  if (lengthOf(columns) !== lengthOf(values)) {
    throw badFile(
      source,
      ` has ${lengthOf(columns)} columns for ${lengthOf(values)} values: one column for each value is needed.`,
    )
  }
  const parts = { offsets: await all(offsets), columns: await all(columns), values: await all(values) }
  return sparseMatrix(parts, rows, cols, JSON.stringify(source.name))
}

async function findMembers(source: ByteSource): Promise<Record<Member, ZipMember>> {
  const found = await readDirectory(source)
  const named = (member: Member): ZipMember[] => found.filter(({ name }) => name === `${member}.npy`)
  const missing = MEMBERS.filter((member) => named(member).length === 0)
  if (missing.length > 0) {
    const names = found.map(({ name }) => name).join(', ')
    throw badFile(
      source,
      ` contains ${names.slice(0, 200) || 'nothing'} but not ${missing.join(', ')}: it is not a sparse matrix of SciPy. For that ${CURE}; a dense array goes into a .npy by np.save.`,
    )
  }
  const twice = MEMBERS.find((member) => named(member).length > 1)
  if (twice) throw badFile(source, ` contains ${twice}.npy more than once: ${CURE}.`)
  const members = MEMBERS.map((member) => [member, named(member)[0]] as const)
  const total = members.reduce((sum, [, { size }]) => sum + size, 0)
  if (total > SAFE_BYTES && total > LARGEST_GROWTH * source.size) {
    throw badFile(
      source,
      ` would grow from ${source.size} to ${total} bytes when unpacked, which looks like a damaged or malicious file: if it is right, save it with scipy.sparse.save_npz(file, matrix, compressed=False).`,
    )
  }
  return Object.fromEntries(members) as Record<Member, ZipMember>
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
  // The first day zip knows: the same matrix gives the same bytes.
  return zipSync(files, { mtime: new Date(1980, 0, 1) })
}

function join(head: Uint8Array, rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

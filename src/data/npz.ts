/** SciPy's .npz of a sparse matrix: a zip archive with indptr, indices, data, shape and format, each a .npy. */
import { unzipSync, zipSync } from 'fflate'
import type { ByteSource } from '../core/bytes.ts'
import { type SparseMatrix, sparseMatrix } from '../core/sparse.ts'
import { npyBytes, npyHeader, openNpy } from './npy.ts'
import { badFile, bytesOf, type StoredData } from './table.ts'

const CURE = 'save it with scipy.sparse.save_npz(file, matrix.tocsr())'
const MEMBERS = ['format', 'shape', 'indptr', 'indices', 'data'] as const
type Member = (typeof MEMBERS)[number]

export async function readNpz(source: ByteSource): Promise<SparseMatrix> {
  const files = unpack(source, await source.read(0, source.size))
  const format = textOf(files.format)
  if (format !== 'csr') {
    throw badFile(source, ` holds a sparse matrix in format ${JSON.stringify(format)}, not csr: ${CURE}.`)
  }
  const numbers = (member: Member): Promise<StoredData> => numbersOf(source, member, files[member])
  const shape = await numbers('shape')
  const [rows, cols] = shape
  if (shape.length !== 2 || rows < 0 || cols < 1) {
    throw badFile(source, ` has shape (${shape.join(', ')}): two dimensions and at least one column are needed.`)
  }
  const parts = { offsets: await numbers('indptr'), columns: await numbers('indices'), values: await numbers('data') }
  return sparseMatrix(parts, rows, cols, JSON.stringify(source.name))
}

function unpack(source: ByteSource, bytes: Uint8Array): Record<Member, Uint8Array> {
  let files: Record<string, Uint8Array>
  const found: string[] = []
  try {
    files = unzipSync(bytes, {
      filter: ({ name }) => {
        found.push(name)
        return MEMBERS.some((member) => name === `${member}.npy`)
      },
    })
  } catch (error) {
    const message = (error as Error).message
    throw badFile(source, ` cannot be unpacked (${message}): it was cut, damaged, or is no .npz; ${CURE}.`)
  }
  const missing = MEMBERS.filter((member) => files[`${member}.npy`] === undefined)
  if (missing.length > 0) {
    throw badFile(
      source,
      ` holds ${found.join(', ') || 'nothing'} and no ${missing.join(', ')}: it is no sparse matrix of SciPy. For that ${CURE}; a dense array goes into a .npy by np.save.`,
    )
  }
  return Object.fromEntries(MEMBERS.map((member) => [member, files[`${member}.npy`]])) as Record<Member, Uint8Array>
}

async function numbersOf({ name }: ByteSource, member: Member, bytes: Uint8Array): Promise<StoredData> {
  const table = await openNpy({
    name: `${name}, ${member}.npy`,
    size: bytes.length,
    read: async (start, end) => bytes.subarray(start, end),
    close: async () => {},
  })
  return table.read(0, table.rows)
}

/** The text of a .npy of one string: what stands behind its header, in one or four bytes a letter. */
function textOf(bytes: Uint8Array): string {
  const header = bytes.length < 10 ? 0 : 10 + bytes[8] + 256 * bytes[9]
  return new TextDecoder().decode(bytes.subarray(header).filter((byte) => byte !== 0))
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

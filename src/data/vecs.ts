/**
 * fvecs, bvecs and ivecs: every row is its dimension (int32, little-endian) and then that many floats,
 * bytes or int32. All rows of a file must have the dimension of the first.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { Encoder, StoredData, StoredType, Table } from './table.ts'
import { allocate, badFile, bytesOf, bytesPerValue, checkRows, numbersIn, PIECE_BYTES } from './table.ts'

export type VecsKind = 'fvecs' | 'bvecs' | 'ivecs'

const HEADER = 4
const STORED = { fvecs: 'f32', bvecs: 'u8', ivecs: 'i32' } as const satisfies Record<VecsKind, StoredType>

export function vecsType(kind: VecsKind): StoredType {
  return STORED[kind]
}

export async function openVecs(source: ByteSource, kind: VecsKind): Promise<Table> {
  const cols = await firstDimension(source, kind)
  const type = STORED[kind]
  const rowBytes = HEADER + cols * bytesPerValue(type)
  const rows = Math.floor(source.size / rowBytes)
  if (rows * rowBytes !== source.size) throw await oddSize(source, kind, cols, rowBytes)
  return {
    rows,
    cols,
    type,
    name: source.name,
    async read(start, end) {
      checkRows({ rows, name: source.name }, start, end)
      const out = allocate(type, (end - start) * cols, source.name)
      for await (const piece of pieces(source, rowBytes, start, end)) {
        checkHeaders(source, piece, cols, rowBytes)
        strip(piece.bytes, out, (piece.firstRow - start) * cols, cols)
      }
      return out
    },
    close: () => source.close(),
  }
}

interface Piece {
  readonly firstRow: number
  readonly bytes: Uint8Array
}

async function* pieces(source: ByteSource, rowBytes: number, start: number, end: number): AsyncGenerator<Piece> {
  const step = Math.max(1, Math.floor(PIECE_BYTES / rowBytes))
  for (let row = start; row < end; row += step) {
    const last = Math.min(row + step, end)
    yield { firstRow: row, bytes: await source.read(row * rowBytes, last * rowBytes) }
  }
}

async function firstDimension(source: ByteSource, kind: VecsKind): Promise<number> {
  if (source.size < HEADER) {
    throw badFile(
      source,
      ` ends at byte ${source.size}: expected the dimension of row 0 in bytes 0 to 3, as every ${kind} file starts.`,
    )
  }
  const cols = dimensionAt(await source.read(0, HEADER), 0)
  if (cols < 1) {
    throw badFile(
      source,
      `, byte 0: expected the dimension of row 0, a whole number above 0, found ${cols}; is it a ${kind} file?`,
    )
  }
  return cols
}

function dimensionAt(bytes: Uint8Array, at: number): number {
  return bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)
}

function checkHeaders(source: ByteSource, piece: Piece, cols: number, rowBytes: number): void {
  const { bytes, firstRow } = piece
  for (let at = 0, row = firstRow; at < bytes.length; at += rowBytes, row++) {
    const found = dimensionAt(bytes, at)
    if (found !== cols) {
      throw badFile(
        source,
        `, byte ${row * rowBytes}: expected dimension ${cols} for row ${row}, as in row 0, found ${found}.`,
      )
    }
  }
}

/** Copies the components without the headers. */
function strip(bytes: Uint8Array, out: Float32Array | Uint8Array | Int32Array, at: number, cols: number): void {
  const values = out instanceof Uint8Array ? bytes : numbersIn(bytes, out instanceof Float32Array ? 'f32' : 'i32')
  // One header is four byte values, or one value of four bytes.
  const header = HEADER / out.BYTES_PER_ELEMENT
  for (let from = header, to = at; from < values.length; from += header + cols, to += cols) {
    out.set(values.subarray(from, from + cols), to)
  }
}

/**
 * The size is no multiple of the row: either a row has another dimension, or the file was cut. Only reading all
 * headers tells which; it costs nothing to a good file.
 */
async function oddSize(source: ByteSource, kind: VecsKind, cols: number, rowBytes: number): Promise<Error> {
  const rows = Math.floor(source.size / rowBytes)
  for await (const piece of pieces(source, rowBytes, 0, rows)) checkHeaders(source, piece, cols, rowBytes)
  const start = rows * rowBytes
  if (source.size - start >= HEADER) {
    const header = await source.read(start, start + HEADER)
    checkHeaders(source, { firstRow: rows, bytes: header }, cols, rowBytes)
  }
  const doubt = rows === 0 ? ` Either it was cut, or it is not a ${kind} file.` : ' It was cut: copy it again.'
  return badFile(
    source,
    ` ends inside row ${rows}: the row starts at byte ${start} and takes ${rowBytes} bytes (dimension ${cols}), the file ends at byte ${source.size}.${doubt}`,
  )
}

export function vecsEncoder(kind: VecsKind, cols: number): Encoder {
  const size = bytesPerValue(STORED[kind])
  const rowBytes = HEADER + cols * size
  return {
    head: new Uint8Array(0),
    encode(data: StoredData) {
      const rows = data.length / cols
      const bytes = new Uint8Array(rows * rowBytes)
      const view = new DataView(bytes.buffer)
      const from = bytesOf(data)
      for (let row = 0, at = 0; row < rows; row++, at += rowBytes) {
        view.setInt32(at, cols, true)
        bytes.set(from.subarray(row * cols * size, (row + 1) * cols * size), at + HEADER)
      }
      return bytes
    },
  }
}

/** Rows of numbers as a file stores them, before anything is converted. */
import type { ByteSource } from '../core/bytes.ts'
import { CentroidalError } from '../core/errors.ts'

export type StoredType = 'f32' | 'f64' | 'u8' | 'i32' | 'u32'
export type StoredData = Float32Array | Float64Array | Uint8Array | Int32Array | Uint32Array

export interface Table {
  readonly rows: number
  readonly cols: number
  readonly type: StoredType
  readonly name: string
  /** Rows start (inclusive) to end (exclusive), in an array of the stored type. */
  read(start: number, end: number): Promise<StoredData>
  /** The rows from `start` on into an array of the stored type, as many as it holds; where the file has them as they are. */
  readInto?(start: number, into: StoredData): Promise<void>
  /** Names of the rows, where there are any. */
  names?(): Promise<readonly string[]>
  /** How the file was understood, in sentences. */
  readonly notes?: readonly string[]
  close(): Promise<void>
}

/** Turns rows into the bytes of a file: first `head`, then whatever encode() gives, piece after piece. */
export interface Encoder {
  readonly head: Uint8Array
  encode(data: StoredData): Uint8Array
}

/** Size of parts in bytes: large enough to make the cost of calls negligible, small enough for memory. */
export const PIECE_BYTES = 1 << 23

export function rowsPerPiece(cols: number, bytesPerValue: number): number {
  return Math.max(1, Math.floor(PIECE_BYTES / (cols * bytesPerValue)))
}

export function checkRows(table: { rows: number; name: string }, start: number, end: number): void {
  if (Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start <= end && end <= table.rows) return
  throw new CentroidalError(
    'bad-option',
    `Rows ${start} to ${end} of ${JSON.stringify(table.name)} cannot be read: it has ${table.rows} rows, counted from 0.`,
  )
}

const ARRAYS = { f32: Float32Array, f64: Float64Array, u8: Uint8Array, i32: Int32Array, u32: Uint32Array } as const

type ArrayOf<T extends StoredType> = InstanceType<(typeof ARRAYS)[T]>

export function bytesPerValue(type: StoredType): number {
  return ARRAYS[type].BYTES_PER_ELEMENT
}

/** An array for what is about to be read from `name`; too large is an error about the file, not about an ArrayBuffer. */
export function allocate<T extends StoredType>(type: T, length: number, name: string): ArrayOf<T> {
  try {
    return new ARRAYS[type](length) as ArrayOf<T>
  } catch (error) {
    const gigabytes = ((length * bytesPerValue(type)) / 2 ** 30).toFixed(1)
    throw new CentroidalError(
      'out-of-memory',
      `${JSON.stringify(name)} needs ${gigabytes} GiB of contiguous memory, more than is available: read it in parts with openVectors.`,
      { cause: error },
    )
  }
}

/**
 * Bytes as numbers, without a copy where alignment allows. The formats are little-endian and so is every machine
 * that runs WebAssembly or WebGPU.
 */
export function numbersIn<T extends StoredType>(bytes: Uint8Array, type: T): ArrayOf<T> {
  const size = bytesPerValue(type)
  const aligned = bytes.byteOffset % size === 0 ? bytes : bytes.slice()
  return new ARRAYS[type](aligned.buffer as ArrayBuffer, aligned.byteOffset, aligned.length / size) as ArrayOf<T>
}

export function bytesOf(data: StoredData): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

export function badFile(source: Pick<ByteSource, 'name'>, rest: string): CentroidalError {
  return new CentroidalError('bad-file', `${JSON.stringify(source.name)}${rest}`)
}

/**
 * Numbers stored one after the other, as .npy and .safetensors hold them: any element type, either byte order, row by row
 * or column by column. Each type is read as the smallest stored type that keeps all its values.
 */
import type { ByteSource } from '../core/bytes.ts'
import type { StoredData, StoredType, Table } from './table.ts'
import { allocate, badFile, bytesOf, checkRows, numbersIn, PIECE_BYTES } from './table.ts'

export type RawType =
  | 'bool'
  | 'u8'
  | 'i8'
  | 'u16'
  | 'i16'
  | 'u32'
  | 'i32'
  | 'u64'
  | 'i64'
  | 'f16'
  | 'bf16'
  | 'f32'
  | 'f64'

interface RawKind {
  readonly bytes: number
  /** The type of the numbers that are given out. */
  readonly stored: StoredType
}

const KINDS: Readonly<Record<RawType, RawKind>> = {
  bool: { bytes: 1, stored: 'u8' },
  u8: { bytes: 1, stored: 'u8' },
  i8: { bytes: 1, stored: 'f32' },
  u16: { bytes: 2, stored: 'f32' },
  i16: { bytes: 2, stored: 'f32' },
  u32: { bytes: 4, stored: 'u32' },
  i32: { bytes: 4, stored: 'i32' },
  // Exact up to 2^53; larger values are refused.
  u64: { bytes: 8, stored: 'f64' },
  i64: { bytes: 8, stored: 'f64' },
  f16: { bytes: 2, stored: 'f32' },
  bf16: { bytes: 2, stored: 'f32' },
  f32: { bytes: 4, stored: 'f32' },
  f64: { bytes: 8, stored: 'f64' },
}

export interface RawArray {
  readonly type: RawType
  readonly bigEndian: boolean
  /** Column by column. */
  readonly fortran: boolean
  readonly rows: number
  readonly cols: number
  readonly dataStart: number
}

export function rawBytes({ type, rows, cols }: Pick<RawArray, 'type' | 'rows' | 'cols'>): number {
  return rows * cols * KINDS[type].bytes
}

/** The caller has checked that the source holds all of the array. */
export function rawTable(source: ByteSource, array: RawArray): Table {
  const { type, rows, cols, bigEndian } = array
  const { name } = source
  const { stored } = KINDS[type]
  // Nothing to convert, in the order in which it is given out.
  const asStored = type === stored && !bigEndian
  const byColumn = array.fortran && rows > 1 && cols > 1
  const readRows = byColumn ? columnReader(source, array) : rowReader(source, array)
  return {
    rows,
    cols,
    type: stored,
    name,
    async read(start, end) {
      checkRows({ rows, name }, start, end)
      if (asStored && !byColumn) return numbersIn(await readRows(start, end), stored)
      const out = allocate(stored, (end - start) * cols, name)
      const step = stepRows(array)
      for (let row = start; row < end; row += step) {
        const bytes = await readRows(row, Math.min(row + step, end))
        decode(source, bytes, array, out.subarray((row - start) * cols) as StoredData, row)
      }
      return out
    },
    ...(asStored && !byColumn && source.readInto
      ? {
          async readInto(start: number, into: StoredData) {
            checkRows({ rows, name }, start, start + into.length / cols)
            await source.readInto?.(array.dataStart + start * cols * KINDS[type].bytes, bytesOf(into))
          },
        }
      : {}),
    close: () => source.close(),
  }
}

function stepRows({ type, cols }: RawArray): number {
  return Math.max(1, Math.floor(PIECE_BYTES / (cols * KINDS[type].bytes)))
}

type ReadRows = (start: number, end: number) => Promise<Uint8Array>

function rowReader(source: ByteSource, { type, cols, dataStart }: RawArray): ReadRows {
  const rowBytes = cols * KINDS[type].bytes
  return (start, end) => source.read(dataStart + start * rowBytes, dataStart + end * rowBytes)
}

/**
 * Rows of an array that is stored column by column. A row takes one read per column, so a block of rows is read at once
 * and kept: readers ask for neighbouring rows next.
 */
function columnReader(source: ByteSource, array: RawArray): ReadRows {
  const { type, rows, cols, dataStart } = array
  const { bytes: size } = KINDS[type]
  const blockRows = stepRows(array)
  let block: Uint8Array | undefined
  let blockStart = 0
  let blockEnd = 0
  return async (start, end) => {
    if (block === undefined || start < blockStart || end > blockEnd) {
      const first = start
      const last = Math.max(end, Math.min(start + blockRows, rows))
      const filled = allocate('u8', (last - first) * cols * size, source.name)
      for (let column = 0; column < cols; column++) {
        const at = dataStart + (column * rows + first) * size
        const values = await source.read(at, at + (last - first) * size)
        for (let row = 0; row < last - first; row++) {
          const to = (row * cols + column) * size
          for (let byte = 0; byte < size; byte++) filled[to + byte] = values[row * size + byte]
        }
      }
      ;[block, blockStart, blockEnd] = [filled, first, last]
    }
    return block.slice((start - blockStart) * cols * size, (end - blockStart) * cols * size)
  }
}

function decode(source: ByteSource, bytes: Uint8Array, array: RawArray, out: StoredData, firstRow: number): void {
  const { type, bigEndian } = array
  const size = KINDS[type].bytes
  const ordered = bigEndian && size > 1 ? swapped(bytes, size) : bytes
  const length = bytes.length / size
  // Typed arrays must begin at a multiple of their element.
  const aligned = ordered.byteOffset % size === 0 ? ordered : ordered.slice()
  const { buffer, byteOffset } = aligned as Uint8Array<ArrayBuffer>
  switch (type) {
    case 'bool':
      for (let i = 0; i < length; i++) out[i] = aligned[i] === 0 ? 0 : 1
      return
    case 'i8':
      out.set(new Int8Array(buffer, byteOffset, length))
      return
    case 'u16':
      out.set(new Uint16Array(buffer, byteOffset, length))
      return
    case 'i16':
      out.set(new Int16Array(buffer, byteOffset, length))
      return
    case 'f16':
    case 'bf16':
      expandHalves(new Uint16Array(buffer, byteOffset, length), type, out as Float32Array)
      return
    case 'i64':
    case 'u64': {
      const wide = type === 'i64' ? BigInt64Array : BigUint64Array
      exactIntegers(source, new wide(buffer, byteOffset, length), out, firstRow, array.cols)
      return
    }
    default:
      out.set(numbersIn(aligned, type) as Float32Array)
  }
}

function swapped(bytes: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(bytes.length)
  for (let at = 0; at < bytes.length; at += size) {
    for (let i = 0; i < size; i++) out[at + i] = bytes[at + size - 1 - i]
  }
  return out
}

/** 16-bit floats as 32-bit floats, by their bits: exact, subnormal numbers too. */
function expandHalves(halves: Uint16Array, type: 'f16' | 'bf16', out: Float32Array): void {
  const bits = new Uint32Array(out.buffer, out.byteOffset, out.length)
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i]
    if (type === 'bf16') {
      bits[i] = half << 16
      continue
    }
    const sign = (half & 0x8000) << 16
    const exponent = (half >> 10) & 0x1f
    const fraction = half & 0x3ff
    if (exponent === 0) out[i] = (sign === 0 ? 1 : -1) * fraction * 2 ** -24
    else bits[i] = sign | ((exponent === 31 ? 255 : exponent + 112) << 23) | (fraction << 13)
  }
}

function exactIntegers(
  source: ByteSource,
  values: BigInt64Array | BigUint64Array,
  out: StoredData,
  firstRow: number,
  cols: number,
): void {
  for (let i = 0; i < values.length; i++) {
    const value = Number(values[i])
    if (!Number.isSafeInteger(value)) {
      throw badFile(
        source,
        `, row ${firstRow + Math.floor(i / cols)}, column ${i % cols}: ${values[i]} is beyond 2^53, up to which whole numbers are exact here; subtract an offset before saving.`,
      )
    }
    out[i] = value
  }
}

/**
 * Vectors on a device: rows padded with zeros to a multiple of 4 columns, floats or bytes; or sparse
 * rows. Each buffer fits one binding; larger sets are several of these.
 */
import { CentroidalError } from '../core/errors.ts'
import { type ElementType, elementBytes, type VectorData } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { type BufferPart, type Device, type DeviceBuffer, partOf, slice } from '../device/contract.ts'

export interface DeviceRows {
  readonly buffer: DeviceBuffer
  readonly rows: number
  readonly cols: number
  /** Columns with padding. */
  readonly stride: number
  readonly type: RowType
  /** Only of sparse rows, whose `buffer` holds the values alone. */
  readonly sparse?: SparsePlaces
}

/** `csr`: sparse rows. */
export type RowType = ElementType | 'csr'

/** Where the values of sparse rows belong. */
export interface SparsePlaces {
  /** u32: the first entry of each row and the end of the last, [rows + 1]; then the column of each entry, rising in a row. */
  readonly places: DeviceBuffer
  /** Where the columns begin in `places`. */
  readonly columnsAt: number
  /** Entries of all rows. */
  readonly entries: number
}

/** Rows of which only `count` from row `from` on are used. Data that belongs to them is indexed from the first row of all. */
export interface RowRange {
  readonly from: number
  readonly count: number
}

/** The range, or all rows where none is given. Throws unless it lies in the rows. */
export function rangeWithin(rows: number, range: RowRange = { from: 0, count: rows }): RowRange {
  const { from, count } = range
  const whole = Number.isInteger(from) && Number.isInteger(count)
  if (whole && from >= 0 && count >= 0 && from + count <= rows) return range
  throw new RangeError(`${count} rows from row ${from} on do not lie in ${rows} rows`)
}

export function paddedCols(cols: number): number {
  return Math.ceil(cols / 4) * 4
}

export function rowBytesOf(cols: number, type: ElementType): number {
  return paddedCols(cols) * elementBytes(type)
}

/** The element type, for kernels that know only dense rows. */
export function denseType({ type }: DeviceRows): ElementType {
  if (type !== 'csr') return type
  throw new CentroidalError(
    'bad-option',
    'This step requires dense rows: use a method that supports sparse rows, such as lloyd, or give dense vectors.',
  )
}

export function allocateRows(
  device: { allocate(bytes: number, label: string): DeviceBuffer },
  rows: number,
  cols: number,
  type: ElementType,
  label: string,
): DeviceRows {
  const stride = paddedCols(cols)
  return { buffer: device.allocate(rows * stride * elementBytes(type), label), rows, cols, stride, type }
}

/** The same rows, fewer of them, from the start. */
export function firstRows(of: DeviceRows, rows: number): DeviceRows {
  return { ...of, rows }
}

/** Rows `start` to `end` of a matrix of floats. */
export function rowsPart<R extends { readonly buffer: DeviceBuffer | BufferPart; readonly stride: number }>(
  { buffer, stride }: R,
  start: number,
  end: number,
) {
  const whole = partOf(buffer)
  return {
    buffer: slice(whole.buffer, whole.offset + start * stride * 4, (end - start) * stride * 4),
    rows: end - start,
    stride,
  }
}

/** Writes whole rows from `first` on, padding them. */
export function writeRows(device: Device, to: DeviceRows, data: VectorData, first = 0): void {
  const rows = data.length / to.cols
  const offset = first * to.stride * elementBytes(denseType(to))
  device.write(to.buffer, padRows(data, rows, to.cols), offset)
}

export function padRows(data: VectorData, rows: number, cols: number): VectorData {
  const stride = paddedCols(cols)
  if (stride === cols) return data
  const padded = data instanceof Uint8Array ? new Uint8Array(rows * stride) : new Float32Array(rows * stride)
  for (let i = 0; i < rows; i++) padded.set(data.subarray(i * cols, (i + 1) * cols), i * stride)
  return padded
}

/** Rows of floats back on the host, without padding. */
export async function readRows(device: Device, from: DeviceRows): Promise<Float32Array> {
  return (await readRowRange(device, { ...from, type: 'f32' }, 0, from.rows)) as Float32Array
}

/** Rows first to end, of floats or bytes. */
export async function readRowRange(
  device: Device,
  { buffer, type, stride, cols }: DeviceRows,
  first: number,
  end: number,
): Promise<VectorData> {
  const rowBytes = stride * (type === 'u8' ? 1 : 4)
  const bytes = await device.read({ buffer, offset: first * rowBytes, bytes: (end - first) * rowBytes })
  const padded = type === 'u8' ? new Uint8Array(bytes) : new Float32Array(bytes)
  if (stride === cols) return padded
  const data = type === 'u8' ? new Uint8Array((end - first) * cols) : new Float32Array((end - first) * cols)
  for (let i = 0; i < end - first; i++) data.set(padded.subarray(i * stride, i * stride + cols), i * cols)
  return data
}

/** Room for up to `rows` sparse rows with up to `entries` values in all. */
export function allocateSparseRows(
  device: { allocate(bytes: number, label: string): DeviceBuffer },
  rows: number,
  cols: number,
  entries: number,
  label: string,
): DeviceRows {
  return {
    // A binding of no bytes is none.
    buffer: device.allocate(Math.max(1, entries) * 4, label),
    rows,
    cols,
    stride: paddedCols(cols),
    type: 'csr',
    sparse: { places: device.allocate((rows + 1 + entries) * 4, `places of ${label}`), columnsAt: rows + 1, entries },
  }
}

/** Writes rows first to end of `from`, with other values if given; the result says where they lie in the buffers of `to`. */
export function writeSparseRows(
  device: Device,
  to: DeviceRows,
  from: SparseMatrix,
  first = 0,
  end = from.rows,
  values = from.values.subarray(from.offsets[first], from.offsets[end]),
): DeviceRows {
  if (to.sparse === undefined) throw new Error('These rows are not sparse')
  const begin = from.offsets[first]
  const offsets = from.offsets.slice(first, end + 1)
  for (let i = 0; i < offsets.length; i++) offsets[i] -= begin
  const { places } = to.sparse
  device.write(places, offsets)
  device.write(places, from.columns.subarray(begin, from.offsets[end]), offsets.length * 4)
  device.write(to.buffer, values)
  return { ...to, rows: end - first, sparse: { places, columnsAt: offsets.length, entries: values.length } }
}

/** The offsets and columns of sparse rows. */
export function sparsePlaces({ sparse }: DeviceRows): SparsePlaces {
  if (sparse === undefined) throw new Error('These rows are not sparse')
  return sparse
}

/** Entries of a sparse row, on average. */
export function meanEntries(rows: DeviceRows): number {
  return Math.ceil(sparsePlaces(rows).entries / Math.max(1, rows.rows)) + 1
}

/** Arithmetic operations of one distance to a centre. */
export function distanceOperations(rows: DeviceRows): number {
  return rows.type === 'csr' ? 5 * meanEntries(rows) : 3 * rows.stride
}

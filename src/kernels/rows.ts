/**
 * Vectors on a device: rows padded with zeros to a multiple of 4 columns, floats or bytes. One
 * buffer that fits one binding; larger sets are several of these.
 */
import { type ElementType, elementBytes, type VectorData } from '../core/matrix.ts'
import type { Device, DeviceBuffer } from '../device/contract.ts'

export interface DeviceRows {
  readonly buffer: DeviceBuffer
  readonly rows: number
  readonly cols: number
  /** Columns with padding. */
  readonly stride: number
  readonly type: ElementType
}

export function paddedCols(cols: number): number {
  return Math.ceil(cols / 4) * 4
}

export function rowBytesOf(cols: number, type: ElementType): number {
  return paddedCols(cols) * elementBytes(type)
}

/** The code the WebAssembly kernels use for an element type. */
export function kindOf(rows: DeviceRows): number {
  return rows.type === 'u8' ? 1 : 0
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

/** Writes whole rows from `first` on, padding them. */
export function writeRows(device: Device, to: DeviceRows, data: VectorData, first = 0): void {
  const rows = data.length / to.cols
  const offset = first * to.stride * elementBytes(to.type)
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
  const padded = new Float32Array(
    await device.read({ buffer: from.buffer, offset: 0, bytes: from.rows * from.stride * 4 }),
  )
  if (from.stride === from.cols) return padded
  const data = new Float32Array(from.rows * from.cols)
  for (let i = 0; i < from.rows; i++) {
    data.set(padded.subarray(i * from.stride, i * from.stride + from.cols), i * from.cols)
  }
  return data
}

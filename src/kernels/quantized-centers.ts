/** Centres as 16-bit integers on the CPU device: where things stand in the buffer that holds them (wasm/quantized-rows.ts). */
import { type DeviceBuffer, slice } from '../device/contract.ts'
import { elements, reads, type writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'

/** Scaled vectors are at most this long, so that no product of two leaves 32 bits: see wasm/quantized.ts. */
export const QUANTIZED_LENGTH = 30000

export const quantizedConstants = new SharedConstants({ QUANTIZED_LENGTH: { type: 'f32', value: QUANTIZED_LENGTH } })

const HEADER_BYTES = 64

export interface QuantizedLayout {
  readonly rows: number
  readonly starts: number
  /** What rounding took away of each centre, where that is measured. */
  readonly errors: number
  readonly bytes: number
}

/** Header, rows padded to 8 columns, starting values, errors. */
export function quantizedLayout({ rows, stride }: { readonly rows: number; readonly stride: number }): QuantizedLayout {
  const starts = HEADER_BYTES + rows * Math.ceil(stride / 8) * 16
  return { rows: HEADER_BYTES, starts, errors: starts + rows * 4, bytes: starts + rows * 8 }
}

/** Arguments of WebAssembly functions that read or write centres as integers. */
export function quantizedFields(access: typeof reads | typeof writes) {
  return {
    /** Scales of centres and points, worst error of a centre, longest centre. */
    header: reads('f32'),
    quantized: access('i16'),
    /** -|c|^2 / 2 in the scale of the centres. */
    starts: access('f32'),
  }
}

/** Values of `quantizedFields`: parts of the buffer that `quantizedLayout` lays out. */
export function quantizedValues(buffer: DeviceBuffer, centers: { readonly rows: number; readonly stride: number }) {
  const { rows, starts } = quantizedLayout(centers)
  return {
    header: elements(slice(buffer, 0, HEADER_BYTES)),
    quantized: elements(slice(buffer, rows, starts - rows), (starts - rows) / 2),
    starts: elements(slice(buffer, starts, centers.rows * 4)),
  }
}

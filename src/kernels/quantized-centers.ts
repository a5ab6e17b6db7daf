/** Centres as 16-bit integers on the CPU device: where things stand in the buffer that holds them (wasm/quantized-rows.ts). */

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

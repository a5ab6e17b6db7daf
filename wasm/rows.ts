/**
 * Vectors as kernels are given them: dense rows of floats or bytes, or sparse rows. The fields are those that
 * src/kernels/declared-function.ts packs.
 */
import { SPARSE } from './build/assembly/constants'
import { rowBytes, squaredDistance } from './simd'

export { BYTES, FLOATS, SPARSE } from './build/assembly/constants'

/** Of |c|^2: what is left elsewhere and is smaller than this is rounding, and counts as nothing. */
const ROUNDING: f64 = 1e-12

@unmanaged
export class Rows {
  /** Dense: rows of `stride` columns. Sparse: the values of all rows. */
  data: usize
  /** FLOATS, BYTES or SPARSE. */
  kind: u32
  stride: u32
  /** u32, sparse only: the first entry of each row, and the end of the last. */
  offsets: usize
  /** u32, sparse only: the column of each entry. */
  columns: usize

  /** Bytes of a dense row. */
  @inline get bytes(): usize {
    return rowBytes(this.stride, this.kind)
  }

  /** The address of a dense row. */
  @inline at(row: u32): usize {
    return this.data + <usize>row * this.bytes
  }

  /** The first entry of a sparse row. */
  @inline first(row: u32): u32 {
    return load<u32>(this.offsets + ((<usize>row) << 2))
  }

  /** The end of the entries of a sparse row. */
  @inline end(row: u32): u32 {
    return load<u32>(this.offsets + ((<usize>row) << 2), 4)
  }

  /**
   * Squared distance of a row to a dense centre. `square`: |c|^2, which only sparse rows need: what the centre has outside
   * the entries of the row is |c|^2 less its squares there.
   */
  distance(row: u32, center: usize, square: f64): f32 {
    if (this.kind !== SPARSE) return squaredDistance(this.at(row), this.kind, center, this.stride)
    return sparseDistance(this.data, this.columns, this.first(row), this.end(row), center, square)
  }
}

/** Describes dense rows in other memory; the description takes the bytes of a Rows at `at`. */
export function describeDense(at: usize, data: usize, kind: u32, stride: u32): Rows {
  const rows = changetype<Rows>(at)
  rows.data = data
  rows.kind = kind
  rows.stride = stride
  rows.offsets = 0
  rows.columns = 0
  return rows
}

/** |c|^2 of a centre, or 0 where there are no squares. */
export function squareOf(squares: usize, center: u32): f64 {
  return squares ? load<f64>(squares + ((<usize>center) << 3)) : 0
}

/** Squared distance of the entries from..to to a centre whose squared length is `square`. */
export function sparseDistance(values: usize, columns: usize, from: u32, to: u32, center: usize, square: f64): f32 {
  let apart: f64 = 0
  let inside: f64 = 0
  for (let entry = <usize>from; entry < <usize>to; entry++) {
    const value = <f64>load<f32>(values + (entry << 2))
    const other = <f64>load<f32>(center + ((<usize>load<u32>(columns + (entry << 2))) << 2))
    apart += (value - other) * (value - other)
    inside += other * other
  }
  const elsewhere = square - inside
  return <f32>(elsewhere > square * ROUNDING ? apart + elsewhere : apart)
}

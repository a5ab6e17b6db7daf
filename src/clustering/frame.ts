/**
 * The frame vectors are clustered in: shifted near zero and scaled near one where 32-bit arithmetic
 * would otherwise lose digits or overflow, or brought to length one for cosine. Ordinary data is
 * left exactly as it is. Looking at the data for this also finds NaN, Infinity and rows of zeros.
 */
import { CentroidalError } from '../core/errors.ts'
import type { ElementType, VectorData, VectorSource } from '../core/matrix.ts'

export interface Frame {
  /** Subtracted first; undefined: nothing. */
  readonly shift: Float64Array | undefined
  /** Multiplied afterwards; a power of two, so exact. */
  readonly scale: number
  /** Rows are brought to length one. */
  readonly unit: boolean
  /** What the device holds. */
  readonly type: ElementType
}

/** A mean further out than this many standard deviations costs digits worth saving. */
const FAR_DEVIATIONS = 2
/** Squares of larger (or smaller) values leave the comfortable range of 32-bit floats. */
const LARGE = 2 ** 30
const SMALL = 2 ** -30

/** Rows looked at in one go. */
const CHUNK_NUMBERS = 4_000_000

export async function chooseFrame(source: VectorSource, metric: 'euclidean' | 'cosine'): Promise<Frame> {
  if (source.rows === 0) throw new CentroidalError('bad-data', `${source.name} holds no vectors: give at least one.`)
  const unit = metric === 'cosine'
  if (source.type === 'u8' && !unit) return { shift: undefined, scale: 1, unit, type: 'u8' }
  const sums = new Float64Array(source.cols)
  const squares = new Float64Array(source.cols)
  let largest = 0
  for await (const { first, data } of chunks(source)) {
    largest = Math.max(largest, look(data, first, source, sums, squares, unit))
  }
  const scale = largest > LARGE || (largest < SMALL && largest > 0) ? 2 ** -Math.round(Math.log2(largest)) : 1
  const shift = unit ? undefined : farShift(sums, squares, source.rows)
  return { shift, scale: unit ? 1 : scale, unit, type: 'f32' }
}

/** Adds up columns and checks every number; returns the largest magnitude. */
function look(
  data: VectorData,
  first: number,
  source: VectorSource,
  sums: Float64Array,
  squares: Float64Array,
  unit: boolean,
): number {
  const { cols } = source
  let largest = 0
  for (let at = 0, row = 0; at < data.length; at += cols, row++) {
    let length = 0
    for (let j = 0; j < cols; j++) {
      const value = data[at + j]
      sums[j] += value
      squares[j] += value * value
      const size = Math.abs(value)
      if (size > largest) largest = size
      length += size
    }
    // NaN and Infinity survive the sum, so one test a row finds them.
    if (!Number.isFinite(length)) throw notFinite(data.subarray(at, at + cols), first + row, source)
    if (unit && length === 0) {
      throw new CentroidalError(
        'bad-data',
        `Row ${first + row} of ${source.name} is all zeros and has no direction: drop it or use metric euclidean.`,
      )
    }
  }
  return largest
}

function notFinite(row: VectorData, index: number, source: VectorSource): CentroidalError {
  const column = row.findIndex((value) => !Number.isFinite(value))
  return new CentroidalError(
    'bad-data',
    `Row ${index} of ${source.name} holds ${row[column]} in column ${column}: drop or mend it, all numbers must be finite.`,
  )
}

function farShift(sums: Float64Array, squares: Float64Array, rows: number): Float64Array | undefined {
  const mean = sums.map((sum) => sum / rows)
  let offset = 0
  let spread = 0
  for (let j = 0; j < mean.length; j++) {
    offset += mean[j] * mean[j]
    spread += Math.max(0, squares[j] / rows - mean[j] * mean[j])
  }
  return offset > FAR_DEVIATIONS ** 2 * spread ? mean : undefined
}

/** Rows as the device gets them. */
export function intoFrame(data: VectorData, cols: number, frame: Frame): VectorData {
  const { shift, scale, unit, type } = frame
  if (type === 'u8' || (shift === undefined && scale === 1 && !unit)) {
    return type === 'f32' && data instanceof Uint8Array ? Float32Array.from(data) : data
  }
  const out = new Float32Array(data.length)
  for (let at = 0; at < data.length; at += cols) {
    let factor = scale
    if (unit) {
      let squares = 0
      for (let j = 0; j < cols; j++) squares += data[at + j] * data[at + j]
      factor = squares > 0 ? 1 / Math.sqrt(squares) : 0
    }
    for (let j = 0; j < cols; j++) out[at + j] = (data[at + j] - (shift ? shift[j] : 0)) * factor
  }
  return out
}

/** Centres back in the input's units. */
export function outOfFrame(centers: Float32Array, cols: number, frame: Frame): Float32Array {
  const { shift, scale } = frame
  if (shift === undefined && scale === 1) return centers
  return centers.map((value, i) => value / scale + (shift ? shift[i % cols] : 0))
}

export function isIdentity(frame: Frame): boolean {
  return frame.shift === undefined && frame.scale === 1
}

export async function* chunks(source: VectorSource): AsyncGenerator<{ first: number; data: VectorData }> {
  const step = Math.max(1, Math.floor(CHUNK_NUMBERS / source.cols))
  for (let first = 0; first < source.rows; first += step) {
    yield { first, data: await source.read(first, Math.min(first + step, source.rows)) }
  }
}

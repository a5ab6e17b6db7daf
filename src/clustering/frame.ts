/**
 * The frame vectors are clustered in: shifted near zero and scaled near one where 32-bit arithmetic
 * would otherwise lose digits or overflow, or brought to length one for cosine. Ordinary data is
 * left exactly as it is. Looking at the data for this also finds NaN, Infinity and rows of zeros.
 */
import { CentroidalError } from '../core/errors.ts'
import type { ElementType, VectorData, VectorSource } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'

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

const WITHOUT_SIGN = 0x7fffffff
const INFINITY_BITS = 0x7f800000

/** Rows whose mean and spread are taken. */
const SAMPLED_ROWS = 4096

/** Numbers looked at in one go. */
const CHUNK_NUMBERS = 4_000_000

export async function chooseFrame(
  source: VectorSource,
  metric: 'euclidean' | 'cosine',
  control: Watch = {},
): Promise<Frame> {
  if (source.rows === 0) throw new CentroidalError('bad-data', `${source.name} holds no vectors: give at least one.`)
  const unit = metric === 'cosine'
  if (source.sparse) return chooseSparseFrame(source.sparse, unit, source.name)
  if (source.type === 'u8' && !unit) return { shift: undefined, scale: 1, unit, type: 'u8' }
  const moments = new Moments(source.cols)
  const every = Math.max(1, Math.floor(source.rows / SAMPLED_ROWS))
  let largest = 0
  for await (const { first, data } of chunks(source, control)) {
    largest = Math.max(largest, largestMagnitude(data, first, source))
    if (unit) requireDirections(data, first, source)
    const { cols } = source
    for (let row = (every - (first % every)) % every; row * cols < data.length; row += every)
      moments.add(data, row * cols)
  }
  return { shift: unit ? undefined : moments.farMean(), scale: unit ? 1 : scaleFor(largest), unit, type: 'f32' }
}

function scaleFor(largest: number): number {
  return largest > LARGE || (largest < SMALL && largest > 0) ? 2 ** -Math.round(Math.log2(largest)) : 1
}

/** Sparse rows lie around zero, and a shift would leave no zeros. That all numbers are finite is known by now. */
function chooseSparseFrame({ rows, offsets, values }: SparseMatrix, unit: boolean, name: string): Frame {
  let largest = 0
  for (const value of values) largest = Math.max(largest, Math.abs(value))
  for (let row = 0; unit && row < rows; row++) {
    let at = offsets[row]
    while (at < offsets[row + 1] && values[at] === 0) at++
    if (at === offsets[row + 1]) throw noDirection(row, name)
  }
  return { shift: undefined, scale: unit ? 1 : scaleFor(largest), unit, type: 'f32' }
}

/**
 * Every number is looked at once, by its bits: without the sign they order like magnitudes, with
 * Infinity and NaN on top. Four at a time, this is several times faster than comparing floats.
 */
function largestMagnitude(data: VectorData, first: number, source: VectorSource): number {
  if (data instanceof Uint8Array) return 255
  const bits = new Int32Array(data.buffer, data.byteOffset, data.length)
  const whole = bits.length - (bits.length % 4)
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  for (let i = 0; i < whole; i += 4) {
    a = Math.max(a, bits[i] & WITHOUT_SIGN)
    b = Math.max(b, bits[i + 1] & WITHOUT_SIGN)
    c = Math.max(c, bits[i + 2] & WITHOUT_SIGN)
    d = Math.max(d, bits[i + 3] & WITHOUT_SIGN)
  }
  for (let i = whole; i < bits.length; i++) a = Math.max(a, bits[i] & WITHOUT_SIGN)
  const top = Math.max(a, b, c, d)
  if (top >= INFINITY_BITS) throw notFinite(data, first, source)
  return new Float32Array(Int32Array.of(top).buffer)[0]
}

function requireDirections(data: VectorData, first: number, source: VectorSource): void {
  for (let at = 0; at < data.length; at += source.cols) {
    let column = 0
    while (column < source.cols && data[at + column] === 0) column++
    if (column === source.cols) throw noDirection(first + at / source.cols, source.name)
  }
}

function noDirection(row: number, name: string): CentroidalError {
  return new CentroidalError(
    'bad-data',
    `Row ${row} of ${name} is all zeros and has no direction: drop it or use metric euclidean.`,
  )
}

function notFinite(data: VectorData, first: number, source: VectorSource): CentroidalError {
  const at = data.findIndex((value) => !Number.isFinite(value))
  const row = first + Math.floor(at / source.cols)
  return new CentroidalError(
    'bad-data',
    `Row ${row} of ${source.name} holds ${data[at]} in column ${at % source.cols}: drop or mend it, all numbers must be finite.`,
  )
}

/** Mean and spread of the columns, from a sample of rows: enough to see whether the data lies far out. */
class Moments {
  readonly #sums: Float64Array
  readonly #squares: Float64Array
  #rows = 0

  constructor(cols: number) {
    this.#sums = new Float64Array(cols)
    this.#squares = new Float64Array(cols)
  }

  add(data: VectorData, at: number): void {
    for (let j = 0; j < this.#sums.length; j++) {
      const value = data[at + j]
      this.#sums[j] += value
      this.#squares[j] += value * value
    }
    this.#rows++
  }

  /** The mean if it lies so far from zero, against the spread, that digits would be lost. */
  farMean(): Float64Array | undefined {
    const mean = this.#sums.map((sum) => sum / this.#rows)
    let offset = 0
    let spread = 0
    for (let j = 0; j < mean.length; j++) {
      offset += mean[j] * mean[j]
      spread += Math.max(0, this.#squares[j] / this.#rows - mean[j] * mean[j])
    }
    return offset > FAR_DEVIATIONS ** 2 * spread ? mean : undefined
  }
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

/** Watching and stopping a long look at the data. */
export interface Watch {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((share: number) => void) | undefined
}

export async function* chunks(
  source: VectorSource,
  { signal, onProgress }: Watch = {},
): AsyncGenerator<{ first: number; data: VectorData }> {
  const step = Math.max(1, Math.floor(CHUNK_NUMBERS / source.cols))
  for (let first = 0; first < source.rows; first += step) {
    signal?.throwIfAborted()
    yield { first, data: await source.read(first, Math.min(first + step, source.rows)) }
    onProgress?.(Math.min(1, (first + step) / source.rows))
  }
}

/**
 * The frame vectors are clustered in: shifted near zero and scaled near one where 32-bit arithmetic
 * would otherwise lose digits or overflow, or brought to length one for cosine. Ordinary data is
 * left exactly as it is. Looking at the data for this also finds NaN, Infinity and rows of zeros.
 */
import { chunks, type Watch, wideChunks } from '../core/chunks.ts'
import { CentroidalError } from '../core/errors.ts'
import type { ElementType, VectorData, VectorSource, WideData } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'

export { chunks, type Watch, wideChunks }

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
/** The largest value whose squared distances, summed over columns, stay finite in 32 bits. */
const LARGEST_IN_FRAME = 2 ** 50
export const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127
const SMALLEST_FLOAT = 2 ** -149

const WITHOUT_SIGN = 0x7fffffff
const INFINITY_BITS = 0x7f800000

/** Rows whose mean and spread are taken. */
const SAMPLED_ROWS = 4096

export async function inspectFrame(
  source: VectorSource,
  metric: 'euclidean' | 'cosine',
  control: Watch = {},
): Promise<Frame> {
  return (await inspectVectors(source, metric, control)).frame
}

/** What a look at all vectors found. */
export interface Inspection {
  readonly frame: Frame
  /** The largest absolute value. */
  readonly largest: number
}

/** No number of these vectors is larger in the frame. */
export function largestInFrame({ largest }: Inspection, { shift, scale, unit }: Frame): number {
  if (unit) return 1
  const farthest = shift ? shift.reduce((most, value) => Math.max(most, Math.abs(value)), 0) : 0
  return (largest + farthest) * scale
}

export async function inspectVectors(
  source: VectorSource,
  metric: 'euclidean' | 'cosine',
  control: Watch = {},
): Promise<Inspection> {
  if (source.rows === 0) throw new CentroidalError('bad-data', `${source.name} contains no vectors: give at least one.`)
  const unit = metric === 'cosine'
  if (source.sparse) return inspectSparse(source.sparse, unit, source.name)
  if (source.type === 'u8' && !unit) return { frame: { shift: undefined, scale: 1, unit, type: 'u8' }, largest: 255 }
  const moments = new Moments(source.cols)
  const every = Math.max(1, Math.floor(source.rows / SAMPLED_ROWS))
  let largest = 0
  const { known } = source
  if (known) {
    largest = known.largest
    if (unit && known.zeroRow !== undefined) throw noDirection(known.zeroRow, source.name)
    for (let row = 0; row < source.rows && !unit; row += every) moments.add(await source.read(row, row + 1), 0)
  } else {
    for await (const { first, data } of wideChunks(source, control)) {
      largest = Math.max(largest, largestMagnitude(data, first, source))
      if (unit) requireDirections(data, first, source)
      const { cols } = source
      for (let row = (every - (first % every)) % every; row * cols < data.length; row += every)
        moments.add(data, row * cols)
    }
  }
  const { shift, deviation } = unit ? { shift: undefined, deviation: 1 } : moments.farMean()
  let scale = unit ? 1 : scaleFor(largest)
  // Around a far mean, columns of one value can hide how small the others are.
  if (shift && scale === 1 && deviation < SMALL) scale = scaleFor(await largestDeviation(source, shift, control))
  return { frame: { shift, scale, unit, type: 'f32' }, largest }
}

async function largestDeviation(source: VectorSource, shift: Float64Array, control: Watch = {}): Promise<number> {
  const { cols } = source
  let largest = 0
  for await (const { data } of wideChunks(source, { signal: control.signal })) {
    for (let at = 0; at < data.length; at++) largest = Math.max(largest, Math.abs(data[at] - shift[at % cols]))
  }
  return largest
}

/**
 * Large data is brought to the upper end of what needs no scale, so that as much as possible of what is small against
 * it stays above zero.
 */
function scaleFor(largest: number): number {
  if (largest > LARGE) return LARGE * 2 ** -Math.round(Math.log2(largest))
  return largest < SMALL && largest > 0 ? 2 ** -Math.round(Math.log2(largest)) : 1
}

/** The frame for new vectors and what a model was made in; refuses vectors whose distances would overflow. */
export async function frameOfNew(source: VectorSource, metric: 'euclidean' | 'cosine', frame: Frame): Promise<Frame> {
  const own = await inspectVectors(source, metric)
  if (!frame.unit && own.largest * frame.scale > LARGEST_IN_FRAME) {
    // Sparse rows are not shifted.
    const shift = source.sparse ? undefined : frame.shift
    const far = shift ? await largestDeviation(source, shift) : own.largest
    const most = LARGEST_IN_FRAME / frame.scale
    if (far > most) {
      throw new CentroidalError(
        'bad-data',
        `${source.name} holds values ${far} away from those of the model, which supports distances up to ${most.toPrecision(3)}: remove such rows, or train on vectors that include them.`,
      )
    }
  }
  const raw = isIdentity(frame) && !frame.unit
  return { ...frame, type: raw ? own.frame.type : 'f32' }
}

/** The frame made wide enough for other values too. */
export function widenFrame(frame: Frame, values: VectorData): Frame {
  if (frame.unit) return frame
  const { shift } = frame
  let largest = 0
  for (let i = 0; i < values.length; i++) {
    largest = Math.max(largest, Math.abs(values[i] - (shift ? shift[i % shift.length] : 0)))
  }
  if (largest * frame.scale <= LARGEST_IN_FRAME) return frame
  return { ...frame, scale: scaleFor(largest), type: 'f32' }
}

/** How far apart 32-bit floats lie near a number. */
export function floatStep(value: number): number {
  return Math.max(SMALLEST_FLOAT, 2 ** (Math.floor(Math.log2(Math.abs(value))) - 23))
}

/** Sparse rows lie around zero, and a shift would leave no zeros. That all numbers are finite is known by now. */
function inspectSparse({ rows, offsets, values }: SparseMatrix, unit: boolean, name: string): Inspection {
  let largest = 0
  for (const value of values) largest = Math.max(largest, Math.abs(value))
  for (let row = 0; unit && row < rows; row++) {
    let at = offsets[row]
    while (at < offsets[row + 1] && values[at] === 0) at++
    if (at === offsets[row + 1]) throw noDirection(row, name)
  }
  return { frame: { shift: undefined, scale: unit ? 1 : scaleFor(largest), unit, type: 'f32' }, largest }
}

/**
 * Every number is looked at once, by its bits: without the sign they order like magnitudes, with
 * Infinity and NaN on top. Four at a time, this is several times faster than comparing floats.
 */
export function largestMagnitude(data: WideData, first: number, source: VectorSource): number {
  if (data instanceof Uint8Array) return 255
  if (data instanceof Float64Array) {
    let most = 0
    for (let i = 0; i < data.length; i++) {
      const size = Math.abs(data[i])
      // Larger values would be infinite as 32-bit floats, in which centres are given.
      if (!(size <= LARGEST_FLOAT)) throw notFinite(data, first, source)
      if (size > most) most = size
    }
    return most
  }
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

function requireDirections(data: WideData, first: number, source: VectorSource): void {
  const row = zeroRowOf(data, source.cols)
  if (row !== undefined) throw noDirection(first + row, source.name)
}

/** The first row that is all zeros. */
export function zeroRowOf(data: WideData, cols: number): number | undefined {
  for (let at = 0; at < data.length; at += cols) {
    let column = 0
    while (column < cols && data[at + column] === 0) column++
    if (column === cols) return at / cols
  }
  return undefined
}

function noDirection(row: number, name: string): CentroidalError {
  return new CentroidalError(
    'bad-data',
    `Row ${row} of ${name} is all zeros and has no cosine distance: remove the row, or use metric euclidean.`,
  )
}

function notFinite(data: WideData, first: number, source: VectorSource): CentroidalError {
  const at = data.findIndex((value) => !(Math.abs(value) <= LARGEST_FLOAT))
  const row = first + Math.floor(at / source.cols)
  return new CentroidalError(
    'bad-data',
    `Row ${row} of ${source.name} holds ${data[at]} in column ${at % source.cols}: remove or fix the row, all numbers must be finite 32-bit floats.`,
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

  add(data: WideData, at: number): void {
    for (let j = 0; j < this.#sums.length; j++) {
      const value = data[at + j]
      this.#sums[j] += value
      this.#squares[j] += value * value
    }
    this.#rows++
  }

  /** The mean if it lies so far from zero, against the spread, that digits would be lost; and the spread. */
  farMean(): { shift: Float64Array | undefined; deviation: number } {
    const mean = this.#sums.map((sum) => sum / this.#rows)
    let offset = 0
    let spread = 0
    for (let j = 0; j < mean.length; j++) {
      offset += mean[j] * mean[j]
      spread += Math.max(0, this.#squares[j] / this.#rows - mean[j] * mean[j])
    }
    const shift = offset > FAR_DEVIATIONS ** 2 * spread ? mean : undefined
    return { shift, deviation: Math.sqrt(spread) }
  }
}

/** Rows as the device gets them. */
export function intoFrame(data: WideData, cols: number, frame: Frame): VectorData {
  const { shift, scale, unit, type } = frame
  if (type === 'u8' || (shift === undefined && scale === 1 && !unit)) {
    if (data instanceof Float64Array || (type === 'f32' && data instanceof Uint8Array)) return Float32Array.from(data)
    return data
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
  // Rounding can take a mean of the largest floats beyond them.
  return centers.map((value, i) =>
    Math.min(LARGEST_FLOAT, Math.max(-LARGEST_FLOAT, value / scale + (shift ? shift[i % cols] : 0))),
  )
}

/** Squared distances back in the input's units, in place; those beyond the largest float become that. */
export function squaresOutOfFrame(distances: Float32Array, { scale }: Frame): Float32Array {
  const unscale = 1 / (scale * scale)
  for (let i = 0; i < distances.length; i++) distances[i] = Math.min(LARGEST_FLOAT, distances[i] * unscale)
  return distances
}

export function isIdentity(frame: Frame): boolean {
  return frame.shift === undefined && frame.scale === 1
}

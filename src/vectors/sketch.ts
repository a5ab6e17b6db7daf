/**
 * A sketch of the points for growing trees: wide vectors in the few directions along which they spread
 * most, as bytes. Trees only ask on which side of a plane a point lies, so they come out as good over
 * 32 bytes as over 128 columns, and growing costs a fraction. Sweeps look for clusters in it (clustering/sweep/reduced.ts);
 * nothing else may use it.
 *
 * The directions come from a sample of the rows, on the host and in 64 bits: devices of any kind that hold different rows of
 * the same points can share them. Projecting and rounding to bytes happens on the device.
 */
import type { VectorData } from '../core/matrix.ts'
import { createRandom } from '../core/random.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { allocateRows, type DeviceRows, writeRows } from '../kernels/rows.ts'
import { sketchRows } from '../kernels/sketch-rows.ts'
import { inner } from '../math/orthogonal.ts'
import { createSpread, type Spread } from './spread.ts'

/** Columns of a sketch. */
const COLUMNS = 32
/** Columns where those hold less than this share of the spread: vectors that spread evenly, as those of words do. */
const MORE_COLUMNS = 48
const ENOUGH = 0.7
/** Vectors of so few numbers have none. */
const NUMBERS_WITHOUT_SKETCH = 2 ** 19
/** The directions come from evenly spaced runs of rows: few reads, and no matter how a file is ordered. */
const RUNS = 64
const RUN_ROWS = 32
/** The sample of narrower vectors has at most this many numbers. */
const SAMPLE_NUMBERS = 2 ** 18
/** Rows of the sample of vectors with more than `WIDE` columns. */
const WIDE = 256
const ROWS_OF_WIDE = 256
/** Subspace iterations; the subspace matters, not the single directions, so few do. Those of wide rows take long. */
const STEPS = 5
const STEPS_OF_WIDE = 1
/** Every so many rows of the sample are projected to find the scale and the share of the spread that is held. */
const CHECKED_ROWS = 4
/** How far from 128 the farthest rows looked at come to lie: room for those a little farther out. */
const REACH = 110
/** Beyond this, numbers of the largest size that points may have would leave the range of 32-bit floats. */
const MOST_SCALE = 2 ** 60

/** How rows become a sketch: column j of it is x . direction j + shift j, rounded and cut to a byte. A plain value. */
export interface SketchBasis {
  /** Columns of the rows. */
  readonly cols: number
  /** Columns of the sketch. */
  readonly columns: number
  /** Orthogonal rows of one length, the steps of the bytes taken in: [columns][cols]. */
  readonly directions: Float32Array
  readonly shifts: Float32Array
  /** The share of the spread of the rows that lies along the directions, estimated from a sample. */
  readonly held: number
}

/** Rows `first` to `end` as the device holds them. */
export type ReadRows = (first: number, end: number) => Promise<VectorData>

/** Narrow vectors are their own sketch, and so are few: trees over them are grown as fast as a sketch is made. */
export function isOwnSketch(rows: number, cols: number): boolean {
  return cols < 2 * COLUMNS || rows * cols <= NUMBERS_WITHOUT_SKETCH
}

/** The basis for `rows` rows, of which some are read. */
export async function sketchBasis(rows: number, cols: number, read: ReadRows): Promise<SketchBasis> {
  const sample = await sampleRows(rows, cols, read)
  const mean = moveToMean(sample, cols)
  const spread = createSpread(sample, cols)
  let directions = spreadingDirections(spread, sample, cols, COLUMNS)
  let check = checkDirections(sample, directions, cols)
  if (check.held < ENOUGH) {
    directions = spreadingDirections(spread, sample, cols, MORE_COLUMNS)
    check = checkDirections(sample, directions, cols)
  }
  // One scale for all directions, so that angles stay; what lies beyond the sample is cut off.
  const scale = check.largest > 0 ? Math.min(MOST_SCALE, REACH / check.largest) : 0
  const rowsOf = rowsOfLength(directions, cols)
  return {
    cols,
    columns: rowsOf.length,
    directions: Float32Array.from(directions, (value) => value * scale),
    shifts: Float32Array.from(rowsOf, (row) => 128 - inner(row, mean) * scale),
    held: check.held,
  }
}

/** Rows of the same order and number, [rows][columns] bytes. They live as long as `scope`. */
export async function projectRows(
  device: Device,
  scope: BufferScope,
  points: DeviceRows,
  { cols, columns, directions, shifts }: SketchBasis,
): Promise<DeviceRows> {
  const temporary = new BufferScope(device)
  try {
    const along = allocateRows(temporary, columns, cols, 'f32', 'directions of the sketch')
    writeRows(device, along, directions)
    const offsets = temporary.upload(shifts, 'shifts of the sketch')
    const out = allocateRows(scope, points.rows, columns, 'u8', 'sketch')
    await sketchRows(device, { points, directions: along, shifts: offsets, out })
    return out
  } finally {
    temporary.free()
  }
}

/** One row of floats a sampled point. */
async function sampleRows(rows: number, cols: number, read: ReadRows): Promise<Float64Array> {
  const length = Math.min(RUN_ROWS, rows)
  const affordable = Math.ceil((cols > WIDE ? ROWS_OF_WIDE : SAMPLE_NUMBERS / cols) / RUN_ROWS)
  const runs = Math.min(RUNS, affordable, Math.ceil(rows / length))
  const sample = new Float64Array(runs * length * cols)
  for (let run = 0; run < runs; run++) {
    const first = runs === 1 ? 0 : Math.floor(((rows - length) * run) / (runs - 1))
    sample.set(await read(first, first + length), run * length * cols)
  }
  return sample
}

/** Subtracts the mean of the rows from each, and gives it. */
function moveToMean(sample: Float64Array, cols: number): Float64Array {
  const mean = new Float64Array(cols)
  const rows = sample.length / cols
  for (let at = 0; at < sample.length; at += cols) {
    for (let j = 0; j < cols; j++) mean[j] += sample[at + j]
  }
  for (let j = 0; j < cols; j++) mean[j] /= rows
  for (let at = 0; at < sample.length; at += cols) {
    for (let j = 0; j < cols; j++) sample[at + j] -= mean[j]
  }
  return mean
}

/**
 * Orthonormal rows that span, nearly, the directions of largest spread: [count][cols]. The iterations begin from sums of
 * rows with random signs, which lie closer to these directions than random ones do and cost a single pass over the sample.
 */
function spreadingDirections(spread: Spread, sample: Float64Array, cols: number, count: number): Float64Array {
  const random = createRandom(count)
  let directions: Float64Array = new Float64Array(count * cols)
  for (let at = 0; at < sample.length; at += cols) {
    const to = random.below(count) * cols
    const sign = random.below(2) * 2 - 1
    for (let j = 0; j < cols; j++) directions[to + j] += sign * sample[at + j]
  }
  orthonormalize(rowsOfLength(directions, cols))
  const steps = cols > WIDE ? STEPS_OF_WIDE : STEPS
  for (let step = 0; step < steps; step++) {
    directions = spread.turn(directions)
    orthonormalize(rowsOfLength(directions, cols))
  }
  return directions
}

/** The share of the spread that lies along the directions, and the largest coordinate of a row; from some rows of the sample. */
function checkDirections(
  centered: Float64Array,
  directions: Float64Array,
  cols: number,
): { held: number; largest: number } {
  const along = rowsOfLength(directions, cols)
  let largest = 0
  let held = 0
  let total = 0
  for (let at = 0; at < centered.length; at += cols * CHECKED_ROWS) {
    const row = centered.subarray(at, at + cols)
    total += inner(row, row)
    for (const direction of along) {
      const coordinate = inner(row, direction)
      held += coordinate * coordinate
      largest = Math.max(largest, Math.abs(coordinate))
    }
  }
  return { held: total > 0 ? held / total : 1, largest }
}

/** Gram and Schmidt, in place. What depends on those before becomes zero, and so does its column of the sketch. */
function orthonormalize(rows: readonly Float64Array[]): void {
  rows.forEach((row, i) => {
    const before = Math.sqrt(inner(row, row))
    for (const other of rows.slice(0, i)) {
      const along = inner(row, other)
      for (let j = 0; j < row.length; j++) row[j] -= along * other[j]
    }
    const length = Math.sqrt(inner(row, row))
    const scale = length > 1e-9 * before ? 1 / length : 0
    for (let j = 0; j < row.length; j++) row[j] *= scale
  })
}

/** Views of the rows, not copies. */
function rowsOfLength(all: Float64Array, cols: number): Float64Array[] {
  return Array.from({ length: all.length / cols }, (_, i) => all.subarray(i * cols, (i + 1) * cols))
}

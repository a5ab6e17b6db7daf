/**
 * A sketch of the points for growing trees: wide vectors in the few directions along which they spread
 * most, as bytes. Trees only ask on which side of a plane a point lies, so they come out as good over
 * 32 bytes as over 128 columns, and growing costs a fraction. Nothing but trees may use it.
 */
import { createRandom } from '../core/random.ts'
import { BufferScope, type Device } from '../device/contract.ts'
import { gram, matmul } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, denseType, readRows, rowBytesOf, writeRows } from '../kernels/rows.ts'
import { inner } from '../math/orthogonal.ts'

/** Columns of a sketch. Points with less than twice as many are their own. */
const COLUMNS = 32
/** Columns where those hold less than this share of the spread: vectors that spread evenly, as those of words do. */
const MORE_COLUMNS = 48
const ENOUGH = 0.7
/** The directions come from evenly spaced runs of rows: few reads, and no matter how a file is ordered. */
const RUNS = 64
const RUN_ROWS = 32
/** Subspace iterations; the subspace matters, not the single directions, so few do. */
const STEPS = 5
/** Rows that are projected at a time, and the numbers they may have. */
const CHUNK_ROWS = 16384
const CHUNK_NUMBERS = 2 ** 24
/** Beyond this many columns the d x d matrix of the spread is not formed. */
const MOST_SQUARE_COLUMNS = 1024
/** Beyond that, the sample has at most this many numbers, but never fewer rows than this. */
const WIDE_NUMBERS = 2 ** 22
const WIDE_ROWS = 256

/** Rows of the same order and number; the points themselves where they are narrow. Lives as long as `scope`. */
export async function sketchRows(device: Device, scope: BufferScope, points: DeviceRows): Promise<DeviceRows> {
  if (points.cols < 2 * COLUMNS) return points
  const temporary = new BufferScope(device)
  try {
    const sample = await sampleRows(device, points)
    const mean = columnMeans(sample, points.cols)
    const spread = await spreadOf(device, temporary, sample, mean, points.cols)
    let basis = await spreadingDirections(spread, points.cols, COLUMNS)
    if ((await shareHeld(spread, basis)) < ENOUGH) {
      basis = await spreadingDirections(spread, points.cols, MORE_COLUMNS)
    }
    return await projectAll(device, scope, temporary, points, basis, byteScale(sample, mean, basis))
  } finally {
    temporary.free()
  }
}

/** One row of floats a sampled point. */
async function sampleRows(device: Device, points: DeviceRows): Promise<Float32Array> {
  const { rows, cols, stride, buffer } = points
  const type = denseType(points)
  const length = Math.min(RUN_ROWS, rows)
  const runs = Math.min(mostRuns(cols), Math.ceil(rows / length))
  const rowBytes = rowBytesOf(cols, type)
  const sample = new Float32Array(runs * length * cols)
  for (let run = 0; run < runs; run++) {
    const first = runs === 1 ? 0 : Math.floor(((rows - length) * run) / (runs - 1))
    const bytes = await device.read({ buffer, offset: first * rowBytes, bytes: length * rowBytes })
    const values = type === 'u8' ? new Uint8Array(bytes) : new Float32Array(bytes)
    for (let i = 0; i < length; i++) {
      sample.set(values.subarray(i * stride, i * stride + cols), (run * length + i) * cols)
    }
  }
  return sample
}

/** Rows of wide vectors are few, so that the sample stays small against the points. */
function mostRuns(cols: number): number {
  if (cols <= MOST_SQUARE_COLUMNS) return RUNS
  return Math.min(RUNS, Math.ceil(Math.max(WIDE_ROWS, WIDE_NUMBERS / cols) / RUN_ROWS))
}

function columnMeans(sample: Float32Array, cols: number): Float64Array {
  const mean = new Float64Array(cols)
  const rows = sample.length / cols
  for (let i = 0; i < sample.length; i++) mean[i % cols] += sample[i] / rows
  return mean
}

/** The matrix A' A of a centred sample A. */
interface Spread {
  /** Its trace. */
  readonly total: number
  /** Its product with each of some vectors. */
  turn(rows: readonly Float64Array[]): Promise<Float64Array[]>
}

async function spreadOf(
  device: Device,
  scope: BufferScope,
  sample: Float32Array,
  mean: Float64Array,
  cols: number,
): Promise<Spread> {
  const centered = allocateRows(scope, sample.length / cols, cols, 'f32', 'sample for the sketch')
  const moved = new Float32Array(sample.length)
  for (let at = 0; at < sample.length; at += cols) {
    for (let j = 0; j < cols; j++) moved[at + j] = sample[at + j] - mean[j]
  }
  writeRows(device, centered, moved)
  if (cols > MOST_SQUARE_COLUMNS) {
    return wideSpread(device, centered, inner(moved, moved))
  }
  const { stride } = centered
  const out = scope.allocate(stride * stride * 4, 'spread of the sample')
  await gram(device, { a: centered, b: centered, out })
  const products = new Float32Array(await device.read(out))
  let total = 0
  for (let a = 0; a < cols; a++) total += products[a * stride + a]
  return { total, turn: async (rows) => rows.map((row) => turn(products, stride, row)) }
}

function turn(products: Float32Array, stride: number, row: Float64Array): Float64Array {
  const cols = row.length
  const next = new Float64Array(cols)
  for (let a = 0; a < cols; a++) {
    let sum = 0
    for (let b = 0; b < cols; b++) sum += products[a * stride + b] * row[b]
    next[a] = sum
  }
  return next
}

/** A' (A v) for all v at once: time and memory grow with the columns, not with their square. */
function wideSpread(device: Device, sample: DeviceRows, total: number): Spread {
  const { rows, cols, stride } = sample
  return {
    total,
    async turn(basis) {
      const scope = new BufferScope(device)
      try {
        const vectors = allocateRows(scope, basis.length, cols, 'f32', 'directions')
        const along = allocateRows(scope, rows, basis.length, 'f32', 'sample along directions')
        const out = scope.allocate(stride * along.stride * 4, 'next directions')
        writeRows(device, vectors, concatenated(basis))
        await matmul(device, { a: sample, b: vectors, out: along })
        await gram(device, { a: sample, b: along, out })
        const found = new Float32Array(await device.read(out))
        return basis.map((row, i) => row.map((_, j) => found[j * along.stride + i]))
      } finally {
        scope.free()
      }
    },
  }
}

/** Orthonormal rows that span, nearly, the directions of largest spread. */
async function spreadingDirections(spread: Spread, cols: number, count: number): Promise<Float64Array[]> {
  const random = createRandom(count)
  let basis: Float64Array[] = Array.from({ length: count }, () =>
    Float64Array.from({ length: cols }, () => random.normal()),
  )
  orthonormalize(basis)
  for (let step = 0; step < STEPS; step++) {
    basis = await spread.turn(basis)
    orthonormalize(basis)
  }
  return basis
}

/** How much of all spread lies within the span of the rows. */
async function shareHeld(spread: Spread, basis: readonly Float64Array[]): Promise<number> {
  const turned = await spread.turn(basis)
  let held = 0
  basis.forEach((row, i) => {
    held += inner(turned[i], row)
  })
  return spread.total > 0 ? held / spread.total : 1
}

/** Gram and Schmidt. What depends on those before becomes zero, and so does its column of the sketch. */
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

interface ByteScale {
  /** Where the mean of the points lies in each direction. */
  readonly offsets: Float64Array
  readonly scale: number
}

/** One scale for all directions, so that angles stay; what lies beyond the sample is cut off. */
function byteScale(sample: Float32Array, mean: Float64Array, basis: readonly Float64Array[]): ByteScale {
  const cols = mean.length
  let largest = 0
  for (let i = 0; i < sample.length; i += cols * 8) {
    for (const row of basis) {
      let along = 0
      for (let j = 0; j < cols; j++) along += (sample[i + j] - mean[j]) * row[j]
      largest = Math.max(largest, Math.abs(along))
    }
  }
  const offsets = Float64Array.from(basis, (row) => row.reduce((sum, value, j) => sum + value * mean[j], 0))
  // A part of the sample was looked at: room for those a little farther out.
  return { offsets, scale: largest > 0 ? 110 / largest : 0 }
}

/** In chunks, so that the projections of all points never stand in memory as floats. */
async function projectAll(
  device: Device,
  scope: BufferScope,
  temporary: BufferScope,
  points: DeviceRows,
  basis: readonly Float64Array[],
  { offsets, scale }: ByteScale,
): Promise<DeviceRows> {
  const { rows, cols } = points
  const type = denseType(points)
  const columns = basis.length
  const directions = allocateRows(temporary, columns, cols, 'f32', 'directions of the sketch')
  writeRows(device, directions, concatenated(basis))
  const sketch = allocateRows(scope, rows, columns, 'u8', 'sketch')
  const most = Math.min(rows, CHUNK_ROWS, Math.max(WIDE_ROWS, Math.floor(CHUNK_NUMBERS / cols)))
  const from = allocateRows(temporary, most, cols, type, 'points for the sketch')
  const along = allocateRows(temporary, most, columns, 'f32', 'points along directions')
  const rowBytes = rowBytesOf(cols, type)
  const shifts = offsets.map((offset) => 128 - offset * scale)
  for (let first = 0; first < rows; first += most) {
    const count = Math.min(most, rows - first)
    const bytes = count * rowBytes
    device.copy({ buffer: points.buffer, offset: first * rowBytes, bytes }, { buffer: from.buffer, offset: 0, bytes })
    await matmul(device, { a: { ...from, rows: count }, b: directions, out: { ...along, rows: count } })
    const values = await readRows(device, { ...along, rows: count })
    // Storing rounds and cuts off.
    const steps = new Uint8ClampedArray(values.length)
    for (let at = 0; at < values.length; at += columns) {
      for (let j = 0; j < columns; j++) steps[at + j] = values[at + j] * scale + shifts[j]
    }
    writeRows(device, sketch, new Uint8Array(steps.buffer), first)
  }
  return sketch
}

function concatenated(rows: readonly Float64Array[]): Float32Array {
  const out = new Float32Array(rows.length * (rows[0]?.length ?? 0))
  rows.forEach((row, i) => {
    out.set(row, i * row.length)
  })
  return out
}

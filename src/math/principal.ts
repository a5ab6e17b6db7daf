/**
 * Principal axes of a set of vectors: the directions it spreads in most. For pictures and other small
 * jobs on the host, in 64 bits. Neither a d x d nor an n x n matrix is made: a block of a few
 * directions is taken through the data and back until it settles. Cost: 2 n d for each direction of
 * the block and each pass, so give a sample where n d is many millions.
 */
import { CentroidalError } from '../core/errors.ts'
import { type Matrix, matrix } from '../core/matrix.ts'
import { createRandom } from '../core/random.ts'
import { leadingEigenvectors, product, transposed } from './orthogonal.ts'

export interface PrincipalAxes {
  /** The weighted mean of the vectors: d numbers. */
  readonly mean: Float64Array
  /** One axis a row, of length one, that of the largest spread first: [count][d]. */
  readonly axes: Float64Array
  /** What each axis has of the whole variance, 0 to 1. */
  readonly shares: readonly number[]
  /** Where vectors lie along the axes: a matrix of rows x count. */
  project(vectors: Matrix): Matrix
}

/** Directions that go along with those wanted: they settle the sooner. */
const COMPANIONS = 6
const MOST_PASSES = 40
/** Passes end when the variance that is caught grows by less than this share. */
const SETTLED = 1e-9

/**
 * Finds the `count` principal axes of vectors (default 2), which may carry weights. Axes beyond the
 * dimensions there are, or beyond the spread there is, are zero. Each axis points where its largest
 * number is positive, so the same vectors give the same axes.
 *
 * @example
 * ```ts
 * const { shares, project } = principalAxes(matrix(Float32Array.of(0, 0, 1, 1, 2, 2), 3, 2), 1)
 * shares // [1]: all lie on one line
 * ```
 */
export function principalAxes(vectors: Matrix, count = 2, weights?: ArrayLike<number>): PrincipalAxes {
  const { rows, cols, data } = vectors
  if (rows === 0) throw new CentroidalError('bad-data', 'There are no vectors to find axes of: give at least one.')
  if (weights !== undefined && weights.length !== rows) {
    throw new CentroidalError('bad-data', `There are ${weights.length} weights for ${rows} vectors: give one for each.`)
  }
  const mean = weightedMean(vectors, weights)
  const centred = new Float64Array(rows * cols)
  let total = 0
  for (let i = 0; i < rows; i++) {
    const root = Math.sqrt(weights?.[i] ?? 1)
    for (let j = 0; j < cols; j++) {
      const value = (data[i * cols + j] - mean[j]) * root
      centred[i * cols + j] = value
      total += value * value
    }
  }
  const { axes, variances } = leadingDirections(centred, rows, cols, Math.min(count, cols), total)
  const padded = new Float64Array(count * cols)
  padded.set(axes)
  return {
    mean,
    axes: padded,
    shares: Array.from({ length: count }, (_, i) => (total > 0 ? (variances[i] ?? 0) / total : 0)),
    project: (other) => project(other, mean, padded, count),
  }
}

function weightedMean({ rows, cols, data }: Matrix, weights: ArrayLike<number> | undefined): Float64Array {
  const mean = new Float64Array(cols)
  let whole = 0
  for (let i = 0; i < rows; i++) {
    const weight = weights?.[i] ?? 1
    whole += weight
    for (let j = 0; j < cols; j++) mean[j] += weight * data[i * cols + j]
  }
  return mean.map((sum) => (whole > 0 ? sum / whole : 0))
}

function project(vectors: Matrix, mean: Float64Array, axes: Float64Array, count: number): Matrix {
  const { rows, cols, data } = vectors
  if (cols !== mean.length) {
    throw new CentroidalError('bad-data', `The vectors have ${cols} columns and the axes ${mean.length}.`)
  }
  const out = new Float32Array(rows * count)
  for (let i = 0; i < rows; i++) {
    for (let a = 0; a < count; a++) {
      let sum = 0
      for (let j = 0; j < cols; j++) sum += (data[i * cols + j] - mean[j]) * axes[a * cols + j]
      out[i * count + a] = sum
    }
  }
  return matrix(out, rows, count)
}

/** Block power iteration with a small eigenproblem in the block (Rayleigh and Ritz). */
function leadingDirections(
  centred: Float64Array,
  rows: number,
  cols: number,
  count: number,
  total: number,
): { axes: Float64Array; variances: Float64Array } {
  const width = Math.min(cols, count + COMPANIONS)
  const random = createRandom(0)
  let block = orthonormal(
    new Float64Array(width * cols).map(() => random.normal()),
    width,
    cols,
  )
  let variances = new Float64Array(width)
  let caught = -1
  for (let pass = 0; pass < MOST_PASSES && total > 0; pass++) {
    const places = product(centred, transposed(block, width, cols), rows, cols, width)
    const columns = transposed(places, rows, width)
    const turn = leadingEigenvectors(product(columns, places, width, rows, width), width, width)
    block = product(turn, block, width, width, cols)
    const turned = product(turn, columns, width, width, rows)
    variances = Float64Array.from({ length: width }, (_, i) => squaredLength(turned, i, rows))
    const now = variances.subarray(0, count).reduce((sum, value) => sum + value, 0)
    // Where the block is as wide as the space, the first pass has found it all.
    if (width === cols || now - caught <= SETTLED * total) break
    caught = now
    block = orthonormal(product(turned, centred, width, rows, cols), width, cols)
  }
  const axes = block.slice(0, count * cols)
  for (let i = 0; i < count; i++) {
    const axis = axes.subarray(i * cols, (i + 1) * cols)
    if (!(variances[i] > 0)) axis.fill(0)
    else if (largest(axis) < 0) axis.set(axis.map((value) => -value))
  }
  return { axes, variances: variances.slice(0, count) }
}

/** Rows made orthogonal and of length one, one after the other (Gram and Schmidt, twice); what depends on earlier ones becomes zero. */
function orthonormal(block: Float64Array<ArrayBuffer>, width: number, cols: number): Float64Array<ArrayBuffer> {
  for (let i = 0; i < width; i++) {
    const row = block.subarray(i * cols, (i + 1) * cols)
    const before = Math.sqrt(squaredLength(block, i, cols))
    for (let again = 0; again < 2; again++) {
      for (let other = 0; other < i; other++) {
        const against = block.subarray(other * cols, (other + 1) * cols)
        let dot = 0
        for (let j = 0; j < cols; j++) dot += row[j] * against[j]
        for (let j = 0; j < cols; j++) row[j] -= dot * against[j]
      }
    }
    const length = Math.sqrt(squaredLength(block, i, cols))
    const factor = length > 1e-12 * before ? 1 / length : 0
    for (let j = 0; j < cols; j++) row[j] *= factor
  }
  return block
}

function squaredLength(block: Float64Array, row: number, cols: number): number {
  let sum = 0
  for (let at = row * cols; at < (row + 1) * cols; at++) sum += block[at] * block[at]
  return sum
}

/** The number farthest from zero, with its sign. */
function largest(values: Float64Array): number {
  return values.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
}

/**
 * Principal axes of a set of vectors: the directions it spreads in most. For pictures and other small
 * jobs on the host, in 64 bits. Neither a d x d nor an n x n matrix is made: directions are taken
 * through the data and back, up to 48 of them, 4 n d operations each. Give a sample where n d is many
 * millions.
 */
import { badData, COUNT, numberList, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, matrix } from '../core/matrix.ts'
import { createRandom } from '../core/random.ts'
import { inner, leadingEigenvectors, product } from './orthogonal.ts'

/** The directions a set of vectors spreads in most. */
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

/** Directions that are tried at most: the leading few are settled long before, unless all spread alike. */
const MOST_DIRECTIONS = 48
/** Axes that can be asked for: the work grows with their square. */
const MOST_AXES = 256
/** What is left of a vector, as a share of it, when it is made of others. */
const DEPENDS = 1e-10
/** Variances below this fraction of the largest are rounding errors. */
const NO_SPREAD = 1e-13

/**
 * Finds the `count` principal axes of vectors (default 2, at most 256), which may carry weights. Axes beyond the
 * dimensions there are, or beyond the spread there is, are zero. Each axis points where its largest
 * number is positive, so the same vectors give the same axes.
 *
 * @example
 * ```ts
 * import { matrix, principalAxes } from 'centroidal'
 *
 * const line = matrix(Float32Array.of(0, 0, 1, 1, 2, 2), 3, 2)
 * const { shares, project } = principalAxes(line, 1)
 * shares.map((share) => Math.round(100 * share)) // => [100]
 * project(line).cols // => 1
 * ```
 */
export function principalAxes(vectors: Matrix, count = 2, weights?: ArrayLike<number>): PrincipalAxes {
  const { rows, cols, data } = denseMatrix(vectors, 'the vectors')
  whole(1, MOST_AXES)(count, 'the count')
  if (weights !== undefined) numberList(weights, 'the weights', COUNT)
  if (rows === 0) throw new CentroidalError('bad-data', 'Principal axes require at least one vector; there are none.')
  if (weights !== undefined && weights.length !== rows) {
    throw new CentroidalError('bad-data', `There are ${weights.length} weights for ${rows} vectors: give one for each.`)
  }
  requireFinite(vectors)
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
  if (!Number.isFinite(total))
    throw badData('The vectors contain NaN or Infinity: remove or fix these rows, all numbers must be finite.')
  const { axes, variances } = leadingDirections(centred, rows, cols, Math.min(count, cols))
  const padded = new Float64Array(count * cols)
  padded.set(axes)
  return {
    mean,
    axes: padded,
    shares: Array.from({ length: count }, (_, i) => (total > 0 ? (variances[i] ?? 0) / total : 0)),
    project: (other) => project(denseMatrix(other, 'the vectors'), mean, padded, count),
  }
}

function requireFinite({ cols, data }: Matrix): void {
  for (let at = 0; at < data.length; at++) {
    if (Number.isFinite(data[at])) continue
    const row = Math.floor(at / cols)
    throw new CentroidalError(
      'bad-data',
      `Row ${row} of the vectors holds ${data[at]} in column ${at % cols}: all numbers must be finite; remove or fix the row.`,
    )
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
    throw new CentroidalError(
      'bad-data',
      `The vectors have ${cols} columns and the axes ${mean.length}: give vectors with the columns of those the axes were computed from.`,
    )
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

/** The leading eigenvectors of A' A; found by way of A A' where A has fewer rows than columns, which is the smaller. */
function leadingDirections(
  centred: Float64Array,
  rows: number,
  cols: number,
  count: number,
): { axes: Float64Array; variances: Float64Array } {
  const wide = rows < cols
  const image = (vector: Float64Array): Float64Array<ArrayBuffer> =>
    wide ? forth(centred, back(centred, vector, cols), rows) : back(centred, forth(centred, vector, rows), cols)
  const { vectors, variances } = krylov(image, Math.min(rows, cols), Math.min(count, rows))
  const axes = new Float64Array(count * cols)
  vectors.forEach((vector, i) => {
    if (!(variances[i] > NO_SPREAD * variances[0])) return
    const axis = wide ? back(centred, vector, cols) : vector
    const length = Math.sqrt(inner(axis, axis)) * (largest(axis) < 0 ? -1 : 1)
    axes.set(
      axis.map((value) => value / length),
      i * cols,
    )
  })
  return { axes, variances }
}

/**
 * Leading eigenvectors by a small eigenproblem in a block Krylov space (block Lanczos, every vector
 * made orthogonal to all before): a block, as two axes that spread alike would hide from one vector.
 */
function krylov(
  imageOf: (vector: Float64Array) => Float64Array<ArrayBuffer>,
  size: number,
  count: number,
): { vectors: Float64Array[]; variances: Float64Array } {
  const random = createRandom(0)
  const basis: Float64Array[] = []
  const images: Float64Array[] = []
  let block = Array.from({ length: count + 1 }, () => new Float64Array(size).map(() => random.normal()))
  while (block.length > 0 && basis.length < MOST_DIRECTIONS) {
    block = block.filter((vector) => joined(basis, vector)).map(imageOf)
    images.push(...block.map((image) => image.slice()))
  }
  const width = basis.length
  const spread = new Float64Array(width * width)
  for (let i = 0; i < width; i++) {
    for (let j = i; j < width; j++) {
      spread[i * width + j] = inner(basis[i], images[j])
      spread[j * width + i] = spread[i * width + j]
    }
  }
  const turn = leadingEigenvectors(spread, width, count)
  const vectors = Array.from({ length: count }, (_, i) => {
    const vector = new Float64Array(size)
    basis.forEach((other, b) => {
      for (let j = 0; j < size; j++) vector[j] += turn[i * width + b] * other[j]
    })
    return vector
  })
  const variances = Float64Array.from({ length: count }, (_, i) => {
    const weights = turn.slice(i * width, (i + 1) * width)
    return Math.max(0, inner(weights, product(spread, weights, width, width, 1)))
  })
  return { vectors, variances }
}

/** A vector becomes one more of an orthonormal basis, unless it depends on those before. */
function joined(basis: Float64Array[], vector: Float64Array): boolean {
  const before = Math.sqrt(inner(vector, vector))
  // Twice: the first time takes rounding errors along.
  for (let again = 0; again < 2; again++) {
    for (const other of basis) {
      const dot = inner(vector, other)
      for (let j = 0; j < vector.length; j++) vector[j] -= dot * other[j]
    }
  }
  const length = Math.sqrt(inner(vector, vector))
  if (!(length > DEPENDS * before)) return false
  for (let j = 0; j < vector.length; j++) vector[j] /= length
  return basis.push(vector) > 0
}

/** A v: a number for each row of A. */
function forth(a: Float64Array, vector: Float64Array, rows: number): Float64Array<ArrayBuffer> {
  const cols = vector.length
  const out = new Float64Array(rows)
  for (let i = 0; i < rows; i++) {
    let dot = 0
    for (let j = 0; j < cols; j++) dot += a[i * cols + j] * vector[j]
    out[i] = dot
  }
  return out
}

/** A' u: a sum of rows of A. */
function back(a: Float64Array, shares: Float64Array, cols: number): Float64Array<ArrayBuffer> {
  const out = new Float64Array(cols)
  for (let i = 0; i < shares.length; i++) {
    const share = shares[i]
    for (let j = 0; j < cols; j++) out[j] += share * a[i * cols + j]
  }
  return out
}

/** The number farthest from zero, with its sign. */
function largest(values: Float64Array): number {
  return values.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
}

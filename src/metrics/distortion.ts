/** How well centers stand for their vectors, and how evenly the vectors are shared out. */
import { COUNT, numberList } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix } from '../core/matrix.ts'
import { isSparse, type SparseMatrix, sparseMatrix } from '../core/sparse.ts'

/**
 * Mean squared distance from every vector to the center it is labeled with, weighted if weights are given.
 *
 * @example
 * ```ts
 * import { distortion, matrix } from 'centroidal'
 *
 * const vectors = matrix(Float32Array.of(0, 2, 10), 3, 1)
 * const centers = matrix(Float32Array.of(1, 10), 2, 1)
 * distortion(vectors, centers, [0, 0, 1]) // => 0.667
 * distortion(vectors, centers, [0, 0, 1], [1, 1, 2]) // => 0.5
 * ```
 */
export function distortion(
  vectors: Matrix | SparseMatrix,
  centers: Matrix,
  labels: ArrayLike<number>,
  weights?: ArrayLike<number>,
): number {
  const rows = isSparse(vectors)
    ? sparseMatrix(vectors, vectors.rows, vectors.cols, 'the vectors')
    : denseMatrix(vectors, 'the vectors')
  denseMatrix(centers, 'the centers')
  checkShapes(rows, centers, labels, weights)
  const squared = isSparse(rows) ? sparseDistances(rows, centers) : denseDistances(rows, centers)
  let sum = 0
  let weightSum = 0
  const unit = weights === undefined ? 1 : unitOf(weights)
  for (let row = 0; row < vectors.rows; row++) {
    const weight = weights === undefined ? 1 : weights[row] / unit
    sum += weight * squared(row, labels[row])
    weightSum += weight
  }
  if (weightSum === 0) throw bad('All weights are 0: at least one vector has to count.')
  if (!Number.isFinite(sum)) throw bad('The vectors or centers hold NaN or infinite numbers: all must be finite.')
  return sum / weightSum
}

/** What to divide numbers by so that their sums and squares stay finite: 1 for ordinary ones. */
function unitOf(values: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, values[i])
  return largest > 1e100 || (largest > 0 && largest < 1e-100) ? largest : 1
}

type SquaredDistance = (row: number, center: number) => number

function denseDistances({ cols, data }: Matrix, centers: Matrix): SquaredDistance {
  return (row, center) => {
    let squared = 0
    for (let col = 0; col < cols; col++) {
      const difference = data[row * cols + col] - centers.data[center * cols + col]
      squared += difference * difference
    }
    return squared
  }
}

/** Differences where the row has entries, and the squares of the centre everywhere else. */
function sparseDistances({ cols, offsets, columns, values }: SparseMatrix, centers: Matrix): SquaredDistance {
  const squares = new Float64Array(centers.rows)
  for (let at = 0; at < centers.data.length; at++) squares[Math.floor(at / cols)] += centers.data[at] ** 2
  return (row, center) => {
    let apart = 0
    let inside = 0
    for (let at = offsets[row]; at < offsets[row + 1]; at++) {
      const other = centers.data[center * cols + columns[at]]
      apart += (values[at] - other) ** 2
      inside += other * other
    }
    return apart + Math.max(0, squares[center] - inside)
  }
}

function checkShapes(
  vectors: Pick<Matrix, 'rows' | 'cols'>,
  centers: Matrix,
  labels: ArrayLike<number>,
  weights: ArrayLike<number> | undefined,
): void {
  const { rows } = vectors
  numberList(labels, 'the labels')
  if (weights !== undefined) numberList(weights, 'the weights')
  if (rows === 0) throw bad('There are no vectors: the distortion is undefined; give at least one vector.')
  if (vectors.cols !== centers.cols) {
    throw bad(`The vectors have ${vectors.cols} columns, the centers ${centers.cols}: they need the same number.`)
  }
  if (labels.length !== rows)
    throw bad(`There are ${rows} vectors and ${labels.length} labels: one for each is needed.`)
  for (let row = 0; row < rows; row++) {
    const label = labels[row]
    if (!Number.isInteger(label) || label < 0 || label >= centers.rows) {
      throw bad(`The label of row ${row} is ${label}: the centers are numbered 0 to ${centers.rows - 1}.`)
    }
  }
  if (weights === undefined) return
  if (weights.length !== rows) {
    throw bad(`There are ${rows} vectors and ${weights.length} weights: one for each is needed.`)
  }
  for (let row = 0; row < rows; row++) {
    if (!(weights[row] >= 0 && weights[row] < Infinity)) {
      throw bad(`The weight of row ${row} is ${weights[row]}: weights are finite and at least 0.`)
    }
  }
}

/**
 * Imbalance factor, k times the sum of squared fractions: 1 if all clusters have the same size, k if one has all points.
 *
 * @example
 * ```ts
 * import { imbalance } from 'centroidal'
 *
 * imbalance([50, 50]) // => 1
 * imbalance([100, 0]) // => 2
 * ```
 */
export function imbalance(counts: ArrayLike<number>): number {
  let total = 0
  let squares = 0
  numberList(counts, 'the counts', COUNT)
  const unit = unitOf(counts)
  for (let i = 0; i < counts.length; i++) {
    total += counts[i] / unit
    squares += (counts[i] / unit) ** 2
  }
  if (total === 0)
    throw bad('The clusters are all empty: the imbalance is undefined; give labels of at least one vector.')
  return (counts.length * squares) / (total * total)
}

function bad(message: string): CentroidalError {
  return new CentroidalError('bad-data', message)
}

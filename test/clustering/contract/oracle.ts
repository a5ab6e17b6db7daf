/** What a model says of itself, computed again in 64 bits. */
import type { ClusterModel, Matrix } from '../../../src/index.ts'

export function unitRows(vectors: Matrix): Matrix {
  const { rows, cols } = vectors
  const data = Float32Array.from(vectors.data)
  for (let i = 0; i < rows; i++) {
    const row = data.subarray(i * cols, (i + 1) * cols)
    const length = Math.hypot(...row)
    row.forEach((value, j) => {
      row[j] = value / length
    })
  }
  return { data, rows, cols }
}

export function squaredDistance(vectors: Matrix, i: number, centers: Matrix, j: number): number {
  const { cols } = vectors
  let sum = 0
  for (let t = 0; t < cols; t++) sum += (vectors.data[i * cols + t] - centers.data[j * cols + t]) ** 2
  return sum
}

/** Weighted mean of squared distances to the centre of the label. */
export function distortionOf(vectors: Matrix, { centers, labels }: ClusterModel, weights?: ArrayLike<number>): number {
  let sum = 0
  let total = 0
  for (let i = 0; i < vectors.rows; i++) {
    const weight = weights ? weights[i] : 1
    sum += weight * squaredDistance(vectors, i, centers, labels[i])
    total += weight
  }
  return sum / total
}

/** All numbers are finite, and every label is that of a cluster. */
export function isSound({ centers, labels, weights, sigmas, facts, distortion }: ClusterModel): boolean {
  const finite = [centers.data, weights ?? [], sigmas ?? []].every((values) => values.every(Number.isFinite))
  return finite && labels.length === facts.rows && labels.every((label) => label < facts.k) && distortion >= 0
}

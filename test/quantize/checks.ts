/** What the tests of quantizers share: data with structure, and distances written a second time. */
import { blobs, createRandom, type Matrix, matrix, type Quantizer } from '../../src/index.ts'

/** Correlated dimensions of unlike spread, where a rotation pays. */
export function slanted(rows: number, cols: number, seed: number, offset = 0): Matrix {
  const random = createRandom(seed)
  const mix = Array.from({ length: cols * cols }, () => random.normal())
  const data = new Float32Array(rows * cols)
  for (let i = 0; i < rows; i++) {
    const hidden = Array.from({ length: cols }, (_, t) => random.normal() / (1 + t))
    for (let j = 0; j < cols; j++) {
      let value = offset
      for (let t = 0; t < cols; t++) value += hidden[t] * mix[t * cols + j]
      data[i * cols + j] = value
    }
  }
  return matrix(data, rows, cols)
}

/** Bytes around a few places. */
export function byteBlobs(rows: number, cols: number, seed: number): Matrix {
  const { vectors } = blobs({ rows, cols, clusters: Math.min(7, rows), seed })
  let low = Number.POSITIVE_INFINITY
  let high = Number.NEGATIVE_INFINITY
  for (const value of vectors.data) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  return matrix(
    Uint8Array.from(vectors.data, (value) => Math.round(((value - low) / (high - low || 1)) * 255)),
    rows,
    cols,
  )
}

export function squaredDistance(a: Matrix, i: number, b: Matrix, j: number): number {
  let sum = 0
  for (let t = 0; t < a.cols; t++) sum += (a.data[i * a.cols + t] - b.data[j * b.cols + t]) ** 2
  return sum
}

export function meanSquaredDistance(a: Matrix, b: Matrix): number {
  let sum = 0
  for (let i = 0; i < a.rows; i++) sum += squaredDistance(a, i, b, i)
  return sum / a.rows
}

/** Sum of squared distances to the mean, over the number of rows. */
export function variance(of: Matrix): number {
  const mean = new Float64Array(of.cols)
  of.data.forEach((value, i) => {
    mean[i % of.cols] += value / of.rows
  })
  let sum = 0
  of.data.forEach((value, i) => {
    sum += (value - mean[i % of.cols]) ** 2
  })
  return sum / of.rows
}

/** The largest entry of R'R - I. */
export function notOrthonormal({ codec }: Quantizer): number {
  const { rotation, cols, ranges } = codec
  if (!rotation) return 0
  const s = ranges[ranges.length - 1]
  let most = 0
  for (let a = 0; a < s; a++) {
    for (let b = a; b < s; b++) {
      let dot = a === b ? -1 : 0
      for (let j = 0; j < cols; j++) dot += rotation[a * cols + j] * rotation[b * cols + j]
      most = Math.max(most, Math.abs(dot))
    }
  }
  return most
}

/** All rows of b in order of distance from row i of a. */
export function order(a: Matrix, i: number, b: Matrix): { id: number; distance: number }[] {
  return Array.from({ length: b.rows }, (_, id) => ({ id, distance: squaredDistance(a, i, b, id) })).sort(
    (x, y) => x.distance - y.distance || x.id - y.id,
  )
}

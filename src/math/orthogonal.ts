/** Small dense algebra around orthonormal matrices, in 64 bits on the host. All matrices are row-major. */
import { Matrix as Dense, EigenvalueDecomposition, QrDecomposition, SingularValueDecomposition } from 'ml-matrix'
import type { Random } from '../core/random.ts'

/** The rows x cols matrix with orthonormal columns nearest to M (rows >= cols): U V' of its singular value decomposition. */
export function polarFactor(m: Float64Array, rows: number, cols: number): Float64Array {
  const svd = new SingularValueDecomposition(dense(m, rows, cols), { autoTranspose: true })
  return flat(svd.leftSingularVectors.mmul(svd.rightSingularVectors.transpose()))
}

/** Eigenvectors of a symmetric matrix for its `count` largest eigenvalues, largest first: one a row. */
export function leadingEigenvectors(symmetric: Float64Array, size: number, count: number): Float64Array {
  const { eigenvectorMatrix } = new EigenvalueDecomposition(dense(symmetric, size, size), { assumeSymmetric: true })
  const rows = new Float64Array(count * size)
  // Eigenvalues come in rising order.
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < size; j++) rows[i * size + j] = eigenvectorMatrix.get(j, size - 1 - i)
  }
  return rows
}

/** A rotation that favours no direction: the orthonormal factor of a matrix of normal numbers, with the signs of R taken out. */
export function randomRotation(random: Random, size: number): Float64Array {
  const normal = new Float64Array(size * size).map(() => random.normal())
  const qr = new QrDecomposition(dense(normal, size, size))
  const q = qr.orthogonalMatrix
  const r = qr.upperTriangularMatrix
  const out = flat(q)
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) if (r.get(j, j) < 0) out[i * size + j] = -out[i * size + j]
  }
  return out
}

/** A B for A rows x inner and B inner x cols. */
export function product(
  a: Float64Array,
  b: Float64Array,
  rows: number,
  inner: number,
  cols: number,
): Float64Array<ArrayBuffer> {
  const out = new Float64Array(rows * cols)
  for (let i = 0; i < rows; i++) {
    for (let t = 0; t < inner; t++) {
      const factor = a[i * inner + t]
      if (factor === 0) continue
      for (let j = 0; j < cols; j++) out[i * cols + j] += factor * b[t * cols + j]
    }
  }
  return out
}

export function transposed(a: Float64Array, rows: number, cols: number): Float64Array<ArrayBuffer> {
  const out = new Float64Array(rows * cols)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) out[j * rows + i] = a[i * cols + j]
  return out
}

/** The sum of products of places: trace of A' B. */
export function inner(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i]
  return sum
}

/** The largest singular value, to a hundredth from below: a few rounds of power iteration. */
export function spectralNorm(m: Float64Array, rows: number, cols: number): number {
  let v = new Float64Array(cols)
  // The squared lengths of the columns are biased towards the leading direction, and do not depend on random numbers.
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) v[j] += m[i * cols + j] * m[i * cols + j]
  let norm = 0
  for (let round = 0; round < 16; round++) {
    const length = Math.sqrt(inner(v, v))
    if (length === 0) return 0
    v = v.map((value) => value / length)
    const next = new Float64Array(cols)
    for (let i = 0; i < rows; i++) {
      let dot = 0
      for (let j = 0; j < cols; j++) dot += m[i * cols + j] * v[j]
      for (let j = 0; j < cols; j++) next[j] += m[i * cols + j] * dot
    }
    norm = Math.sqrt(Math.sqrt(inner(next, next)))
    v = next
  }
  return norm
}

function dense(values: Float64Array, rows: number, cols: number): Dense {
  const out = new Dense(rows, cols)
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) out.set(i, j, values[i * cols + j])
  return out
}

function flat(of: Dense): Float64Array {
  const out = new Float64Array(of.rows * of.columns)
  for (let i = 0; i < of.rows; i++) for (let j = 0; j < of.columns; j++) out[i * of.columns + j] = of.get(i, j)
  return out
}

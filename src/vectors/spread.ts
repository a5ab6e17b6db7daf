/** The matrix A' A of some rows A, on the host, by what it does to vectors. */

export interface Spread {
  /** The product with each of some vectors: [count][cols]. */
  turn(vectors: Float64Array): Float64Array
}

/** Beyond this many columns, forming the square matrix costs more than multiplying by A and A' in every step. */
const MOST_SQUARE_COLUMNS = 512

/** `rows`: [rows][cols]. */
export function createSpread(rows: Float64Array, cols: number): Spread {
  const columns = transposed(rows, cols)
  if (cols > MOST_SQUARE_COLUMNS) {
    const count = rows.length / cols
    // A' (A v) for all v at once: time and memory grow with the columns, not with their square.
    return { turn: (vectors) => rowProducts(rowProducts(vectors, rows, cols), columns, count) }
  }
  const square = rowProducts(columns, columns, rows.length / cols)
  return { turn: (vectors) => rowProducts(vectors, square, cols) }
}

function transposed(rows: Float64Array, cols: number): Float64Array {
  const count = rows.length / cols
  const out = new Float64Array(rows.length)
  for (let i = 0; i < count; i++) {
    for (let j = 0; j < cols; j++) out[j * count + i] = rows[i * cols + j]
  }
  return out
}

/**
 * A B' for rows of one length. Two rows of each at a time: four sums for every four numbers that are loaded. Of A A' only the
 * upper half is computed, and mirrored.
 */
function rowProducts(a: Float64Array, b: Float64Array, length: number): Float64Array {
  const [p, q] = [a.length / length, b.length / length]
  const out = new Float64Array(p * q)
  for (let i = 0; i < p; i += 2) {
    const a0 = i * length
    const a1 = Math.min(i + 1, p - 1) * length
    for (let j = a === b ? i : 0; j < q; j += 2) {
      const b0 = j * length
      const b1 = Math.min(j + 1, q - 1) * length
      let s00 = 0
      let s01 = 0
      let s10 = 0
      let s11 = 0
      for (let t = 0; t < length; t++) {
        const x0 = a[a0 + t]
        const x1 = a[a1 + t]
        const y0 = b[b0 + t]
        const y1 = b[b1 + t]
        s00 += x0 * y0
        s01 += x0 * y1
        s10 += x1 * y0
        s11 += x1 * y1
      }
      out[i * q + j] = s00
      if (j + 1 < q) out[i * q + j + 1] = s01
      if (i + 1 < p) out[(i + 1) * q + j] = s10
      if (i + 1 < p && j + 1 < q) out[(i + 1) * q + j + 1] = s11
    }
  }
  for (let i = 0; a === b && i < p; i++) {
    for (let j = 0; j < i; j++) out[i * q + j] = out[j * q + i]
  }
  return out
}

/** Rows brought to length one: nearest by distance is then nearest by angle, for clusters, neighbours and codes alike. */
import { type Matrix, matrix } from '../../src/index.ts'

/** Rows of zeros have no direction and stay. */
export function unitRows({ data, rows, cols }: Matrix): Matrix {
  const out = new Float32Array(rows * cols)
  for (let row = 0; row < rows; row++) {
    let squares = 0
    for (let i = row * cols; i < (row + 1) * cols; i++) squares += data[i] ** 2
    const scale = squares > 0 ? 1 / Math.sqrt(squares) : 0
    for (let i = row * cols; i < (row + 1) * cols; i++) out[i] = data[i] * scale
  }
  return matrix(out, rows, cols)
}

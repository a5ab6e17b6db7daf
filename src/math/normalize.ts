/** Vectors at length one. */
import { badData } from '../core/arguments.ts'
import { type Matrix, matrix, toMatrix, type Vector } from '../core/matrix.ts'

/**
 * The same vectors, each brought to length one: distances then compare directions, as the cosine does. `metric: 'cosine'`
 * does this by itself.
 *
 * @example
 * ```ts
 * import { normalize } from 'centroidal'
 *
 * normalize([[0, 2], [-3, 0]]).data // => [0, 1, -1, 0]
 * ```
 */
export function normalize(vectors: Matrix | readonly Vector[]): Matrix<Float32Array> {
  const { rows, cols, data } = toMatrix(vectors, 'the vectors')
  const out = new Float32Array(data.length)
  for (let row = 0; row < rows; row++) {
    const own = data.subarray(row * cols, (row + 1) * cols)
    const length = lengthOf(own)
    if (!(length > 0 && length < Number.POSITIVE_INFINITY)) {
      const fault = length === 0 ? 'is all zeros and has no direction' : 'holds a number that is not finite'
      throw badData(`Row ${row} of the vectors ${fault}: remove it.`)
    }
    for (let j = 0; j < cols; j++) out[row * cols + j] = own[j] / length
  }
  return matrix(out, rows, cols)
}

function lengthOf(values: ArrayLike<number>): number {
  let squares = 0
  for (let j = 0; j < values.length; j++) squares += values[j] * values[j]
  return Math.sqrt(squares)
}

/** A plane to look at vectors in: the two directions in which they differ most (principal components). */
import { type Matrix, matrix, principalAxes } from '../../src/index.ts'

export interface Plane {
  readonly mean: Float64Array
  /** Two directions of length one, at right angles. */
  readonly axes: readonly [Float64Array, Float64Array]
}

/** More rows than this say nothing new about two directions. */
const LEARN_ROWS = 2000

/** Row numbers at even distances: all of them, or `most`. */
export function evenRows(rows: number, most: number): Uint32Array {
  const count = Math.min(rows, most)
  return Uint32Array.from({ length: count }, (_, i) => Math.floor((i * rows) / count))
}

/** From a sample. The same vectors give the same plane; vectors on a line have no second direction. */
export function principalPlane({ data, rows, cols }: Matrix): Plane {
  const chosen = evenRows(rows, LEARN_ROWS)
  const sample = new Float32Array(chosen.length * cols)
  chosen.forEach((row, i) => {
    sample.set(data.subarray(row * cols, (row + 1) * cols), i * cols)
  })
  const { mean, axes } = principalAxes(matrix(sample, chosen.length, cols), 2)
  return { mean, axes: [axes.slice(0, cols), axes.slice(cols)] }
}

/** The places of some rows, or of all, in the plane: x, y, x, y. */
export function placesOf(plane: Plane, { data, rows, cols }: Matrix, chosen?: Uint32Array): Float32Array {
  const count = chosen?.length ?? rows
  const places = new Float32Array(2 * count)
  for (let i = 0; i < count; i++) {
    const at = (chosen ? chosen[i] : i) * cols
    for (const [axis, direction] of plane.axes.entries()) {
      let dot = 0
      for (let j = 0; j < cols; j++) dot += (data[at + j] - plane.mean[j]) * direction[j]
      places[2 * i + axis] = dot
    }
  }
  return places
}

/** A plane to look at vectors in: the two directions in which they differ most (principal components). */
import { createRandom, type Matrix } from '../../src/index.ts'

export interface Plane {
  readonly mean: Float64Array
  /** Two directions of length one, at right angles. */
  readonly axes: readonly [Float64Array, Float64Array]
}

/** More rows than this say nothing new about two directions. */
const LEARN_ROWS = 2000
const ROUNDS = 40

/** Row numbers at even distances: all of them, or `most`. */
export function evenRows(rows: number, most: number): Uint32Array {
  const count = Math.min(rows, most)
  return Uint32Array.from({ length: count }, (_, i) => Math.floor((i * rows) / count))
}

/**
 * By orthogonal iteration on a sample: v becomes X'Xv, made to stand at right angles and brought to length one, again
 * and again. The same vectors give the same plane.
 */
export function principalPlane({ data, rows, cols }: Matrix): Plane {
  const sample = evenRows(rows, LEARN_ROWS)
  const mean = new Float64Array(cols)
  for (const row of sample) for (let j = 0; j < cols; j++) mean[j] += data[row * cols + j] / sample.length
  const centred = new Float32Array(sample.length * cols)
  sample.forEach((row, i) => {
    for (let j = 0; j < cols; j++) centred[i * cols + j] = data[row * cols + j] - mean[j]
  })
  const random = createRandom(1)
  let axes: Float64Array[] = [0, 1].map(() => Float64Array.from({ length: cols }, () => random.normal()))
  for (let round = 0; round < ROUNDS; round++) axes = orthonormal(axes.map((axis) => applyTwice(centred, cols, axis)))
  // Which way an axis points is chance: the largest entry decides.
  return { mean, axes: axes.map(facing) as unknown as Plane['axes'] }
}

/** X'Xv. */
function applyTwice(x: Float32Array, cols: number, v: Float64Array): Float64Array {
  const out = new Float64Array(cols)
  for (let at = 0; at < x.length; at += cols) {
    let dot = 0
    for (let j = 0; j < cols; j++) dot += x[at + j] * v[j]
    for (let j = 0; j < cols; j++) out[j] += dot * x[at + j]
  }
  return out
}

function orthonormal([first, second]: readonly Float64Array[]): Float64Array[] {
  const a = unit(first)
  const along = a.reduce((sum, value, j) => sum + value * second[j], 0)
  return [a, unit(second.map((value, j) => value - along * a[j]))]
}

/** Zero stays zero: vectors on a line have no second direction. */
function unit(v: Float64Array): Float64Array {
  const length = Math.sqrt(v.reduce((sum, value) => sum + value * value, 0))
  return length > 1e-12 ? v.map((value) => value / length) : v.map(() => 0)
}

function facing(axis: Float64Array): Float64Array {
  const largest = axis.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0)
  return largest < 0 ? axis.map((value) => -value) : axis
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

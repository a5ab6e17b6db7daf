/** Vectors of extreme kinds, and what a run over them must satisfy, measured in 64 bits. */

import type { Matrix } from '../../src/core/matrix.ts'
import type { Random } from '../../src/core/random.ts'
import type { ClusterModel } from '../../src/models/model.ts'

const LARGEST_FLOAT = 3.4028234663852886e38

type Kind = (random: Random) => Matrix

const fill = (rows: number, cols: number, value: (row: number, col: number) => number): Matrix => ({
  rows,
  cols,
  data: Float32Array.from({ length: rows * cols }, (_, i) => value(Math.floor(i / cols), i % cols)),
})

/** A few clouds of size one, far enough apart to be found. */
const clouds = (random: Random, rows: number, cols: number, size = 1, offset = 0): Matrix =>
  fill(rows, cols, (row) => offset + size * (10 * (row % 3) + random.normal()))

export const KINDS: Readonly<Record<string, Kind>> = {
  ordinary: (random) => clouds(random, 24, 3),
  denormals: (random) => fill(24, 3, () => random.below(9) * 2 ** -149),
  'small denormals and normals': (random) => fill(20, 2, () => random.normal() * 2 ** (-149 + random.below(30))),
  tiny: (random) => clouds(random, 24, 3, 1e-30),
  'near the largest float': (random) => fill(20, 2, () => (random.below(2) ? 1 : -1) * LARGEST_FLOAT),
  'about the largest float': (random) => fill(20, 3, () => LARGEST_FLOAT * (1 - random.below(9) * 2 ** -24)),
  large: (random) => clouds(random, 24, 3, 1e36),
  'large and small in a row': (random) => fill(20, 4, (_, col) => random.normal() * (col % 2 ? 5e37 : 1e-38)),
  'large and small in a column': (random) => fill(20, 2, (row) => random.normal() * (row % 2 ? 5e37 : 1e-38)),
  'far from zero': (random) => clouds(random, 24, 3, 2 ** 80, 2 ** 100),
  'a few steps apart': (random) => fill(24, 3, () => 1e30 * (1 + random.below(9) * 2 ** -23)),
  'one value in a column, tiny others': (random) => fill(24, 3, (_, col) => (col === 0 ? 1 : random.normal() * 1e-25)),
  'alternating signs': (random) => fill(24, 3, (row, col) => ((row + col) % 2 ? 1e20 : -1e20) * (1 + random.uniform())),
  'a huge outlier': (random) => fill(24, 3, (row, col) => (row === 7 && col === 1 ? 1e38 : random.normal())),
  'an outlier': (random) => fill(24, 3, (row, col) => (row === 7 && col === 1 ? 1e12 : random.normal())),
  'columns of different scales': (random) => fill(24, 4, (_, col) => random.normal() * [1e-20, 1, 1e10, 1e20][col]),
  duplicates: (random) => fill(24, 3, (row) => (row % 4) * 3 + 0 * random.next()),
  'zero and minus zero': (random) => fill(20, 2, (row) => (row % 2 ? -0 : 0) + (row % 5 === 0 ? random.normal() : 0)),
  equal: () => fill(12, 3, () => 3.7),
  'equal and large': () => fill(12, 3, () => LARGEST_FLOAT),
  zeros: () => fill(12, 2, () => 0),
  'two places': (random) => fill(15, 3, (row) => (row % 2) * (1 + random.uniform() * 0)),
  'one row': (random) => clouds(random, 1, 4),
  'one column': (random) => clouds(random, 24, 1),
  'one number': () => fill(1, 1, () => -2.5),
  wide: (random) => clouds(random, 12, 1500),
}

export function distinctRows({ rows, cols, data }: Matrix, unit: boolean): number {
  const seen = new Set<string>()
  for (let i = 0; i < rows; i++) {
    const row = Array.from(data.subarray(i * cols, (i + 1) * cols), (value) => value + 0)
    const length = unit ? Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) : 1
    // Directions that agree to six digits may well be one in 32 bits.
    seen.add(row.map((value) => (unit ? (value / length).toFixed(6) : value)).join())
  }
  return seen.size
}

export const hasZeroRow = ({ rows, cols, data }: Matrix): boolean =>
  Array.from({ length: rows }, (_, i) => data.subarray(i * cols, (i + 1) * cols)).some((row) =>
    row.every((value) => value === 0),
  )

/** Rows at length one, in 64 bits, where `unit`. */
function rowOf({ cols, data }: Matrix, i: number, unit: boolean): Float64Array {
  const row = Float64Array.from(data.subarray(i * cols, (i + 1) * cols))
  const length = unit ? Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) : 1
  return row.map((value) => value / length)
}

function squared(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, j) => sum + (value - b[j]) ** 2, 0)
}

export interface Judged {
  /** Root of the distortion of the model's centres and labels, in 64 bits. */
  readonly root: number
  /** Root of the distortion the model reports. */
  readonly reported: number
  /** What these may differ by: a small part, and what is nothing against the largest value. */
  readonly allowed: number
  /** The most that a centre of members with weight is away from their mean, and what it may be. */
  readonly meanError: number
  readonly meanAllowed: number
  /** The most that a point's centre is farther than the nearest one, and what it may be. */
  readonly nearestError: number
  readonly nearestAllowed: number
}

export function judge(vectors: Matrix, model: ClusterModel, weights: Float32Array | undefined, unit: boolean): Judged {
  const { rows, cols } = vectors
  const k = model.centers.rows
  const largest = unit ? 1 : Math.max(...Array.from(vectors.data, Math.abs))
  const points = Array.from({ length: rows }, (_, i) => rowOf(vectors, i, unit))
  const centers = Array.from({ length: k }, (_, i) => rowOf(model.centers, i, false))
  const means = Array.from({ length: k }, () => new Float64Array(cols))
  const totals = new Float64Array(k)
  const heaviest = weights ? weights.reduce((most, value) => Math.max(most, value), 0) : 1
  let sum = 0
  let whole = 0
  let nearestError = 0
  points.forEach((point, i) => {
    const label = model.labels[i]
    const own = squared(point, centers[label])
    const weight = weights ? weights[i] / heaviest : 1
    sum += weight * own
    whole += weight
    totals[label] += weight
    for (let j = 0; j < cols; j++) means[label][j] += weight * point[j]
    const nearest = centers.reduce((least, center) => Math.min(least, squared(point, center)), Number.POSITIVE_INFINITY)
    nearestError = Math.max(nearestError, Math.sqrt(own) - Math.sqrt(nearest))
  })
  let meanError = 0
  centers.forEach((center, label) => {
    if (totals[label] === 0) return
    const mean = means[label].map((value) => value / totals[label])
    const length = unit ? Math.sqrt(mean.reduce((all, value) => all + value * value, 0)) : 1
    if (length < 1e-3) return
    meanError = Math.max(
      meanError,
      Math.sqrt(
        squared(
          mean.map((value) => value / length),
          center,
        ),
      ),
    )
  })
  const root = Math.sqrt(sum / whole)
  const step = Math.max(2 ** -149, largest * 2 ** -22) * Math.sqrt(cols)
  return {
    root,
    reported: Math.sqrt(model.distortion),
    // Values below 2^-70 of the largest are nothing. Directions are rounded to 32 bits before they are clustered.
    allowed: 1e-3 * root + (unit ? step : Math.max(2 ** -160, largest * 2 ** -70)),
    meanError,
    meanAllowed: 4 * step,
    nearestError,
    nearestAllowed: 1e-3 * root + 4 * step,
  }
}

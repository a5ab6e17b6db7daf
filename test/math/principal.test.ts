import { expect, test } from 'vitest'
import { matrix } from '../../src/core/matrix.ts'
import { createRandom } from '../../src/core/random.ts'
import { inner, leadingEigenvectors } from '../../src/math/orthogonal.ts'
import { principalAxes } from '../../src/math/principal.ts'

/** Points that spread less and less in the directions of the columns. */
function cloud(rows: number, cols: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: rows * cols }, (_, at) => (random.normal() * 10) / (1 + (at % cols)) + 3)
}

test.each([
  [40, 3],
  [5, 30],
  [300, 20],
  [2, 7],
])('axes of %i vectors of %i dimensions are the eigenvectors of their covariance', (rows, cols) => {
  const data = cloud(rows, cols, 4)
  const weights = Float64Array.from({ length: rows }, (_, i) => 1 + (i % 3))
  const { mean, axes, shares } = principalAxes(matrix(data, rows, cols), 2, weights)
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const covariance = new Float64Array(cols * cols)
  let trace = 0
  for (let i = 0; i < rows; i++) {
    for (let a = 0; a < cols; a++) {
      for (let b = 0; b < cols; b++) {
        const term = weights[i] * (data[i * cols + a] - mean[a]) * (data[i * cols + b] - mean[b])
        covariance[a * cols + b] += term
        if (a === b) trace += term
      }
    }
  }
  for (let j = 0; j < cols; j++) {
    let sum = 0
    for (let i = 0; i < rows; i++) sum += weights[i] * data[i * cols + j]
    expect(mean[j]).toBeCloseTo(sum / whole, 6)
  }
  const oracle = leadingEigenvectors(covariance, cols, 2)
  // Two points have one direction; the second axis is then anything, with no share.
  for (let a = 0; a < Math.min(2, rows - 1); a++) {
    const [found, known] = [axes, oracle].map((of) => of.subarray(a * cols, (a + 1) * cols))
    expect(Math.abs(inner(found, known))).toBeCloseTo(1, 5)
    const along = Array.from({ length: cols }, (_, i) => inner(covariance.subarray(i * cols, (i + 1) * cols), found))
    expect(shares[a]).toBeCloseTo(inner(along, found) / trace, 9)
    expect(Math.max(...found)).toBeGreaterThanOrEqual(-Math.min(...found))
  }
  expect(shares[1]).toBeLessThanOrEqual(shares[0])
})

test('two axes that spread alike are both found', () => {
  // A square and nothing else, turned into a space of many dimensions.
  const cols = 90
  const data = new Float32Array(4 * cols)
  for (const [i, [x, y]] of [
    [1, 1],
    [1, -1],
    [-1, 1],
    [-1, -1],
  ].entries()) {
    for (let j = 0; j < cols; j++) data[i * cols + j] = j % 2 === 0 ? x : y
  }
  const { shares } = principalAxes(matrix(data, 4, cols))
  expect(shares[0]).toBeCloseTo(0.5, 9)
  expect(shares[1]).toBeCloseTo(0.5, 9)
})

test('projects onto the axes', () => {
  const line = matrix(Float32Array.of(1, 5, 2, 6, 3, 7), 3, 2)
  const { project, shares } = principalAxes(line)
  expect(shares[0]).toBeCloseTo(1, 12)
  const { rows, cols, data } = project(line)
  expect([rows, cols]).toEqual([3, 2])
  for (const [i, along] of [-Math.SQRT2, 0, Math.SQRT2].entries()) {
    expect(data[2 * i]).toBeCloseTo(along, 6)
    expect(data[2 * i + 1]).toBeCloseTo(0, 6)
  }
  expect(() => project(matrix(Float32Array.of(1, 2, 3), 1, 3))).toThrow(/3 columns and the axes 2/)
})

test('where nothing spreads, or one dimension is all there is, axes are zero', () => {
  const same = principalAxes(matrix(Float32Array.of(2, 2, 2, 2), 2, 2))
  expect(Array.from(same.axes)).toEqual([0, 0, 0, 0])
  expect(same.shares).toEqual([0, 0])
  const narrow = principalAxes(matrix(Float32Array.of(1, 2, 3), 3, 1))
  expect(narrow.axes[0]).toBeCloseTo(1, 12)
  expect(narrow.axes[1]).toBe(0)
  expect(narrow.shares[0]).toBeCloseTo(1, 12)
})

test('what cannot be is refused', () => {
  expect(() => principalAxes(matrix(new Float32Array(0), 0, 2))).toThrow(/at least one vector/)
  expect(() => principalAxes(matrix(new Float32Array(4), 2, 2), 2, [1])).toThrow(/1 weights for 2 vectors/)
})

test.each([
  [Float32Array.of(1, Number.NaN, 3, 4), undefined, 2, /Row 0 of the vectors holds NaN in column 1/],
  [Float32Array.of(1, 2, Number.POSITIVE_INFINITY, 4), undefined, 2, /Row 1 .* holds Infinity in column 0/],
  [Float32Array.of(1, 2, 3, 4), [1, Number.NaN], 2, /Entry 1 of the weights is NaN/],
  [Float32Array.of(1, 2, 3, 4), [1, -1], 2, /Entry 1 of the weights is -1/],
  [Float32Array.of(1, 2, 3, 4), undefined, 0.5, /count is 0\.5/],
  [Float32Array.of(1, 2, 3, 4), undefined, 1e9, /The count is 1000000000/],
])('%o with weights %o and count %s is refused', (data, weights, count, message) => {
  expect(() => principalAxes(matrix(data, 2, 2), count, weights)).toThrow(message)
})

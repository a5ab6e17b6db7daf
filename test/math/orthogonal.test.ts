import { expect, test } from 'vitest'
import { createRandom } from '../../src/core/random.ts'
import {
  inner,
  leadingEigenvectors,
  polarFactor,
  product,
  randomRotation,
  spectralNorm,
  transposed,
} from '../../src/math/orthogonal.ts'
import { fc } from '../properties.ts'

function normal(count: number, seed: number): Float64Array {
  const random = createRandom(seed)
  return new Float64Array(count).map(() => random.normal())
}

/** The largest entry of A'A - I. */
function notOrthonormal(a: Float64Array, rows: number, cols: number): number {
  const square = product(transposed(a, rows, cols), a, cols, rows, cols)
  return Math.max(...square.map((value, i) => Math.abs(value - (i % (cols + 1) === 0 ? 1 : 0))))
}

test('polar factors are orthonormal, and no other rotation fits better', () => {
  fc.assert(
    fc.property(
      fc.record({ cols: fc.integer({ min: 1, max: 9 }), more: fc.integer({ min: 0, max: 5 }), seed: fc.nat(1e6) }),
      ({ cols, more, seed }) => {
        const rows = cols + more
        const m = normal(rows * cols, seed)
        const polar = polarFactor(m, rows, cols)
        expect(notOrthonormal(polar, rows, cols)).toBeLessThan(1e-9)
        const other = polarFactor(normal(rows * cols, seed + 1), rows, cols)
        expect(inner(polar, m)).toBeGreaterThanOrEqual(inner(other, m) - 1e-9)
      },
    ),
    { numRuns: 30 },
  )
})

test('random rotations are rotations, and differ', () => {
  const random = createRandom(4)
  const [a, b] = [randomRotation(random, 7), randomRotation(random, 7)]
  expect(notOrthonormal(a, 7, 7)).toBeLessThan(1e-12)
  expect(inner(a, b)).toBeLessThan(5)
})

test('leading eigenvectors come by size', () => {
  // Q diag(5, 3, 2, 1) Q'
  const q = randomRotation(createRandom(2), 4)
  const values = [2, 5, 1, 3]
  const scaled = q.map((value, i) => value * values[i % 4])
  const symmetric = product(scaled, transposed(q, 4, 4), 4, 4, 4)
  const found = leadingEigenvectors(symmetric, 4, 2)
  const directions = [1, 3].map((column) => [0, 1, 2, 3].map((row) => q[row * 4 + column]))
  for (const [i, direction] of directions.entries()) {
    expect(Math.abs(inner(found.subarray(i * 4, i * 4 + 4), direction))).toBeCloseTo(1, 9)
  }
})

test('the spectral norm is the largest singular value', () => {
  const [u, v] = [randomRotation(createRandom(5), 6), randomRotation(createRandom(6), 6)]
  const values = [1, 9, 2, 0, 4, 3]
  const m = product(
    u.map((value, i) => value * values[i % 6]),
    v,
    6,
    6,
    6,
  )
  expect(spectralNorm(m, 6, 6)).toBeCloseTo(9, 3)
  expect(spectralNorm(new Float64Array(6), 3, 2)).toBe(0)
})

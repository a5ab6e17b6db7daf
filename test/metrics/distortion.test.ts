import { describe, expect, test } from 'vitest'
import { CentroidalError } from '../../src/core/errors.ts'
import { matrix } from '../../src/core/matrix.ts'
import { distortion, imbalance } from '../../src/metrics/distortion.ts'
import { fc } from '../properties.ts'

const vectors = matrix(Float32Array.of(0, 0, 3, 4, 1, 1), 3, 2)
const centers = matrix(Float32Array.of(0, 0, 1, 0), 2, 2)
const bad = (message: string) => new CentroidalError('bad-data', message)

describe('distortion', () => {
  test('by hand', () => {
    expect(distortion(vectors, centers, [0, 0, 1])).toBeCloseTo((0 + 25 + 1) / 3, 14)
    expect(distortion(vectors, centers, Uint32Array.of(0, 0, 1), [1, 0, 3])).toBe(3 / 4)
  })

  test('bytes and floats mix', () => {
    expect(distortion(matrix(Uint8Array.of(0, 255), 2, 1), matrix(Float32Array.of(127.5), 1, 1), [0, 0])).toBe(
      127.5 ** 2,
    )
  })

  test('sums in 64 bits', () => {
    // In 32 bits the sum of squares would stop growing at 2^24.
    const many = matrix(new Float32Array(20_000_000).fill(1), 20_000_000, 1)
    expect(distortion(many, matrix(Float32Array.of(0), 1, 1), new Uint8Array(20_000_000))).toBe(1)
  })

  test.each([
    [
      'no vectors',
      [matrix(new Float32Array(0), 0, 2), centers, []],
      'There are no vectors: the distortion is undefined; give at least one vector.',
    ],
    [
      'another width',
      [vectors, matrix(Float32Array.of(1), 1, 1), [0, 0, 0]],
      'The vectors have 2 columns, the centers 1: they need the same number.',
    ],
    ['too few labels', [vectors, centers, [0, 0]], 'There are 3 vectors and 2 labels: one for each is needed.'],
    [
      'a label without center',
      [vectors, centers, [0, 2, 0]],
      'The label of row 1 is 2: the centers are numbered 0 to 1.',
    ],
    [
      'a label that is no number of a center',
      [vectors, centers, [0, 1, 0.5]],
      'The label of row 2 is 0.5: the centers are numbered 0 to 1.',
    ],
    [
      'too many weights',
      [vectors, centers, [0, 0, 0], [1, 1, 1, 1]],
      'There are 3 vectors and 4 weights: one for each is needed.',
    ],
    [
      'a negative weight',
      [vectors, centers, [0, 0, 0], [1, -1, 1]],
      'The weight of row 1 is -1: weights are finite and at least 0.',
    ],
    ['no weight', [vectors, centers, [0, 0, 0], [0, 0, 0]], 'All weights are 0: at least one vector has to count.'],
  ] satisfies [string, Parameters<typeof distortion>, string][])('%s', (_, parameters, sentence) => {
    expect(() => distortion(...(parameters as Parameters<typeof distortion>))).toThrow(bad(sentence))
  })
})

describe('imbalance', () => {
  test('by hand', () => {
    expect(imbalance([5, 5, 5, 5])).toBe(1)
    expect(imbalance([8, 0, 0, 0])).toBe(4)
    expect(imbalance(Uint32Array.of(3, 1))).toBe(1.25)
  })

  test('between 1 and the number of clusters', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 }), (counts) => {
        fc.pre(counts.some((count) => count > 0))
        expect(imbalance(counts)).toBeGreaterThanOrEqual(1 - 1e-12)
        expect(imbalance(counts)).toBeLessThanOrEqual(counts.length + 1e-12)
      }),
    )
  })

  test('needs counts', () => {
    expect(() => imbalance([0, 0])).toThrow(
      bad('The clusters are all empty: the imbalance is undefined; give labels of at least one vector.'),
    )
    expect(() => imbalance([])).toThrow(CentroidalError)
    expect(() => imbalance([1, -1])).toThrow(bad('Entry 1 of the counts is -1: give finite numbers, 0 or more.'))
  })
})

test('numbers near the largest keep their meaning, and NaN is refused', () => {
  const line = matrix(Float32Array.of(0, 2), 2, 1)
  const center = matrix(Float32Array.of(0), 1, 1)
  expect(distortion(line, center, [0, 0], [1e308, 1e308])).toBe(2)
  expect(distortion(line, center, [0, 0], [1e-320, 1e-320])).toBe(2)
  expect(imbalance([1e308, 1e308])).toBe(1)
  expect(() => distortion(matrix(Float32Array.of(Number.NaN), 1, 1), center, [0])).toThrow(/must be finite/)
})

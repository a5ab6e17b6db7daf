/** The BIC of hard clusters: against its formula written out, and by what it promises. */
import { expect, test } from 'vitest'
import { bic, blobs, createRandom, type Matrix, matrix, sparseMatrix } from '../../src/index.ts'
import { mixtureBic } from '../../src/metrics/bic.ts'

/** Log of a spherical Gaussian at one row. */
function logDensity(row: readonly number[], mean: readonly number[], variance: number): number {
  const squared = row.reduce((sum, value, j) => sum + (value - mean[j]) ** 2, 0)
  return (-row.length / 2) * Math.log(2 * Math.PI * variance) - squared / (2 * variance)
}

/** The sum over rows of ln(weight) + ln(density), with means and variances by the book. */
function oracle({ rows, cols, data }: Matrix, labels: ArrayLike<number>): number {
  const row = (i: number): number[] => Array.from(data.subarray(i * cols, (i + 1) * cols))
  const names = [...new Set(Array.from(labels))]
  let logLikelihood = 0
  for (const name of names) {
    const members = Array.from({ length: rows }, (_, i) => i).filter((i) => labels[i] === name)
    const mean = Array.from({ length: cols }, (_, j) => members.reduce((s, i) => s + row(i)[j], 0) / members.length)
    let squares = 0
    for (const i of members) squares += row(i).reduce((sum, value, j) => sum + (value - mean[j]) ** 2, 0)
    const variance = squares / (members.length * cols)
    for (const i of members) logLikelihood += Math.log(members.length / rows) + logDensity(row(i), mean, variance)
  }
  return -2 * logLikelihood + (names.length * (cols + 2) - 1) * Math.log(rows)
}

function cloud(rows: number, cols: number, seed: number): Matrix {
  const random = createRandom(seed)
  return matrix(
    Float32Array.from({ length: rows * cols }, () => random.normal()),
    rows,
    cols,
  )
}

test.each([
  [40, 1, 3],
  [57, 5, 4],
  [30, 3, 1],
])('%i rows of %i columns in %i clusters: the formula', async (rows, cols, k) => {
  const vectors = cloud(rows, cols, rows)
  const labels = Array.from({ length: rows }, (_, i) => 10 * (i % k))
  const wanted = oracle(vectors, labels)
  expect(Math.abs((await bic(vectors, labels)) / wanted - 1)).toBeLessThan(1e-9)
})

test('sparse rows have the same as dense ones', async () => {
  const vectors = cloud(20, 4, 3)
  const labels = Array.from({ length: 20 }, (_, i) => i % 3)
  const columns = Array.from({ length: 80 }, (_, i) => i % 4)
  const offsets = Array.from({ length: 21 }, (_, i) => 4 * i)
  const sparse = sparseMatrix({ offsets, columns, values: vectors.data }, 20, 4)
  expect(await bic(sparse, labels)).toBeCloseTo(await bic(vectors, labels), 6)
})

test('multiplying all vectors by s adds 2 n d ln s; names and order of the clusters do not matter', async () => {
  const { vectors, labels } = blobs({ rows: 90, cols: 3, clusters: 4, seed: 2 })
  const large = matrix(
    vectors.data.map((value) => value * 8),
    90,
    3,
  )
  const plain = await bic(vectors, labels)
  expect((await bic(large, labels)) - plain).toBeCloseTo(2 * 90 * 3 * Math.log(8), 6)
  const renamed = labels.map((label) => 7 - label)
  expect(await bic(vectors, renamed)).toBeCloseTo(plain, 6)
})

test('it is lowest for the true clusters', async () => {
  const { vectors, labels } = blobs({ rows: 400, cols: 3, clusters: 4, seed: 1, separated: true })
  const right = await bic(vectors, labels)
  const joined = labels.map((label) => Math.max(1, label))
  const halved = labels.map((label, i) => (label === 0 && i % 2 === 0 ? 4 : label))
  expect(await bic(vectors, joined)).toBeGreaterThan(right)
  expect(await bic(vectors, halved)).toBeGreaterThan(right)
})

test('single vectors and equal ones do not make it infinite, and do not pay', async () => {
  const vectors = cloud(200, 4, 5)
  const one = await bic(vectors, new Uint32Array(200))
  const alone = Uint32Array.from({ length: 200 }, (_, i) => (i < 20 ? i + 1 : 0))
  expect(await bic(vectors, alone)).toBeGreaterThan(one)
  expect(Number.isFinite(await bic(vectors, Uint32Array.from(alone.keys())))).toBe(true)
  const places = matrix(Float32Array.of(0, 0, 5, 5, 5), 5, 1)
  expect(Number.isFinite(await bic(places, [0, 0, 1, 1, 1]))).toBe(true)
  await expect(bic(matrix(new Float32Array(6), 3, 2), [0, 0, 1])).rejects.toThrow(/All vectors are the same/)
  await expect(bic(vectors, [0, 1])).rejects.toThrow(/200 vectors and 2 labels/)
})

test('a mixture of one Gaussian has d + 1 numbers to learn', () => {
  expect(mixtureBic(-10, Math.E, 1, 5)).toBeCloseTo(20 + 6, 12)
})

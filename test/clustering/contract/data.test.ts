/** What follows from the data alone: scaling, order of rows, bad numbers, and what a model says of itself. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cluster, type Device, type Matrix, matrix, openDevice } from '../../../src/index.ts'
import { distortionOf, isSound, squaredDistance, unitRows } from './oracle.ts'
import { bitsOf, cloud, excused, K, SUBJECTS } from './subjects.ts'

const vectors = cloud(8)

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

const times = ({ data, rows, cols }: Matrix, factor: number): Matrix =>
  matrix(
    Float32Array.from(data, (value) => value * factor),
    rows,
    cols,
  )

describe('scaled by a power of two, everything is', () => {
  // Within the range that is left as it is, and far outside of it, where vectors are scaled back.
  test.each(SUBJECTS)('$name', async ({ options }) => {
    const usual = await cluster(vectors, { ...options, device })
    for (const factor of [2 ** -24, 2 ** 22, 2 ** 60]) {
      const scaled = await cluster(times(vectors, factor), { ...options, device })
      expect(scaled.labels).toEqual(usual.labels)
      expect(scaled.centers.data).toEqual(usual.centers.data.map((value) => value * factor))
      expect(scaled.distortion / factor ** 2).toBeCloseTo(usual.distortion, 10)
    }
  })
})

describe('rows in another order', () => {
  test.each(SUBJECTS)('$name', async (subject) => {
    const { rows, cols } = vectors
    const order = Array.from({ length: rows }, (_, i) => (i * 77 + 13) % rows)
    const data = Float32Array.from(
      order.flatMap((row) => Array.from(vectors.data.subarray(row * cols, (row + 1) * cols))),
    )
    const k = Number(subject.options.k ?? K)
    const start = matrix(Float32Array.from(vectors.data.subarray(0, k * cols)), k, cols)
    const asked = { ...subject.options, start, device }
    const usual = await cluster(vectors, asked)
    const other = await cluster(matrix(data, rows, cols), asked)
    if (excused('permutation', subject)) {
      expect(Math.abs(other.distortion / usual.distortion - 1)).toBeLessThan(0.25)
    } else {
      expect(Array.from(other.labels)).toEqual(order.map((row) => usual.labels[row]))
      expect(other.distortion / usual.distortion).toBeCloseTo(1, 5)
    }
  })
})

describe('numbers that are none are refused, and the row is named', () => {
  test.each(SUBJECTS)('$name', async ({ options }) => {
    const model = await cluster(vectors, { ...options, iterations: 1, device })
    for (const bad of [Number.NaN, Number.NEGATIVE_INFINITY]) {
      const data = Float32Array.from(vectors.data)
      data[17 * vectors.cols + 2] = bad
      const broken = matrix(data, vectors.rows, vectors.cols)
      await expect(cluster(broken, { ...options, device })).rejects.toThrow(/[Rr]ow 17 .*column 2/)
      await expect(model.assign(broken, { device })).rejects.toThrow(/[Rr]ow 17 .*column 2/)
    }
  })
})

describe('a model tells the truth about itself', () => {
  test.each(SUBJECTS)('$name', async (subject) => {
    for (const metric of ['euclidean', 'cosine'] as const) {
      const model = await cluster(vectors, { ...subject.options, metric, iterations: 40, device })
      const seen = metric === 'cosine' ? unitRows(vectors) : vectors
      expect(isSound(model)).toBe(true)
      expect(model.distortion / distortionOf(seen, model)).toBeCloseTo(1, 5)
      expect(model.facts.iterations.map(({ iteration }) => iteration)).toEqual(
        model.facts.iterations.map((_, i) => i + 1),
      )
      const { labels, distances } = await model.assign(vectors, { device })
      for (let i = 0; i < vectors.rows; i++) {
        expect(distances[i]).toBeCloseTo(squaredDistance(seen, i, model.centers, labels[i]), 3)
      }
      if (excused('nearest labels', subject) || model.facts.stopped !== 'converged') continue
      for (let i = 0; i < vectors.rows; i++) {
        const gaps = Array.from({ length: model.facts.k }, (_, j) => squaredDistance(seen, i, model.centers, j))
        expect(gaps[model.labels[i]]).toBeLessThanOrEqual(Math.min(...gaps) * (1 + 1e-5) + 1e-9)
      }
    }
  })
})

test.each(SUBJECTS)('$name: the same again, and another seed', async ({ options }) => {
  const usual = await cluster(vectors, { ...options, device })
  expect(bitsOf(await cluster(vectors, { ...options, device }))).toEqual(bitsOf(usual))
  expect(isSound(await cluster(vectors, { ...options, seed: 2 ** 32 - 1, device }))).toBe(true)
})

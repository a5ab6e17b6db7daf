/** Groups of points in two halves: against 2-means in plain TypeScript, for awkward sizes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toSource } from '../../src/core/matrix.ts'
import { createRandom, type Device, type Matrix, openDevice } from '../../src/index.ts'
import { NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { halveGroups, oppositeStart } from '../../src/trees/halves.ts'
import { inspectVectors } from '../../src/vectors/frame.ts'
import { PointStore } from '../../src/vectors/points.ts'
import { normal } from '../clustering/clouds.ts'
import { CLUSTERING_DEVICES } from '../clustering/devices.ts'

const ROUNDS = 3

function squaredDistance(a: ArrayLike<number>, i: number, b: ArrayLike<number>, j: number, cols: number): number {
  let sum = 0
  for (let t = 0; t < cols; t++) sum += (a[i * cols + t] - b[j * cols + t]) ** 2
  return sum
}

/** Lloyd among the points of each group; a half without points keeps its centre. */
function oracle({ rows, cols, data }: Matrix, places: Uint32Array, start: Float32Array, weights: Float32Array) {
  const centers = Float64Array.from(start)
  const labels = new Uint32Array(rows)
  for (let round = 0; round < ROUNDS; round++) {
    const sums = new Float64Array(centers.length)
    const totals = new Float64Array(centers.length / cols)
    for (let i = 0; i < rows; i++) {
      if (places[i] === NO_LABEL) continue
      const first = 2 * places[i]
      const nearer = squaredDistance(data, i, centers, first + 1, cols) < squaredDistance(data, i, centers, first, cols)
      labels[i] = nearer ? first + 1 : first
      totals[labels[i]] += weights[i]
      for (let t = 0; t < cols; t++) sums[labels[i] * cols + t] += weights[i] * data[i * cols + t]
    }
    totals.forEach((total, half) => {
      for (let t = 0; t < cols && total > 0; t++) centers[half * cols + t] = sums[half * cols + t] / total
    })
  }
  return { labels, centers }
}

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`halving groups on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    test.each([
      [2, 1, 1, false],
      [67, 3, 4, false],
      [131, 5, 7, true],
      [300, 17, 1, true],
      [500, 9, 70, true],
      [700, 130, 64, false],
    ])('%i rows of %i columns in %i groups, weighted: %s', async (rows, cols, count, weighted) => {
      const vectors = normal(rows, cols, 11)
      const random = createRandom(5)
      // Some points belong to no group, unless there are only two.
      const places = Uint32Array.from({ length: rows }, (_, i) => (rows > 2 && i % 9 === 4 ? NO_LABEL : i % count))
      const weights = Float32Array.from({ length: rows }, () => (weighted ? 0.5 + random.uniform() : 1))
      const start = Float32Array.from({ length: 2 * count * cols }, () => random.uniform() - 0.5)
      const source = toSource(vectors)
      const { frame } = await inspectVectors(source, 'euclidean')
      const points = await PointStore.open(device, source, { frame, ...(weighted ? { weights } : {}) })
      try {
        const inParts = points.inParts(weighted ? weights : undefined)
        const found = await halveGroups(device, inParts, { places, start }, random, { rounds: ROUNDS, unit: false })
        const wanted = oracle(vectors, places, start, weights)
        const totals = new Float64Array(2 * count)
        const squares = new Float64Array(2 * count)
        for (let i = 0; i < rows; i++) {
          if (places[i] === NO_LABEL) continue
          expect(found.labels[i]).toBe(wanted.labels[i])
          totals[wanted.labels[i]] += weights[i]
          squares[wanted.labels[i]] +=
            weights[i] * squaredDistance(vectors.data, i, wanted.centers, wanted.labels[i], cols)
        }
        found.centers.forEach((value, at) => {
          expect(value).toBeCloseTo(wanted.centers[at], 4)
        })
        found.weights.forEach((value, half) => {
          expect(value).toBeCloseTo(totals[half], 4)
        })
        found.squares.forEach((value, half) => {
          expect(value / Math.max(1, squares[half])).toBeCloseTo(squares[half] / Math.max(1, squares[half]), 4)
        })
        const counted = await halveGroups(device, inParts, { places, start, weightOf: () => 2 }, random, {
          ...{ rounds: ROUNDS, unit: false },
        })
        expect(counted.weights.reduce((sum, value) => sum + value, 0)).toBe(
          2 * places.filter((group) => group !== NO_LABEL).length,
        )
      } finally {
        points.free()
      }
    })
  })
}

describe('where halves begin', () => {
  test('a point of the group that lies away from its centre, and the place opposite to it', async () => {
    const device = await openDevice({ kind: 'cpu', threads: 1 })
    const vectors = normal(40, 2, 3)
    const source = toSource(vectors)
    const points = await PointStore.open(device, source, await inspectVectors(source, 'euclidean'))
    try {
      const places = Uint32Array.from({ length: 40 }, (_, i) => (i % 3 === 2 ? NO_LABEL : i % 3))
      const centers = Float32Array.of(0.25, 0.5, -0.5, 0.125)
      // Only two points of each group lie away from the centre, as far as the distances say.
      const distances = Float32Array.from({ length: 40 }, (_, i) => (i === 3 || i === 9 || i === 4 || i === 7 ? 2 : 0))
      const drawn = [new Set<number>(), new Set<number>()]
      const random = createRandom(1)
      for (let turn = 0; turn < 40; turn++) {
        const start = await oppositeStart(points.inParts(), { places, distances, squares: [4, 4], centers }, random)
        for (const group of [0, 1]) {
          const [x, y, u, v] = start.subarray(group * 4, group * 4 + 4)
          const row = Array.from(places.keys()).find((i) => vectors.data[2 * i] === x && vectors.data[2 * i + 1] === y)
          drawn[group].add(row as number)
          expect((x + u) / 2).toBeCloseTo(centers[2 * group], 6)
          expect((y + v) / 2).toBeCloseTo(centers[2 * group + 1], 6)
        }
      }
      expect(drawn.map((rows) => [...rows].sort((a, b) => a - b))).toEqual([
        [3, 9],
        [4, 7],
      ])
    } finally {
      points.free()
      await device.close()
    }
  })
})

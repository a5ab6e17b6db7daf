/** More clusters from fewer: what a step of a sweep begins with. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { extendClusters } from '../../src/clustering/sweep/extension.ts'
import { toSource } from '../../src/core/matrix.ts'
import {
  adjustedRandIndex,
  blobs,
  createRandom,
  type Device,
  distortion,
  type Matrix,
  matrix,
  openDevice,
} from '../../src/index.ts'
import { inspectVectors } from '../../src/vectors/frame.ts'
import { PointStore } from '../../src/vectors/points.ts'
import { normal } from './clouds.ts'
import { CLUSTERING_DEVICES } from './devices.ts'

/** Means of the labelled rows. */
function meansOf({ rows, cols, data }: Matrix, labels: ArrayLike<number>, k: number): Matrix {
  const sums = new Float64Array(k * cols)
  const sizes = new Float64Array(k)
  for (let row = 0; row < rows; row++) {
    sizes[labels[row]]++
    for (let j = 0; j < cols; j++) sums[labels[row] * cols + j] += data[row * cols + j]
  }
  return matrix(
    Float32Array.from(sums, (sum, at) => sum / Math.max(1, sizes[Math.floor(at / cols)])),
    k,
    cols,
  )
}

for (const { name, options: deviceOptions } of CLUSTERING_DEVICES) {
  describe(`extending clusters on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(deviceOptions)
    })
    afterAll(() => device.close())

    async function extended(vectors: Matrix, labels: Uint32Array, k: number): Promise<Uint32Array> {
      const source = toSource(vectors)
      const points = await PointStore.open(device, source, await inspectVectors(source, 'euclidean'))
      try {
        const random = createRandom(1)
        return (
          await extendClusters(device, points, labels, { k, random, unit: false, effort: { waves: 3, passes: 12 } })
        ).labels
      } finally {
        points.free()
      }
    }

    test.each([
      [50, 3, 1, 1],
      [50, 3, 1, 2],
      [97, 5, 4, 5],
      [97, 5, 7, 31],
      [40, 2, 3, 40],
    ])(
      '%i rows of %i columns, from %i to %i clusters: all have points, and the distortion falls',
      async (rows, cols, before, k) => {
        const vectors = normal(rows, cols, 3)
        const labels = Uint32Array.from({ length: rows }, (_, i) => i % before)
        const found = await extended(vectors, labels, k)
        expect([...new Set(found)].sort((a, b) => a - b)).toEqual(Array.from({ length: k }, (_, i) => i))
        const was = distortion(vectors, meansOf(vectors, labels, before), labels)
        const is = distortion(vectors, meansOf(vectors, found, k), found)
        expect(is).toBeLessThanOrEqual(was * (1 + 1e-6))
        if (k > before) expect(is).toBeLessThan(was)
      },
    )

    test('clusters that share a group make room for groups that share a cluster', async () => {
      const { vectors, labels } = blobs({ rows: 240, cols: 4, clusters: 6, seed: 2, separated: true })
      // Blob 0 has two clusters, blobs 1 and 2 have one together.
      const wrong = labels.map((label, i) => (label === 0 ? (i % 2 === 0 ? 0 : 1) : Math.max(2, label)))
      expect(adjustedRandIndex(await extended(vectors, wrong, 6), labels)).toBe(1)
      const right = await extended(vectors, labels, 6)
      expect(adjustedRandIndex(right, labels)).toBe(1)
    })

    test('a cluster without points gives its place to a half', async () => {
      const { vectors, labels } = blobs({ rows: 90, cols: 2, clusters: 3, seed: 2, separated: true })
      const joined = labels.map((label) => (label === 2 ? 0 : label))
      expect(adjustedRandIndex(await extended(vectors, joined, 3), labels)).toBe(1)
    })
  })
}

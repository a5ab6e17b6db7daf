/** From the clusters of a sample to labels of all points: against plain TypeScript. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nearestLabels, spreadLabels } from '../../../src/clustering/sweep/spread.ts'
import { toSource } from '../../../src/core/matrix.ts'
import { createRandom, type Device, openDevice } from '../../../src/index.ts'
import { inspectVectors } from '../../../src/vectors/frame.ts'
import { PointStore } from '../../../src/vectors/points.ts'
import { normal } from '../clouds.ts'
import { CLUSTERING_DEVICES } from '../devices.ts'

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`spreading labels on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    test.each([
      [20, 1, 2, 3],
      [143, 3, 5, 9],
      [311, 18, 4, 13],
    ])('%i points of %i columns, from %i to %i clusters', async (rows, cols, before, k) => {
      const vectors = normal(rows, cols, 6)
      const random = createRandom(3)
      const labels = Uint32Array.from({ length: rows }, (_, i) => (i === 0 ? before : random.below(before)))
      // Point 0 is alone in its cluster and not in the sample.
      const sample = Uint32Array.from({ length: rows - 1 }, (_, i) => i + 1).filter((i) => i % 3 === 1)
      const after = {
        labels: Uint32Array.from(sample, () => random.below(k)),
        centers: Float32Array.from({ length: k * cols }, () => 2 * random.uniform() - 1),
      }
      const distance = (point: number, center: number): number => {
        let sum = 0
        for (let j = 0; j < cols; j++) {
          sum += (vectors.data[point * cols + j] - after.centers[center * cols + j]) ** 2
        }
        return sum
      }
      const source = toSource(vectors)
      const points = await PointStore.open(device, source, await inspectVectors(source, 'euclidean'))
      try {
        const found = await spreadLabels(device, points, labels, sample, after, undefined)
        found.forEach((label, point) => {
          const mates = [...sample.keys()].filter((i) => labels[sample[i]] === labels[point])
          const among = mates.length > 0 ? mates.map((i) => after.labels[i]) : Array.from({ length: k }, (_, i) => i)
          expect(among).toContain(label)
          const least = Math.min(...among.map((center) => distance(point, center)))
          expect(distance(point, label)).toBeLessThanOrEqual(least * (1 + 1e-5))
        })
        const nearest = await nearestLabels(device, points, after.centers, undefined)
        nearest.forEach((label, point) => {
          const least = Math.min(...Array.from({ length: k }, (_, center) => distance(point, center)))
          expect(distance(point, label)).toBeLessThanOrEqual(least * (1 + 1e-5))
        })
      } finally {
        points.free()
      }
    })
  })
}

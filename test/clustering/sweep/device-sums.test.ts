/** Sums of clusters on the device, against those in 64 bits on the host. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scatterSumsOnDevice } from '../../../src/clustering/sweep/device-sums.ts'
import { scoredSource } from '../../../src/clustering/sweep/scored-source.ts'
import { toSource } from '../../../src/core/matrix.ts'
import { createRandom, type Device, matrix, openDevice, type VectorInput } from '../../../src/index.ts'
import { scatterSums } from '../../../src/metrics/scatter-sums.ts'
import { inspectVectors } from '../../../src/vectors/frame.ts'
import { PointStore } from '../../../src/vectors/points.ts'
import { normal } from '../clouds.ts'
import { CLUSTERING_DEVICES } from '../devices.ts'
import { documents } from '../documents.ts'

/** Far from zero, so that the frame has a shift. */
function far(rows: number, cols: number): VectorInput {
  const { data } = normal(rows, cols, 2)
  return matrix(
    Float32Array.from(data, (value) => 5000 + value),
    rows,
    cols,
  )
}

function closeTo(found: ArrayLike<number>, wanted: ArrayLike<number>, scale: number): void {
  expect(found).toHaveLength(wanted.length)
  for (let i = 0; i < wanted.length; i++) expect(Math.abs(found[i] - wanted[i]) / scale).toBeLessThan(1e-4)
}

for (const { name, options } of CLUSTERING_DEVICES) {
  describe(`sums of clusters on ${name}`, () => {
    let device: Device
    beforeAll(async () => {
      device = await openDevice(options)
    })
    afterAll(() => device.close())

    test.each([
      ['one cluster', normal(7, 3, 1), 1, 'euclidean'],
      ['odd sizes', normal(301, 5, 1), 7, 'euclidean'],
      ['wide rows', normal(130, 67, 3), 11, 'euclidean'],
      ['far from zero', far(200, 6), 5, 'euclidean'],
      ['length one', normal(257, 9, 4), 6, 'cosine'],
      ['sparse rows', documents(120, 60, 8, 4, 1, 3), 4, 'cosine'],
    ] as const)('%s', async (_, vectors, k, metric) => {
      const source = toSource(vectors)
      const { frame } = await inspectVectors(source, metric)
      const points = await PointStore.open(device, source, { frame })
      try {
        const random = createRandom(9)
        const labels = Uint32Array.from({ length: source.rows }, () => 2 * random.below(k))
        const found = await scatterSumsOnDevice(device, points, labels, undefined)
        const wanted = await scatterSums(scoredSource(points), labels)
        expect(found.clusters).toEqual(wanted.clusters)
        expect(found.sizes).toEqual(wanted.sizes)
        closeTo(found.means.data, wanted.means.data, Math.max(1, ...wanted.means.data.map(Math.abs)))
        closeTo(found.means.squares, wanted.means.squares, Math.max(1, ...wanted.means.squares))
        closeTo(found.distances, wanted.distances, Math.max(...wanted.distances))
        closeTo(found.squares, wanted.squares, Math.max(...wanted.squares))
        expect(Math.abs(found.between - wanted.between)).toBeLessThan(1e-3 * (wanted.between + wanted.squares[0]))
      } finally {
        points.free()
      }
    })
  })
}

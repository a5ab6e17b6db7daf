/** Sweeps of wide vectors: clusters are looked for in fewer columns. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reducedPoints } from '../../../src/clustering/sweep/reduced.ts'
import { toSource } from '../../../src/core/matrix.ts'
import {
  adjustedRandIndex,
  blobs,
  cluster,
  type Device,
  type Matrix,
  type MethodName,
  matrix,
  openDevice,
  sweep,
} from '../../../src/index.ts'
import { inspectVectors } from '../../../src/vectors/frame.ts'
import { PointStore } from '../../../src/vectors/points.ts'
import { normal } from '../clouds.ts'

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 })
})
afterAll(() => device.close())

async function reduce(vectors: Matrix, partBytes?: number): Promise<Uint8Array | undefined> {
  const source = toSource(vectors)
  const { frame } = await inspectVectors(source, 'euclidean')
  const points = await PointStore.open(device, source, { frame, ...(partBytes ? { partBytes } : {}) })
  const reduced = await reducedPoints(device, points, undefined)
  try {
    return reduced && ((await reduced.read(0, reduced.rows)) as Uint8Array)
  } finally {
    reduced?.free()
    points.free()
  }
}

const wide = blobs({ rows: 9000, cols: 80, clusters: 20, seed: 5, separated: true })

test('rows keep their number and order, in one part or in several', async () => {
  const whole = await reduce(wide.vectors)
  expect(whole).toHaveLength(9000 * 32)
  expect(await reduce(wide.vectors, 80 * 4 * 1000)).toEqual(whole)
})

test('narrow vectors, few vectors and vectors that spread evenly are not reduced', async () => {
  expect(await reduce(normal(20_000, 32, 1))).toBeUndefined()
  expect(await reduce(normal(4000, 80, 1))).toBeUndefined()
  expect(await reduce(normal(3000, 400, 1))).toBeUndefined()
})

test('the number of separated blobs is found, and other seeds agree', async () => {
  const { steps, advised, model } = await sweep(wide.vectors, { k: [10, 15, 20, 30], device })
  expect(advised).toBe(20)
  expect(adjustedRandIndex(model(20).labels, wide.labels)).toBe(1)
  expect(model(20).centers.cols).toBe(80)
  expect(steps.map(({ stabilityRows }) => stabilityRows)).toEqual([4096, 4096, 4096, 4096])
  expect(steps[2].stability).toBeGreaterThan(0.999)
})

/** Columns spread less and less, as principal components of measured vectors do. */
function falling(rows: number, cols: number): Matrix {
  const { data } = normal(rows, cols, 8)
  return matrix(
    Float32Array.from(data, (value, i) => value / (1 + (i % cols) / 4)),
    rows,
    cols,
  )
}

test.each(['lloyd', 'closures', 'closures-sharp'] as MethodName[])(
  '%s: about as good as clusterings of their own, for cosine too',
  async (method) => {
    const vectors = falling(9000, 72)
    expect(await reduce(vectors)).toBeDefined()
    for (const metric of ['euclidean', 'cosine'] as const) {
      const options = { method, metric, seed: 3, device }
      const { steps } = await sweep(vectors, { ...options, k: [10, 40, 100], seeds: 1 })
      for (const { k, distortion } of steps) {
        const own = await cluster(vectors, { ...options, k })
        expect(distortion / own.distortion).toBeLessThan(1.015)
      }
    }
  },
)

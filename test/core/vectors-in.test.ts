/** What callers have their vectors in: arrays, 64-bit numbers, and what is said about the rest. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterOptions, cluster, type Device, matrix, openDevice, toArrays } from '../../src/index.ts'

let device: Device
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
})
afterAll(() => device.close())

const ROWS = [
  [0, 1],
  [0, 3],
  [8, 9],
  [8, 7],
]

test('the same vectors give the same clusters in every form', async () => {
  const forms = {
    arrays: ROWS,
    'arrays of floats': ROWS.map((row) => Float32Array.from(row)),
    'arrays of doubles': ROWS.map((row) => Float64Array.from(row)),
    matrix: matrix(Float32Array.from(ROWS.flat()), 4, 2),
    'matrix of rows': matrix(ROWS),
    'matrix of doubles': matrix(Float64Array.from(ROWS.flat()), 4, 2),
    'doubles with a shape': { data: Float64Array.from(ROWS.flat()), rows: 4, cols: 2 },
    'numbers with a shape': { data: ROWS.flat(), rows: 4, cols: 2 },
  }
  for (const [name, vectors] of Object.entries(forms)) {
    const model = await cluster(vectors, { k: 2, device, start: [[0, 0], [9, 9]] }) // biome-ignore format: points
    expect(toArrays(model.centers), name).toEqual([
      [0, 2],
      [8, 8],
    ])
  }
})

test('doubles far from zero keep their digits', async () => {
  const data = Float64Array.of(1.7e9, 1.7e9 + 1, 1.7e9 + 50, 1.7e9 + 51)
  const { labels } = await cluster({ data, rows: 4, cols: 1 }, { k: 2, device })
  expect(labels[0] === labels[1] && labels[2] === labels[3] && labels[0] !== labels[2]).toBe(true)
  expect(() => matrix(data, 4, 1)).toThrow(/differences between rows would be lost/)
})

test('centres to start from are arrays, doubles or a matrix', async () => {
  const start = [[0, 0], [9, 9]] // biome-ignore format: points
  for (const given of [start, start.map((row) => Float64Array.from(row)), { data: start.flat(), rows: 2, cols: 2 }]) {
    const { labels } = await cluster(ROWS, { k: 2, start: given, device })
    expect(Array.from(labels)).toEqual([0, 0, 1, 1])
  }
  await expect(cluster(ROWS, { k: 2, start: [[1], [2]], device })).rejects.toThrow(/give at most 2 rows of 2 columns/)
  await expect(cluster(ROWS, { k: 2, start: [[1, Number.NaN]], device })).rejects.toThrow(/all must be finite/)
})

describe('what is wrong is named, with what to do', () => {
  const refused = (vectors: unknown, options?: unknown): Promise<string> =>
    cluster(vectors as number[][], options as ClusterOptions).then(
      () => 'taken',
      (error: Error) => error.message,
    )

  test('missing and misnamed options', async () => {
    expect(await refused(ROWS)).toBe(
      "Option k is missing: give the number of clusters, as in { k: 8 }, or { k: 'auto' } to have it found.",
    )
    for (const name of ['clusters', 'n_clusters', 'nClusters', 'numClusters']) {
      expect(await refused(ROWS, { [name]: 20 })).toBe(`Option ${name} is 20: there is no such option; did you mean k?`)
    }
    const meant = { max_iter: 'iterations', n_init: 'restarts', random_state: 'seed', init: 'start', tol: 'tolerance' }
    for (const [name, option] of Object.entries(meant)) {
      expect(await refused(ROWS, { k: 2, [name]: 1 })).toContain(`did you mean ${option}?`)
    }
  })

  test('vectors in a form that is not taken', async () => {
    expect(await refused([1, 2, 3], { k: 2 })).toMatch(/is an array of 3 numbers: give an array of arrays/)
    expect(await refused(Float32Array.of(1, 2), { k: 2 })).toMatch(/a Float32Array of 2 without a shape/)
    expect(await refused({ data: new Int8Array(4), rows: 2, cols: 2 }, { k: 2 })).toMatch(/Float32Array\.from\(data\)/)
    expect(await refused({ data: [1, undefined, 3], rows: 3, cols: 1 }, { k: 2 })).toMatch(/Entry 1 .* is undefined/)
    expect(await refused({ data: [1, 2], rows: 3, cols: 1 }, { k: 2 })).toMatch(/2 numbers do not match 3 rows/)
    expect(await refused([], { k: 2 })).toMatch(/is empty: give at least one row/)
    expect(await refused([{ embedding: [1] }], { k: 1 })).toMatch(/or pick the vectors of objects with vectorsOf/)
    // As bytes, numbers below 0 would become others.
    expect(() => matrix(new Int8Array([-1]) as unknown as Float32Array, 1, 1)).toThrow(
      /such as Float32Array\.from\(data\)/,
    )
  })
})

/** What the scores of a clustering take and refuse, and how long ones are watched and stopped. */
import { describe, expect, test } from 'vitest'
import {
  blobs,
  CentroidalError,
  calinskiHarabasz,
  daviesBouldin,
  type ScoreOptions,
  silhouette,
  sparseMatrix,
  type VectorInput,
  type VectorSource,
} from '../../src/index.ts'

type Score = (vectors: VectorInput, labels: ArrayLike<number>, options?: ScoreOptions) => Promise<number>
const SCORES: readonly (readonly [string, Score])[] = [
  ['exact', (v, l, o) => silhouette(v, l, { method: 'exact', ...o })],
  ['simplified', (v, l, o) => silhouette(v, l, { method: 'simplified', ...o })],
  ['daviesBouldin', daviesBouldin],
  ['calinskiHarabasz', calinskiHarabasz],
]
const bad = (message: string) => new CentroidalError('bad-data', message)
const four = [[0], [1], [8], [9]]

describe.each(SCORES)('%s', (_, score) => {
  test.each([
    [1, [5, 5, 5, 5]],
    [4, [5, 6, 7, 8]],
  ])('%i clusters of 4 vectors are refused', async (k, labels) => {
    const clusters = k === 1 ? '1 cluster' : `${k} clusters`
    await expect(score(four, labels)).rejects.toThrow(
      bad(
        `The labels name ${clusters} for 4 vectors: scores are defined for at least 2 clusters and fewer clusters than vectors.`,
      ),
    )
  })

  test('a label for each vector is needed, and it is a whole number', async () => {
    const count = 'There are 4 vectors and 3 labels: give one label for each vector.'
    await expect(score(four, [0, 0, 1])).rejects.toThrow(bad(count))
    const half = 'Entry 2 of the labels is 0.5: give whole numbers.'
    await expect(score(four, [0, 0, 0.5, 1])).rejects.toThrow(bad(half))
    const none = 'The labels name 0 clusters for 0 vectors'
    await expect(score({ rows: 0, cols: 1, data: new Float32Array(0) }, [])).rejects.toThrow(none)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('%d is refused with its row', async (value) => {
    const message = `Row 2 of the vectors holds ${value} in column 1: remove or fix the row, all numbers must be finite.`
    const rows = [[0, 1], [1, 1], [8, value], [9, 9]] // biome-ignore format: one line
    await expect(score(rows, [0, 0, 1, 1])).rejects.toThrow(bad(message))
  })

  test('a source is read in pieces, again and again', async () => {
    const { vectors, labels } = blobs({ rows: 500, cols: 3, clusters: 4, spread: 0.3 })
    const pieces: number[] = []
    const source: VectorSource = {
      rows: 500,
      cols: 3,
      type: 'f32',
      name: 'a file',
      read: async (start, end) => {
        pieces.push(end - start)
        return vectors.data.slice(start * 3, end * 3)
      },
    }
    expect(await score(source, labels)).toBe(await score(vectors, labels))
    expect(pieces.length).toBeGreaterThan(0)
  })

  test('lets other code run, reports progress, and stops by a signal', async () => {
    const { vectors, labels } = blobs({ rows: 2000, cols: 64, clusters: 200, spread: 0.3 })
    const shares: number[] = []
    let ticks = 0
    const timer = setInterval(() => ticks++, 1)
    await score(vectors, labels, { onProgress: (share) => shares.push(share) })
    clearInterval(timer)
    expect(shares.at(-1)).toBe(1)
    expect(shares).toEqual(shares.toSorted((a, b) => a - b))
    expect(ticks >= shares.length - 1).toBe(true)
    const controller = new AbortController()
    const reports: number[] = []
    const stopped = score(vectors, labels, {
      signal: controller.signal,
      onProgress: (share) => {
        reports.push(share)
        controller.abort()
      },
    })
    // How often a score reports depends on how fast the machine is at the moment. One that reports only its end is complete.
    const failure = await stopped.then(
      () => undefined,
      (error: unknown) => error,
    )
    expect(reports).toHaveLength(1)
    if (failure === undefined) expect(reports[0]).toBe(1)
    else expect(failure).toMatchObject({ name: 'AbortError' })
    await expect(score(vectors, labels, { signal: AbortSignal.abort() })).rejects.toThrow(/aborted/)
  })
})

test('long work reports more than its end', async () => {
  const { vectors, labels } = blobs({ rows: 2000, cols: 64, clusters: 30, spread: 0.3 })
  const shares: number[] = []
  await silhouette(vectors, labels, { method: 'exact', onProgress: (share) => shares.push(share) })
  expect(shares.length).toBeGreaterThan(3)
  expect(Math.max(...shares.slice(0, -1))).toBeLessThanOrEqual(1)
  // The estimate of the work is right: steps are about even.
  expect(shares[shares.length - 2]).toBeGreaterThan(0.7)
})

test.each(['exact', 'simplified'] as const)('%s: by cosine, rows of zeros are refused', async (method) => {
  const message =
    'Row 1 of the vectors is all zeros and has no cosine distance: remove the row, or use metric euclidean.'
  const rows = [[1, 1], [0, 0], [1, 2], [3, 1]] // biome-ignore format: one line
  const options = { method, metric: 'cosine' } as const
  await expect(silhouette(rows, [0, 0, 1, 1], options)).rejects.toThrow(bad(message))
  const sparse = sparseMatrix({ offsets: [0, 1, 1, 2, 3], columns: [0, 1, 0], values: [1, 2, 3] }, 4, 2)
  await expect(silhouette(sparse, [0, 0, 1, 1], options)).rejects.toThrow(bad(message))
})

test('unknown options are refused with a hint', async () => {
  const call = silhouette(four, [0, 0, 1, 1], { mehtod: 'exact' } as object)
  await expect(call).rejects.toThrow('Option mehtod is "exact": there is no such option; did you mean method?')
})

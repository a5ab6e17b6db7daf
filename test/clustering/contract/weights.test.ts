/** A weight is so many rows at one place, none is no row; and what has no weight still has a label. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyClusterOptions,
  type ClusterModel,
  type ClusterOptions,
  cluster,
  type Device,
  type Matrix,
  METHODS,
  matrix,
  openDevice,
} from '../../../src/index.ts'
import { documents } from '../documents.ts'
import { distortionOf, isSound, unitRows } from './oracle.ts'
import { openPoisoned } from './poisoned.ts'
import { bitsOf, cloud, excused, K, SUBJECTS } from './subjects.ts'

const WEIGHTED = SUBJECTS.filter((subject) => !excused('weights', subject))

let device: Device
let dirty: Device[]
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 })
  dirty = await openPoisoned()
})
afterAll(async () => {
  for (const opened of [device, ...dirty]) await opened.close()
})

const rowsOf = ({ data, cols }: Matrix, chosen: readonly number[]): Matrix =>
  matrix(
    Float32Array.from(chosen.flatMap((row) => Array.from(data.subarray(row * cols, (row + 1) * cols)))),
    chosen.length,
    cols,
  )

const repeated = (weights: readonly number[]): number[] => weights.flatMap((weight, row) => Array(weight).fill(row))

/** From given centres a deterministic method ends the same but for rounding; others end about as low. */
function expectAlike(one: ClusterModel, other: ClusterModel, exactly: boolean): void {
  if (exactly) {
    expect(one.centers.rows).toBe(other.centers.rows)
    one.centers.data.forEach((value, at) => {
      expect(value).toBeCloseTo(other.centers.data[at], 4)
    })
    expect(one.distortion / other.distortion).toBeCloseTo(1, 4)
  } else {
    expect(one.distortion / other.distortion).toBeLessThan(1.3)
    expect(other.distortion / one.distortion).toBeLessThan(1.3)
  }
}

/** Given centres, as many as the method begins with. */
const started = (options: ClusterOptions, vectors: Matrix): ClusterOptions => {
  const k = Number(options.k ?? K)
  return { ...options, start: matrix(Float32Array.from(vectors.data.subarray(0, k * vectors.cols)), k, vectors.cols) }
}

describe('weights', () => {
  test.each(WEIGHTED)('of $name count as repeated rows', async (subject) => {
    const vectors = cloud(2, 150)
    const weights = Array.from({ length: 150 }, (_, i) => 1 + (i % 3))
    const options = { ...started(subject.options, vectors), device }
    const weighted = await cluster(vectors, { ...options, weights })
    expect(weighted.distortion / distortionOf(vectors, weighted, weights)).toBeCloseTo(1, 4)
    expectAlike(weighted, await cluster(rowsOf(vectors, repeated(weights)), options), !excused('permutation', subject))
  })

  test.each(WEIGHTED)('of 0 for $name are rows left out', async (subject) => {
    const vectors = cloud(3, 180)
    const weights = Array.from({ length: 180 }, (_, i) => (i >= 130 || i % 4 === 3 ? 0 : 1))
    const rest = rowsOf(vectors, repeated(weights))
    const { k } = subject.options
    const options = { ...started({ ...subject.options, ...(k ? { k: Math.min(Number(k), 40) } : {}) }, rest), device }
    const weighted = await cluster(vectors, { ...options, weights })
    expect(isSound(weighted)).toBe(true)
    expectAlike(weighted, await cluster(rest, options), !excused('permutation', subject))
  })

  test.each(WEIGHTED.filter(({ method }) => ['hkm', 'bisecting'].includes(method)))(
    'of 0 do not change the tree of $name',
    async ({ options }) => {
      const vectors = cloud(3, 180)
      const weights = Array.from({ length: 180 }, (_, i) => (i % 4 === 3 ? 0 : 1))
      const { refine: _, ...unrefined } = options as AnyClusterOptions
      const asked = { ...unrefined, device } as ClusterOptions
      const weighted = await cluster(vectors, { ...asked, weights })
      const without = await cluster(rowsOf(vectors, repeated(weights)), asked)
      expect(weighted.centers.data).toEqual(without.centers.data)
      expect(weighted.tree).toEqual(without.tree)
      expect(weighted.labels.filter((_, i) => weights[i] > 0)).toEqual(without.labels)
    },
  )

  test.each(WEIGHTED)('of 0 leave no point of $name with an old label', async ({ method, options }) => {
    const vectors = cloud(4, 160)
    const weights = Array.from({ length: 160 }, (_, i) => (i % 5 === 0 ? 0 : 1))
    // From random labels: no move of a point without weight gains anything, and still it must follow.
    const random = method.endsWith('sharp') ? { start: 'random-labels' as const } : {}
    const asked = { ...options, ...random, ...(options.k ? { k: 8 } : {}), iterations: 30, weights, device }
    const model = await cluster(vectors, asked)
    const others = weights.map((weight) => 1 - weight)
    expect(distortionOf(vectors, model, others) / distortionOf(vectors, model, weights)).toBeLessThan(2)
  })
})

test.each(WEIGHTED.filter(({ method }) => METHODS[method].sparse))(
  'weights of 0 with sparse rows: $name',
  async ({ options }) => {
    const sparse = documents(90, 30, 8, 4, 13)
    const weights = Array.from({ length: 90 }, (_, i) => (i % 3 === 0 ? 0 : 1))
    for (const metric of ['euclidean', 'cosine'] as const) {
      const model = await cluster(sparse, { ...options, metric, weights, device })
      expect(isSound(model)).toBe(true)
      expect(bitsOf(await cluster(sparse, { ...options, metric, weights, device: dirty[0] }))).toEqual(bitsOf(model))
    }
  },
)

interface Case {
  readonly name: string
  readonly vectors: Matrix
  readonly options: ClusterOptions
}

const column = (...values: number[]): Matrix => matrix(Float32Array.from(values), values.length, 1)
const pairs = (...rows: number[][]): Matrix => matrix(Float32Array.from(rows.flat()), rows.length, 2)

/** Clusters that can end up with nothing, or with nothing but points without weight. */
const CASES: readonly Case[] = [
  { name: 'one point without weight', vectors: column(5, 6, 70, 80), options: { k: 3, weights: [1, 1, 1, 0] } },
  { name: 'more clusters than weights', vectors: column(5, 6, 70, 80), options: { k: 4, weights: [1, 1, 1, 0] } },
  { name: 'one weight', vectors: column(5, 6, 70, 80, 90), options: { k: 3, weights: [0, 0, 1, 0, 0] } },
  {
    name: 'equal rows with weight',
    vectors: column(1, 1, 1, 2, 3, 4),
    options: { k: 3, weights: [1, 1, 1, 0, 0, 0] },
  },
  {
    name: 'multiples of rows, cosine',
    vectors: pairs([1, 2], [2, 4], [4, 8], [3, 1], [6, 2], [-1, 1], [-8, 8], [0.5, 1]),
    options: { k: 3, metric: 'cosine' },
  },
  {
    name: 'opposite rows, cosine',
    vectors: pairs([1, 0], [-1, 0], [2, 0], [0, 1], [0, -3], [0, -1]),
    options: { k: 4, metric: 'cosine' },
  },
]

describe('clusters without points or weight', () => {
  test.each(SUBJECTS)('have defined centres: $name', async (subject) => {
    const { k: _, start, ...settings } = subject.options
    for (const { name, vectors, options } of CASES) {
      const { k, weights, ...rest } = options
      if (weights && excused('weights', subject)) continue
      for (const empty of ['farthest', 'keep'] as const) {
        const asked = { ...settings, ...rest, ...(weights ? { weights } : {}), empty, ...(start ? {} : { k }) }
        const one = await cluster(vectors, { ...asked, device })
        expect(isSound(one), name).toBe(true)
        for (const other of dirty) {
          expect(bitsOf(await cluster(vectors, { ...asked, device: other })), name).toEqual(bitsOf(one))
        }
        const inFrame = options.metric === 'cosine' ? unitRows(vectors) : vectors
        const exact = distortionOf(inFrame, one, weights as number[] | undefined)
        expect(one.distortion, name).toBeCloseTo(exact, 4)
      }
    }
  })

  test('a cluster of points without weight has their mean', async () => {
    const model = await cluster(column(5, 6, 70, 80, 82), {
      k: 4,
      method: 'hkm',
      branching: 4,
      weights: [1, 1, 1, 0, 0],
      device,
    })
    expect(
      Array.from(model.centers.data)
        .sort((a, b) => a - b)
        .slice(0, 3),
    ).toEqual([5, 6, 70])
    expect(Math.max(...model.centers.data)).toBeGreaterThanOrEqual(80)
  })

  test('directions are counted, not rows', async () => {
    const vectors = pairs([1, 2], [2, 4], [4, 8], [3, 1])
    await expect(cluster(vectors, { k: 3, metric: 'cosine', device })).rejects.toThrow(
      'has only 2 different directions; give at most that many clusters',
    )
  })
})

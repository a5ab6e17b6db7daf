/** Scores of a clustering: against scikit-learn, against plain oracles, and by what they promise. */

import { describe, expect, test } from 'vitest'
import {
  blobs,
  calinskiHarabasz,
  createRandom,
  daviesBouldin,
  type Matrix,
  matrix,
  SILHOUETTE_EXACT_ROWS,
  silhouette,
  sparseMatrix,
  type VectorInput,
} from '../../src/index.ts'
import { fc } from '../properties.ts'
import { CLUSTER_SCORES } from './golden/cluster-scores.ts'

type Labels = ArrayLike<number>

const SCORES = {
  exact: (v: VectorInput, l: Labels) => silhouette(v, l, { method: 'exact' }),
  simplified: (v: VectorInput, l: Labels) => silhouette(v, l, { method: 'simplified' }),
  'exact by cosine': (v: VectorInput, l: Labels) => silhouette(v, l, { method: 'exact', metric: 'cosine' }),
  'simplified by cosine': (v: VectorInput, l: Labels) => silhouette(v, l, { method: 'simplified', metric: 'cosine' }),
  daviesBouldin: (v: VectorInput, l: Labels) => daviesBouldin(v, l),
  calinskiHarabasz: (v: VectorInput, l: Labels) => calinskiHarabasz(v, l),
} as const
const names = Object.keys(SCORES) as (keyof typeof SCORES)[]

/** Relative for scores above 1, as Calinski-Harabasz can be large. */
function expectClose(found: number, wanted: number, tolerance: number): void {
  expect(Math.abs(found - wanted) / Math.max(1, Math.abs(wanted)), `${found}, not ${wanted}`).toBeLessThan(tolerance)
}

/** The same rows with their zeros left out. */
function sparseOf({ rows, cols, data }: Matrix) {
  const columns: number[] = []
  const values: number[] = []
  const offsets = [0]
  for (let row = 0; row < rows; row++) {
    for (let col = 0; col < cols; col++) {
      const value = data[row * cols + col]
      if (value === 0) continue
      columns.push(col)
      values.push(value)
    }
    offsets.push(values.length)
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols)
}

describe.each(CLUSTER_SCORES.sets)('as scikit-learn: $name', ({ name, cols, points, labels, ...golden }) => {
  const Data = name === 'bytes' ? Uint8Array : Float32Array
  const vectors = matrix(Data.from(points), labels.length, cols)
  const wanted = {
    exact: golden.silhouette,
    simplified: golden.simplified,
    'exact by cosine': golden.silhouetteCosine,
    'simplified by cosine': golden.simplifiedCosine,
    daviesBouldin: golden.daviesBouldin,
    calinskiHarabasz: golden.calinskiHarabasz,
  }

  test.each(names)('%s', async (score) => {
    expectClose(await SCORES[score](vectors, labels), wanted[score], 1e-6)
    expectClose(await SCORES[score](sparseOf(vectors), labels), wanted[score], 1e-6)
  })
})

/** Rows of whole numbers, so that shifting and permuting them loses no digits, and labels of 2 to 5 clusters. */
function sample(rows: number, cols: number, k: number, seed: number): { rows: number[][]; labels: number[] } {
  const random = createRandom(seed)
  return {
    rows: Array.from({ length: rows }, () => Array.from({ length: cols }, () => random.below(41) - 20 || 1)),
    labels: Array.from({ length: rows }, (_, row) => (row < k ? row : random.below(k))),
  }
}

function shuffled(count: number, seed: number): number[] {
  const random = createRandom(seed)
  const keys = Array.from({ length: count }, () => random.next())
  return Array.from(keys.keys()).sort((a, b) => keys[a] - keys[b])
}

const samples = fc
  .record({
    rows: fc.integer({ min: 6, max: 90 }),
    cols: fc.integer({ min: 1, max: 9 }),
    k: fc.integer({ min: 2, max: 5 }),
    seed: fc.nat(1e6),
  })
  .map(({ rows, cols, k, seed }) => ({ seed, ...sample(rows, cols, k, seed) }))

describe('properties', () => {
  const euclidean = names.filter((name) => !name.includes('cosine'))

  test.each(names)('%s: the order of rows and the numbers of labels do not matter', async (score) => {
    await fc.assert(
      fc.asyncProperty(samples, async ({ rows, labels, seed }) => {
        const order = shuffled(rows.length, seed)
        const found = await SCORES[score](
          order.map((row) => rows[row]),
          order.map((row) => 1000 - 7 * labels[row]),
        )
        expectClose(found, await SCORES[score](rows, labels), 1e-12)
      }),
      { numRuns: 30 },
    )
  })

  test.each(euclidean)('%s: shifting and scaling do not matter', async (score) => {
    await fc.assert(
      fc.asyncProperty(samples, fc.constantFrom(-8, 0.25, 1024), async ({ rows, labels }, scale) => {
        const moved = rows.map((row) => row.map((value, col) => scale * (value + 100 * col - 50)))
        expectClose(await SCORES[score](moved, labels), await SCORES[score](rows, labels), 1e-9)
      }),
      { numRuns: 30 },
    )
  })

  test.each(['exact by cosine', 'simplified by cosine'] as const)('%s: lengths do not matter', async (score) => {
    await fc.assert(
      fc.asyncProperty(samples, async ({ rows, labels }) => {
        const longer = rows.map((row, i) => row.map((value) => value * 2 ** (i % 5)))
        expectClose(await SCORES[score](longer, labels), await SCORES[score](rows, labels), 1e-9)
      }),
      { numRuns: 30 },
    )
  })

  test('better separated clusters score better, by every score', async () => {
    let last: Record<string, number> | undefined
    for (const spread of [0.4, 0.2, 0.1, 0.05]) {
      const { vectors, labels } = blobs({ rows: 300, cols: 6, clusters: 5, spread, seed: 3 })
      const now = Object.fromEntries(
        await Promise.all(euclidean.map(async (score) => [score, await SCORES[score](vectors, labels)] as const)),
      )
      if (last !== undefined) {
        expect(now.exact).toBeGreaterThan(last.exact)
        expect(now.simplified).toBeGreaterThan(last.simplified)
        expect(now.calinskiHarabasz).toBeGreaterThan(last.calinskiHarabasz)
        expect(now.daviesBouldin).toBeLessThan(last.daviesBouldin)
      }
      last = now
    }
  })

  test('exact and simplified prefer the same number of separated clusters', async () => {
    const { vectors, labels } = blobs({ rows: 240, cols: 4, clusters: 6, spread: 0.05, seed: 5, separated: true })
    // Two clusters joined, the right ones, and one split in two.
    const choices = [
      labels.map((label) => Math.max(1, label)),
      labels,
      labels.map((label, row) => (label === 0 && row % 2 === 0 ? 6 : label)),
    ]
    for (const score of ['exact', 'simplified'] as const) {
      const [joined, right, split] = await Promise.all(choices.map((choice) => SCORES[score](vectors, choice)))
      expect(right).toBeGreaterThan(joined)
      expect(right).toBeGreaterThan(split)
    }
  })
})

describe('sizes around those of blocks and tiles', () => {
  const distance = (x: readonly number[], y: readonly number[]) => Math.hypot(...x.map((value, i) => value - y[i]))
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

  function oracle(rows: readonly number[][], labels: readonly number[]): number {
    const clusters = [...new Set(labels)]
    return mean(
      rows.map((row, i) => {
        const to = (label: number): number =>
          mean(rows.flatMap((other, j) => (j !== i && labels[j] === label ? [distance(row, other)] : [])))
        const own = to(labels[i])
        const other = Math.min(...clusters.filter((label) => label !== labels[i]).map(to))
        return Number.isNaN(own) ? 0 : (other - own) / Math.max(own, other)
      }),
    )
  }

  test.each([
    [70, 1, 2],
    [33, 3, 31],
    [131, 5, 3],
    [21, 700, 4],
    [12, 17_000, 3],
  ])('%i rows of %i columns in %i clusters', async (count, cols, k) => {
    const { rows, labels } = sample(count, cols, k, count)
    expectClose(await silhouette(rows, labels, { method: 'exact' }), oracle(rows, labels), 1e-12)
    const means = Array.from({ length: k }, (_, cluster) => {
      const members = rows.filter((_, row) => labels[row] === cluster)
      return Array.from({ length: cols }, (_, col) => mean(members.map((member) => member[col])))
    })
    const simplified = mean(
      rows.map((row, i) => {
        if (labels.filter((label) => label === labels[i]).length === 1) return 0
        const own = distance(row, means[labels[i]])
        const other = Math.min(...means.filter((_, c) => c !== labels[i]).map((to) => distance(row, to)))
        return (other - own) / Math.max(own, other)
      }),
    )
    expectClose(await silhouette(rows, labels, { method: 'simplified' }), simplified, 1e-12)
  })

  test('auto is exact up to a number of rows, and simplified beyond', async () => {
    const { vectors, labels } = blobs({ rows: SILHOUETTE_EXACT_ROWS + 1, cols: 2, clusters: 4, spread: 0.2 })
    const few = matrix(vectors.data.slice(2), SILHOUETTE_EXACT_ROWS, 2)
    expect(await silhouette(vectors, labels)).toBe(await SCORES.simplified(vectors, labels))
    expect(await silhouette(few, labels.slice(1))).toBe(await SCORES.exact(few, labels.slice(1)))
    expect(await SCORES.simplified(few, labels.slice(1))).not.toBe(await SCORES.exact(few, labels.slice(1)))
  })
})

describe('equal vectors', () => {
  test.each([true, false])('within clusters; sparse: %s', async (sparse) => {
    const dense = matrix(Float32Array.of(0.1, 0.7, 0.1, 0.7, 0.1, 0.7, 0.3, 0.2, 0.3, 0.2), 5, 2)
    const vectors = sparse ? sparseOf(dense) : dense
    const labels = [0, 0, 0, 1, 1]
    expect(await SCORES.exact(vectors, labels)).toBe(1)
    expect(await SCORES.simplified(vectors, labels)).toBe(1)
    expect(await daviesBouldin(vectors, labels)).toBe(0)
    expect(await calinskiHarabasz(vectors, labels)).toBe(1)
  })

  test('everywhere', async () => {
    const vectors = matrix(new Float32Array(12).fill(0.1), 6, 2)
    const labels = [0, 1, 0, 1, 0, 1]
    for (const score of ['exact', 'simplified', 'daviesBouldin'] as const)
      expect(await SCORES[score](vectors, labels)).toBe(0)
    expect(await calinskiHarabasz(vectors, labels)).toBe(1)
  })

  test('clusters with the same mean are not compared, as in scikit-learn', async () => {
    expect(await daviesBouldin([[-1], [1], [-2], [2], [9], [11]], [0, 0, 1, 1, 2, 2])).toBeCloseTo(
      (0.2 + 0.3 + 0.3) / 3,
    )
  })

  test('a mean without a direction is at a right angle to everything', async () => {
    const rows = [[1, 0], [-1, 0], [0, 1], [0, 2]] // biome-ignore format: one line
    expect(await SCORES['simplified by cosine'](rows, [0, 0, 1, 1])).toBe((0 + 0 + 1 + 1) / 4)
  })
})

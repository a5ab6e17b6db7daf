import { describe, expect, test } from 'vitest'
import { blobs } from '../../src/data/synthetic.ts'
import { fc } from '../properties.ts'
import { failure } from './failure.ts'

function nearest(row: ArrayLike<number>, centers: ArrayLike<number>, clusters: number): number {
  let best = -1
  let least = Infinity
  for (let k = 0; k < clusters; k++) {
    let squared = 0
    for (let i = 0; i < row.length; i++) squared += (row[i] - centers[k * row.length + i]) ** 2
    if (squared < least) {
      least = squared
      best = k
    }
  }
  return best
}

describe('blobs', () => {
  test('the same seed gives the same vectors, another seed others', () => {
    const options = { rows: 50, cols: 3, clusters: 4, seed: 7 }
    expect(blobs(options)).toEqual(blobs(options))
    expect(blobs({ ...options, seed: 8 }).vectors.data).not.toEqual(blobs(options).vectors.data)
  })

  test('sizes are equal, give or take one row', () => {
    const counts = new Array<number>(3).fill(0)
    const { labels } = blobs({ rows: 10, cols: 1, clusters: 3 })
    for (const label of labels) counts[label]++
    expect(counts.sort()).toEqual([3, 3, 4])
    expect([...labels]).not.toEqual(Array.from({ length: 10 }, (_, i) => i % 3))
  })

  test('spread is the standard deviation around the centers', () => {
    const { vectors, labels, centers } = blobs({ rows: 20_000, cols: 2, clusters: 5, spread: 0.5, seed: 3 })
    let squares = 0
    for (let i = 0; i < vectors.data.length; i++) {
      squares += (vectors.data[i] - centers.data[labels[i >> 1] * 2 + (i & 1)]) ** 2
    }
    expect(Math.sqrt(squares / vectors.data.length)).toBeCloseTo(0.5, 2)
  })

  test('separated blobs: every row is nearest to its own center', () => {
    fc.assert(
      fc.property(
        fc.record({
          cols: fc.constantFrom(1, 2, 3, 64),
          clusters: fc.integer({ min: 1, max: 40 }),
          spread: fc.constantFrom(0, 0.1, 5),
          seed: fc.nat(),
        }),
        (options) => {
          const { vectors, labels, centers } = blobs({ rows: 120, separated: true, ...options })
          const { cols, clusters } = options
          for (let row = 0; row < 120; row++) {
            const own = nearest(vectors.data.subarray(row * cols, (row + 1) * cols), centers.data, clusters)
            expect(own).toBe(labels[row])
          }
        },
      ),
      { numRuns: 40 },
    )
  })

  test.each([
    [{ rows: 0 }, 'Option rows is 0: give a whole number from 1 to 268435456.'],
    [{ cols: 1.5 }, 'Option cols is 1.5: give a whole number from 1 to 268435456.'],
    [{ clusters: 11 }, 'Option clusters is 11: give at most as many as rows, 10.'],
    [{ spread: -1 }, 'Option spread is -1: give a number from 0 to 1e+30.'],
    [{ seed: 0.5 }, 'Option seed is 0.5: give a whole number, 0 or more.'],
  ])('%j', async (wrong, sentence) => {
    const options = { rows: 10, cols: 2, clusters: 2, ...wrong }
    expect(await failure(() => blobs(options))).toBe(`bad-option: ${sentence}`)
  })
})

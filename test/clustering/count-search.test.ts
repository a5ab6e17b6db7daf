/** The search for the number of components as a state machine, with a made-up criterion instead of data. */

import { expect, test } from 'vitest'
import type { HostMixture } from '../../src/clustering/mixture/bic.ts'
import { type Change, CountSearch, type Pair } from '../../src/clustering/mixture/count-search.ts'
import { fc } from '../properties.ts'

const SIZE = { points: 10_000, cols: 4 }

function components(k: number): HostMixture {
  return {
    means: new Float32Array(k * SIZE.cols),
    weights: new Float64Array(k).fill(1 / k),
    variances: new Float64Array(k).fill(1),
  }
}

/** Neighbours in a row; merging any of them loses far more than a component costs, so that only the order counts. */
async function neighbors({ weights }: HostMixture): Promise<Pair[]> {
  return Array.from({ length: weights.length - 1 }, (_, i) => ({ i, j: i + 1, loss: 1e6 + ((i * 7) % 11) }))
}

interface World {
  readonly start: number
  readonly bic: (k: number) => number
  /** How many of k components could be split. */
  readonly splits: (k: number) => number
  /** Rounds after which the search is saved, and goes on as a new one. */
  readonly interrupted?: number
}

interface Ended {
  readonly k: number
  readonly rounds: number
  readonly decisions: readonly string[]
}

const MOST_ROUNDS = 2000

/** Carries decisions out as CountStep does, on nothing but the number of components. */
async function search({ start, bic, splits, interrupted }: World): Promise<Ended> {
  let machine = new CountSearch(SIZE, neighbors)
  let mixture = components(start)
  const decisions: string[] = []
  let rounds = 0
  for (; !machine.done && rounds < MOST_ROUNDS; rounds++) {
    if (rounds === interrupted) {
      const other = new CountSearch(SIZE, neighbors)
      other.restore(machine.save().slice(), machine.best)
      machine = other
    }
    const change: Change | undefined = await machine.next(bic(mixture.weights.length), mixture)
    decisions.push(`${mixture.weights.length} ${change?.kind ?? 'stay'}`)
    if (change === undefined) continue
    if (change.kind === 'restore') mixture = change.mixture
    else if (change.kind === 'merge') {
      const from = change.from ?? mixture
      const used = change.pairs.flatMap(({ i, j }) => [i, j])
      expect(new Set(used).size).toBe(used.length)
      mixture = components(from.weights.length - change.pairs.length)
    } else {
      const count = splits(mixture.weights.length)
      if (machine.split(count)) mixture = components(mixture.weights.length + count)
    }
  }
  return { k: mixture.weights.length, rounds, decisions }
}

/** Convex, lowest at `best`. */
function valley(best: number, steepness = 1): (k: number) => number {
  return (k) => steepness * (k - best) ** 2
}

/** Components that hold two modes each can be split. */
function towards(best: number): (k: number) => number {
  return (k) => Math.max(0, Math.min(k, best - k))
}

const numbers = fc.integer({ min: 1, max: 140 })

test('ends at the minimum of a convex criterion, wherever it begins', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, numbers, fc.constantFrom(0.01, 1, 1000), async (start, best, steepness) => {
      const ended = await search({ start, bic: valley(best, steepness), splits: towards(best) })
      expect(ended.k).toBe(best)
      expect(ended.rounds).toBeLessThan(200)
    }),
  )
})

test('ends at the best of all numbers it measured, whatever the criterion and however many could be split', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, fc.nat(), fc.integer({ min: 1, max: 5 }), async (start, noise, divisor) => {
      const measured = new Map<number, number>()
      const bic = (k: number): number => {
        const value = ((k * 7919 + noise) % 1009) + 0.5 * Math.abs(k - 30)
        measured.set(k, value)
        return value
      }
      const ended = await search({ start, bic, splits: (k) => Math.min(Math.ceil(k / divisor), 400 - k) })
      expect(ended.rounds).toBeLessThan(300)
      expect(measured.get(ended.k)).toBe(Math.min(...measured.values()))
    }),
  )
})

test('with many components the number is right within a hundredth', async () => {
  for (const [start, best] of [
    [5000, 3000],
    [2048, 300],
    [600, 599],
  ]) {
    const ended = await search({ start, bic: valley(best), splits: towards(best) })
    expect(Math.abs(ended.k - best)).toBeLessThanOrEqual(Math.ceil(0.01 * best))
    expect(ended.rounds).toBeLessThan(200)
  }
})

test('saved and restored in the middle, it decides the same', async () => {
  await fc.assert(
    fc.asyncProperty(numbers, numbers, fc.nat(60), async (start, best, interrupted) => {
      const world = { start, bic: valley(best), splits: towards(best) }
      expect(await search({ ...world, interrupted })).toEqual(await search(world))
    }),
  )
})

test('a single component that nothing improves stays, and the search ends', async () => {
  const ended = await search({ start: 1, bic: (k) => k, splits: () => 0 })
  expect(ended.k).toBe(1)
  expect(ended.decisions.filter((decision) => decision.endsWith('merge'))).toEqual([])
  expect(ended.rounds).toBeLessThan(20)
})

test('ends when the criterion never changes, always falls, always rises, or is no number', async () => {
  for (const bic of [() => 5, (k: number) => k, (k: number) => -k, () => Number.NaN]) {
    for (const start of [1, 2, 3, 40]) {
      const ended = await search({ start, bic, splits: (k) => Math.min(k, 160 - k) })
      expect(ended.rounds).toBeLessThan(300)
      expect(ended.k).toBeGreaterThanOrEqual(1)
    }
  }
})

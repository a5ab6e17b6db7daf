import { describe, expect, test } from 'vitest'
import { joinComponents } from '../../src/clustering/mixture/join.ts'
import { ListedNeighbors, Purge } from '../../src/clustering/mixture/purge.ts'
import { NO_LABEL } from '../../src/kernels/assign-lists.ts'
import { logScales } from '../../src/models/scales.ts'

/** Components on a line; everything is near everything. */
function purgeLine(
  places: number[],
  weights: number[],
  variances: number[],
  cols: number,
  tau: number,
  points = 1000,
  own = 0.5,
) {
  const purge = new Purge(
    {
      weights: Float64Array.from(weights),
      variances: Float64Array.from(variances),
      ownShares: Float64Array.from(weights, () => own),
      cols,
      points,
    },
    tau,
  )
  for (const component of purge.order) {
    const squares = places.map((place) => (place - places[component]) ** 2)
    purge.consider(component, { count: places.length, others: [...places.keys()], squares })
  }
  return purge.result()
}

describe('purge', () => {
  test('of two equal components one stays, for tau above a half', () => {
    const equal = [
      [0, 0],
      [0.5, 0.5],
      [1, 1],
    ] as const
    expect(Array.from(purgeLine([...equal[0]], [...equal[1]], [...equal[2]], 2, 0.55).kept)).toEqual([0])
    expect(Array.from(purgeLine([...equal[0]], [...equal[1]], [...equal[2]], 2, 0.45).kept)).toEqual([0, 1])
  })

  test('the heavier stays, and inherits', () => {
    const { kept, renamed, heirs } = purgeLine([0, 0.1, 9], [0.2, 0.5, 0.3], [1, 1, 1], 2, 0.55)
    expect(Array.from(kept)).toEqual([1, 2])
    expect(Array.from(renamed)).toEqual([NO_LABEL, 0, 1])
    expect(Array.from(heirs)).toEqual([0, 0, 1])
  })

  test('overlaps add up: each alone would leave it, all together do not', () => {
    // In one dimension, equal widths and weights, d apart: overlap exp(-d^2 / 4).
    const at = 2 * Math.sqrt(-Math.log(0.6))
    const pair = purgeLine([0, at], [0.51, 0.49], [1, 1], 1, 0.55)
    expect(pair.kept.length).toBe(2)
    const between = purgeLine([-at, at, 0], [0.34, 0.34, 0.32], [1, 1, 1], 1, 0.55)
    expect(Array.from(between.kept)).toEqual([0, 1])
  })

  test('a component without weight goes, to the one it overlaps or to the heaviest', () => {
    expect(Array.from(purgeLine([0, 5], [1, 0], [1, 1], 3, 0.55).heirs)).toEqual([0, 0])
    const purge = new Purge(
      {
        weights: Float64Array.of(0, 1),
        variances: Float64Array.of(1, 1),
        ownShares: Float64Array.of(0, 1),
        cols: 3,
        points: 10,
      },
      0.55,
    )
    for (const component of purge.order) purge.consider(component, { count: 0, others: [], squares: [] })
    expect(Array.from(purge.result().heirs)).toEqual([0, 0])
  })

  test('densities of many dimensions stay comparable', () => {
    const { kept } = purgeLine([0, 1, 2000], [0.4, 0.3, 0.3], [400, 400, 400], 784, 0.55)
    expect(Array.from(kept)).toEqual([0, 2])
    // Far narrower in many dimensions, it explains itself.
    expect(purgeLine([0, 0], [0.9, 0.1], [400, 1], 784, 0.55).kept.length).toBe(2)
  })

  test('halves of what is one Gaussian join, if they have few points; nothing else goes in that round', () => {
    const halves = (points: number, own: number, rest: number[] = []) => {
      const places = [0, 4, ...rest]
      const [weights, variances] = [places.map(() => 1 / places.length), places.map(() => 1)]
      return Array.from(purgeLine(places, weights, variances, 64, 0.55, points, own).kept)
    }
    // Equal halves 4 deviations apart: one for both loses d / 2 n ln(1 + 16 / 4 d), against (d + 2) / 2 ln n.
    const lost = 32 * Math.log(1 + 1 / 16)
    expect(60 * lost).toBeLessThan(33 * Math.log(60))
    expect(halves(60, 0.5)).toEqual([0])
    expect(90 * lost).toBeGreaterThan(33 * Math.log(90))
    expect(halves(90, 0.5)).toEqual([0, 1])
    // Where points are not shared, to say which of the two a point is of costs ln 2.
    expect(90 * (lost - Math.log(2))).toBeLessThan(33 * Math.log(90))
    expect(halves(90, 1)).toEqual([0])
    expect(halves(120, 1, [1000, 1000.01])).toEqual([0, 1, 2])
  })

  test('lists hold in both directions, nothing twice', () => {
    const near = threeLists()
    for (const component of [2, 0, 1]) near.announce(component)
    expect(pairsOf(near, 0)).toEqual([
      [1, 1],
      [2, 4],
    ])
    expect(pairsOf(near, 1)).toEqual([
      [0, 1],
      [2, 9],
    ])
    expect(pairsOf(near, 2)).toEqual([
      [1, 9],
      [0, 4],
    ])
  })

  test('only those that stay are neighbours', () => {
    const near = threeLists()
    expect(pairsOf(near, 0)).toEqual([])
    near.announce(2)
    expect(pairsOf(near, 0)).toEqual([[2, 4]])
    expect(pairsOf(near, 1)).toEqual([[2, 9]])
    near.announce(0)
    expect(pairsOf(near, 2)).toEqual([[0, 4]])
  })
})

function pairsOf(near: ListedNeighbors, component: number): number[][] {
  const { count, others, squares } = near.of(component)
  return Array.from({ length: count }, (_, at) => [others[at], squares[at]])
}

/** 0 lists 1 and 2, 1 lists 0, 2 lists 1. */
function threeLists(): ListedNeighbors {
  return new ListedNeighbors(Uint32Array.of(1, 2, 0, NO_LABEL, 1, NO_LABEL), Float32Array.of(1, 4, 1, 0, 9, 0), 2)
}

test('scales make log densities, and stay small in many dimensions', () => {
  const mixture = { weights: Float64Array.of(0.25, 0.75, 0), variances: Float64Array.of(3000, 3100, 3000) }
  const { values, constant } = logScales(mixture, 784)
  const density = Math.log(0.75) - 392 * Math.log(2 * Math.PI * 3100) - 5000 / (2 * 3100)
  expect(values[2] - 5000 * values[3] + constant).toBeCloseTo(density, 2)
  expect(Math.abs(values[0])).toBeLessThan(20)
  expect(values[4]).toBeLessThan(-1e29)
})

test('components that join have the weight, mean and width of both', () => {
  const mixture = { weights: Float64Array.of(0.3, 0.1, 0.6), variances: Float64Array.of(2, 1, 5) }
  const centers = Float32Array.of(0, 0, 4, 8, 9, 9)
  joinComponents(mixture, centers, [[1, 0]], false)
  expect(mixture.weights[0]).toBeCloseTo(0.4, 12)
  expect(Array.from(centers)).toEqual([1, 2, 4, 8, 9, 9])
  // (3 (2 + 5 / 2) + 1 (1 + 45 / 2)) / 4, a column: |mean - 0|^2 = 5, |mean - (4, 8)|^2 = 45.
  expect(mixture.variances[0]).toBeCloseTo((3 * 4.5 + 23.5) / 4, 12)
  expect(mixture.variances[2]).toBe(5)
  joinComponents(mixture, centers, [[2, 0]], true)
  expect(Math.hypot(centers[0], centers[1])).toBeCloseTo(1, 6)
})

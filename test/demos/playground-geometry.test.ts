/** What the playground works out by itself: points, cells, outlines, and which component is which. */
import { describe, expect, test } from 'vitest'
import { firstIdentities, followIdentities } from '../../demos/playground/identities.ts'
import { leafHulls } from '../../demos/playground/leaf-hulls.ts'
import { makePoints, SHAPES } from '../../demos/playground/points.ts'
import { PLAYGROUND_METHODS } from '../../demos/playground/settings.ts'
import { voronoiCells } from '../../demos/playground/voronoi.ts'
import { createRandom, METHODS, partitionTrees } from '../../src/index.ts'

function area(corners: readonly number[]): number {
  let twice = 0
  for (let i = 0; i < corners.length; i += 2) {
    const next = (i + 2) % corners.length
    twice += corners[i] * corners[next + 1] - corners[next] * corners[i + 1]
  }
  return twice / 2
}

/** Inside or on the edge of a convex shape that goes round with rising angle. */
function holds(corners: readonly number[], x: number, y: number): boolean {
  for (let i = 0; i < corners.length; i += 2) {
    const next = (i + 2) % corners.length
    const [dx, dy] = [corners[next] - corners[i], corners[next + 1] - corners[i + 1]]
    if (dx * (y - corners[i + 1]) - dy * (x - corners[i]) < -1e-6) return false
  }
  return corners.length > 0
}

describe('cells', () => {
  test.each([1, 2, 3, 10, 57, 400])('%i centres: every place is in the cell of its nearest centre', (k) => {
    const random = createRandom(k)
    // Some lie outside the square, as centres of mixtures may.
    const centers = Float32Array.from({ length: 2 * k }, () => 1.2 * random.uniform() - 0.1)
    const cells = voronoiCells(centers)
    expect(cells.reduce((sum, cell) => sum + area(cell), 0)).toBeCloseTo(1, 4)
    for (let t = 0; t < 200; t++) {
      const [x, y] = [random.uniform(), random.uniform()]
      const distances = Array.from({ length: k }, (_, i) => Math.hypot(centers[2 * i] - x, centers[2 * i + 1] - y))
      const nearest = distances.indexOf(Math.min(...distances))
      expect(holds(cells[nearest], x, y), `(${x}, ${y})`).toBe(true)
    }
  })

  test('of centres in one place one has the cell', () => {
    const cells = voronoiCells(Float32Array.of(0.25, 0.5, 0.25, 0.5, 0.75, 0.5))
    expect(cells.map(area).sort()).toEqual([0, 0.5, 0.5])
  })
})

test('an outline holds the points of its leaf and no more room than it needs', async () => {
  const points = makePoints('blobs', 300, 5)
  const data = points.data as Float32Array
  const [tree] = await partitionTrees(points, { leafSize: 20, seed: 1, device: 'cpu' })
  const hulls = leafHulls(data, tree)
  expect(hulls.length).toBe(tree.offsets.length - 1)
  hulls.forEach((hull, leaf) => {
    const members = tree.members.subarray(tree.offsets[leaf], tree.offsets[leaf + 1])
    const own = new Set(Array.from(members, (i) => `${data[2 * i]} ${data[2 * i + 1]}`))
    for (const i of members) expect(holds(hull, data[2 * i], data[2 * i + 1])).toBe(true)
    for (let i = 0; i < hull.length; i += 2) expect(own.has(`${hull[i]} ${hull[i + 1]}`)).toBe(true)
  })
})

test('components keep their identity when others go', () => {
  const before = { centers: Float32Array.of(0.1, 0.1, 0.5, 0.5, 0.9, 0.9), identities: firstIdentities(3) }
  expect(followIdentities(before, before.centers)).toBe(before.identities)
  const centers = Float32Array.of(0.88, 0.9, 0.12, 0.1)
  const after = followIdentities(before, centers)
  expect(Array.from(after)).toEqual([2, 0])
  expect(Array.from(followIdentities({ centers, identities: after }, Float32Array.of(0.1, 0.1)))).toEqual([0])
})

test.each(SHAPES)('%s: the same seed gives the same points, inside the square', (shape) => {
  const { data, rows } = makePoints(shape, 500, 7)
  expect(rows).toBe(500)
  expect(data).toEqual(makePoints(shape, 500, 7).data)
  expect(data).not.toEqual(makePoints(shape, 500, 8).data)
  for (const value of data) expect(value > 0 && value < 1).toBe(true)
})

test('the playground knows every method of the library', () => {
  expect([...PLAYGROUND_METHODS].sort()).toEqual(Object.keys(METHODS).sort())
})

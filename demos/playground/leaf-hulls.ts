/** Outlines of the leaves of a partition tree: the convex hull of each leaf's points. */
import type { TreeLeaves } from '../../src/index.ts'

/** Corners of each leaf, x and y in turn. */
export function leafHulls(
  points: Float32Array,
  { members, offsets }: Pick<TreeLeaves, 'members' | 'offsets'>,
): number[][] {
  const hulls: number[][] = []
  for (let leaf = 0; leaf + 1 < offsets.length; leaf++) {
    hulls.push(convexHull(points, members.subarray(offsets[leaf], offsets[leaf + 1])))
  }
  return hulls
}

/** Andrew's monotone chain. */
function convexHull(points: Float32Array, members: Uint32Array): number[] {
  const order = Array.from(members).sort(
    (a, b) => points[2 * a] - points[2 * b] || points[2 * a + 1] - points[2 * b + 1],
  )
  const chain = (way: readonly number[]): number[] => {
    const kept: number[] = []
    for (const next of way) {
      while (kept.length > 1 && turn(points, kept[kept.length - 2], kept[kept.length - 1], next) <= 0) kept.pop()
      kept.push(next)
    }
    return kept.slice(0, -1)
  }
  const corners = order.length < 2 ? order : [...chain(order), ...chain([...order].reverse())]
  return corners.flatMap((i) => [points[2 * i], points[2 * i + 1]])
}

function turn(points: Float32Array, a: number, b: number, c: number): number {
  const [x, y] = [points[2 * a], points[2 * a + 1]]
  return (points[2 * b] - x) * (points[2 * c + 1] - y) - (points[2 * b + 1] - y) * (points[2 * c] - x)
}

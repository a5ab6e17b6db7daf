/**
 * Cells of the nearest centre in the unit square. Each begins as the square and is cut by the line half-way to other
 * centres, nearest ones first; a centre more than twice as far away as the cell's farthest corner cannot cut it.
 */

/** Corners of each cell, x and y in turn; a centre that shares its place with another has an empty or equal cell. */
export function voronoiCells(centers: Float32Array): number[][] {
  const k = centers.length / 2
  const side = Math.max(1, Math.ceil(Math.sqrt(k / 2)))
  const buckets = fillBuckets(centers, side)
  const cells: number[][] = []
  for (let i = 0; i < k; i++) {
    const [x, y] = [centers[2 * i], centers[2 * i + 1]]
    let cell = [0, 0, 1, 0, 1, 1, 0, 1]
    const [column, row] = [bucketOf(x, side), bucketOf(y, side)]
    for (let ring = 0; ring <= side; ring++) {
      // Whatever lies in this ring is at least this far away.
      if ((ring - 1) / side > 2 * reach(cell, x, y)) break
      for (const j of ringMembers(buckets, side, column, row, ring)) {
        if (j !== i) cell = cut(cell, x, y, centers[2 * j], centers[2 * j + 1])
      }
    }
    cells.push(cell)
  }
  return cells
}

function bucketOf(value: number, side: number): number {
  return Math.min(side - 1, Math.max(0, Math.floor(value * side)))
}

function fillBuckets(centers: Float32Array, side: number): number[][] {
  const buckets: number[][] = Array.from({ length: side * side }, () => [])
  for (let i = 0; i < centers.length / 2; i++) {
    buckets[bucketOf(centers[2 * i + 1], side) * side + bucketOf(centers[2 * i], side)].push(i)
  }
  return buckets
}

function* ringMembers(
  buckets: readonly number[][],
  side: number,
  column: number,
  row: number,
  ring: number,
): Generator<number> {
  for (let r = Math.max(0, row - ring); r <= Math.min(side - 1, row + ring); r++) {
    const edge = Math.abs(r - row) === ring
    for (let c = column - ring; c <= column + ring; c += edge ? 1 : Math.max(1, 2 * ring)) {
      if (c >= 0 && c < side) yield* buckets[r * side + c]
    }
  }
}

function reach(cell: readonly number[], x: number, y: number): number {
  let far = 0
  for (let i = 0; i < cell.length; i += 2) far = Math.max(far, Math.hypot(cell[i] - x, cell[i + 1] - y))
  return far
}

/** The part of a convex cell that is nearer to (x, y) than to the other centre. */
function cut(cell: number[], x: number, y: number, otherX: number, otherY: number): number[] {
  const [dx, dy] = [otherX - x, otherY - y]
  if (dx === 0 && dy === 0) return cell
  const limit = (otherX * otherX + otherY * otherY - x * x - y * y) / 2
  const excess = (i: number): number => dx * cell[i] + dy * cell[i + 1] - limit
  const kept: number[] = []
  for (let i = 0; i < cell.length; i += 2) {
    const next = (i + 2) % cell.length
    const [here, there] = [excess(i), excess(next)]
    if (here <= 0) kept.push(cell[i], cell[i + 1])
    if (here < 0 !== there < 0 && here !== there) {
      const share = here / (here - there)
      kept.push(cell[i] + share * (cell[next] - cell[i]), cell[i + 1] + share * (cell[next + 1] - cell[i + 1]))
    }
  }
  return kept
}

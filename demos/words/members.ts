/** Who is in a cluster, and how near its centre. */
import type { Matrix } from '../../src/index.ts'

export interface Members {
  /** Row numbers, the nearest to the centre first. */
  readonly rows: Uint32Array
  /** Distances to the centre, in the same order; not squared. */
  readonly distances: Float64Array
}

export function membersOf(vectors: Matrix, centers: Matrix, labels: Uint32Array, cluster: number): Members {
  const found: [row: number, distance: number][] = []
  for (let row = 0; row < labels.length; row++) {
    if (labels[row] === cluster) found.push([row, distanceBetween(vectors, row, centers, cluster)])
  }
  found.sort(([rowA, a], [rowB, b]) => a - b || rowA - rowB)
  return { rows: Uint32Array.from(found, ([row]) => row), distances: Float64Array.from(found, ([, d]) => d) }
}

export function distanceBetween(a: Matrix, i: number, b: Matrix, j: number): number {
  let sum = 0
  for (let c = 0; c < a.cols; c++) sum += (a.data[i * a.cols + c] - b.data[j * b.cols + c]) ** 2
  return Math.sqrt(sum)
}

export function sizesOf(labels: Uint32Array, k: number): Uint32Array {
  const sizes = new Uint32Array(k)
  for (const label of labels) sizes[label]++
  return sizes
}

/** Clusters with members, the largest first. */
export function bySize(sizes: Uint32Array): number[] {
  return Array.from(sizes.keys())
    .filter((cluster) => sizes[cluster] > 0)
    .sort((a, b) => sizes[b] - sizes[a] || a - b)
}

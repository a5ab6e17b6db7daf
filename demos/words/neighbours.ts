/** Nearest rows of a row, and rows that stand for a cluster: computed in the page, as both take milliseconds. */
import type { Matrix } from '../../src/index.ts'
import type { NeighborList } from './codes.ts'

/** The m nearest of all other rows. */
export function nearestRows({ data, rows, cols }: Matrix, row: number, m: number): NeighborList {
  const found: [row: number, square: number][] = []
  for (let i = 0; i < rows; i++) {
    if (i === row) continue
    const most = found.length < m ? Number.POSITIVE_INFINITY : found[found.length - 1][1]
    let square = 0
    for (let j = 0; j < cols && square < most; j++) square += (data[i * cols + j] - data[row * cols + j]) ** 2
    if (square >= most) continue
    if (found.length === m) found.pop()
    const at = found.findIndex(([, other]) => other > square)
    found.splice(at < 0 ? found.length : at, 0, [i, square])
  }
  return {
    rows: Uint32Array.from(found, ([i]) => i),
    distances: Float32Array.from(found, ([, square]) => Math.sqrt(square)),
  }
}

/** The rows nearest to each centre, at most `count` of each cluster, nearest first. */
export function typicalRows(vectors: Matrix, centers: Matrix, labels: Uint32Array, count: number): number[][] {
  const { data, cols } = vectors
  const typical: [row: number, square: number][][] = Array.from({ length: centers.rows }, () => [])
  for (let i = 0; i < labels.length; i++) {
    const best = typical[labels[i]]
    const most = best.length < count ? Number.POSITIVE_INFINITY : best[best.length - 1][1]
    let square = 0
    for (let j = 0; j < cols && square < most; j++) {
      square += (data[i * cols + j] - centers.data[labels[i] * cols + j]) ** 2
    }
    if (square >= most) continue
    if (best.length === count) best.pop()
    const at = best.findIndex(([, other]) => other > square)
    best.splice(at < 0 ? best.length : at, 0, [i, square])
  }
  return typical.map((best) => best.map(([row]) => row))
}

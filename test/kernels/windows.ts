/** Rows of a domain that a device holds: some from its middle, all, or none. */
import type { VectorData } from '../../src/core/matrix.ts'

export interface Window {
  readonly from: number
  readonly to: number
}

/** Ways to cover n rows: all at once; with windows that are empty or of one row; of widths that 4 does not divide. */
export function coversOf(n: number): Window[][] {
  const cuts = [[], [0, 1, 1, n - 1, n], [5, 8], [2, 9, 22, 37, 39]]
  return cuts.map((inner) => {
    const edges = [0, ...inner.filter((cut) => cut >= 0 && cut <= n).sort((a, b) => a - b), n]
    return edges.slice(1).map((to, i) => ({ from: edges[i], to }))
  })
}

export function holds({ from, to }: Window, row: number): boolean {
  return row >= from && row < to
}

/** The rows of a window, of vectors with so many columns or of a list. */
export function rowsOf<T extends VectorData | Uint32Array>(data: T, { from, to }: Window, cols = 1): T {
  return data.slice(from * cols, to * cols) as T
}

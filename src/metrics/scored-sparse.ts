/** Sparse rows for the scores of a clustering. Only the means are dense. */
import type { SparseMatrix } from '../core/sparse.ts'
import { type Means, noDirection, type RowBlock, type ScoredRows } from './scored-rows.ts'

/** Entries of a block, about: a mean is read once for all rows of a block. */
const BLOCK_ENTRIES = 65_536
/** So many rows at most, as every row has results of its own. */
const BLOCK_ROWS = 1024

/** Rows in compressed form with values in 64 bits. */
interface Entries {
  readonly cols: number
  readonly offsets: Uint32Array
  readonly columns: Uint32Array
  readonly values: Float64Array
}

export function sparseRows(matrix: SparseMatrix, unit: boolean, name: string): ScoredRows {
  const { rows, cols, offsets, columns } = matrix
  const values = new Float64Array(matrix.values)
  if (unit) bringToLengthOne(values, offsets, name)
  const entries = { cols, offsets, columns, values }
  const inOrder = Uint32Array.from({ length: rows }, (_, row) => row)
  return {
    rows,
    cols,
    numbers: values.length + rows,
    async *blocks() {
      for (let first = 0; first < rows; ) {
        let end = first + 1
        while (end < rows && end - first < BLOCK_ROWS && offsets[end + 1] - offsets[first] <= BLOCK_ENTRIES) end++
        yield new SparseBlock(entries, inOrder, first, end - first)
        first = end
      }
    },
    gather: async (order) => new SparseBlock(entries, order, 0, rows),
  }
}

function bringToLengthOne(values: Float64Array, offsets: Uint32Array, name: string): void {
  for (let row = 0; row + 1 < offsets.length; row++) {
    let squares = 0
    for (let at = offsets[row]; at < offsets[row + 1]; at++) squares += values[at] * values[at]
    if (squares === 0) throw noDirection(row, name)
    const factor = 1 / Math.sqrt(squares)
    for (let at = offsets[row]; at < offsets[row + 1]; at++) values[at] *= factor
  }
}

class SparseBlock implements RowBlock {
  readonly first: number
  readonly count: number
  readonly #entries: Entries
  /** Which row is at a place. */
  readonly #order: Uint32Array
  /** One row with its zeros, for the distances to other rows. */
  #dense: Float64Array | undefined

  constructor(entries: Entries, order: Uint32Array, first: number, count: number) {
    this.#entries = entries
    this.#order = order
    this.first = first
    this.count = count
  }

  get numbers(): number {
    const { offsets } = this.#entries
    return offsets[this.first + this.count] - offsets[this.first] + this.count
  }

  addTo(sums: Float64Array, clusters: Uint32Array): void {
    const { cols, offsets, columns, values } = this.#entries
    for (let row = this.first; row < this.first + this.count; row++) {
      const to = clusters[row] * cols
      for (let at = offsets[row]; at < offsets[row + 1]; at++) sums[to + columns[at]] += values[at]
    }
  }

  ownSquares(means: Means, clusters: Uint32Array, out: Float64Array): void {
    for (let i = 0; i < this.count; i++) {
      const row = this.#order[this.first + i]
      out[i] = this.#toMean(row, means, clusters[row])
    }
  }

  meanSquares(means: Means, from: number, to: number, out: Float64Array): void {
    const width = to - from
    for (let mean = from; mean < to; mean++) {
      for (let i = 0; i < this.count; i++) {
        out[i * width + mean - from] = this.#toMean(this.#order[this.first + i], means, mean)
      }
    }
  }

  /**
   * |x - m|^2 = |m|^2 - sum of x (2 m - x) over the entries of the row. Both sums are taken in the order of the columns,
   * so that a row that equals the mean is exactly 0 away from it.
   */
  #toMean(row: number, { data, squares, cols }: Means, mean: number): number {
    const { offsets, columns, values } = this.#entries
    const from = mean * cols
    let gain = 0
    for (let at = offsets[row]; at < offsets[row + 1]; at++) {
      gain += values[at] * (2 * data[from + columns[at]] - values[at])
    }
    return Math.max(0, squares[mean] - gain)
  }

  /** The same, with one of the rows written out in the place of the mean. */
  pairSquares(a0: number, a1: number, b0: number, b1: number, out: Float64Array): void {
    const { cols, offsets, columns, values } = this.#entries
    this.#dense ??= new Float64Array(cols)
    const dense = this.#dense
    let to = 0
    for (let a = a0; a < a1; a++) {
      const row = this.#order[a]
      let squares = 0
      for (let at = offsets[row]; at < offsets[row + 1]; at++) {
        dense[columns[at]] = values[at]
        squares += values[at] * values[at]
      }
      for (let b = b0; b < b1; b++) {
        const other = this.#order[b]
        let gain = 0
        for (let at = offsets[other]; at < offsets[other + 1]; at++) {
          gain += values[at] * (2 * dense[columns[at]] - values[at])
        }
        out[to++] = Math.max(0, squares - gain)
      }
      for (let at = offsets[row]; at < offsets[row + 1]; at++) dense[columns[at]] = 0
    }
  }
}

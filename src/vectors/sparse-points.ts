/** Sparse rows on their way to a device: into the frame, and in parts that each fit one binding. */
import { CentroidalError } from '../core/errors.ts'
import { pickRows, type SparseMatrix } from '../core/sparse.ts'
import { cutRows, type Range } from '../device/plan.ts'
import type { Frame } from './frame.ts'

/** Values of rows start to end as the device gets them. There is no shift: it would leave no zeros. */
export function sparseIntoFrame(m: SparseMatrix, start: number, end: number, frame: Frame): Float32Array {
  const first = m.offsets[start]
  const values = m.values.subarray(first, m.offsets[end])
  if (frame.shift !== undefined) throw new Error('Sparse rows cannot be shifted')
  if (frame.scale === 1 && !frame.unit) return values
  const out = new Float32Array(values.length)
  for (let row = start; row < end; row++) {
    const from = m.offsets[row] - first
    const to = m.offsets[row + 1] - first
    let factor = frame.scale
    if (frame.unit) {
      let squares = 0
      for (let at = from; at < to; at++) squares += values[at] * values[at]
      factor = squares > 0 ? 1 / Math.sqrt(squares) : 0
    }
    for (let at = from; at < to; at++) out[at] = values[at] * factor
  }
  return out
}

/** Ranges of at most `most` rows whose offsets and columns together fit `bytes`; a longer row is a range of its own. */
export function cutSparseRows(
  { rows, offsets }: SparseMatrix,
  most: number,
  bytes: number,
  bindingBytes: number,
): Range[] {
  const ranges: Range[] = []
  for (const { start, end } of cutRows(rows, most)) {
    let first = start
    for (let row = start; row < end; row++) {
      const bytesFrom = (from: number): number => 4 * (offsets[row + 1] - offsets[from] + row + 2 - from)
      if (bytesFrom(row) > bindingBytes) {
        throw new CentroidalError(
          'out-of-memory',
          `Row ${row} has ${offsets[row + 1] - offsets[row]} entries, more than the largest binding of the device holds (${bindingBytes} bytes): use another device.`,
        )
      }
      if (row === first || bytesFrom(first) <= bytes) continue
      ranges.push({ start: first, end: row })
      first = row
    }
    ranges.push({ start: first, end })
  }
  return ranges
}

/** Tells whether the i-th and the j-th of some rows are the same on the device; a zero that was written down is none. */
export function compareSparseRows(
  m: SparseMatrix,
  indices: ArrayLike<number>,
  frame: Frame,
): (i: number, j: number) => boolean {
  const picked = pickRows(m, indices)
  const values = sparseIntoFrame(picked, 0, picked.rows, frame)
  const { offsets, columns } = picked
  const skipZeros = (at: number, end: number): number => {
    while (at < end && values[at] === 0) at++
    return at
  }
  return (i, j) => {
    let a = skipZeros(offsets[i], offsets[i + 1])
    let b = skipZeros(offsets[j], offsets[j + 1])
    while (a < offsets[i + 1] && b < offsets[j + 1]) {
      if (columns[a] !== columns[b] || values[a] !== values[b]) return false
      a = skipZeros(a + 1, offsets[i + 1])
      b = skipZeros(b + 1, offsets[j + 1])
    }
    return a === offsets[i + 1] && b === offsets[j + 1]
  }
}

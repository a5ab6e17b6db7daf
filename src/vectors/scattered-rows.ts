/** Rows of a source by their numbers, those side by side read together. */
import type { VectorSource, WideData } from '../core/matrix.ts'
import { RowBuffer } from '../core/row-buffer.ts'

/** Numbers that are read at a time. */
const MOST_READ = 1_000_000
/** Rows between two that are read as well rather than left out. */
const GAP = 8

/** Calls `take` with each of the rows, in rising order, and with its place in `rows`. */
export async function readScattered(
  source: VectorSource,
  rows: ArrayLike<number>,
  take: (row: WideData, place: number) => void,
): Promise<void> {
  const { cols } = source
  const buffer = new RowBuffer(source)
  const rising = Uint32Array.from({ length: rows.length }, (_, i) => i).sort((a, b) => rows[a] - rows[b])
  for (let from = 0; from < rising.length; ) {
    const first = rows[rising[from]]
    let end = from + 1
    while (
      end < rising.length &&
      (rows[rising[end]] - first + 1) * cols <= MOST_READ &&
      rows[rising[end]] - rows[rising[end - 1]] <= GAP
    )
      end++
    const read = await buffer.read(first, rows[rising[end - 1]] + 1)
    for (; from < end; from++) {
      const at = (rows[rising[from]] - first) * cols
      take(read.subarray(at, at + cols), rising[from])
    }
  }
}

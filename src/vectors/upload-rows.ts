/** Some rows of the points, in any order, on a device. */
import { readWide } from '../core/matrix.ts'
import type { BufferScope, Device } from '../device/contract.ts'
import { allocateRows, allocateSparseRows, type DeviceRows, writeRows, writeSparseRows } from '../kernels/rows.ts'
import { intoFrame } from './frame.ts'
import type { PointStore } from './points.ts'

/** Numbers that are read at a time. */
const MOST_READ = 1_000_000

export async function uploadRows(
  device: Device,
  scope: BufferScope,
  points: PointStore,
  rows: Uint32Array,
): Promise<DeviceRows> {
  const { source, cols, frame } = points
  if (source.sparse) {
    const { sparse } = await points.pick(rows)
    if (sparse === undefined) throw new Error('Sparse rows became dense')
    const to = allocateSparseRows(scope, rows.length, cols, sparse.values.length, 'picked rows')
    return writeSparseRows(device, to, sparse, 0, rows.length, sparse.values as Float32Array)
  }
  const to = allocateRows(scope, rows.length, cols, frame.type, 'picked rows')
  const data = frame.type === 'u8' ? new Uint8Array(rows.length * cols) : new Float32Array(rows.length * cols)
  // Rows of a file are read in rising order, those side by side together.
  const rising = Uint32Array.from(rows.keys()).sort((a, b) => rows[a] - rows[b])
  for (let from = 0; from < rising.length; ) {
    const first = rows[rising[from]]
    let end = from + 1
    while (
      end < rising.length &&
      (rows[rising[end]] - first + 1) * cols <= MOST_READ &&
      rows[rising[end]] - rows[rising[end - 1]] <= 8
    )
      end++
    const read = await readWide(source, first, rows[rising[end - 1]] + 1)
    for (; from < end; from++) {
      const at = (rows[rising[from]] - first) * cols
      data.set(intoFrame(read.subarray(at, at + cols), cols, frame), rising[from] * cols)
    }
  }
  writeRows(device, to, data)
  return to
}

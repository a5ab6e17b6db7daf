/** Some rows of the points, in any order, on a device. */
import type { BufferScope, Device } from '../device/contract.ts'
import { allocateRows, allocateSparseRows, type DeviceRows, writeRows, writeSparseRows } from '../kernels/rows.ts'
import { intoFrame } from './frame.ts'
import type { PointStore } from './points.ts'
import { readScattered } from './scattered-rows.ts'

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
  await readScattered(source, rows, (row, place) => {
    data.set(intoFrame(row, cols, frame), place * cols)
  })
  writeRows(device, to, data)
  return to
}

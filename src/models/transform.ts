/** Vectors as their distances to the centres. */
import { type Matrix, matrix, readWide, type VectorData, type VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { distances } from '../kernels/distances.ts'
import { allocateRows, firstRows, writeRows } from '../kernels/rows.ts'
import { frameOfNew, intoFrame, squaresOutOfFrame } from '../vectors/frame.ts'
import type { ClusterModel } from './model.ts'

/** Numbers of a block of vectors, or of their distances. */
const BLOCK_NUMBERS = 1 << 22

/** n x k distances, not squared. */
export async function centerDistances(
  device: Device,
  source: VectorSource,
  { centers, state, facts }: ClusterModel,
  { signal, onProgress }: RunControl,
): Promise<Matrix<Float32Array>> {
  const { rows: k, cols } = centers
  const frame = { ...(await frameOfNew(source, facts.metric, state.frame)), type: 'f32' as const }
  const step = Math.max(1, Math.min(source.rows, Math.floor(BLOCK_NUMBERS / Math.max(cols, k))))
  const found = new Float32Array(source.rows * k)
  const scope = new BufferScope(device)
  try {
    const onDevice = allocateRows(scope, k, cols, 'f32', 'centres')
    writeRows(device, onDevice, state.centers)
    const block = allocateRows(scope, step, cols, 'f32', 'vectors')
    const out = scope.allocate(step * k * 4, 'distances to centres')
    for (let first = 0; first < source.rows; first += step) {
      signal?.throwIfAborted()
      const count = Math.min(step, source.rows - first)
      const data = await readWide(source, first, first + count)
      writeRows(device, block, intoFrame(data, cols, frame) as VectorData)
      await distances(device, { points: firstRows(block, count), centers: onDevice, out })
      const squares = new Float32Array(await device.read({ buffer: out, offset: 0, bytes: count * k * 4 }))
      found.set(squaresOutOfFrame(squares, frame).map(Math.sqrt), first * k)
      onProgress?.((first + count) / source.rows)
    }
  } finally {
    scope.free()
  }
  return matrix(found, source.rows, k)
}

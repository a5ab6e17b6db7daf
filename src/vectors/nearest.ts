/** Points to the nearest of given centres, exactly: what prediction and flat search share. */
import { type Matrix, matrix, type VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type RunControl } from '../device/contract.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { allocateRows, writeRows } from '../kernels/rows.ts'
import { type Frame, intoFrame, squaresOutOfFrame, widenFrame } from './frame.ts'
import { PointStore } from './points.ts'

export type NearestOptions = RunControl

export interface NearestResult {
  readonly labels: Uint32Array
  /** Squared, in the input's units; beyond 3.4e38, that. */
  readonly distances: Float32Array
}

/** `centers` in the input's units; they are brought into the frame of the points. */
export function exactNearest(
  device: Device,
  source: VectorSource,
  centers: Matrix,
  frame: Frame,
  m: number,
  control: NearestOptions = {},
): Promise<NearestResult> {
  const wide = widenFrame(frame, centers.data)
  const inner = intoFrame(centers.data, centers.cols, { ...wide, type: 'f32' })
  return nearestInFrame(device, source, matrix(inner, centers.rows, centers.cols), wide, m, control)
}

/** `centers` already in the frame. */
export async function nearestInFrame(
  device: Device,
  source: VectorSource,
  centers: Matrix,
  frame: Frame,
  m: number,
  { signal, onProgress }: NearestOptions,
): Promise<NearestResult> {
  const points = await PointStore.open(device, source, { frame, neighbors: m })
  const scope = new BufferScope(device)
  try {
    const rows = allocateRows(scope, centers.rows, centers.cols, 'f32', 'centres')
    writeRows(device, rows, centers.data)
    const workspace = scope.allocate(assignWorkspaceBytes(rows, source.sparse !== undefined), 'prepared centres')
    for (const part of points.parts) {
      const report = onProgress && ((share: number) => onProgress((part.first + share * part.count) / points.rows))
      const vectors = await points.vectors(part)
      const { labels, distances } = part
      const args = { points: vectors, centers: rows, labels, distances, m, workspace }
      await assign(device, args, { signal, onProgress: report })
      report?.(1)
    }
    const distances = squaresOutOfFrame(await points.readDistances(), frame)
    return { labels: await points.readLabels(), distances }
  } finally {
    scope.free()
    points.free()
  }
}

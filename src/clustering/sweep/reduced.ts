/**
 * The points of a sweep in a few columns: bytes along the directions in which wide vectors spread most (vectors/sketch.ts).
 * Clusters of these are close to clusters of the points, and finding them costs a fraction. So the search for clusters runs
 * here, and the points themselves are used only in the last rounds of each step.
 */
import { matrix, toSource } from '../../core/matrix.ts'
import { BufferScope, type Device } from '../../device/contract.ts'
import type { Frame } from '../../vectors/frame.ts'
import { PointStore } from '../../vectors/points.ts'
import { isOwnSketch, projectRows, sketchBasis } from '../../vectors/sketch.ts'

/** The share of the spread that the columns must hold: otherwise clusters of them say little about clusters of the points. */
const LEAST_HELD = 0.7

const FRAME: Frame = { shift: undefined, scale: 1, unit: false, type: 'u8' }

/** Undefined where reducing would not pay: points of few numbers are clustered faster than they are reduced. */
export async function reducedPoints(
  device: Device,
  points: PointStore,
  signal: AbortSignal | undefined,
): Promise<PointStore | undefined> {
  const { rows, cols, parts } = points
  if (points.source.sparse || isOwnSketch(rows, cols)) return undefined
  // Trees over points in one part are grown from the same bytes.
  const single = parts.length === 1
  const basis = await (single
    ? points.basis(parts[0])
    : sketchBasis(rows, cols, (first, end) => points.read(first, end)))
  if (basis === undefined || basis.held < LEAST_HELD) return undefined
  const data = new Uint8Array(rows * basis.columns)
  for (const part of parts) {
    signal?.throwIfAborted()
    const scope = new BufferScope(device)
    try {
      const { buffer } = single
        ? await points.sketch(part)
        : await projectRows(device, scope, await points.vectors(part), basis)
      // Columns are a multiple of four: rows have no padding.
      const bytes = part.count * basis.columns
      data.set(new Uint8Array(await device.read({ buffer, offset: 0, bytes })), part.first * basis.columns)
    } finally {
      scope.free()
    }
  }
  return PointStore.open(device, toSource(matrix(data, rows, basis.columns)), { frame: FRAME })
}

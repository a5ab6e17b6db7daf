/**
 * sketch-rows: rows projected on a few directions, as bytes: out[i][j] = x_i . direction_j + shift_j, rounded to the nearest
 * whole number (ties to even) and clamped to 0 to 255. The bytes of a row depend on that row alone.
 * Cost: 2 n d directions operations.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { sketchRowsShader } from '../../shaders/sketch-rows.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'

export const sketchRowsFunction = declareFunction('sketchRows', {
  args: {
    points: DENSE_VECTORS,
    /** The directions in panels. */
    packed: reads('f32'),
    count: 'u32',
    shifts: reads('f32'),
    out: writes('u8'),
    outStride: 'u32',
  },
  scratch: {
    /** f32 [4][PANEL]: four rows times the directions of a panel. */
    sums: () => 4 * PANEL * 4,
    /** The shifts, padded with zeros to whole panels. */
    paddedShifts: ({ count }) => Math.ceil(count / PANEL) * PANEL * 4,
    /** Four rows, as `packFourRows` packs them. */
    rows: ({ points }) => points.stride * 16,
  },
})

export interface SketchRowsArgs {
  /** n x d */
  readonly points: DeviceRows
  /** q x d, floats */
  readonly directions: DeviceRows
  /** f32 [q] */
  readonly shifts: DeviceBuffer
  /** n x q, bytes; padding columns become zero */
  readonly out: DeviceRows
}

export async function sketchRows(device: Device, { points, directions, shifts, out }: SketchRowsArgs): Promise<void> {
  const count = directions.rows
  const scope = new BufferScope(device)
  try {
    const packed = device.info.kind === 'cpu' ? scope.allocate(panelsBytes(directions), 'packed directions') : undefined
    await device.run({
      name: 'sketch-rows',
      *webgpu(gpu) {
        const shader = sketchRowsShader(denseType(points))
        const outQuads = out.stride / 4
        const shared = {
          quads: points.stride / 4,
          count,
          outQuads,
          x: points.buffer,
          directions: directions.buffer,
          shifts: elements(shifts, count),
          out: out.buffer,
        }
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow: 2 * count * points.stride,
          atLeast: THREADS,
          pass: (firstRow, rows) => shader.pass(gpu, { ...shared, firstRow, rows }, { items: rows * outQuads }),
        })
      },
      *cpu(memory) {
        const panels = packed as DeviceBuffer
        const { buffer: centers, stride } = directions
        yield packCentersJob(memory, { centers, stride, count, norms: false, packed: panels })
        yield sketchRowsFunction.job(
          memory,
          {
            points,
            packed: elements(panels, panelsBytes(directions) / 4),
            count,
            shifts: elements(shifts, count),
            out: elements(out.buffer, out.rows * out.stride),
            outStride: out.stride,
          },
          // Whole groups of four rows.
          { items: points.rows, grain: 4 * Math.max(1, Math.round(2.5e5 / (count * points.stride))) },
        )
      },
    })
  } finally {
    scope.free()
  }
}

/**
 * sketch-rows: rows projected on a few directions, as bytes: out[i][j] = x_i . direction_j + shift_j, rounded to the nearest
 * whole number (ties to even) and clamped to 0 to 255. The bytes of a row depend on that row alone.
 * Cost: 2 n d directions operations.
 */
import { sketchRowsBody } from '../../shaders/sketch-rows.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import type { DeviceRows } from './rows.ts'

export const sketchRowsKernel = declareKernel('sketch-rows', {
  args: {
    points: DENSE_VECTORS,
    /** Directions. */
    count: 'u32',
    shifts: reads('f32'),
    outStride: 'stride',
  },
  items: ({ points }) => points.rows,
  gpu: {
    /** `out`: four bytes a word. */
    args: { directions: READ_ROWS, out: writes('u32') },
    body: sketchRowsBody,
    cut: { params: ['firstRow', 'rows'], operations: ({ points, count }) => 2 * count * points.stride },
    grid: ({ rows, outStride }) => (rows * outStride) / 4,
  },
  cpu: {
    entry: 'sketchRows',
    /** The directions in panels. */
    args: { packed: reads('f32'), out: writes('u8') },
    scratch: {
      /** f32 [4][PANEL]: four rows times the directions of a panel. */
      sums: () => 4 * PANEL * 4,
      /** The shifts, padded with zeros to whole panels. */
      paddedShifts: ({ count }) => Math.ceil(count / PANEL) * PANEL * 4,
      /** Four rows, as `packFourRows` packs them. */
      rows: ({ points }) => points.stride * 16,
    },
    // Whole groups of four rows.
    grain: ({ points, count }) => 4 * Math.max(1, Math.round(2.5e5 / (count * points.stride))),
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
    const shared = { points, count, shifts: elements(shifts, count), outStride: out.stride }
    await device.run({
      name: 'sketch-rows',
      webgpu: (gpu) => sketchRowsKernel.passes(gpu, { ...shared, directions, out: out.buffer }),
      *cpu(memory) {
        const panels = packed as DeviceBuffer
        const { buffer: centers, stride } = directions
        yield packCentersJob(memory, { centers, stride, count, norms: false, packed: panels })
        yield sketchRowsKernel.job(memory, {
          ...shared,
          packed: elements(panels, panelsBytes(directions) / 4),
          out: elements(out.buffer, out.rows * out.stride),
        })
      },
    })
  } finally {
    scope.free()
  }
}

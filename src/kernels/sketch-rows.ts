/**
 * sketch-rows: rows along a few directions, as bytes: out[i][j] = x_i . direction_j + shift_j, rounded to the nearest whole
 * number (halves to the even one) and cut off at 0 and 255. A row's bytes depend on nothing but the row.
 * Cost: 2 n d directions operations.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { sketchRowsShader } from '../../shaders/sketch-rows.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { PANEL, packCentersJob, panelsBytes } from './panels.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'

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
        const outQuads = out.stride / 4
        yield* rowPasses(gpu, {
          rows: points.rows,
          perRow: 2 * count * points.stride,
          atLeast: THREADS,
          pass: (first, rows) => ({
            shader: sketchRowsShader(denseType(points)),
            bindings: [points.buffer, directions.buffer, shifts, out.buffer],
            params: [first, rows, points.stride / 4, count, outQuads],
            groups: gridFor(rows * outQuads, THREADS, gpu.limits.workgroups),
          }),
        })
      },
      *cpu(memory) {
        const address = memory.address(packed as DeviceBuffer, panelsBytes(directions))
        const { buffer: centers, stride } = directions
        yield packCentersJob(memory, { centers, stride, count, norms: false, packed: packed as DeviceBuffer })
        yield {
          entry: 'sketchRows',
          items: points.rows,
          // Whole groups of four rows.
          grain: 4 * Math.max(1, Math.round(2.5e5 / (count * points.stride))),
          args: [
            ...rowArgs(memory, points),
            address,
            count,
            memory.address(shifts, count * 4),
            rowsAt(memory, out),
            out.stride,
          ],
          scratchBytes: 128 + Math.ceil(count / PANEL) * 32 + points.stride * 16,
        }
      },
    })
  } finally {
    scope.free()
  }
}

/**
 * distances: the n x k matrix of squared distances, by differences, so exact to rounding whatever the
 * offset of the data. For small jobs; `assign` never stores such a matrix.
 * out: f32 [n][k]. Cost: 3 n k d operations.
 */
import { distancesShader } from '../../shaders/distances.ts'
import { distancesTilesShader } from '../../shaders/distances-tiles.ts'
import { THREADS } from '../../shaders/pieces.ts'
import { type Device, type DeviceBuffer, slice } from '../device/contract.ts'
import { alignmentRows, gridFor, rowsWithin, rowsWithinOperations } from '../device/plan.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'
import { tilesOf, usesTiles } from './tiles.ts'

export interface DistancesArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly out: DeviceBuffer
}

export function distances(device: Device, { points, centers, out }: DistancesArgs): Promise<void> {
  const k = centers.rows
  return device.run({
    name: 'distances',
    *webgpu(gpu) {
      const tiled = usesTiles(gpu.forms.distances, gpu, k)
      const perRow = 3 * k * points.stride
      const align = alignmentRows(k * 4, gpu.limits.bindingAlignment)
      const most = rowsWithin(gpu.limits.bindingBytes, k * 4, 'distances')
      for (let row = 0; row < points.rows; ) {
        const wanted = Math.min(most, rowsWithinOperations(gpu.operationsPerPass, perRow, align))
        const rows = Math.min(points.rows - row, Math.max(align, Math.floor(wanted / align) * align))
        yield {
          shader: (tiled ? distancesTilesShader : distancesShader)(denseType(points)),
          bindings: [points.buffer, centers.buffer, slice(out, row * k * 4, rows * k * 4)],
          params: [row, rows, points.stride / 4, k],
          groups: tiled
            ? gridFor(tilesOf(rows) * tilesOf(k), 1, gpu.limits.workgroups)
            : gridFor(rows * Math.ceil(k / 4), THREADS, gpu.limits.workgroups),
          operations: rows * perRow,
        }
        row += rows
      }
    },
    *cpu(memory) {
      yield {
        entry: 'distanceMatrix',
        items: points.rows,
        grain: Math.max(1, Math.round(5e5 / (k * points.stride))),
        args: [...rowArgs(memory, points), rowsAt(memory, centers), k, memory.address(out, points.rows * k * 4)],
      }
    },
  })
}

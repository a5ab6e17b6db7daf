/**
 * distances: the n x k matrix of squared distances, as accurate as sums of squared differences, so
 * exact to rounding whatever the offset of the data. For small jobs; `assign` never stores such a matrix.
 * out: f32 [n][k]. Cost: 3 n k d operations by differences, 2.2 n k d by products.
 */
import { distancesShader } from '../../shaders/distances.ts'
import { distancesProductsShader, distancesTilesShader } from '../../shaders/distances-tiles.ts'
import { tileShift } from '../../shaders/tile-distances.ts'
import {
  BufferScope,
  type ComputePass,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  slice,
} from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { alignmentRows, rowsWithin, rowsWithinOperations } from '../device/plan.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { type DeviceRows, denseType } from './rows.ts'
import { allocateProducts, distanceForm, type ProductBuffers, productPasses, shiftPass, tilesOf } from './tiles.ts'

export const distanceMatrix = declareFunction('distanceMatrix', {
  args: { points: DENSE_VECTORS, centers: reads('f32'), k: 'u32', out: writes('f32') },
})

export interface DistancesArgs {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly out: DeviceBuffer
}

export async function distances(device: Device, args: DistancesArgs): Promise<void> {
  const { points, centers, out } = args
  const k = centers.rows
  const scope = new BufferScope(device)
  try {
    await device.run({
      name: 'distances',
      webgpu: (gpu) => distancesPasses(gpu, args, scope),
      *cpu(memory) {
        yield distanceMatrix.job(
          memory,
          { points, centers: elements(centers.buffer, k * centers.stride), k, out: elements(out, points.rows * k) },
          { items: points.rows, grain: Math.max(1, Math.round(5e5 / (k * points.stride))) },
        )
      },
    })
  } finally {
    scope.free()
  }
}

function* distancesPasses(
  gpu: GpuTarget,
  { points, centers, out }: DistancesArgs,
  scope: BufferScope,
): Generator<ComputePass> {
  const k = centers.rows
  const type = denseType(points)
  const shaders = {
    products: [tileShift, distancesProductsShader(type), distancesTilesShader(type, true)],
    tiles: [distancesTilesShader(type, false)],
  }
  const form = distanceForm('distances', gpu, { rows: points.rows, width: k, stride: points.stride, shaders })
  const perRow = 3 * k * points.stride
  const align = alignmentRows(k * 4, gpu.limits.bindingAlignment)
  const most = rowsWithin(gpu.limits.bindingBytes, k * 4, 'distances')
  let buffers: ProductBuffers | undefined
  if (form === 'products') {
    buffers = allocateProducts(scope, points.stride, tilesOf(Math.min(most, points.rows)) * tilesOf(k))
    yield shiftPass(gpu, buffers, slice(centers.buffer, 0, k * centers.stride * 4), points.stride)
  }
  for (let row = 0; row < points.rows; ) {
    const wanted = Math.min(most, rowsWithinOperations(gpu.operationsPerPass, perRow, align))
    const rows = Math.min(points.rows - row, Math.max(align, Math.floor(wanted / align) * align))
    const args = {
      x: points.buffer,
      centers: centers.buffer,
      out: slice(out, row * k * 4, rows * k * 4),
      firstRow: row,
      rows,
      quads: points.stride / 4,
      count: k,
    }
    const operations = rows * perRow
    const tiles = tilesOf(rows) * tilesOf(k)
    if (buffers) {
      yield* productPasses({
        tiles,
        buffers,
        operations,
        products: (more, options) => distancesProductsShader(type).pass(gpu, { ...args, ...more }, options),
        marked: (more, options) => distancesTilesShader(type, true).pass(gpu, { ...args, ...more }, options),
      })
    } else if (form === 'tiles') {
      yield distancesTilesShader(type, false).pass(gpu, args, { items: tiles, perGroup: 1, operations })
    } else {
      yield distancesShader(type).pass(gpu, args, { items: rows * Math.ceil(k / 4), operations })
    }
    row += rows
  }
}

/**
 * distances: the n x k matrix of squared distances, as accurate as sums of squared differences, so
 * exact to rounding whatever the offset of the data. For small jobs; `assign` never stores such a matrix.
 * out: f32 [n][k]. Cost: 3 n k d operations by differences, 2.2 n k d by products.
 */
import { distancesBlocks } from '../../shaders/distances.ts'
import { distancesProducts, distancesTiles } from '../../shaders/distances-tiles.ts'
import {
  BufferScope,
  type ComputePass,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  slice,
} from '../device/contract.ts'
import { elements, writes } from '../device/fields.ts'
import { alignmentRows, rowsWithin, rowsWithinOperations } from '../device/plan.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled, DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { type DeviceRows, denseType } from './rows.ts'
import {
  allocateProducts,
  distanceForm,
  PAIR_BUFFERS,
  type ProductBuffers,
  productPasses,
  shiftPass,
  tileShiftKernel,
  tilesOf,
  tileThreads,
} from './tiles.ts'

export const distancesKernel = declareKernel('distances', {
  args: {
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    /** Of centres. */
    count: 'u32',
    /** [rows][count]; a pass has its own rows. */
    out: writes('f32'),
  },
  gpu: {
    args: { form: compiled('blocks', 'tiles', 'marked', 'products'), firstRow: 'u32', rows: 'u32', ...PAIR_BUFFERS },
    body: ({ form }) =>
      form === 'blocks'
        ? distancesBlocks()
        : form === 'products'
          ? distancesProducts()
          : distancesTiles(form === 'marked'),
    workgroup: tileThreads,
    grid: ({ form, rows, count }) =>
      form === 'blocks' ? rows * Math.ceil(count / 4) : { groups: tilesOf(rows) * tilesOf(count) },
    forms: [
      { points: 'f32', form: 'blocks' },
      { points: 'u8', form: 'blocks' },
      { points: 'f32', form: 'tiles' },
      { points: 'f32', form: 'marked' },
      { points: 'u8', form: 'tiles' },
      { points: 'f32', form: 'products' },
      { points: 'u8', form: 'products' },
    ],
  },
  cpu: {
    entry: 'distanceMatrix',
    items: ({ points }) => points.rows,
    grain: ({ points, count }) => Math.max(1, Math.round(5e5 / (count * points.stride))),
  },
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
        yield distancesKernel.job(memory, { points, centers, count: k, out: elements(out, points.rows * k) })
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
  const shaderOf = (form: 'tiles' | 'marked' | 'products') => distancesKernel.shader({ points: type, form })
  const shaders = {
    products: [tileShiftKernel.shader({}), shaderOf('products'), shaderOf('marked')],
    tiles: [shaderOf('tiles')],
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
    const args = { points, centers, count: k, out: slice(out, row * k * 4, rows * k * 4), firstRow: row, rows }
    const operations = rows * perRow
    if (buffers) {
      const tiles = tilesOf(rows) * tilesOf(k)
      yield* productPasses({
        tiles,
        buffers,
        operations,
        pass: (form, more, options) => distancesKernel.pass(gpu, { ...args, ...more, form }, options),
      })
    } else yield distancesKernel.pass(gpu, { ...args, form }, { operations })
    row += rows
  }
}

/** When dense kernels use register tiles of 128 x 128 results, and the passes of those that measure by products. */
import { MOST_QUADS, tileShift } from '../../shaders/tile-distances.ts'
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import {
  type BufferPart,
  type BufferScope,
  type ComputePass,
  type DeviceBuffer,
  type GpuTarget,
  type Shader,
  slice,
} from '../device/contract.ts'
import type { PassOptions } from '../device/declared-shader.ts'
import type { TiledKernel } from '../device/forms.ts'
import { usableForm } from './usable-form.ts'

/** Narrower results would leave most of a tile empty. */
const LEAST_WIDTH = 48

/**
 * On SwiftShader and lavapipe, tiles that were half empty and sums of few terms took longer than blocks; bounds between the
 * measured sizes. Compiling tiles takes seconds there. The number of operations is an estimate of what repays that.
 */
const LEAST_FILLED = 0.75
const LEAST_SOFTWARE_COLUMNS = 64
const LEAST_SOFTWARE_OPERATIONS = 4e9

/** Rows and columns of a result, and the length of the sum that each of its values is. */
interface ResultShape {
  readonly rows: number
  readonly cols: number
  readonly terms: number
}

function softwareUsesTiles(kernel: TiledKernel, gpu: GpuTarget, { rows, cols, terms }: ResultShape): boolean {
  const tile = PRODUCT_TILE.rows * PRODUCT_TILE.rows
  const filled = (rows * cols) / (tilesOf(rows) * tilesOf(cols) * tile)
  if (!gpu.softwareTiles.includes(kernel)) return false
  const large = rows * cols * terms * 2 >= LEAST_SOFTWARE_OPERATIONS
  return large && filled >= LEAST_FILLED && terms >= LEAST_SOFTWARE_COLUMNS
}

/**
 * The form asked for. By default tiles on hardware, for results at least that wide, and on software adapters that are known
 * to be faster with them. Not if its shader cannot be used.
 */
export function usesTiles(
  kernel: 'matmul' | 'gram',
  gpu: GpuTarget,
  { width, shader, ...shape }: { readonly width: number; readonly shader: Shader } & ResultShape,
): boolean {
  const tiled = gpu.tiled ? width >= LEAST_WIDTH : softwareUsesTiles(kernel, gpu, shape)
  const chosen = gpu.forms[kernel] ?? (tiled ? 'tiles' : 'blocks')
  return usableForm(gpu, chosen, ['tiles', 'blocks'], (one) => (one === 'tiles' ? [shader] : [])) === 'tiles'
}

/** Tiles along one side of a result. */
export function tilesOf(length: number): number {
  return Math.ceil(length / PRODUCT_TILE.rows)
}

/** Below this many columns most pairs would be measured by differences after all. */
const LEAST_PRODUCT_STRIDE = 64

export type DistanceForm = 'blocks' | 'tiles' | 'products'

export interface DistanceShape {
  /** Points, centres, and columns of the padded rows. */
  readonly rows: number
  readonly width: number
  readonly stride: number
  /** What the forms for hardware need. */
  readonly shaders: { readonly products: readonly Shader[]; readonly tiles: readonly Shader[] }
}

/** Of kernels that measure all pairs of points and centres. */
export function distanceForm(
  kernel: 'distances' | 'respond',
  gpu: GpuTarget,
  { rows, width, stride, shaders }: DistanceShape,
): DistanceForm {
  const tiled = gpu.tiled ? width >= LEAST_WIDTH : softwareUsesTiles(kernel, gpu, { rows, cols: width, terms: stride })
  const byProducts = gpu.tiled && stride >= LEAST_PRODUCT_STRIDE
  const chosen = gpu.forms[kernel] ?? (!tiled ? 'blocks' : byProducts ? 'products' : 'tiles')
  const fitting = chosen === 'products' && stride > 4 * MOST_QUADS ? 'tiles' : chosen
  return usableForm(gpu, fitting, ['products', 'tiles', 'blocks'], (one) => (one === 'blocks' ? [] : shaders[one]))
}

/** What `products` keep besides: the shift of the rows, and a mark for each tile of a pass. */
export interface ProductBuffers {
  readonly shift: DeviceBuffer
  readonly marks: DeviceBuffer
}

export function allocateProducts(scope: BufferScope, stride: number, tiles: number): ProductBuffers {
  return { shift: scope.reuse(stride * 4, 'shift'), marks: scope.reuse(tiles * 4, 'marked tiles') }
}

/** The shift, from centres of that stride. */
export function shiftPass(gpu: GpuTarget, { shift }: ProductBuffers, centers: BufferPart, stride: number): ComputePass {
  const count = centers.bytes / (stride * 4)
  return tileShift.pass(gpu, { centers, shift, count, quads: stride / 4 }, { groups: [1] })
}

interface ProductPasses {
  readonly tiles: number
  readonly buffers: ProductBuffers
  readonly operations: number
  products(args: { readonly shift: DeviceBuffer; readonly marks: BufferPart }, options: PassOptions): ComputePass
  /** By differences, for the tiles that were marked. */
  marked(args: { readonly marks: BufferPart }, options: PassOptions): ComputePass
}

export function* productPasses({
  tiles,
  buffers: { shift, marks: all },
  operations,
  products,
  marked,
}: ProductPasses): Generator<ComputePass> {
  const marks = slice(all, 0, tiles * 4)
  yield products({ shift, marks }, { items: tiles, perGroup: 1, operations })
  yield marked({ marks }, { items: tiles, perGroup: 1, operations: 0 })
}

/** When dense kernels use register tiles of 128 x 128 results, and the passes of those that measure by products. */

import { THREADS } from '../../shaders/snippets.ts'
import { MOST_QUADS, tileShiftBody } from '../../shaders/tile-distances.ts'
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
import { reads, writes } from '../device/fields.ts'
import type { TiledKernel } from '../device/forms.ts'
import { declareKernel, type PassOptions } from './declared-kernel.ts'
import { type AnyForm, byForm, READ_ROWS } from './kernel-fields.ts'
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

export const tileShiftKernel = declareKernel('tile-shift', {
  args: { centers: READ_ROWS, count: 'u32', stride: 'stride', shift: writes('vec4f') },
  gpu: { body: tileShiftBody, workgroup: PRODUCT_TILE.threads, grid: () => ({ groups: 1 }) },
})

/** What the forms of a kernel that measures all pairs have besides: `products` mark the tiles that `marked` measures. */
export const PAIR_BUFFERS = {
  /** [quads] */
  shift: byForm(({ form }) => (form === 'products' ? reads('vec4f') : undefined)),
  /** [tiles] */
  marks: byForm(({ form }) => (form === 'products' ? writes('u32') : form === 'marked' ? reads('u32') : undefined)),
} as const

/** Threads of a workgroup of these forms. */
export function tileThreads({ form }: AnyForm): number {
  return form === 'blocks' ? THREADS : PRODUCT_TILE.threads
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
  return tileShiftKernel.pass(gpu, { centers: { buffer: centers, rows: count, stride }, shift, count, stride })
}

interface ProductPasses {
  readonly tiles: number
  readonly buffers: ProductBuffers
  readonly operations: number
  pass(
    form: 'products' | 'marked',
    args: { readonly shift: DeviceBuffer; readonly marks: BufferPart },
    options: PassOptions,
  ): ComputePass
}

/** By products, then by differences for the tiles that were marked. */
export function* productPasses({ tiles, buffers, operations, pass }: ProductPasses): Generator<ComputePass> {
  const args = { shift: buffers.shift, marks: slice(buffers.marks, 0, tiles * 4) }
  yield pass('products', args, { operations })
  yield pass('marked', args, { operations: 0 })
}

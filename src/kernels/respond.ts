/**
 * respond: which components of a spherical Gaussian mixture answer for a point.
 *
 * Ranked by scales[c][0] - |x - mean|^2 * scales[c][1], the logarithm of weight times density but for
 * what all have in common (f32 [k][2]). best: u32 [n][m], best first, NO_LABEL for none; logs: f32
 * [n][m], the ranks. Ties go to the lowest number.
 *
 * `respondLists` ranks what a point had before (best, each number c now being renamed[c], NO_LABEL if it
 * is gone) with what a search found, whose distances are known. Cost: 3 n m d.
 * `respondAll` ranks all components and gives evidence: f32 [n], the log of the sum over all of them.
 * Cost: 3 n k d.
 */
import { THREADS } from '../../shaders/pieces.ts'
import { IN_PLACE, respondAllShader, respondListsShader } from '../../shaders/respond.ts'
import { listRanksShader, rankProductsShader, rankTilesShader } from '../../shaders/respond-tiles.ts'
import { tileShift } from '../../shaders/tile-distances.ts'
import { PRODUCT_TILE } from '../../shaders/tile-product.ts'
import { badOption } from '../core/errors.ts'
import {
  BufferScope,
  type ComputePass,
  type Device,
  type DeviceBuffer,
  type GpuTarget,
  type RunControl,
  slice,
  type Work,
} from '../device/contract.ts'
import { cutForBinding, gridFor, rowsWithin } from '../device/plan.ts'
import { rowCuts, rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType, rowArgs, rowsAt } from './rows.ts'
import {
  allocateProducts,
  type DistanceForm,
  distanceForm,
  type ProductBuffers,
  productPasses,
  shiftPass,
  tilesOf,
} from './tiles.ts'

/** Lists longer than this do not fit a GPU thread's private memory. */
export const MOST_ANSWERS = 256
/** Lists longer than this take too many registers on hardware, or memory slower than that of the result. */
const MOST_IN_REGISTERS = 16

interface Ranking {
  readonly points: DeviceRows
  readonly centers: DeviceRows
  readonly scales: DeviceBuffer
  readonly m: number
  readonly best: DeviceBuffer
  readonly logs: DeviceBuffer
}

export interface RespondListsArgs extends Ranking {
  readonly renamed: DeviceBuffer
  /** u32 [n][width] and f32 [n][width]: what a search found, and its squared distances. */
  readonly found: DeviceBuffer
  readonly foundDistances: DeviceBuffer
  readonly width: number
}

export interface RespondAllArgs extends Ranking {
  readonly evidence: DeviceBuffer
}

export function respondLists(device: Device, args: RespondListsArgs, control?: RunControl): Promise<void> {
  const { points, centers, scales, m, best, logs, renamed, found, foundDistances, width } = args
  requireAnswers(m)
  const work: Work = {
    name: 'respond-lists',
    *webgpu(gpu) {
      yield* rowPasses(gpu, {
        rows: points.rows,
        perRow: 3 * m * points.stride + (m + width) * m,
        atLeast: THREADS,
        pass: (first, count) => ({
          shader: respondListsShader(denseType(points), listCapacityOn(gpu, m)),
          bindings: [points.buffer, centers.buffer, scales, renamed, found, foundDistances, best, logs],
          params: [first, count, points.stride / 4, m, width],
          groups: gridFor(count, THREADS, gpu.limits.workgroups),
          share: (first + count) / points.rows,
        }),
      })
    },
    *cpu(memory) {
      yield {
        entry: 'respondLists',
        items: points.rows,
        grain: Math.max(16, Math.round(5e5 / (m * (points.stride + width)))),
        args: [
          ...rowArgs(memory, points),
          rowsAt(memory, centers),
          memory.address(scales, centers.rows * 8),
          memory.address(best, points.rows * m * 4),
          memory.address(renamed, renamed.bytes),
          m,
          memory.address(found, points.rows * width * 4),
          memory.address(foundDistances, points.rows * width * 4),
          width,
          memory.address(logs, points.rows * m * 4),
        ],
        scratchBytes: m * 8 + points.stride * 4 + 32,
      }
    },
  }
  return device.run(work, control)
}

export async function respondAll(device: Device, args: RespondAllArgs, control?: RunControl): Promise<void> {
  const { points, centers, scales, m, best, logs, evidence } = args
  requireAnswers(m)
  const k = centers.rows
  const scope = new BufferScope(device)
  try {
    const work: Work = {
      name: 'respond-all',
      webgpu: (gpu) =>
        formOf(gpu, args) === 'blocks' ? respondAllPasses(gpu, args) : respondTilePasses(gpu, args, scope),
      *cpu(memory) {
        yield {
          entry: 'respondAll',
          items: points.rows,
          grain: Math.max(1, Math.round(5e5 / (k * points.stride))),
          args: [
            ...rowArgs(memory, points),
            rowsAt(memory, centers),
            k,
            memory.address(scales, centers.rows * 8),
            m,
            memory.address(best, points.rows * m * 4),
            memory.address(logs, points.rows * m * 4),
            memory.address(evidence, points.rows * 4),
          ],
          scratchBytes: m * 8 + k * 4,
        }
      },
    }
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

function formOf(gpu: GpuTarget, { points, centers, m }: RespondAllArgs): DistanceForm {
  const type = denseType(points)
  const lists = listRanksShader(listCapacityOn(gpu, m))
  const shaders = {
    products: [tileShift, rankProductsShader(type), rankTilesShader(type, true), lists],
    tiles: [rankTilesShader(type), lists],
  }
  return distanceForm(gpu.forms.respond, gpu, { width: centers.rows, stride: points.stride, shaders })
}

/** One thread per point. */
function* respondAllPasses(gpu: GpuTarget, args: RespondAllArgs): Generator<ComputePass> {
  const { points, centers, scales, m, best, logs, evidence } = args
  const rowBytes = centers.stride * 4
  for (const { start, end } of cutForBinding(centers.rows, rowBytes, gpu.limits, 'centres')) {
    const here = end - start
    const part = slice(centers.buffer, start * rowBytes, here * rowBytes)
    yield* rowPasses(gpu, {
      rows: points.rows,
      perRow: 3 * here * points.stride,
      atLeast: THREADS,
      pass: (first, count) => ({
        shader: respondAllShader(denseType(points), listCapacityOn(gpu, m)),
        bindings: [points.buffer, part, scales, best, logs, evidence],
        params: [first, count, points.stride / 4, m, start, here, start > 0 ? 1 : 0],
        groups: gridFor(count, THREADS, gpu.limits.workgroups),
        share: (start + (here * (first + count)) / points.rows) / centers.rows,
      }),
    })
  }
}

/** Bytes of ranks that are kept at a time. */
const RANKS_BYTES = 32 * 2 ** 20

/** Ranks of all components for some rows, then the lists of those rows. */
function* respondTilePasses(gpu: GpuTarget, args: RespondAllArgs, scope: BufferScope): Generator<ComputePass> {
  const { points, centers, scales, m, best, logs, evidence } = args
  const rowBytes = centers.stride * 4
  const ranksBytes = Math.min(RANKS_BYTES, gpu.limits.bindingBytes)
  // Components so few that a tile of rows fits the ranks.
  const most = rowsWithin(ranksBytes, PRODUCT_TILE.rows * 4, 'ranks')
  const bound = { ...gpu.limits, bindingBytes: Math.min(gpu.limits.bindingBytes, most * rowBytes) }
  const ranges = cutForBinding(centers.rows, rowBytes, bound, 'centres')
  const largest = ranges[0].end - ranges[0].start
  const mostRows = Math.max(1, Math.floor(ranksBytes / (largest * 4)))
  const ranks = scope.reuse(Math.min(points.rows, mostRows) * largest * 4, 'ranks of components')
  const type = denseType(points)
  let buffers: ProductBuffers | undefined
  if (formOf(gpu, args) === 'products') {
    buffers = allocateProducts(scope, points.stride, tilesOf(Math.min(points.rows, mostRows)) * tilesOf(largest))
    yield shiftPass(buffers, slice(centers.buffer, 0, largest * rowBytes), points.stride)
  }
  for (const { start, end } of ranges) {
    const here = end - start
    const part = slice(centers.buffer, start * rowBytes, here * rowBytes)
    const perRow = 3 * here * points.stride
    const cuts = rowCuts(gpu, { rows: points.rows, perRow, atLeast: PRODUCT_TILE.rows, atMost: mostRows })
    for (const { first, count } of cuts) {
      const ranked = slice(ranks, 0, count * here * 4)
      const tiles = tilesOf(count) * tilesOf(here)
      const pass = {
        bindings: [points.buffer, part, scales, ranked],
        params: [first, count, points.stride / 4, start, here],
        operations: count * perRow,
      }
      if (buffers) {
        const shaders = [rankProductsShader(type), rankTilesShader(type, true)] as const
        yield* productPasses(gpu, { tiles, buffers, shaders, pass })
      } else yield { ...pass, shader: rankTilesShader(type), groups: gridFor(tiles, 1, gpu.limits.workgroups) }
      yield {
        shader: listRanksShader(listCapacityOn(gpu, m)),
        bindings: [ranked, best, logs, evidence],
        params: [first, count, m, start, here, start > 0 ? 1 : 0],
        groups: gridFor(count, THREADS, gpu.limits.workgroups),
        operations: count * here * 16,
        share: (start + (here * (first + count)) / points.rows) / centers.rows,
      }
    }
  }
}

function requireAnswers(m: number): void {
  if (!Number.isInteger(m) || m < 1 || m > MOST_ANSWERS) {
    throw badOption('m', m, `give a whole number from 1 to ${MOST_ANSWERS}.`)
  }
}

function listCapacityOn(gpu: GpuTarget, m: number): number {
  return gpu.tiled && m > MOST_IN_REGISTERS ? IN_PLACE : capacityFor(m)
}

/** Few sizes, so that few shaders are compiled. */
function capacityFor(m: number): number {
  let capacity = 4
  while (capacity < m) capacity *= 2
  return capacity
}

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
import { elements, reads, writes } from '../device/fields.ts'
import { cutForBinding, rowsWithin } from '../device/plan.ts'
import { DENSE_VECTORS, declareFunction } from './declared-function.ts'
import { rowCuts, rowPasses } from './row-passes.ts'
import { type DeviceRows, denseType } from './rows.ts'
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

/** What both functions take; lists are private until they are written. */
const RANKING_FIELDS = {
  points: DENSE_VECTORS,
  centers: reads('f32'),
  scales: reads('vec2f'),
  m: 'u32',
  best: writes('u32'),
  logs: writes('f32'),
} as const

export const respondListsFunction = declareFunction('respondLists', {
  args: {
    ...RANKING_FIELDS,
    renamed: reads('u32'),
    found: reads('u32'),
    foundDistances: reads('f32'),
    width: 'u32',
  },
  scratch: {
    /** Rank and number of each component. */
    list: ({ m }) => m * 8,
    /** The row as floats. */
    row: ({ points }) => points.stride * 4,
    /** Four components, and their distances. */
    group: () => 16,
    measures: () => 16,
  },
})

export const respondAllFunction = declareFunction('respondAll', {
  args: { ...RANKING_FIELDS, k: 'u32', evidence: writes('f32') },
  scratch: { list: ({ m }) => m * 8, ranks: ({ k }) => k * 4 },
})

function rankingArgs({ points, centers, scales, m, best, logs }: Ranking) {
  return {
    points,
    centers: elements(centers.buffer, centers.rows * centers.stride),
    scales: elements(scales, centers.rows),
    m,
    best: elements(best, points.rows * m),
    logs: elements(logs, points.rows * m),
  }
}

export function respondLists(device: Device, args: RespondListsArgs, control?: RunControl): Promise<void> {
  const { points, centers, scales, m, best, logs, renamed, found, foundDistances, width } = args
  requireAnswers(m)
  const work: Work = {
    name: 'respond-lists',
    *webgpu(gpu) {
      const shader = respondListsShader(denseType(points), listCapacityOn(gpu, m))
      yield* rowPasses(gpu, {
        rows: points.rows,
        perRow: 3 * m * points.stride + (m + width) * m,
        atLeast: THREADS,
        pass: (firstRow, rows) =>
          shader.pass(
            gpu,
            {
              ...{ x: points.buffer, centers: centers.buffer, scales, renamed, found, foundDistances, best, logs },
              ...{ firstRow, rows, quads: points.stride / 4, m, width },
            },
            { items: rows, share: (firstRow + rows) / points.rows },
          ),
      })
    },
    *cpu(memory) {
      yield respondListsFunction.job(
        memory,
        {
          ...rankingArgs(args),
          renamed: elements(renamed),
          found: elements(found, points.rows * width),
          foundDistances: elements(foundDistances, points.rows * width),
          width,
        },
        { items: points.rows, grain: Math.max(16, Math.round(5e5 / (m * (points.stride + width)))) },
      )
    },
  }
  return device.run(work, control)
}

export async function respondAll(device: Device, args: RespondAllArgs, control?: RunControl): Promise<void> {
  const { points, centers, m, evidence } = args
  requireAnswers(m)
  const k = centers.rows
  const scope = new BufferScope(device)
  try {
    const work: Work = {
      name: 'respond-all',
      webgpu: (gpu) =>
        formOf(gpu, args) === 'blocks' ? respondAllPasses(gpu, args) : respondTilePasses(gpu, args, scope),
      *cpu(memory) {
        yield respondAllFunction.job(
          memory,
          { ...rankingArgs(args), k, evidence: elements(evidence, points.rows) },
          { items: points.rows, grain: Math.max(1, Math.round(5e5 / (k * points.stride))) },
        )
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
    tiles: [rankTilesShader(type, false), lists],
  }
  const shape = { rows: points.rows, width: centers.rows, stride: points.stride }
  return distanceForm('respond', gpu, { ...shape, shaders })
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
      pass: (firstRow, rows) =>
        respondAllShader(denseType(points), listCapacityOn(gpu, m)).pass(
          gpu,
          {
            ...{ x: points.buffer, centers: part, scales, best, logs, evidence },
            ...{ firstRow, rows, quads: points.stride / 4, m, first: start, count: here, merge: start > 0 },
          },
          { items: rows, share: (start + (here * (firstRow + rows)) / points.rows) / centers.rows },
        ),
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
    yield shiftPass(gpu, buffers, slice(centers.buffer, 0, largest * rowBytes), points.stride)
  }
  for (const { start, end } of ranges) {
    const here = end - start
    const part = slice(centers.buffer, start * rowBytes, here * rowBytes)
    const perRow = 3 * here * points.stride
    const cuts = rowCuts(gpu, { rows: points.rows, perRow, atLeast: PRODUCT_TILE.rows, atMost: mostRows })
    for (const { first: firstRow, count: rows } of cuts) {
      const ranked = slice(ranks, 0, rows * here * 4)
      const tiles = tilesOf(rows) * tilesOf(here)
      const operations = rows * perRow
      const these = { firstRow, rows, first: start, count: here }
      const ranking = { x: points.buffer, centers: part, scales, ranks: ranked, quads: points.stride / 4, ...these }
      if (buffers) {
        yield* productPasses({
          tiles,
          buffers,
          operations,
          products: (more, options) => rankProductsShader(type).pass(gpu, { ...ranking, ...more }, options),
          marked: (more, options) => rankTilesShader(type, true).pass(gpu, { ...ranking, ...more }, options),
        })
      } else yield rankTilesShader(type, false).pass(gpu, ranking, { items: tiles, perGroup: 1, operations })
      yield listRanksShader(listCapacityOn(gpu, m)).pass(
        gpu,
        { ranks: ranked, best, logs, evidence, ...these, m, merge: start > 0 },
        {
          items: rows,
          operations: rows * here * 16,
          share: (start + (here * (firstRow + rows)) / points.rows) / centers.rows,
        },
      )
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

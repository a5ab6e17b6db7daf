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
import { IN_PLACE, respondAllBody, respondListsBody } from '../../shaders/respond.ts'
import { listRanksBody, rankProducts, rankTiles } from '../../shaders/respond-tiles.ts'
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
import { declareKernel } from './declared-kernel.ts'
import { compiled, compiledOf, DENSE_VECTORS, READ_ROWS } from './kernel-fields.ts'
import { rowCuts } from './row-passes.ts'
import { type DeviceRows, denseType, rowsPart } from './rows.ts'
import {
  allocateProducts,
  type DistanceForm,
  distanceForm,
  PAIR_BUFFERS,
  type ProductBuffers,
  productPasses,
  shiftPass,
  tileShiftKernel,
  tilesOf,
  tileThreads,
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

/** What both rankings take. */
const RANKING_FIELDS = {
  points: DENSE_VECTORS,
  centers: READ_ROWS,
  /** Of all components. */
  scales: reads('vec2f'),
  m: 'u32',
  best: writes('u32'),
  logs: writes('f32'),
} as const

/** Places of a list in private memory, or IN_PLACE. */
const CAPACITY = compiledOf<number>(16, IN_PLACE)
/** Components of a pass. With `merge` on top of what is there. */
const PASS_FIELDS = { first: 'u32', merge: 'bool' } as const
const FORMS = [
  { points: 'f32', capacity: 16 },
  { points: 'f32', capacity: IN_PLACE },
  { points: 'u8', capacity: 16 },
] as const

export const respondListsKernel = declareKernel('respond-lists', {
  args: {
    ...RANKING_FIELDS,
    renamed: reads('u32'),
    found: reads('u32'),
    foundDistances: reads('f32'),
    width: 'u32',
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: { capacity: CAPACITY },
    body: respondListsBody,
    cut: {
      params: ['firstRow', 'rows'],
      operations: ({ points, m, width }) => 3 * m * points.stride + (m + width) * m,
    },
    forms: FORMS,
  },
  cpu: {
    entry: 'respondLists',
    // Lists are private until they are written.
    scratch: {
      /** Rank and number of each component. */
      list: ({ m }) => m * 8,
      /** The row as floats. */
      row: ({ points }) => points.stride * 4,
      /** Four components, and their distances. */
      group: () => 16,
      measures: () => 16,
    },
    grain: ({ points, m, width }) => Math.max(16, Math.round(5e5 / (m * (points.stride + width)))),
  },
})

export const respondAllKernel = declareKernel('respond-all', {
  args: {
    ...RANKING_FIELDS,
    /** Components of a pass, or all. */
    count: 'u32',
    evidence: writes('f32'),
  },
  items: ({ points }) => points.rows,
  gpu: {
    args: { ...PASS_FIELDS, capacity: CAPACITY },
    body: respondAllBody,
    cut: { params: ['firstRow', 'rows'], operations: ({ points, count }) => 3 * count * points.stride },
    forms: FORMS,
  },
  cpu: {
    entry: 'respondAll',
    scratch: { list: ({ m }) => m * 8, ranks: ({ count }) => count * 4 },
    grain: ({ points, count }) => Math.max(1, Math.round(5e5 / (count * points.stride))),
  },
})

/** `respondAll` in two steps, for hardware: the ranks of some rows in tiles. */
export const rankTilesKernel = declareKernel('respond-rank', {
  args: {
    form: compiled('tiles', 'marked', 'products'),
    points: DENSE_VECTORS,
    centers: READ_ROWS,
    scales: reads('vec2f'),
    firstRow: 'u32',
    rows: 'u32',
    first: 'u32',
    count: 'u32',
    /** [component][row of this pass] */
    ranks: writes('f32'),
    ...PAIR_BUFFERS,
  },
  gpu: {
    body: ({ form }) => (form === 'products' ? rankProducts() : rankTiles(form === 'marked')),
    workgroup: tileThreads,
    grid: ({ rows, count }) => ({ groups: tilesOf(rows) * tilesOf(count) }),
    forms: [
      { form: 'tiles', points: 'f32' },
      { form: 'marked', points: 'f32' },
      { form: 'tiles', points: 'u8' },
      { form: 'products', points: 'f32' },
      { form: 'products', points: 'u8' },
    ],
  },
})

/** The lists and the evidence of these rows. */
export const listRanksKernel = declareKernel('respond-list-ranks', {
  args: {
    capacity: CAPACITY,
    firstRow: 'u32',
    rows: 'u32',
    count: 'u32',
    ...PASS_FIELDS,
    m: 'u32',
    ranks: reads('f32'),
    best: writes('u32'),
    logs: writes('f32'),
    evidence: writes('f32'),
  },
  gpu: { body: listRanksBody, grid: ({ rows }) => rows, operations: ({ rows, count }) => rows * count * 16 },
})

function rankingArgs({ points, centers, scales, m, best, logs }: Ranking) {
  return {
    points,
    centers,
    scales: elements(scales, centers.rows),
    m,
    best: elements(best, points.rows * m),
    logs: elements(logs, points.rows * m),
  }
}

export function respondLists(device: Device, args: RespondListsArgs, control?: RunControl): Promise<void> {
  const { points, m, renamed, found, foundDistances, width } = args
  requireAnswers(m)
  const shared = {
    ...rankingArgs(args),
    renamed: elements(renamed),
    found: elements(found, points.rows * width),
    foundDistances: elements(foundDistances, points.rows * width),
    width,
  }
  const work: Work = {
    name: 'respond-lists',
    webgpu: (gpu) =>
      respondListsKernel.passes(
        gpu,
        { ...shared, capacity: listCapacityOn(gpu, m) },
        { share: (done) => done / points.rows },
      ),
    *cpu(memory) {
      yield respondListsKernel.job(memory, shared)
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
        yield respondAllKernel.job(memory, {
          ...rankingArgs(args),
          count: k,
          evidence: elements(evidence, points.rows),
        })
      },
    }
    await device.run(work, control)
  } finally {
    scope.free()
  }
}

function formOf(gpu: GpuTarget, { points, centers, m }: RespondAllArgs): DistanceForm {
  const shaderOf = (form: 'tiles' | 'marked' | 'products') =>
    rankTilesKernel.shader({ points: denseType(points), form })
  const lists = listRanksKernel.shader({ capacity: listCapacityOn(gpu, m) })
  const shaders = {
    products: [tileShiftKernel.shader({}), shaderOf('products'), shaderOf('marked'), lists],
    tiles: [shaderOf('tiles'), lists],
  }
  const shape = { rows: points.rows, width: centers.rows, stride: points.stride }
  return distanceForm('respond', gpu, { ...shape, shaders })
}

/** One thread per point. */
function* respondAllPasses(gpu: GpuTarget, args: RespondAllArgs): Generator<ComputePass> {
  const { points, centers, m } = args
  const shared = {
    ...rankingArgs(args),
    evidence: elements(args.evidence, points.rows),
    capacity: listCapacityOn(gpu, m),
  }
  for (const { start, end } of cutForBinding(centers.rows, centers.stride * 4, gpu.limits, 'centres')) {
    const count = end - start
    const part = { centers: rowsPart(centers, start, end), first: start, count, merge: start > 0 }
    const share = (done: number) => (start + (count * done) / points.rows) / centers.rows
    yield* respondAllKernel.passes(gpu, { ...shared, ...part }, { share })
  }
}

/** Bytes of ranks that are kept at a time. */
const RANKS_BYTES = 32 * 2 ** 20

/** Ranks of all components for some rows, then the lists of those rows. */
function* respondTilePasses(gpu: GpuTarget, args: RespondAllArgs, scope: BufferScope): Generator<ComputePass> {
  const { points, centers, m } = args
  const { scales, best, logs } = rankingArgs(args)
  const evidence = elements(args.evidence, points.rows)
  const rowBytes = centers.stride * 4
  const ranksBytes = Math.min(RANKS_BYTES, gpu.limits.bindingBytes)
  // Components so few that a tile of rows fits the ranks.
  const most = rowsWithin(ranksBytes, PRODUCT_TILE.rows * 4, 'ranks')
  const bound = { ...gpu.limits, bindingBytes: Math.min(gpu.limits.bindingBytes, most * rowBytes) }
  const ranges = cutForBinding(centers.rows, rowBytes, bound, 'centres')
  const largest = ranges[0].end - ranges[0].start
  const mostRows = Math.max(1, Math.floor(ranksBytes / (largest * 4)))
  const ranks = scope.reuse(Math.min(points.rows, mostRows) * largest * 4, 'ranks of components')
  const capacity = listCapacityOn(gpu, m)
  let buffers: ProductBuffers | undefined
  if (formOf(gpu, args) === 'products') {
    buffers = allocateProducts(scope, points.stride, tilesOf(Math.min(points.rows, mostRows)) * tilesOf(largest))
    yield shiftPass(gpu, buffers, slice(centers.buffer, 0, largest * rowBytes), points.stride)
  }
  for (const { start, end } of ranges) {
    const here = end - start
    const perRow = 3 * here * points.stride
    const cuts = rowCuts(gpu, { rows: points.rows, perRow, atLeast: PRODUCT_TILE.rows, atMost: mostRows })
    for (const { first: firstRow, count: rows } of cuts) {
      const ranked = slice(ranks, 0, rows * here * 4)
      const operations = rows * perRow
      const these = { firstRow, rows, first: start, count: here }
      const ranking = { points, centers: rowsPart(centers, start, end), scales, ranks: ranked, ...these }
      if (buffers) {
        yield* productPasses({
          tiles: tilesOf(rows) * tilesOf(here),
          buffers,
          operations,
          pass: (form, more, options) => rankTilesKernel.pass(gpu, { ...ranking, ...more, form }, options),
        })
      } else yield rankTilesKernel.pass(gpu, { ...ranking, form: 'tiles' }, { operations })
      yield listRanksKernel.pass(
        gpu,
        { ranks: ranked, best, logs, evidence, ...these, m, capacity, merge: start > 0 },
        { share: (start + (here * (firstRow + rows)) / points.rows) / centers.rows },
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

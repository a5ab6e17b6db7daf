/**
 * The steps of scan-lists on a GPU, see shaders/scan-lists.ts: which slots queries look into, look-up tables, the nearest codes
 * of each part of the slots, one list from those of the parts, distances by differences, and ids in their order.
 */
import { scanTablesBody } from '../../shaders/scan-codes.ts'
import { MOST_SHARED_NEAREST, SCAN_THREADS, SCAN_TILE, SHARED_ENTRIES } from '../../shaders/scan-codes-shared.ts'
import {
  listRunsBody,
  measureListsBody,
  mergeListsBody,
  orderListsBody,
  RUN_WORDS,
  scanRowsBody,
  scanSharedListsBody,
} from '../../shaders/scan-lists.ts'
import { FARTHEST, THREADS } from '../../shaders/snippets.ts'
import type { BufferScope, ComputePass, DeviceBuffer, GpuTarget } from '../device/contract.ts'
import { mayRead, reads, writes } from '../device/fields.ts'
import { declareKernel } from './declared-kernel.ts'
import { compiled } from './kernel-fields.ts'
import { BOOK_FIELDS, codeLayout, entriesOf, QUERY_FIELDS, TABLE_SHAPE, tableBytes } from './scan-codes.ts'

/** How work over queries is cut: a step is a dispatch or more. */
const QUERIES = ['firstQuery', 'count'] as const
const RUNS = { runs: reads('vec4u'), probe: 'u32' } as const
const IDS = { ids: reads('u32') } as const
/** Positions of what was found, and distances. */
const FOUND = { found: writes('u32'), distances: writes('f32'), most: 'u32' } as const
const WORD_CODES = { codes: reads('u32'), codeStride: 'u32' } as const

export const listRunsKernel = declareKernel('list-runs', {
  args: {
    rows: 'host',
    ...QUERY_FIELDS,
    /** f32 [k][stride], what the base of a list is measured to. */
    centers: reads('f32'),
    lists: reads('u32'),
    probe: 'u32',
    extents: reads('u32'),
    inner: 'bool',
    runs: writes('vec4u'),
  },
  gpu: {
    body: listRunsBody,
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ probe, stride }) => probe * (3 * stride + probe),
      atLeast: 1,
    },
    grid: ({ count, probe }) => count * (probe + 1),
  },
})

/** -2 q.y of every codeword y, or -q.y. */
export const listTablesKernel = declareKernel('scan-lists-tables', {
  args: { rows: 'host', ...QUERY_FIELDS, ...BOOK_FIELDS, ...TABLE_SHAPE, factor: 'f32', tables: writes('f32') },
  gpu: {
    body: () => scanTablesBody(true),
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ cells, entries, bookStride }) => cells * entries * (3 * bookStride + 8),
      atLeast: 1,
    },
    grid: ({ count, cells, entries }) => count * cells * entries,
  },
})

export const scanPartsKernel = declareKernel('scan-lists-parts', {
  args: {
    rows: 'host',
    /** Codes that a query is compared with, about. */
    codesPerQuery: 'host',
    /** `shared`: table and list in workgroup memory. `rows`: a thread for each query and part, its list in the result. */
    form: compiled('rows', 'shared'),
    /** Cells are words. */
    wide: compiled(false, true),
    ...RUNS,
    parts: 'u32',
    ...IDS,
    terms: reads('f32'),
    ...WORD_CODES,
    allowed: mayRead('u32'),
    ...TABLE_SHAPE,
    tables: reads('f32'),
    ...FOUND,
  },
  gpu: {
    body: ({ form, wide }) => (form === 'shared' ? scanSharedListsBody(wide) : scanRowsBody(wide)),
    workgroup: ({ form }) => (form === 'shared' ? SCAN_THREADS : THREADS),
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ codesPerQuery, cells }) => codesPerQuery * (cells * 4 + 16),
      atLeast: 1,
    },
    grid: ({ form, count, parts }) => (form === 'shared' ? { groups: count * parts } : count * parts),
  },
})

export const mergeListsKernel = declareKernel('scan-lists-merge', {
  args: { rows: 'host', ...RUNS, ...IDS, partFound: reads('u32'), partDistances: reads('f32'), parts: 'u32', ...FOUND },
  gpu: {
    body: mergeListsBody,
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ parts, most }) => parts * parts * most * 16,
      atLeast: 1,
    },
    grid: ({ count, parts, most }) => count * parts * most,
  },
})

export const measureListsKernel = declareKernel('scan-lists-measure', {
  args: {
    rows: 'host',
    ...RUNS,
    ...QUERY_FIELDS,
    ...BOOK_FIELDS,
    ...WORD_CODES,
    centers: reads('f32'),
    width: 'u32',
    whole: 'bool',
    ...FOUND,
  },
  gpu: {
    body: measureListsBody,
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ most, width }) => most * width * 8,
      atLeast: 1,
    },
    grid: ({ count, most }) => count * most,
  },
})

export const orderListsKernel = declareKernel('scan-lists-order', {
  args: { rows: 'host', ...RUNS, ...IDS, ...FOUND, within: 'f32', outIds: writes('u32'), outDistances: writes('f32') },
  gpu: {
    body: orderListsBody,
    cut: {
      params: QUERIES,
      items: ({ rows }) => rows,
      operations: ({ most }) => most * most * 4,
      atLeast: 1,
    },
    grid: ({ count, most }) => count * most,
  },
})

/** What the steps on a GPU are given. Queries along the directions are rows of `stride` floats. */
export interface ListScan {
  readonly rows: number
  readonly queries: DeviceBuffer
  readonly queryStride: number
  readonly projected: DeviceBuffer
  readonly stride: number
  readonly lists: DeviceBuffer
  readonly probe: number
  /** Where the bases are measured to, [k][queryStride]. */
  readonly centers: DeviceBuffer
  /** Along the directions, [k][width]. */
  readonly projectedCenters: DeviceBuffer
  readonly width: number
  readonly extents: DeviceBuffer
  readonly k: number
  readonly ranges: DeviceBuffer
  readonly m: number
  readonly books: DeviceBuffer
  readonly bookStride: number
  readonly codewords: number
  readonly codes: DeviceBuffer
  readonly codeStride: number
  readonly terms: DeviceBuffer
  readonly ids: DeviceBuffer
  readonly slots: number
  readonly allowed: DeviceBuffer | undefined
  readonly within: number
  readonly inner: boolean
  readonly whole: boolean
  readonly most: number
  readonly outIds: DeviceBuffer
  readonly outDistances: DeviceBuffer
}

/** Workgroups or threads that keep a GPU busy. */
const PARTS = 4096

/** Queries whose tables and lists fit the bindings of a GPU. */
export function mostListQueries(bindingBytes: number, m: number, codewords: number, most: number): number {
  return Math.max(1, Math.floor(bindingBytes / Math.max(tableBytes(m, codewords), most * 4)))
}

/** The passes of all steps. Distances of places without a code are FAR. */
export function* scanListsPasses(gpu: GpuTarget, scope: BufferScope, args: ListScan): Generator<ComputePass> {
  const { rows, probe, m, codewords: h, most, k, slots, inner } = args
  const { bits, cells } = codeLayout(m, h)
  const entries = entriesOf(h)
  const codesPerQuery = Math.ceil((slots * probe) / k)
  const fitting = Math.max(1, Math.floor(gpu.limits.bindingBytes / (rows * most * 4)))
  const parts = Math.min(fitting, Math.ceil(PARTS / rows), Math.ceil(codesPerQuery / SCAN_TILE))
  const room = (words: number, label: string): DeviceBuffer => scope.allocate(words * 4, label)
  const runs = room(rows * (probe + 1) * RUN_WORDS, 'runs of lists')
  const tables = room(rows * cells * entries, 'look-up tables')
  const found = room(rows * most, 'positions')
  const distances = room(rows * most, 'distances of positions')
  const { queries, centers, lists, extents, projected, stride, ranges, books, bookStride, codes, codeStride } = args
  const { terms, ids, allowed, within, whole, width, projectedCenters } = args
  const known = { rows, runs, probe, ids, most }
  const given = { queries: projected, stride, ranges, m, books, bookStride, h, bits }
  yield* listRunsKernel.passes(gpu, {
    rows,
    queries,
    stride: args.queryStride,
    centers,
    lists,
    probe,
    extents,
    inner,
    runs,
  })
  yield* listTablesKernel.passes(gpu, { rows, ...given, cells, entries, factor: inner ? -1 : -2, tables })
  const isShared = gpu.tiled && most <= MOST_SHARED_NEAREST && entries <= SHARED_ENTRIES
  const form = { form: isShared ? 'shared' : 'rows', wide: bits === 32 } as const
  const table = { cells, entries, tables }
  const scan = { ...known, ...form, ...table, codesPerQuery, parts, terms, codes, codeStride, allowed }
  if (parts === 1) {
    yield* scanPartsKernel.passes(gpu, { ...scan, found, distances }, { share: (done) => done / rows })
  } else {
    const partFound = room(rows * parts * most, 'positions of parts')
    const partDistances = room(rows * parts * most, 'distances of parts')
    const partly = { ...scan, found: partFound, distances: partDistances }
    yield* scanPartsKernel.passes(gpu, partly, { share: (done) => done / rows })
    yield* mergeListsKernel.passes(gpu, { ...known, partFound, partDistances, parts, found, distances })
  }
  if (!inner) {
    const measured = { codes, codeStride, centers: projectedCenters, width, whole, found, distances }
    yield* measureListsKernel.passes(gpu, { ...known, ...given, ...measured })
  }
  const { outIds, outDistances } = args
  yield* orderListsKernel.passes(gpu, {
    ...known,
    found,
    distances,
    within: Math.min(within, FARTHEST),
    outIds,
    outDistances,
  })
}

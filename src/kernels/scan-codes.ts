/**
 * scan-codes: the nearest codes of queries by look-up tables, and one sorted list out of several.
 *
 * queries: f32 [q][stride], in the space of the codebooks. codes: [n][codeStride(cells)], bytes or 32-bit words as `codeLayout`
 * says. tasks: u32 [t][SCAN_TASK_WORDS] = four rows of queries (NO_QUERY: none), first and last code, number of the part, 0.
 * ids: u32, distances: f32, both [q * parts][nearest], nearest first, ties to the lower id, NO_QUERY where there are fewer. A
 * task must write every list. Cost: one look-up for each cell, code and query; on the CPU four queries share it.
 */

import { NO_QUERY, SCAN_TASK_WORDS, scanMergeBody, scanTablesBody, scanTasksBody } from '../../shaders/scan-codes.ts'
import { MOST_SHARED_NEAREST, SCAN_THREADS, SHARED_ENTRIES, scanSharedBody } from '../../shaders/scan-codes-shared.ts'
import { THREADS } from '../../shaders/snippets.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { countOf, elements, reads, writes } from '../device/fields.ts'
import { SharedConstants } from './declared-function.ts'
import { declareKernel } from './declared-kernel.ts'
import { bookStride, codeStride } from './encode.ts'
import { compiled } from './kernel-fields.ts'
import type { DeviceRows } from './rows.ts'

export { NO_QUERY } from '../../shaders/scan-codes.ts'

export const scanConstants = new SharedConstants({
  NO_QUERY: { type: 'u32', value: NO_QUERY },
  SCAN_TASK_WORDS: { type: 'u32', value: SCAN_TASK_WORDS },
})

/** Bytes of the table of four queries for a cell that is a byte: f32 [256][4]. */
const CELL_BYTES = 256 * 16

/** Codebooks: m subspaces, the ranges of columns, with h codewords each. */
export const BOOK_FIELDS = {
  /** [m + 1] */
  ranges: reads('u32'),
  m: 'u32',
  /** [m][h][bookStride] */
  books: reads('f32'),
  bookStride: 'u32',
  h: 'u32',
  /** Of a code, as `codeLayout` says. */
  bits: 'u32',
} as const

/** Codes on the CPU, cells or words. */
export const ROW_CODE_FIELDS = { codes: reads('u8'), codeStride: 'u32' } as const

export const QUERY_FIELDS = { queries: reads('f32'), stride: 'u32' } as const

export const TABLE_SHAPE = {
  /** Of a vector. */
  cells: 'u32',
  /** Of the table of a cell. */
  entries: 'u32',
} as const

/** tables[query][cell][entries]; a cell holds several codes, one, or a word. */
export const scanTablesKernel = declareKernel('scan-codes-tables', {
  args: { ...QUERY_FIELDS, ...BOOK_FIELDS },
  gpu: {
    args: { ...TABLE_SHAPE, rows: 'host', tables: writes('f32') },
    body: () => scanTablesBody(false),
    cut: {
      params: ['firstQuery', 'count'],
      items: ({ rows }) => rows,
      operations: ({ cells, entries, bookStride }) => cells * entries * (3 * bookStride + 8),
      atLeast: 1,
    },
    grid: ({ count, cells, entries }) => count * cells * entries,
  },
})

/** The nearest codes of each task. On a GPU the tables are there already. */
export const scanCodesKernel = declareKernel('scan-codes', {
  args: {
    tasks: reads('u32'),
    codesPerTask: 'host',
    parts: 'u32',
    /** Length of the lists. */
    most: 'u32',
    ids: writes('u32'),
    distances: writes('f32'),
  },
  items: ({ tasks }) => countOf(tasks) / SCAN_TASK_WORDS,
  gpu: {
    args: {
      /** `shared`: table and list in workgroup memory. `rows`: a thread for each query and part, its list in the result. */
      form: compiled('rows', 'shared'),
      /** Cells are words. */
      wide: compiled(false, true),
      ...TABLE_SHAPE,
      tables: reads('f32'),
      codes: reads('u32'),
      codeStride: 'u32',
    },
    body: ({ form, wide }) => (form === 'shared' ? scanSharedBody(wide) : scanTasksBody(wide)),
    workgroup: ({ form }) => (form === 'shared' ? SCAN_THREADS : THREADS),
    cut: {
      params: ['firstTask', 'count'],
      operations: ({ codesPerTask, cells }) => 4 * codesPerTask * (cells * 4 + 4),
      atLeast: THREADS / 4,
    },
    grid: ({ form, count }) => (form === 'shared' ? { groups: count * 4 } : count * 4),
  },
  cpu: {
    entry: 'scanCodes',
    args: { ...QUERY_FIELDS, ...BOOK_FIELDS, ...ROW_CODE_FIELDS },
    scratch: {
      /** Of four queries: distances to beat, addresses of ids and of distances, sums of the code at hand. */
      lists: () => 64,
      /** A subspace of four queries, f32 [bookStride][4]. */
      packed: ({ bookStride }) => bookStride * 16,
      /** Distances to the codewords of the subspaces of one cell, where it holds several. */
      cellSums: ({ bits }) => (bits < 8 ? (8 / bits) * 2 ** bits * 16 : 0),
      table: ({ m, h, bits }) => (bits === 32 ? m * h * 16 : Math.ceil((m * bits) / 8) * CELL_BYTES),
    },
    grain: ({ codesPerTask, m, h }) =>
      Math.max(1, Math.min(64, Math.round(5e4 / (codesPerTask * codeLayout(m, h).cells + h * 16)))),
  },
})

export const mergeRankedKernel = declareKernel('merge-ranked', {
  args: {
    queries: 'u32',
    /** Sorted lists of each query. */
    lists: 'u32',
    /** Length of the lists. */
    most: 'u32',
    partIds: reads('u32'),
    partDistances: reads('f32'),
    ids: writes('u32'),
    distances: writes('f32'),
  },
  items: ({ queries }) => queries,
  gpu: { body: scanMergeBody, operations: ({ queries, lists, most }) => queries * most * (lists + most) * 4 },
  cpu: { entry: 'mergeRanked', grain: 16 },
})

/** How codes are kept: cells of a byte with one or several codes, or of a 32-bit word. */
export interface CodeLayout {
  /** Bits of a code: 1, 2, 4, 8, or 32 for a word. */
  readonly bits: 1 | 2 | 4 | 8 | 32
  /** Codes in a cell. */
  readonly perCell: number
  /** Cells of a vector. */
  readonly cells: number
}

export function codeLayout(m: number, codewords: number): CodeLayout {
  const bits = codewords <= 2 ? 1 : codewords <= 4 ? 2 : codewords <= 16 ? 4 : codewords <= 256 ? 8 : 32
  const perCell = bits < 8 ? 8 / bits : 1
  return { bits, perCell, cells: Math.ceil(m / perCell) }
}

export interface ScanTask {
  /** Up to four rows of queries. */
  readonly queries: readonly number[]
  readonly first: number
  readonly last: number
  readonly part: number
}

export interface ScanCodesArgs {
  readonly queries: DeviceRows
  readonly ranges: readonly number[]
  readonly books: DeviceBuffer
  readonly codewords: number
  readonly codes: DeviceBuffer
  readonly tasks: readonly ScanTask[]
  /** Lists kept of each query. */
  readonly parts: number
  readonly nearest: number
  readonly ids: DeviceBuffer
  readonly distances: DeviceBuffer
}

/** Bytes of the tables of one query on a GPU. */
export function tableBytes(m: number, codewords: number): number {
  const { cells } = codeLayout(m, codewords)
  return cells * entriesOf(codewords) * 4
}

/** Entries of the table of a cell. */
export function entriesOf(codewords: number): number {
  return Math.max(256, codewords)
}

export async function scanCodes(device: Device, args: ScanCodesArgs, control?: RunControl): Promise<void> {
  const { queries, ranges, books, codewords: h, codes, tasks, parts, nearest, ids, distances } = args
  if (tasks.length === 0) return
  const m = ranges.length - 1
  const { bits, cells } = codeLayout(m, h)
  const scope = new BufferScope(device)
  try {
    const stride = bookStride(ranges)
    const given = {
      queries: elements(queries.buffer, queries.rows * queries.stride),
      stride: queries.stride,
      ranges: elements(scope.upload(Uint32Array.from(ranges), 'ranges of subspaces'), m + 1),
      ...{ m, books: elements(books, m * h * stride), bookStride: stride, h, bits },
    }
    const lists = queries.rows * parts * nearest
    const shared = {
      tasks: elements(scope.upload(packTasks(tasks), 'tasks'), tasks.length * SCAN_TASK_WORDS),
      codesPerTask: tasks.reduce((sum, { first, last }) => sum + last - first, 0) / tasks.length,
      ...{ parts, most: nearest, ids: elements(ids, lists), distances: elements(distances, lists) },
      codeStride: codeStride(cells),
    }
    const onGpu = device.info.kind === 'webgpu'
    const tables = scope.allocate(onGpu ? queries.rows * tableBytes(m, h) : 0, 'look-up tables')
    await device.run(
      {
        name: 'scan-codes',
        *webgpu(gpu) {
          const entries = entriesOf(h)
          const table = { cells, entries, tables }
          yield* scanTablesKernel.passes(gpu, { ...given, ...table, rows: queries.rows })
          const isShared = gpu.tiled && nearest <= MOST_SHARED_NEAREST && entries <= SHARED_ENTRIES
          const form = { form: isShared ? 'shared' : 'rows', wide: bits === 32 } as const
          yield* scanCodesKernel.passes(
            gpu,
            { ...shared, ...form, ...table, codes },
            { share: (done) => done / tasks.length },
          )
        },
        *cpu(memory) {
          const last = tasks.reduce((end, task) => Math.max(end, task.last), 0)
          const codeBytes = last * codeStride(cells) * (bits === 32 ? 4 : 1)
          yield scanCodesKernel.job(memory, { ...shared, ...given, codes: elements(codes, codeBytes) })
        },
      },
      control,
    )
  } finally {
    scope.free()
  }
}

function packTasks(tasks: readonly ScanTask[]): Uint32Array {
  const words = new Uint32Array(tasks.length * SCAN_TASK_WORDS).fill(NO_QUERY)
  tasks.forEach(({ queries, first, last, part }, i) => {
    words.set(queries, i * SCAN_TASK_WORDS)
    words.set([first, last, part, 0], i * SCAN_TASK_WORDS + 4)
  })
  return words
}

export interface MergeRankedArgs {
  readonly queries: number
  /** Sorted lists of each query, one after the other. */
  readonly lists: number
  readonly nearest: number
  readonly ids: DeviceBuffer
  readonly distances: DeviceBuffer
  readonly outIds: DeviceBuffer
  readonly outDistances: DeviceBuffer
}

export function mergeRanked(device: Device, args: MergeRankedArgs): Promise<void> {
  const { queries, lists, nearest, ids, distances, outIds, outDistances } = args
  const listed = queries * nearest
  return mergeRankedKernel.run(device, {
    ...{ queries, lists, most: nearest },
    partIds: elements(ids, lists * listed),
    partDistances: elements(distances, lists * listed),
    ids: elements(outIds, listed),
    distances: elements(outDistances, listed),
  })
}

/**
 * scan-codes: the nearest codes of queries by look-up tables, and one sorted list out of several.
 *
 * queries: f32 [q][stride], in the space of the codebooks. codes: [n][codeStride(cells)], bytes or 32-bit words as `codeLayout`
 * says. tasks: u32 [t][SCAN_TASK_WORDS] = four rows of queries (NO_QUERY: none), first and last code, number of the part, 0.
 * ids: u32, distances: f32, both [q * parts][nearest], nearest first, ties to the lower id, NO_QUERY where there are fewer. A
 * task must write every list. Cost: one look-up for each cell, code and query; on the CPU four queries share it.
 */
import { THREADS } from '../../shaders/pieces.ts'
import {
  NO_QUERY,
  SCAN_TASK_WORDS,
  scanMergeShader,
  scanTablesShader,
  scanTasksShader,
} from '../../shaders/scan-codes.ts'
import { MOST_SHARED_NEAREST, SHARED_ENTRIES, scanTasksShared } from '../../shaders/scan-codes-shared.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { elements, reads, writes } from '../device/fields.ts'
import { declareFunction, SharedConstants } from './declared-function.ts'
import { bookStride, codeStride } from './encode.ts'
import { rowPasses } from './row-passes.ts'
import type { DeviceRows } from './rows.ts'

export { NO_QUERY } from '../../shaders/scan-codes.ts'

export const scanConstants = new SharedConstants({
  NO_QUERY: { type: 'u32', value: NO_QUERY },
  SCAN_TASK_WORDS: { type: 'u32', value: SCAN_TASK_WORDS },
})

/** Bytes of the table of four queries for a cell that is a byte: f32 [256][4]. */
const CELL_BYTES = 256 * 16

export const scanCodesFunction = declareFunction('scanCodes', {
  args: {
    queries: reads('f32'),
    stride: 'u32',
    ranges: reads('u32'),
    m: 'u32',
    books: reads('f32'),
    bookStride: 'u32',
    h: 'u32',
    bits: 'u32',
    codes: reads('u8'),
    codeStride: 'u32',
    tasks: reads('u32'),
    parts: 'u32',
    /** Length of the lists. */
    most: 'u32',
    ids: writes('u32'),
    distances: writes('f32'),
  },
  scratch: {
    /** Of four queries: distances to beat, addresses of ids and of distances, sums of the code at hand. */
    lists: () => 64,
    /** A subspace of four queries, f32 [bookStride][4]. */
    packed: ({ bookStride }) => bookStride * 16,
    /** Distances to the codewords of the subspaces of one cell, where it holds several. */
    cellSums: ({ bits }) => (bits < 8 ? (8 / bits) * 2 ** bits * 16 : 0),
    table: ({ m, h, bits }) => (bits === 32 ? m * h * 16 : Math.ceil((m * bits) / 8) * CELL_BYTES),
  },
})

export const mergeRankedFunction = declareFunction('mergeRanked', {
  args: {
    lists: 'u32',
    /** Length of the lists. */
    most: 'u32',
    ids: reads('u32'),
    distances: reads('f32'),
    outIds: writes('u32'),
    outDistances: writes('f32'),
  },
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

function entriesOf(codewords: number): number {
  return Math.max(256, codewords)
}

export async function scanCodes(device: Device, args: ScanCodesArgs, control?: RunControl): Promise<void> {
  const { queries, ranges, books, codewords: h, codes, tasks, parts, nearest, ids, distances } = args
  if (tasks.length === 0) return
  const m = ranges.length - 1
  const { bits, cells } = codeLayout(m, h)
  const scope = new BufferScope(device)
  try {
    const rangeBuffer = scope.upload(Uint32Array.from(ranges), 'ranges of subspaces')
    const taskBuffer = scope.upload(packTasks(tasks), 'tasks')
    const entries = entriesOf(h)
    const listed = (of: DeviceBuffer) => elements(of, queries.rows * parts * nearest)
    const onGpu = device.info.kind === 'webgpu'
    const tables = scope.allocate(onGpu ? queries.rows * tableBytes(m, h) : 0, 'look-up tables')
    const codesPerTask = tasks.reduce((sum, { first, last }) => sum + last - first, 0) / tasks.length
    await device.run(
      {
        name: 'scan-codes',
        *webgpu(gpu) {
          const shape = { cells, entries }
          yield* rowPasses(gpu, {
            rows: queries.rows,
            perRow: cells * entries * (3 * bookStride(ranges) + 8),
            atLeast: 1,
            pass: (firstQuery, count) =>
              scanTablesShader.pass(
                gpu,
                {
                  ...shape,
                  firstQuery,
                  count,
                  stride: queries.stride,
                  m,
                  h,
                  bookStride: bookStride(ranges),
                  bits,
                  queries: queries.buffer,
                  ranges: rangeBuffer,
                  books,
                  tables,
                },
                { items: count * cells * entries },
              ),
          })
          const shared = gpu.tiled && nearest <= MOST_SHARED_NEAREST && entries <= SHARED_ENTRIES
          const shader = (shared ? scanTasksShared : scanTasksShader)(bits === 32)
          const bound = { tables, codes, tasks: taskBuffer, ids: listed(ids), distances: listed(distances) }
          yield* rowPasses(gpu, {
            rows: tasks.length,
            perRow: 4 * codesPerTask * (cells * 4 + 4),
            atLeast: THREADS / 4,
            pass: (firstTask, count) =>
              shader.pass(
                gpu,
                { ...shape, ...bound, firstTask, count, codeStride: codeStride(cells), parts, most: nearest },
                { items: count * 4, perGroup: shared ? 1 : THREADS, share: (firstTask + count) / tasks.length },
              ),
          })
        },
        *cpu(memory) {
          const last = tasks.reduce((end, task) => Math.max(end, task.last), 0)
          const stride = bookStride(ranges)
          yield scanCodesFunction.job(
            memory,
            {
              queries: elements(queries.buffer, queries.rows * queries.stride),
              stride: queries.stride,
              ranges: elements(rangeBuffer, m + 1),
              m,
              books: elements(books, m * h * stride),
              bookStride: stride,
              h,
              bits,
              codes: elements(codes, last * codeStride(cells) * (bits === 32 ? 4 : 1)),
              codeStride: codeStride(cells),
              tasks: elements(taskBuffer, tasks.length * SCAN_TASK_WORDS),
              parts,
              most: nearest,
              ids: listed(ids),
              distances: listed(distances),
            },
            {
              items: tasks.length,
              grain: Math.max(1, Math.min(64, Math.round(5e4 / (codesPerTask * cells + h * 16)))),
            },
          )
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
  return device.run({
    name: 'merge-ranked',
    *webgpu(gpu) {
      yield scanMergeShader.pass(
        gpu,
        {
          queries,
          lists,
          most: nearest,
          partIds: elements(ids, lists * listed),
          partDistances: elements(distances, lists * listed),
          ids: elements(outIds, listed),
          distances: elements(outDistances, listed),
        },
        { items: queries, operations: queries * nearest * (lists + nearest) * 4 },
      )
    },
    *cpu(memory) {
      yield mergeRankedFunction.job(
        memory,
        {
          lists,
          most: nearest,
          ids: elements(ids, lists * listed),
          distances: elements(distances, lists * listed),
          outIds: elements(outIds, listed),
          outDistances: elements(outDistances, listed),
        },
        { items: queries, grain: 16 },
      )
    },
  })
}

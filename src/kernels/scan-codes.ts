/**
 * scan-codes: the nearest codes of queries by look-up tables, and one sorted list out of several.
 *
 * queries: f32 [q][stride], in the space of the codebooks. codes: [n][codeStride(cells)], bytes or
 * 32-bit words as `codeLayout` says. tasks: u32 [t][8] = four rows of queries (NO_QUERY: none), first
 * and last code, number of the part, 0. ids: u32, distances: f32, both [q * parts][nearest], nearest
 * first, ties to the lower id, NO_QUERY where there are fewer. Every slot must be some task's.
 * Cost: one look-up a cell, code and query; the CPU takes four queries with each.
 */
import { THREADS } from '../../shaders/pieces.ts'
import {
  MOST_SHARED_NEAREST,
  SHARED_ENTRIES,
  scanMergeShader,
  scanTablesShader,
  scanTasksShader,
  scanTasksShared,
} from '../../shaders/scan-codes.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { gridFor } from '../device/plan.ts'
import { bookStride, codeStride } from './encode.ts'
import { rowPasses } from './row-passes.ts'
import { type DeviceRows, rowsAt } from './rows.ts'

export const NO_QUERY = 0xffffffff
const TASK_WORDS = 8

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
    const onGpu = device.info.kind === 'webgpu'
    const tables = scope.allocate(onGpu ? queries.rows * tableBytes(m, h) : 0, 'look-up tables')
    const codesPerTask = tasks.reduce((sum, { first, last }) => sum + last - first, 0) / tasks.length
    await device.run(
      {
        name: 'scan-codes',
        *webgpu(gpu) {
          yield* rowPasses(gpu, {
            rows: queries.rows,
            perRow: cells * entries * (3 * bookStride(ranges) + 8),
            atLeast: 1,
            pass: (first, count) => ({
              shader: scanTablesShader,
              bindings: [queries.buffer, rangeBuffer, books, tables],
              params: [first, count, queries.stride, m, h, bookStride(ranges), cells, entries, bits],
              groups: gridFor(count * cells * entries, THREADS, gpu.limits.workgroups),
            }),
          })
          const shared = gpu.tiled && nearest <= MOST_SHARED_NEAREST && entries <= SHARED_ENTRIES
          yield* rowPasses(gpu, {
            rows: tasks.length,
            perRow: 4 * codesPerTask * (cells * 4 + 4),
            atLeast: THREADS / 4,
            pass: (first, count) => ({
              shader: (shared ? scanTasksShared : scanTasksShader)(bits === 32),
              bindings: [tables, codes, taskBuffer, ids, distances],
              params: [first, count, cells, entries, codeStride(cells), parts, nearest],
              groups: gridFor(count * 4, shared ? 1 : THREADS, gpu.limits.workgroups),
              share: (first + count) / tasks.length,
            }),
          })
        },
        *cpu(memory) {
          const last = tasks.reduce((end, task) => Math.max(end, task.last), 0)
          const listBytes = queries.rows * parts * nearest * 4
          const table = bits === 32 ? m * h * 16 : cells * 4096
          yield {
            entry: 'scanCodes',
            items: tasks.length,
            grain: Math.max(1, Math.min(64, Math.round(5e4 / (codesPerTask * cells + h * 16)))),
            args: [
              rowsAt(memory, queries),
              queries.stride,
              memory.address(rangeBuffer, (m + 1) * 4),
              m,
              memory.address(books, m * h * bookStride(ranges) * 4),
              bookStride(ranges),
              h,
              bits,
              memory.address(codes, last * codeStride(cells) * (bits === 32 ? 4 : 1)),
              codeStride(cells),
              memory.address(taskBuffer, tasks.length * TASK_WORDS * 4),
              parts,
              nearest,
              memory.address(ids, listBytes),
              memory.address(distances, listBytes),
            ],
            scratchBytes: 64 + bookStride(ranges) * 16 + 8 * 16 * 16 + table,
          }
        },
      },
      control,
    )
  } finally {
    scope.free()
  }
}

function packTasks(tasks: readonly ScanTask[]): Uint32Array {
  const words = new Uint32Array(tasks.length * TASK_WORDS).fill(NO_QUERY)
  tasks.forEach(({ queries, first, last, part }, i) => {
    words.set(queries, i * TASK_WORDS)
    words.set([first, last, part, 0], i * TASK_WORDS + 4)
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
  return device.run({
    name: 'merge-ranked',
    *webgpu(gpu) {
      yield {
        shader: scanMergeShader,
        bindings: [ids, distances, outIds, outDistances],
        params: [queries, lists, nearest],
        groups: gridFor(queries, THREADS, gpu.limits.workgroups),
        operations: queries * nearest * (lists + nearest) * 4,
      }
    },
    *cpu(memory) {
      const bytes = queries * nearest * 4
      yield {
        entry: 'mergeRanked',
        items: queries,
        grain: 16,
        args: [
          lists,
          nearest,
          memory.address(ids, lists * bytes),
          memory.address(distances, lists * bytes),
          memory.address(outIds, bytes),
          memory.address(outDistances, bytes),
        ],
      }
    },
  })
}

/**
 * An inverted file on a device, searched by symmetric distances: what a query is rounded to differs from list to list, so that
 * each query and list has a table of its own. Codes stay on the device until the store changes.
 */
import { badOption } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import { matrix, toSource } from '../core/matrix.ts'
import type { Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { ScanTask } from '../kernels/scan-codes.ts'
import type { Codec } from '../quantize/codec.ts'
import { paddedCodes } from '../quantize/codes.ts'
import { queryPoints, Scanner } from '../quantize/flat-search.ts'
import { type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import { inspectFrame, intoFrame } from '../vectors/frame.ts'
import { exactNearest } from '../vectors/nearest.ts'
import { columnsOf, type ListStore, type StoreVersion } from './list-store.ts'
import { leftOvers, repeated } from './residuals.ts'

export interface TableSearch {
  readonly probe: number
  readonly nearest: number
}

/** The content as it was when it was loaded. */
interface Loaded {
  readonly version: StoreVersion
  readonly codes: DeviceBuffer
  readonly offsets: Uint32Array
  readonly ids: Uint32Array
}

export class TableLists {
  readonly #device: Device
  readonly #codec: Codec
  readonly #centers: Matrix
  readonly #unit: boolean
  readonly #store: ListStore
  readonly #scanner: Scanner
  #loaded: Loaded | undefined

  constructor(device: Device, codec: Codec, centers: Matrix, unit: boolean, store: ListStore) {
    this.#device = device
    this.#codec = codec
    this.#centers = centers
    this.#unit = unit
    this.#store = store
    this.#scanner = new Scanner(device, codec)
  }

  /** Ids, and distances in the units of the codec. */
  async search(
    given: VectorSource,
    { probe, nearest }: TableSearch,
    { signal, onProgress }: RunControl,
  ): Promise<RankedCodes> {
    const out = rankedBuffer(given.rows, nearest)
    if (this.#store.size === 0) return out
    const { codes, offsets, ids } = this.#follow()
    const source = this.#unit ? await unitRows(given) : given
    const device = this.#device
    const frame = await inspectFrame(source, 'euclidean')
    const { labels: lists } = await exactNearest(device, source, this.#centers, frame, probe, { signal })
    const batch = Math.max(1, Math.floor(this.#scanner.mostQueries(nearest) / probe))
    for (let first = 0; first < source.rows; first += batch) {
      const end = Math.min(first + batch, source.rows)
      const own = lists.subarray(first * probe, end * probe)
      const pairs = leftOvers(await repeated(source, first, end, probe), this.#centers, own)
      const { points } = await queryPoints(device, this.#codec, pairs, 'symmetric', signal)
      const tasks = listTasks(own, offsets)
      const found = await this.#scanner.run(codes, points, tasks, 1, probe, nearest, { signal })
      out.labels.set(
        found.labels.map((at) => (at === NO_LABEL ? NO_LABEL : ids[at])),
        first * nearest,
      )
      out.distances.set(found.distances, first * nearest)
      onProgress?.(end / source.rows)
    }
    return out
  }

  free(): void {
    this.#scanner.free()
  }

  #follow(): Loaded {
    const store = this.#store
    const { version } = store
    if (this.#loaded?.version.changes === version.changes) return this.#loaded
    this.#loaded = undefined
    const { rows: all, ids, lists } = store.content()
    const offsets = new Uint32Array(store.k + 1)
    for (const list of lists) offsets[list + 1]++
    for (let list = 0; list < store.k; list++) offsets[list + 1] += offsets[list]
    const rows = matrix(columnsOf(all, store.rowBytes, 0, store.codeBytes), ids.length, store.codeBytes)
    const codes = this.#scanner.load(paddedCodes(rows, this.#scanner.shape, 0, rows.rows))
    this.#loaded = { version, codes, offsets, ids }
    return this.#loaded
  }
}

/** What a search by symmetric distances cannot do. */
export function refuseFilters(where: unknown, within: unknown): void {
  const cure = 'a symmetric search takes neither where nor within; give asymmetric distances.'
  if (where !== undefined) throw badOption('where', where, cure)
  if (within !== undefined) throw badOption('within', within, cure)
}

async function unitRows(source: VectorSource): Promise<VectorSource> {
  const frame = await inspectFrame(source, 'cosine')
  const data = intoFrame(await source.read(0, source.rows), source.cols, { ...frame, type: 'f32' })
  return { ...toSource(matrix(data, source.rows, source.cols)), name: source.name }
}

/** Looks into the same cluster, four at a time. */
function listTasks(lists: Uint32Array, offsets: Uint32Array): ScanTask[] {
  const order = Uint32Array.from({ length: lists.length }, (_, i) => i).sort((a, b) => lists[a] - lists[b] || a - b)
  const tasks: ScanTask[] = []
  for (let at = 0; at < order.length; ) {
    const list = lists[order[at]]
    const queries: number[] = []
    while (queries.length < 4 && at < order.length && lists[order[at]] === list) queries.push(order[at++])
    tasks.push({ queries, first: offsets[list], last: offsets[list + 1], part: 0 })
  }
  return tasks
}

/**
 * Searches in an inverted file: which device they run on, what of the file stays there, and how searches that come at the
 * same time are answered together.
 */
import { badOption } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import type { RunControl } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import type { Codec } from '../quantize/codec.ts'
import { checkDistance } from '../quantize/flat-search.ts'
import { padded, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import type { DeviceChoice } from '../vectors/device-choice.ts'
import { LARGEST_FLOAT } from '../vectors/frame.ts'
import { allowedSlots, type IdFilter } from './id-filter.ts'
import type { ListGeometry } from './list-geometry.ts'
import type { ListStore } from './list-store.ts'
import { RequestQueue, type Waiting } from './request-queue.ts'
import { isLost, type Residence, Residences } from './residences.ts'
import { ResidentLists } from './resident-lists.ts'
import { refuseFilters, TableLists } from './table-lists.ts'

export interface ListRequest {
  readonly source: VectorSource
  readonly probe: number
  readonly nearest: number
  readonly distance: 'asymmetric' | 'symmetric'
  /** Largest distance, in the input's units. */
  readonly within: number | undefined
  /** Ids that may be found. */
  readonly where: IdFilter | undefined
  readonly device: DeviceChoice
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((share: number) => void) | undefined
}

/** Searches of more queries are answered alone. */
const MOST_TOGETHER = 4096

/** What a device holds of the file. */
class Held {
  lists: ResidentLists | undefined
  tables: TableLists | undefined

  free(): void {
    this.lists?.free()
    this.tables?.free()
  }
}

export class ListSearcher {
  readonly #geometry: () => ListGeometry
  readonly #codec: Codec
  readonly #centers: Matrix
  readonly #store: ListStore
  readonly #queue: RequestQueue<ListRequest, RankedCodes>
  readonly #residences: Residences<Held>

  constructor(geometry: () => ListGeometry, centers: Matrix, codec: Codec, store: ListStore) {
    this.#geometry = geometry
    this.#codec = codec
    this.#centers = centers
    this.#store = store
    this.#queue = new RequestQueue((batch) => this.#answer(batch), MOST_TOGETHER)
    this.#residences = new Residences({
      hold: () => new Held(),
      // A GPU is not faster for few queries, and all data is copied to it, so it is used only on request.
      open: (choice) => [
        choice === undefined || choice === 'auto' ? 'cpu' : choice,
        [{ rows: store.slots, cols: store.codeBytes / 4 + 2 }],
      ],
    })
  }

  search(request: ListRequest): Promise<RankedCodes> {
    checkDistance(request.distance, this.#codec)
    if (isDevice(request.device)) request.device.requireOpen?.()
    const { source, onProgress } = request
    const alone = onProgress !== undefined || source.rows > MOST_TOGETHER
    return this.#queue.add(request, source.rows, alone ? undefined : this.#keyOf(request))
  }

  /** Frees the memory of devices once pending searches are done. A later search loads it again. */
  async close(): Promise<void> {
    await this.#queue.idle()
    await this.#residences.close()
  }

  #keyOf({ probe, nearest, distance, within, where, device }: ListRequest): string {
    const residences = this.#residences
    return [probe, nearest, distance, within, residences.numberOf(where), residences.keyOf(device)].join()
  }

  #answer(batch: readonly Waiting<ListRequest, RankedCodes>[]): Promise<void> {
    const [{ request }] = batch
    return this.#residences.use(request.device, (residence) => {
      const byLists = request.distance === 'asymmetric'
      return byLists ? this.#byLists(batch, residence) : this.#byTables(batch, residence)
    })
  }

  async #byLists(
    batch: readonly Waiting<ListRequest, RankedCodes>[],
    { device, held }: Residence<Held>,
  ): Promise<void> {
    const geometry = this.#geometry()
    held.lists ??= new ResidentLists(device, geometry, this.#store)
    const { lists } = held
    const [{ request, rows }] = batch
    if (batch.length === 1 && rows > 1) {
      batch[0].resolve(await this.#inPieces(lists, geometry, request))
      return
    }
    const taken: { readonly each: Waiting<ListRequest, RankedCodes>; readonly queries: Float32Array }[] = []
    for (const each of batch) {
      const { source, signal } = each.request
      try {
        signal?.throwIfAborted()
        taken.push({ each, queries: await geometry.queries(source, 0, source.rows) })
      } catch (error) {
        each.reject(error)
      }
    }
    const most = lists.batchRows(request.nearest)
    for (let next = 0; next < taken.length; ) {
      const group = [taken[next++]]
      let count = group[0].each.rows
      while (next < taken.length && count + taken[next].each.rows <= most) {
        count += taken[next].each.rows
        group.push(taken[next++])
      }
      const { m, labels, distances } = await this.#searchNow(lists, geometry, joined(group), request, {})
      let from = 0
      for (const { each } of group) {
        const end = from + each.rows * m
        if (each.request.signal?.aborted) each.reject(each.request.signal.reason)
        else each.resolve({ m, labels: labels.slice(from, end), distances: distances.slice(from, end) })
        from = end
      }
    }
  }

  async #inPieces(lists: ResidentLists, geometry: ListGeometry, request: ListRequest): Promise<RankedCodes> {
    const { source, nearest, signal, onProgress } = request
    const out = rankedBuffer(source.rows, nearest)
    const most = lists.batchRows(nearest)
    for (let first = 0; first < source.rows; first += most) {
      signal?.throwIfAborted()
      const end = Math.min(source.rows, first + most)
      const queries = await geometry.queries(source, first, end)
      const report = onProgress && ((share: number) => onProgress((first + share * (end - first)) / source.rows))
      const found = await this.#searchNow(lists, geometry, queries, request, { signal, onProgress: report })
      out.labels.set(found.labels, first * nearest)
      out.distances.set(found.distances, first * nearest)
      onProgress?.(end / source.rows)
    }
    return out
  }

  /**
   * Looks at the store as it is now: how many there are, and which slots may be found, must belong to the copy that is
   * searched, so nothing may be waited for in between.
   */
  async #searchNow(
    lists: ResidentLists,
    geometry: ListGeometry,
    queries: Float32Array,
    { probe, nearest, within, where }: ListRequest,
    control: RunControl,
  ): Promise<RankedCodes> {
    const asked = {
      probe,
      nearest: Math.max(1, Math.min(nearest, this.#store.size)),
      within: within === undefined ? Number.POSITIVE_INFINITY : geometry.inward(within),
      allowed: where && allowedSlots(where, this.#store),
    }
    return this.#finished(await lists.search(queries, asked, control), geometry, nearest)
  }

  async #byTables(
    batch: readonly Waiting<ListRequest, RankedCodes>[],
    { device, held }: Residence<Held>,
  ): Promise<void> {
    const geometry = this.#geometry()
    if (geometry.inner) {
      throw badOption('distance', 'symmetric', 'searching by inner product requires asymmetric distances.')
    }
    held.tables ??= new TableLists(device, this.#codec, this.#centers, geometry.metric === 'cosine', this.#store)
    for (const { request, resolve, reject } of batch) {
      const { source, probe, where, within, signal, onProgress } = request
      try {
        refuseFilters(where, within)
        const nearest = Math.max(1, Math.min(request.nearest, this.#store.size))
        const found = await held.tables.search(source, { probe, nearest }, { signal, onProgress })
        resolve(this.#finished(found, geometry, request.nearest))
      } catch (error) {
        reject(error)
        if (isLost(error)) throw error
      }
    }
  }

  /** Distances in the input's units; places beyond those that there are stay empty. */
  #finished(found: RankedCodes, geometry: ListGeometry, wanted: number): RankedCodes {
    const unit = geometry.inward(1)
    const { distances } = found
    for (let i = 0; i < distances.length; i++) {
      if (distances[i] === Number.POSITIVE_INFINITY) continue
      distances[i] = Math.min(LARGEST_FLOAT, distances[i] / unit)
    }
    return padded(found, wanted)
  }
}

function joined(group: readonly { readonly queries: Float32Array }[]): Float32Array {
  if (group.length === 1) return group[0].queries
  const out = new Float32Array(group.reduce((sum, { queries }) => sum + queries.length, 0))
  let at = 0
  for (const { queries } of group) {
    out.set(queries, at)
    at += queries.length
  }
  return out
}

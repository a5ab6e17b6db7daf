/**
 * Searches in an inverted file: which device they run on, what of the file stays there, and how searches that come at the
 * same time are answered together.
 */
import { badOption, CentroidalError } from '../core/errors.ts'
import type { Matrix, VectorSource } from '../core/matrix.ts'
import type { Device, RunControl } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import type { DeviceLease } from '../device/shared.ts'
import type { Codec } from '../quantize/codec.ts'
import { padded, type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import { checkDistance } from '../quantize/scan.ts'
import { acquireDevice, type DeviceChoice } from '../vectors/device-choice.ts'
import { LARGEST_FLOAT } from '../vectors/frame.ts'
import { allowedSlots, type IdFilter } from './id-filter.ts'
import type { ListGeometry } from './list-geometry.ts'
import type { ListStore } from './list-store.ts'
import { RequestQueue, type Waiting } from './request-queue.ts'
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
/** A device that the file has opened or shares is let go after this time without a search. */
const IDLE_MS = 30_000

/** What a device holds of the file. */
interface Residence {
  readonly device: Device
  lists: ResidentLists | undefined
  tables: TableLists | undefined
  /** Where the file has acquired the device. */
  readonly lease: DeviceLease | undefined
}

export class ListSearcher {
  readonly #geometry: () => ListGeometry
  readonly #codec: Codec
  readonly #centers: Matrix
  readonly #store: ListStore
  readonly #queue: RequestQueue<ListRequest, RankedCodes>
  /** By device, or by the text of the choice. */
  readonly #residences = new Map<Device | string, Promise<Residence>>()
  readonly #numbers = new WeakMap<object, number>()
  #nextNumber = 0
  #idle: ReturnType<typeof setTimeout> | undefined
  #lastSearch = 0
  #busy = false

  constructor(geometry: () => ListGeometry, centers: Matrix, codec: Codec, store: ListStore) {
    this.#geometry = geometry
    this.#codec = codec
    this.#centers = centers
    this.#store = store
    this.#queue = new RequestQueue((batch) => this.#answer(batch), MOST_TOGETHER)
  }

  search(request: ListRequest): Promise<RankedCodes> {
    checkDistance(request.distance, this.#codec)
    if (isDevice(request.device)) request.device.requireOpen?.()
    const { source, onProgress } = request
    const alone = onProgress !== undefined || source.rows > MOST_TOGETHER
    return this.#queue.add(request, source.rows, alone ? undefined : this.#keyOf(request))
  }

  /** Frees what devices hold, once the searches that wait are done. A later search begins anew. */
  async close(): Promise<void> {
    await this.#queue.idle()
    clearTimeout(this.#idle)
    this.#idle = undefined
    const residences = [...this.#residences.values()]
    this.#residences.clear()
    for (const opening of residences) await letGo(opening)
  }

  #keyOf({ probe, nearest, distance, within, where, device }: ListRequest): string {
    return [
      probe,
      nearest,
      distance,
      within,
      this.#numberOf(where),
      placeKey(device, (given) => this.#numberOf(given)),
    ].join()
  }

  #numberOf(object: object | undefined): number {
    if (object === undefined) return -1
    const known = this.#numbers.get(object)
    if (known !== undefined) return known
    this.#numbers.set(object, this.#nextNumber)
    return this.#nextNumber++
  }

  async #answer(batch: readonly Waiting<ListRequest, RankedCodes>[]): Promise<void> {
    this.#busy = true
    try {
      await this.#answerOn(await this.#residenceOf(batch[0].request.device), batch)
    } finally {
      this.#busy = false
      this.#letGoLater()
    }
  }

  async #answerOn(residence: Residence, batch: readonly Waiting<ListRequest, RankedCodes>[]): Promise<void> {
    const onLists = batch[0].request.distance === 'asymmetric' && residence.device.info.kind === 'cpu'
    try {
      await (onLists ? this.#byLists(batch, residence) : this.#byTables(batch, residence))
    } catch (error) {
      // A device that is lost holds nothing any more.
      if (error instanceof CentroidalError && error.code === 'device-lost') await this.#forget(residence)
      throw error
    }
  }

  async #byLists(batch: readonly Waiting<ListRequest, RankedCodes>[], residence: Residence): Promise<void> {
    const geometry = this.#geometry()
    residence.lists ??= new ResidentLists(residence.device, geometry, this.#store)
    const { lists } = residence
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

  async #byTables(batch: readonly Waiting<ListRequest, RankedCodes>[], residence: Residence): Promise<void> {
    const geometry = this.#geometry()
    if (geometry.inner) {
      throw badOption(
        'device',
        residence.device.info.name,
        'inner products are searched on a CPU device, asymmetrically.',
      )
    }
    residence.tables ??= new TableLists(
      residence.device,
      this.#codec,
      this.#centers,
      geometry.metric === 'cosine',
      this.#store,
    )
    for (const { request, resolve, reject } of batch) {
      const { source, probe, distance, where, within, signal, onProgress } = request
      try {
        refuseFilters(where, within, residence.device.info.kind === 'cpu' ? 'a symmetric search' : 'a GPU')
        const nearest = Math.max(1, Math.min(request.nearest, this.#store.size))
        const found = await residence.tables.search(source, { probe, nearest, distance }, { signal, onProgress })
        resolve(this.#finished(found, geometry, request.nearest))
      } catch (error) {
        reject(error)
        if (error instanceof CentroidalError && error.code === 'device-lost') throw error
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

  #residenceOf(choice: DeviceChoice): Promise<Residence> {
    const place = isDevice(choice) ? choice : placeKey(choice, () => 0)
    const known = this.#residences.get(place)
    if (known) return known
    for (const given of this.#residences.keys()) {
      if (typeof given !== 'string' && isClosed(given)) this.#residences.delete(given)
    }
    const opening = this.#open(choice)
    this.#residences.set(place, opening)
    opening.catch(() => this.#residences.delete(place))
    return opening
  }

  async #open(choice: DeviceChoice): Promise<Residence> {
    if (isDevice(choice)) return { device: choice, lists: undefined, tables: undefined, lease: undefined }
    // A GPU gains nothing on a few queries, and copies everything it is given: it is for those who ask for it.
    const wanted = choice === undefined || choice === 'auto' ? 'cpu' : choice
    const lease = await acquireDevice(wanted, [{ rows: this.#store.slots, cols: this.#store.codeBytes / 4 + 2 }])
    return { device: lease.device, lists: undefined, tables: undefined, lease }
  }

  async #forget(residence: Residence): Promise<void> {
    for (const [place, opening] of this.#residences) {
      if ((await opening.catch(() => undefined)) !== residence) continue
      this.#residences.delete(place)
      await letGo(opening)
    }
  }

  /** Devices that nobody gave are let go some time after the last search. */
  #letGoLater(): void {
    this.#lastSearch = performance.now()
    if (this.#idle === undefined) this.#watchIdle(IDLE_MS)
  }

  /** One timer for many searches: it looks when the last one was. */
  #watchIdle(ms: number): void {
    this.#idle = setTimeout(() => {
      this.#idle = undefined
      const left = this.#lastSearch + IDLE_MS - performance.now()
      if (left > 0 || this.#busy) this.#watchIdle(Math.max(left, 1000))
      else void this.#letGoLeases()
    }, ms)
    // Only Node's timers hold the process, and only they have this method.
    ;(this.#idle as { unref?: () => void }).unref?.()
  }

  async #letGoLeases(): Promise<void> {
    for (const [place, opening] of this.#residences) {
      if (typeof place !== 'string') continue
      this.#residences.delete(place)
      await letGo(opening)
    }
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

async function letGo(opening: Promise<Residence>): Promise<void> {
  const residence = await opening.catch(() => undefined)
  if (residence === undefined) return
  try {
    residence.lists?.free()
    residence.tables?.free()
  } finally {
    await residence.lease?.release()
  }
}

function placeKey(choice: DeviceChoice, numberOf: (device: Device) => number): string {
  if (isDevice(choice)) return `device ${numberOf(choice)}`
  return JSON.stringify(choice ?? 'auto')
}

function isClosed(device: Device): boolean {
  try {
    device.requireOpen?.()
    return false
  } catch {
    return true
  }
}

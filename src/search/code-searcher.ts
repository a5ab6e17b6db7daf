/** Searches in an index of codes: codes stay on the device, and searches that come at the same time are answered together. */
import { trustedSource } from '../core/checked-source.ts'
import { readWide, type VectorData, type VectorSource } from '../core/matrix.ts'
import type { Device, RunControl } from '../device/contract.ts'
import { isDevice } from '../device/is-device.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import type { Codec } from '../quantize/codec.ts'
import { type CodeDistance, checkDistance, queryPoints, type Scanner, searchPart } from '../quantize/flat-search.ts'
import { finishProducts, productQueries } from '../quantize/inner-products.ts'
import { finishDistances, padded, type RankedCodes, rankedBuffer, takeRanked } from '../quantize/ranked.ts'
import type { DeviceChoice } from '../vectors/device-choice.ts'
import type { CodeStore } from './code-store.ts'
import { allowedRows, type IdFilter } from './id-filter.ts'
import { RequestQueue, type Waiting } from './request-queue.ts'
import { isLost, Residences } from './residences.ts'
import { measureOf, ResidentCodes, rowsOf } from './resident-codes.ts'

export interface CodeRequest {
  readonly source: VectorSource
  readonly nearest: number
  readonly distance: CodeDistance
  /** Ids that may be found. */
  readonly where: IdFilter | undefined
  readonly device: DeviceChoice
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((share: number) => void) | undefined
}

type Waits = Waiting<CodeRequest, RankedCodes>

/** Queries that are answered together, and most numbers of their results. */
const MOST_TOGETHER = 4096
const MOST_NUMBERS = 2 ** 22

export class CodeSearcher {
  readonly #codec: Codec
  readonly #store: CodeStore
  readonly #inner: boolean
  readonly #queue: RequestQueue<CodeRequest, RankedCodes>
  readonly #residences: Residences<ResidentCodes>

  /** `inner`: by inner products, with the other sign. */
  constructor(codec: Codec, store: CodeStore, inner: boolean) {
    this.#codec = codec
    this.#store = store
    this.#inner = inner
    this.#queue = new RequestQueue((batch) => this.#answer(batch), MOST_TOGETHER)
    this.#residences = new Residences({
      hold: (device) => new ResidentCodes(device, codec, store),
      open: (choice) => [choice, [{ rows: store.size, cols: store.codeBytes / 4 }]],
    })
  }

  /** Ids and distances of the nearest codes. */
  search(request: CodeRequest): Promise<RankedCodes> {
    checkDistance(request.distance, this.#codec)
    if (isDevice(request.device)) request.device.requireOpen?.()
    const { source, nearest, onProgress } = request
    const alone = onProgress !== undefined || source.sparse !== undefined || source.rows * nearest > MOST_NUMBERS / 8
    return this.#queue.add(request, source.rows, alone ? undefined : this.#keyOf(request))
  }

  /** Frees the memory of devices once pending searches are done. A later search loads it again. */
  async close(): Promise<void> {
    await this.#queue.idle()
    await this.#residences.close()
  }

  #keyOf({ source, nearest, distance, where, device }: CodeRequest): string {
    const wide = source.read64 !== undefined
    const residences = this.#residences
    const filter = residences.numberOf(where)
    return [source.cols, source.type, wide, nearest, distance, filter, residences.keyOf(device)].join()
  }

  #answer(batch: readonly Waits[]): Promise<void> {
    return this.#residences.use(batch[0].request.device, async ({ device, held }) => {
      const waiting = batch.filter(({ request, reject }) => {
        if (request.signal?.aborted) reject(request.signal.reason)
        return !request.signal?.aborted
      })
      const most = Math.max(1, Math.floor(MOST_NUMBERS / batch[0].request.nearest))
      for (let next = 0; next < waiting.length; ) {
        const group = [waiting[next++]]
        let rows = group[0].rows
        while (next < waiting.length && rows + waiting[next].rows <= most) {
          rows += waiting[next].rows
          group.push(waiting[next++])
        }
        await this.#answerGroup(group, device, held)
      }
    })
  }

  async #answerGroup(group: readonly Waits[], device: Device, held: ResidentCodes): Promise<void> {
    if (group.length > 1) {
      try {
        const { m, labels, distances } = await this.#search(joined(group), group[0].request, device, held, {})
        let from = 0
        for (const { rows, request, resolve, reject } of group) {
          const end = from + rows * m
          if (request.signal?.aborted) reject(request.signal.reason)
          else resolve({ m, labels: labels.slice(from, end), distances: distances.slice(from, end) })
          from = end
        }
        return
      } catch (error) {
        if (isLost(error)) throw error
        // One of them is invalid: each is answered separately.
      }
    }
    for (const { request, resolve, reject } of group) {
      try {
        resolve(await this.#search(request.source, request, device, held, request))
      } catch (error) {
        reject(error)
        if (isLost(error)) throw error
      }
    }
  }

  async #search(
    source: VectorSource,
    { nearest: asked, distance, where }: CodeRequest,
    device: Device,
    held: ResidentCodes,
    control: RunControl,
  ): Promise<RankedCodes> {
    const codec = this.#codec
    const queries = await queryPoints(device, codec, source, distance, control.signal)
    const products = this.#inner ? await productQueries(codec, source, queries.points) : undefined
    // From here on the index is as it is now: changes that come while the device works count for later searches.
    const { ids, codes } = this.#store
    const nearest = Math.max(1, Math.min(asked, ids.length))
    const out = rankedBuffer(source.rows, nearest)
    const scanner = held.scannerFor(products ? 'products' : measureOf(distance))
    const points = products?.points ?? queries.points
    if (where) await searchRows(scanner, held, allowedRows(where, { ids }), points, out, control)
    else await searchAll(scanner, held, points, out, control, ids.length)
    if (products) finishProducts(out, codec, products, (rows) => rowsOf(codes, rows))
    else finishDistances(out, queries.rest, distance === 'hamming' ? 1 : codec.frame.scale)
    const { m, labels, distances } = padded(out, asked)
    return { m, labels: labels.map((at) => (at === NO_LABEL ? NO_LABEL : ids[at])), distances }
  }
}

async function searchAll(
  scanner: Scanner,
  held: ResidentCodes,
  points: Float32Array,
  out: RankedCodes,
  { signal, onProgress }: RunControl,
  size: number,
): Promise<void> {
  for (const part of held.follow()) {
    const report = (share: number): void => onProgress?.((part.start + (part.end - part.start) * share) / size)
    await searchPart(scanner, part, points, out, { signal, onProgress: onProgress && report })
  }
}

async function searchRows(
  scanner: Scanner,
  held: ResidentCodes,
  allowed: Uint32Array,
  points: Float32Array,
  out: RankedCodes,
  { signal, onProgress }: RunControl,
): Promise<void> {
  const queries = out.labels.length / out.m
  let done = 0
  for await (const { part, rows } of held.partsOf(allowed)) {
    const found = rankedBuffer(queries, out.m)
    await searchPart(scanner, part, points, found, { signal })
    found.labels.forEach((place, i) => {
      if (place !== NO_LABEL) found.labels[i] = rows[place]
    })
    takeRanked(out, found, 0, queries, 0)
    done += rows.length
    onProgress?.(done / allowed.length)
  }
}

/** The rows of several sources of one kind, one after the other. */
function joined(group: readonly Waits[]): VectorSource {
  const sources = group.map(({ request }) => request.source)
  const [{ cols, type, name, read64 }] = sources
  const rows = sources.reduce((sum, source) => sum + source.rows, 0)
  const gather = async <T extends VectorData | Float64Array>(
    out: T,
    start: number,
    end: number,
    read: (source: VectorSource, from: number, to: number) => Promise<ArrayLike<number>>,
  ): Promise<T> => {
    let first = 0
    for (const source of sources) {
      const from = Math.max(start, first)
      const to = Math.min(end, first + source.rows)
      if (from < to) out.set(await read(source, from - first, to - first), (from - start) * cols)
      first += source.rows
    }
    return out
  }
  return trustedSource({
    ...{ rows, cols, type, name },
    read: (start, end) => {
      const length = (end - start) * cols
      const out: VectorData = type === 'u8' ? new Uint8Array(length) : new Float32Array(length)
      return gather(out, start, end, (source, from, to) => source.read(from, to))
    },
    ...(read64 && {
      read64: (start: number, end: number) =>
        gather(new Float64Array((end - start) * cols), start, end, (source, from, to) => readWide(source, from, to)),
    }),
  })
}

/**
 * An inverted file on a CPU device: centres, codes, terms and ids stay in its memory between searches, and follow the store.
 * A search allocates room for its queries and results alone.
 */
import { type Matrix, matrix } from '../core/matrix.ts'
import {
  BufferScope,
  type CpuMemory,
  type Device,
  type DeviceBuffer,
  type RunControl,
  slice,
} from '../device/contract.ts'
import { elements } from '../device/fields.ts'
import { bookStride, codeStride } from '../kernels/encode.ts'
import { nearestListsKernel } from '../kernels/nearest-lists.ts'
import { codeLayout } from '../kernels/scan-codes.ts'
import { isBlocked, SCAN_BLOCK, scanListsKernel } from '../kernels/scan-lists.ts'
import { paddedCodes } from '../quantize/codes.ts'
import { type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import type { ListGeometry } from './list-geometry.ts'
import type { ListStore, StoreVersion } from './list-store.ts'

/** What a search asks for besides the queries. */
export interface ListSearch {
  readonly probe: number
  readonly nearest: number
  /** In the units of the kernels. */
  readonly within: number
  /** A bit for each slot. */
  readonly allowed: Uint8Array | undefined
}

/** Slots that are copied to the device at a time. */
const PIECE = 65536
/** Room for queries and results up to this size is kept from search to search. */
const KEPT_BYTES = 2 ** 18
/** Queries at a time. */
const MOST_QUERIES = 4096
/** Bytes of their results. */
const RESULT_BYTES = 64 * 2 ** 20
/** Less work is done on the calling thread: handing it to others and waking up again takes about 0.1 ms. */
const AT_ONCE_OPERATIONS = 8e6

/** Copies of the arrays of the store; replaced when the store has outgrown them. */
interface SlotBuffers {
  readonly scope: BufferScope
  readonly slots: number
  readonly codes: DeviceBuffer
  readonly terms: DeviceBuffer
  readonly ids: DeviceBuffer
}

export class ResidentLists {
  readonly #device: Device
  readonly #geometry: ListGeometry
  readonly #store: ListStore
  readonly #scope: BufferScope
  readonly #fixed: FixedBuffers
  readonly #shape: { readonly m: number; readonly codewords: number }
  readonly #blocked: boolean
  readonly #rowBytes: number
  /** Room for a few queries and their results, by label. */
  readonly #small = new Map<string, DeviceBuffer>()
  #slots: SlotBuffers | undefined
  #version: StoreVersion | undefined

  constructor(device: Device, geometry: ListGeometry, store: ListStore) {
    const { ranges, codewords } = geometry.codec
    this.#device = device
    this.#geometry = geometry
    this.#store = store
    this.#shape = { m: ranges.length - 1, codewords }
    this.#blocked = isBlocked(this.#shape.m, codewords)
    const { cells, bits } = codeLayout(this.#shape.m, codewords)
    this.#rowBytes = this.#blocked ? cells : codeStride(cells) * (bits === 32 ? 4 : 1)
    this.#scope = new BufferScope(device)
    try {
      this.#fixed = fixedBuffers(this.#scope, geometry)
    } catch (error) {
      this.#scope.free()
      throw error
    }
  }

  /** Queries that are searched for at a time. */
  batchRows(nearest: number): number {
    const perQuery = Math.max(nearest * 8, this.#geometry.stride * 8)
    return Math.max(1, Math.min(MOST_QUERIES, Math.floor(RESULT_BYTES / perQuery)))
  }

  /** Ids and distances in the units of the kernels; `queries` as `ListGeometry.queries` gives them. */
  async search(queries: Float32Array, asked: ListSearch, control: RunControl): Promise<RankedCodes> {
    const { stride } = this.#geometry
    const rows = queries.length / stride
    const { nearest, probe } = asked
    if (this.#store.size === 0) return rankedBuffer(rows, nearest)
    const slots = this.#follow()
    const scope = new BufferScope(this.#device)
    const room = (bytes: number, label: string): DeviceBuffer =>
      bytes <= KEPT_BYTES ? this.#kept(bytes, label) : scope.allocate(bytes, label)
    try {
      const out = {
        queries: room(queries.byteLength, 'queries'),
        lists: room(rows * probe * 4, 'lists of queries'),
        bases: room(rows * probe * 4, 'distances of lists'),
        projected: room(rows * this.#geometry.width * 4, 'projected queries'),
        allowed: asked.allowed && scope.upload(asked.allowed, 'allowed slots'),
        ids: room(rows * nearest * 4, 'nearest'),
        distances: room(rows * nearest * 4, 'distances'),
      }
      this.#device.write(out.queries, queries)
      const work = {
        name: 'search-lists',
        webgpu: () => {
          throw new Error('lists are searched like this on CPU devices only')
        },
        cpu: (memory: CpuMemory) => this.#jobs(memory, rows, asked, slots, out),
      }
      const atOnce = rows * this.#operations(asked) <= AT_ONCE_OPERATIONS && this.#device.runAtOnce?.(work) === true
      if (!atOnce) await this.#device.run(work, control)
      return {
        m: nearest,
        labels: new Uint32Array(await this.#device.read(slice(out.ids, 0, rows * nearest * 4))),
        distances: new Float32Array(await this.#device.read(slice(out.distances, 0, rows * nearest * 4))),
      }
    } finally {
      scope.free()
    }
  }

  /** A buffer for one search after the other; there is one of each label. */
  #kept(bytes: number, label: string): DeviceBuffer {
    const known = this.#small.get(label)
    if (known && known.bytes >= bytes) return known
    this.#small.delete(label)
    known?.free()
    const buffer = this.#device.allocate(Math.max(4096, bytes), label)
    this.#small.set(label, buffer)
    return buffer
  }

  free(): void {
    for (const buffer of this.#small.values()) buffer.free()
    this.#small.clear()
    this.#slots?.scope.free()
    this.#slots = undefined
    this.#scope.free()
  }

  /** Operations of a query, roughly. */
  #operations({ probe }: ListSearch): number {
    const { k, stride, width } = this.#geometry
    const { m, codewords } = this.#shape
    const scanned = (this.#store.size * probe) / k
    return 2 * k * stride + 4 * codewords * width + 2 * scanned * m * (this.#blocked ? 0.2 : 1)
  }

  *#jobs(
    memory: CpuMemory,
    rows: number,
    { probe, nearest, within }: ListSearch,
    slots: SlotBuffers,
    out: Readonly<Record<'queries' | 'lists' | 'bases' | 'projected' | 'ids' | 'distances', DeviceBuffer>> & {
      readonly allowed: DeviceBuffer | undefined
    },
  ) {
    const { k, stride, width, inner, whole, codec } = this.#geometry
    const { panels, centers, rotation, projected, extents, ranges, books } = this.#fixed
    const { m, codewords } = this.#shape
    const { bits, cells } = codeLayout(m, codewords)
    const lists = elements(out.lists, rows * probe)
    const bases = elements(out.bases, rows * probe)
    const points = elements(out.projected, rows * width)
    yield nearestListsKernel.job(memory, {
      queries: elements(out.queries, rows * stride),
      rows,
      stride,
      panels: elements(panels),
      k,
      centers: elements(centers, k * stride),
      rotation: rotation && elements(rotation, width * stride),
      width,
      probe,
      inner,
      lists,
      bases,
      projected: points,
    })
    const room = slots.slots
    yield scanListsKernel.job(memory, {
      ...{ projected: points, width, lists, bases, probe },
      extents: elements(extents, 2 * k),
      ranges: elements(ranges, m + 1),
      m,
      books: elements(books, m * codewords * bookStride(codec.ranges)),
      bookStride: bookStride(codec.ranges),
      h: codewords,
      bits,
      codes: elements(slots.codes, room * this.#rowBytes),
      codeStride: this.#blocked ? cells : codeStride(cells),
      blocked: this.#blocked,
      terms: elements(slots.terms, room),
      ids: elements(slots.ids, room),
      centers: elements(projected, k * width),
      allowed: out.allowed && elements(out.allowed, out.allowed.bytes),
      ...{ within, inner, whole, most: nearest },
      outIds: elements(out.ids, rows * nearest),
      outDistances: elements(out.distances, rows * nearest),
    })
  }

  /** Brings the copy up to date. */
  #follow(): SlotBuffers {
    const store = this.#store
    const changes = this.#version === undefined ? 'all' : store.changesSince(this.#version)
    if (this.#slots && this.#version?.changes === store.version.changes) return this.#slots
    const slots = this.#room(store.ids.length)
    const all = changes === 'all' || this.#version === undefined || slots.fresh
    if (all) {
      for (let first = 0; first < store.slots; first += PIECE) {
        this.#copy(slots.buffers, first, Math.min(store.slots, first + PIECE))
      }
    } else {
      for (const [first, end] of blockRuns(changes as Uint32Array)) {
        this.#copy(slots.buffers, first, Math.min(end, store.ids.length))
      }
    }
    this.#device.write(this.#fixed.extents, store.extents)
    this.#version = store.version
    return slots.buffers
  }

  #room(slots: number): { readonly buffers: SlotBuffers; readonly fresh: boolean } {
    if (this.#slots && this.#slots.slots >= slots) return { buffers: this.#slots, fresh: false }
    this.#slots?.scope.free()
    this.#slots = undefined
    const scope = new BufferScope(this.#device)
    try {
      const buffers = {
        scope,
        slots,
        codes: scope.allocate(Math.max(4, slots * this.#rowBytes), 'codes'),
        terms: scope.allocate(Math.max(4, slots * 4), 'terms of codes'),
        ids: scope.allocate(Math.max(4, slots * 4), 'ids'),
      }
      this.#slots = buffers
      return { buffers, fresh: true }
    } catch (error) {
      scope.free()
      throw error
    }
  }

  #copy({ codes, terms, ids }: SlotBuffers, first: number, end: number): void {
    const store = this.#store
    this.#device.write(codes, this.#deviceCodes(first, end), first * this.#rowBytes)
    this.#device.write(terms, store.terms.subarray(first, end), first * 4)
    this.#device.write(ids, store.ids.subarray(first, end), first * 4)
  }

  /** Codes as kernels read them; `first` is a multiple of a block. */
  #deviceCodes(first: number, end: number): Uint8Array {
    const rows: Matrix = matrix(this.#store.codesOf(first, end), end - first, this.#store.codeBytes)
    return this.#blocked ? blocksOf(rows) : paddedCodes(rows, this.#shape, 0, rows.rows)
  }
}

interface FixedBuffers {
  readonly panels: DeviceBuffer
  readonly centers: DeviceBuffer
  readonly rotation: DeviceBuffer | undefined
  readonly projected: DeviceBuffer
  readonly extents: DeviceBuffer
  readonly ranges: DeviceBuffer
  readonly books: DeviceBuffer
}

function fixedBuffers(scope: BufferScope, geometry: ListGeometry): FixedBuffers {
  const { codec, centers, projected, rotation, k } = geometry
  return {
    panels: scope.upload(geometry.panels(), 'packed centres'),
    centers: scope.upload(centers, 'centres'),
    rotation: rotation && scope.upload(rotation, 'rotation'),
    projected: scope.upload(projected, 'projected centres'),
    extents: scope.allocate(8 * k, 'extents of lists'),
    ranges: scope.upload(Uint32Array.from(codec.ranges), 'ranges of subspaces'),
    books: scope.upload(codec.books, 'codebooks'),
  }
}

/** [rows][cells] to [rows / 16][cells][16]; the last block may have rows missing. */
function blocksOf({ data, rows, cols: cells }: Matrix): Uint8Array {
  const out = new Uint8Array(Math.ceil(rows / SCAN_BLOCK) * SCAN_BLOCK * cells)
  for (let i = 0; i < rows; i++) {
    const block = (i - (i % SCAN_BLOCK)) * cells + (i % SCAN_BLOCK)
    for (let cell = 0; cell < cells; cell++) out[block + cell * SCAN_BLOCK] = data[i * cells + cell]
  }
  return out
}

/** The blocks that these slots are in, as runs from a first to an end. */
function blockRuns(slots: Uint32Array): [number, number][] {
  const runs: [number, number][] = []
  for (const slot of slots.sort()) {
    const first = slot - (slot % SCAN_BLOCK)
    const last = runs[runs.length - 1]
    if (last !== undefined && first <= last[1]) last[1] = Math.max(last[1], first + SCAN_BLOCK)
    else runs.push([first, first + SCAN_BLOCK])
  }
  return runs
}

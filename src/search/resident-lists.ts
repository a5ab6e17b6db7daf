/**
 * An inverted file on a device: centres, codes, terms and ids stay in its memory between searches, and follow the store.
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
import { codeStride } from '../kernels/encode.ts'
import { codeLayout, NO_QUERY } from '../kernels/scan-codes.ts'
import { isBlocked, SCAN_BLOCK } from '../kernels/scan-lists.ts'
import { paddedCodes } from '../quantize/codes.ts'
import { type RankedCodes, rankedBuffer } from '../quantize/ranked.ts'
import type { ListGeometry } from './list-geometry.ts'
import {
  type ListBuffers,
  ListJobs,
  ListPasses,
  type ListSearch,
  listBuffers,
  type SearchBuffers,
  type SlotBuffers,
} from './list-jobs.ts'
import type { ListStore, StoreVersion } from './list-store.ts'

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
interface OwnSlots extends SlotBuffers {
  readonly scope: BufferScope
}

export class ResidentLists {
  readonly #device: Device
  readonly #geometry: ListGeometry
  readonly #store: ListStore
  readonly #scope: BufferScope
  readonly #fixed: ListBuffers
  /** By the kind of device. */
  readonly #steps: ListJobs | ListPasses
  readonly #shape: { readonly m: number; readonly codewords: number }
  readonly #blocked: boolean
  readonly #rowBytes: number
  /** Room for a few queries and their results, by label. */
  readonly #small = new Map<string, DeviceBuffer>()
  #slots: OwnSlots | undefined
  #version: StoreVersion | undefined

  constructor(device: Device, geometry: ListGeometry, store: ListStore) {
    const { ranges, codewords } = geometry.codec
    this.#device = device
    this.#geometry = geometry
    this.#store = store
    this.#shape = { m: ranges.length - 1, codewords }
    const onCpu = device.info.kind === 'cpu'
    this.#blocked = onCpu && isBlocked(this.#shape.m, codewords)
    const { cells, bits } = codeLayout(this.#shape.m, codewords)
    this.#rowBytes = this.#blocked ? cells : codeStride(cells) * (bits === 32 ? 4 : 1)
    this.#scope = new BufferScope(device)
    try {
      this.#fixed = listBuffers(this.#scope, geometry)
      this.#steps = onCpu
        ? new ListJobs(this.#scope, geometry, this.#fixed)
        : new ListPasses(device, this.#scope, geometry, this.#fixed)
    } catch (error) {
      this.#scope.free()
      throw error
    }
  }

  /** Queries that are searched for at a time. */
  batchRows(nearest: number): number {
    const perQuery = Math.max(nearest * 8, this.#geometry.stride * 8)
    const most = Math.min(MOST_QUERIES, Math.floor(RESULT_BYTES / perQuery))
    const steps = this.#steps
    return Math.max(1, steps instanceof ListPasses ? Math.min(most, steps.mostQueries(this.#device, nearest)) : most)
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
      const buffers = {
        rows,
        queries: room(queries.byteLength, 'queries'),
        lists: room(rows * probe * 4, 'lists of queries'),
        bases: room(rows * probe * 4, 'distances of lists'),
        projected: room(rows * this.#geometry.width * 4, 'projected queries'),
        allowed: asked.allowed && scope.upload(asked.allowed, 'allowed slots'),
        ids: room(rows * nearest * 4, 'nearest'),
        distances: room(rows * nearest * 4, 'distances'),
      }
      this.#device.write(buffers.queries, queries)
      const steps = this.#steps
      if (steps instanceof ListPasses) {
        await steps.run(this.#device, scope, queries, asked, slots, buffers, control)
      } else {
        await this.#runJobs(steps, asked, slots, buffers, control)
      }
      const labels = new Uint32Array(await this.#device.read(slice(buffers.ids, 0, rows * nearest * 4)))
      const distances = new Float32Array(await this.#device.read(slice(buffers.distances, 0, rows * nearest * 4)))
      // Shaders have no infinity.
      if (steps instanceof ListPasses) {
        for (let i = 0; i < labels.length; i++) if (labels[i] === NO_QUERY) distances[i] = Number.POSITIVE_INFINITY
      }
      return { m: nearest, labels, distances }
    } finally {
      scope.free()
    }
  }

  async #runJobs(
    steps: ListJobs,
    asked: ListSearch,
    slots: SlotBuffers,
    buffers: SearchBuffers,
    control: RunControl,
  ): Promise<void> {
    const work = {
      name: 'search-lists',
      webgpu: () => {
        throw new Error('a GPU searches lists by passes')
      },
      cpu: (memory: CpuMemory) => steps.jobs(memory, asked, slots, buffers),
    }
    const atOnce = buffers.rows * this.#operations(asked) <= AT_ONCE_OPERATIONS
    if (!(atOnce && this.#device.runAtOnce?.(work) === true)) await this.#device.run(work, control)
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

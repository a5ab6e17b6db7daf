/** How lists are searched on each kind of device: as jobs of a CPU, or as passes of a GPU. */
import type { BufferScope, CpuJob, CpuMemory, Device, DeviceBuffer, RunControl } from '../device/contract.ts'
import { elements } from '../device/fields.ts'
import { assign, assignWorkspaceBytes } from '../kernels/assign.ts'
import { bookStride, codeStride } from '../kernels/encode.ts'
import { mostListQueries, scanListsPasses } from '../kernels/list-steps.ts'
import { matmul } from '../kernels/matmul.ts'
import { nearestListsKernel } from '../kernels/nearest-lists.ts'
import { allocateRows, type DeviceRows, writeRows } from '../kernels/rows.ts'
import { codeLayout } from '../kernels/scan-codes.ts'
import { isBlocked, scanListsKernel } from '../kernels/scan-lists.ts'
import type { ListGeometry } from './list-geometry.ts'

/** Options of a search, apart from the queries. */
export interface ListSearch {
  readonly probe: number
  readonly nearest: number
  /** In the units of the kernels. */
  readonly within: number
  /** A bit for each slot. */
  readonly allowed: Uint8Array | undefined
}

/** Copies of the arrays of the store. */
export interface SlotBuffers {
  readonly slots: number
  readonly codes: DeviceBuffer
  readonly terms: DeviceBuffer
  readonly ids: DeviceBuffer
}

/** Queries of a search, room for what is found on the way, and the result. */
export interface SearchBuffers {
  readonly rows: number
  /** As in the store. */
  readonly allowed: DeviceBuffer | undefined
  readonly queries: DeviceBuffer
  /** [rows][probe] */
  readonly lists: DeviceBuffer
  readonly bases: DeviceBuffer
  /** [rows][width] */
  readonly projected: DeviceBuffer
  readonly ids: DeviceBuffer
  readonly distances: DeviceBuffer
}

/** What both kinds keep on the device besides the slots. */
export interface ListBuffers {
  readonly centers: DeviceBuffer
  readonly projected: DeviceBuffer
  readonly extents: DeviceBuffer
  readonly ranges: DeviceBuffer
  readonly books: DeviceBuffer
}

export function listBuffers(scope: BufferScope, geometry: ListGeometry): ListBuffers {
  const { codec, centers, projected, k } = geometry
  return {
    centers: scope.upload(centers, 'centres'),
    projected: scope.upload(projected, 'projected centres'),
    extents: scope.allocate(8 * k, 'extents of lists'),
    ranges: scope.upload(Uint32Array.from(codec.ranges), 'ranges of subspaces'),
    books: scope.upload(codec.books, 'codebooks'),
  }
}

/** Jobs of a CPU device. */
export class ListJobs {
  readonly #geometry: ListGeometry
  readonly #buffers: ListBuffers
  readonly #panels: DeviceBuffer
  readonly #rotation: DeviceBuffer | undefined

  constructor(scope: BufferScope, geometry: ListGeometry, buffers: ListBuffers) {
    this.#geometry = geometry
    this.#buffers = buffers
    this.#panels = scope.upload(geometry.panels(), 'packed centres')
    this.#rotation = geometry.rotation && scope.upload(geometry.rotation, 'rotation')
  }

  *jobs(
    memory: CpuMemory,
    { probe, nearest, within }: ListSearch,
    slots: SlotBuffers,
    search: SearchBuffers,
  ): Generator<CpuJob> {
    const { k, stride, width, inner, whole, codec } = this.#geometry
    const { centers, projected, extents, ranges, books } = this.#buffers
    const { codewords } = codec
    const m = codec.ranges.length - 1
    const { bits, cells } = codeLayout(m, codewords)
    const blocked = isBlocked(m, codewords)
    const { rows } = search
    const lists = elements(search.lists, rows * probe)
    const bases = elements(search.bases, rows * probe)
    const points = elements(search.projected, rows * width)
    yield nearestListsKernel.job(memory, {
      queries: elements(search.queries, rows * stride),
      rows,
      stride,
      panels: elements(this.#panels),
      k,
      centers: elements(centers, k * stride),
      rotation: this.#rotation && elements(this.#rotation, width * stride),
      width,
      probe,
      inner,
      lists,
      bases,
      projected: points,
    })
    const rowBytes = blocked ? cells : codeStride(cells) * (bits === 32 ? 4 : 1)
    yield scanListsKernel.job(memory, {
      ...{ projected: points, width, lists, bases, probe },
      extents: elements(extents, 2 * k),
      ranges: elements(ranges, m + 1),
      m,
      books: elements(books, m * codewords * bookStride(codec.ranges)),
      bookStride: bookStride(codec.ranges),
      h: codewords,
      bits,
      codes: elements(slots.codes, slots.slots * rowBytes),
      codeStride: blocked ? cells : codeStride(cells),
      blocked,
      terms: elements(slots.terms, slots.slots),
      ids: elements(slots.ids, slots.slots),
      centers: elements(projected, k * width),
      allowed: search.allowed && elements(search.allowed, search.allowed.bytes),
      ...{ within, inner, whole, most: nearest },
      outIds: elements(search.ids, rows * nearest),
      outDistances: elements(search.distances, rows * nearest),
    })
  }
}

/** Passes of a GPU. */
export class ListPasses {
  readonly #geometry: ListGeometry
  readonly #buffers: ListBuffers
  /** Centres that lists are chosen by. */
  readonly #chosenBy: DeviceRows
  readonly #workspace: DeviceBuffer
  readonly #rotation: DeviceRows | undefined

  constructor(device: Device, scope: BufferScope, geometry: ListGeometry, buffers: ListBuffers) {
    const { rotation, width, cols, stride } = geometry
    this.#geometry = geometry
    this.#buffers = buffers
    const centers = geometry.chosenBy()
    this.#chosenBy = allocateRows(scope, centers.rows, centers.cols, 'f32', 'centres of lists')
    writeRows(device, this.#chosenBy, centers.data)
    this.#workspace = scope.allocate(assignWorkspaceBytes(this.#chosenBy), 'prepared centres')
    this.#rotation = rotation && {
      ...{ buffer: scope.upload(rotation, 'rotation'), rows: width, cols, stride, type: 'f32' },
    }
  }

  /** Queries whose tables and lists fit. */
  mostQueries(device: Device, nearest: number): number {
    const { ranges, codewords } = this.#geometry.codec
    return mostListQueries(device.info.limits.bindingBytes, ranges.length - 1, codewords, nearest)
  }

  async run(
    device: Device,
    scope: BufferScope,
    queries: Float32Array,
    { probe, nearest, within }: ListSearch,
    slots: SlotBuffers,
    search: SearchBuffers,
    control: RunControl,
  ): Promise<void> {
    const { k, cols, stride, width, inner, whole, codec } = this.#geometry
    const { rows, lists } = search
    const { ranges, codewords } = codec
    const m = ranges.length - 1
    const { cells } = codeLayout(m, codewords)
    const points: DeviceRows = { buffer: search.queries, rows, cols, stride, type: 'f32' }
    await assign(
      device,
      {
        points: this.#chosenBy.stride === stride ? points : this.#widened(device, scope, queries, rows),
        centers: this.#chosenBy,
        labels: lists,
        distances: search.bases,
        m: probe,
        workspace: this.#workspace,
      },
      { signal: control.signal },
    )
    let projected: DeviceRows = points
    if (this.#rotation) {
      projected = allocateRows(scope, rows, width, 'f32', 'projected queries')
      await matmul(device, { a: points, b: this.#rotation, out: projected })
    }
    const { centers, projected: projectedCenters, extents, ranges: starts, books } = this.#buffers
    const args = {
      ...{ rows, queries: search.queries, queryStride: stride, projected: projected.buffer, stride: projected.stride },
      ...{ lists, probe, centers, projectedCenters, width, extents, k, ranges: starts, m, books, codewords },
      ...{ bookStride: bookStride(ranges), codeStride: codeStride(cells) },
      ...{ ...slots, allowed: search.allowed, within, inner, whole },
      ...{ most: nearest, outIds: search.ids, outDistances: search.distances },
    }
    await device.run(
      {
        name: 'search-lists',
        webgpu: (gpu) => scanListsPasses(gpu, scope, args),
        cpu: () => {
          throw new Error('a CPU searches lists by jobs')
        },
      },
      control,
    )
  }

  /** Queries with room for the column that centres have for inner products. */
  #widened(device: Device, scope: BufferScope, queries: Float32Array, rows: number): DeviceRows {
    const { stride } = this.#geometry
    const wide = allocateRows(scope, rows, this.#chosenBy.cols, 'f32', 'longer queries')
    const data = new Float32Array(rows * wide.stride)
    for (let i = 0; i < rows; i++) data.set(queries.subarray(i * stride, (i + 1) * stride), i * wide.stride)
    device.write(wide.buffer as DeviceBuffer, data)
    return wide
  }
}

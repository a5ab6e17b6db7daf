/**
 * The points of a run on a device: vectors in parts of at most `partBytes`, with the labels and
 * distances that go with them. Where all vectors fit the device's memory they stay there; otherwise
 * they are streamed through one buffer, part after part, and only labels and distances stay.
 */
import { elementBytes, matrix, sparseSource, toSource, type VectorSource } from '../core/matrix.ts'
import { pickRows } from '../core/sparse.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { cutRows, rowsWithin } from '../device/plan.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import {
  allocateRows,
  allocateSparseRows,
  type DeviceRows,
  firstRows,
  paddedCols,
  writeRows,
  writeSparseRows,
} from '../kernels/rows.ts'
import { tallyWorkspaceBytes } from '../kernels/tally.ts'
import type { TreePoints } from '../trees/group-lloyd.ts'
import { sketchRows } from '../trees/sketch.ts'
import { type Frame, intoFrame, type Watch } from './frame.ts'
import { compareSparseRows, cutSparseRows, sparseIntoFrame } from './sparse-points.ts'

/** Rows first to first + count, on the device. */
export class PointPart {
  readonly first: number
  readonly count: number
  readonly distances: DeviceBuffer
  readonly weights: DeviceBuffer | undefined
  readonly sums: DeviceBuffer
  readonly differences: DeviceBuffer
  #labels: DeviceBuffer
  #previous: DeviceBuffer

  constructor(scope: BufferScope, first: number, count: number, neighbors: number, weights: DeviceBuffer | undefined) {
    this.first = first
    this.count = count
    this.weights = weights
    this.#labels = scope.allocate(count * neighbors * 4, 'labels')
    this.#previous = scope.allocate(count * neighbors * 4, 'labels of the round before')
    this.distances = scope.allocate(count * neighbors * 4, 'distances')
    this.sums = scope.allocate(tallyWorkspaceBytes(count), 'sums of blocks')
    this.differences = scope.allocate(tallyWorkspaceBytes(count), 'changes of blocks')
  }

  /** Labels as they stand. */
  get labels(): DeviceBuffer {
    return this.#labels
  }

  get previous(): DeviceBuffer {
    return this.#previous
  }

  /** What was current is now the round before; called again it undoes that. */
  swapLabels(): void {
    const labels = this.#labels
    this.#labels = this.#previous
    this.#previous = labels
  }
}

export interface PointStoreOptions {
  readonly frame: Frame
  readonly weights?: Float32Array | undefined
  /** Labels and distances kept for each point. Default 1. */
  readonly neighbors?: number
  /** Bytes that are kept for each point in one buffer elsewhere: parts are made small enough for it. */
  readonly pointBytes?: number | undefined
  /** Rows of a part, for who needs room for something else of each. Default: as many as fit. */
  readonly mostRows?: number
  /** Most bytes of vectors in a part. Default: `partBytes` of the device's limits. */
  readonly partBytes?: number
  /** Keeps the vectors on the device even if they take more than `memoryBytes`. Default: false. */
  readonly resident?: boolean
  /** While the vectors are loaded. */
  readonly watch?: Watch
}

/** Vectors of this many bytes are uploaded at a time. */
const UPLOAD_BYTES = 32 * 2 ** 20
/** Where much is kept for each point, a part of more than this would only cost memory. */
const MOST_PART_BYTES = 128 * 2 ** 20

export class PointStore {
  readonly source: VectorSource
  readonly frame: Frame
  readonly rows: number
  readonly cols: number
  readonly stride: number
  /** Numbers a pass over the points reads. */
  readonly numbers: number
  readonly parts: readonly PointPart[]
  /** Rows of the largest part. */
  readonly largestPart: number
  readonly #neighbors: number
  readonly #device: Device
  readonly #scope: BufferScope
  /** One buffer a part, or one for all parts when streaming. */
  #vectors: DeviceRows[] = []
  #resident = true
  /** When streaming: the part that is on the device now. */
  #loaded: { readonly part: PointPart; readonly rows: DeviceRows } | undefined
  readonly #sketches = new Map<PointPart, DeviceRows>()

  static async open(device: Device, source: VectorSource, options: PointStoreOptions): Promise<PointStore> {
    const store = new PointStore(device, source, options)
    try {
      await store.#fill(options.watch ?? {})
    } catch (error) {
      store.free()
      throw error
    }
    return store
  }

  private constructor(device: Device, source: VectorSource, options: PointStoreOptions) {
    const { frame, weights, neighbors = 1, pointBytes = 0, mostRows = Number.POSITIVE_INFINITY } = options
    this.#neighbors = neighbors
    this.source = source
    this.frame = frame
    this.rows = source.rows
    this.cols = source.cols
    this.stride = paddedCols(source.cols)
    this.#device = device
    this.#scope = new BufferScope(device)
    const { limits } = device.info
    const { sparse } = source
    const rowBytes = this.stride * elementBytes(frame.type)
    this.numbers = sparse ? sparse.values.length : source.rows * this.stride
    // Sparse rows take two words an entry and one for where the row begins.
    const bytes = sparse ? 8 * this.numbers + 4 * (source.rows + 1) : source.rows * rowBytes
    this.#resident = options.resident === true || bytes <= limits.memoryBytes
    // Sums and trees are made part by part: where parts end must not depend on what is kept and what is streamed.
    const room = Math.min(limits.bindingBytes, options.partBytes ?? limits.partBytes)
    // Labels take 4 bytes a row, and the digits of the sort a little more than 4.
    const most = Math.max(
      1,
      Math.min(
        Math.floor(limits.bindingBytes / (4 * neighbors)) - 256,
        mostRows,
        pointBytes > 0 ? Math.floor(Math.min(limits.bindingBytes, MOST_PART_BYTES) / pointBytes) : source.rows,
      ),
    )
    const ranges = sparse
      ? cutSparseRows(sparse, most, room, limits.bindingBytes)
      : cutRows(source.rows, Math.min(most, rowsOfPart(room, limits.bindingBytes, rowBytes)))
    this.largestPart = Math.max(...ranges.map(({ start, end }) => end - start))
    this.parts = ranges.map(({ start, end }) => {
      const own = weights && this.#scope.upload(weights.subarray(start, end), 'weights')
      return new PointPart(this.#scope, start, end - start, neighbors, own)
    })
    this.forgetLabels()
  }

  get resident(): boolean {
    return this.#resident
  }

  /** The vectors of a part; when streaming they are only there until the next call. */
  async vectors(part: PointPart): Promise<DeviceRows> {
    const index = this.parts.indexOf(part)
    if (this.#resident) return this.#vectors[index]
    if (this.#loaded?.part !== part) {
      this.#loaded = undefined
      this.#loaded = { part, rows: await this.#upload(part, this.#vectors[0]) }
    }
    return this.#loaded.rows
  }

  /** The parts as kernels and trees go through them; weighted if the weights, those of the store, are given. */
  inParts(weights?: Float32Array): TreePoints {
    const { sparse } = this.source
    return {
      rows: this.rows,
      cols: this.cols,
      stride: this.stride,
      weights,
      parts: this.parts.map((part) => ({
        first: part.first,
        count: part.count,
        weights: weights && part.weights,
        vectors: () => this.vectors(part),
      })),
      gather: (indices) => this.gather(indices),
      sparse: sparse && { compare: (indices) => compareSparseRows(sparse, indices, this.frame) },
    }
  }

  /** What trees over a part are grown from; made once, and it stays where vectors are streamed. */
  async sketch(part: PointPart): Promise<DeviceRows> {
    const known = this.#sketches.get(part)
    if (known) return known
    const vectors = await this.vectors(part)
    const made = await sketchRows(this.#device, this.#scope, vectors)
    // Narrow vectors are their own sketch, and may be streamed.
    if (made !== vectors) this.#sketches.set(part, made)
    return made
  }

  /** Rows as the device holds them, by their numbers. */
  async gather(indices: ArrayLike<number>): Promise<Float32Array> {
    const out = new Float32Array(indices.length * this.cols)
    for (let i = 0; i < indices.length; i++) {
      const row = await this.source.read(indices[i], indices[i] + 1)
      out.set(intoFrame(row, this.cols, this.frame), i * this.cols)
    }
    return out
  }

  /** Some of the points as a source, in the frame; sparse if they are. */
  async pick(indices: ArrayLike<number>): Promise<VectorSource> {
    const { sparse } = this.source
    if (sparse === undefined) return toSource(matrix(await this.gather(indices), indices.length, this.cols))
    const picked = pickRows(sparse, indices)
    const values = sparseIntoFrame(picked, 0, picked.rows, this.frame)
    return sparseSource({ ...picked, values }, this.source.name)
  }

  /** All labels, in the order of the points. */
  async readLabels(): Promise<Uint32Array> {
    const m = this.#neighbors
    const labels = new Uint32Array(this.rows * m)
    for (const part of this.parts) {
      labels.set(new Uint32Array(await this.#device.read(part.labels), 0, part.count * m), part.first * m)
    }
    return labels
  }

  async readDistances(): Promise<Float32Array> {
    const m = this.#neighbors
    const distances = new Float32Array(this.rows * m)
    for (const part of this.parts) {
      distances.set(new Float32Array(await this.#device.read(part.distances), 0, part.count * m), part.first * m)
    }
    return distances
  }

  writeLabels(labels: Uint32Array): void {
    const m = this.#neighbors
    for (const part of this.parts) {
      this.#device.write(part.labels, labels.subarray(part.first * m, (part.first + part.count) * m))
    }
  }

  /** As before the first round: no point has a label. */
  forgetLabels(): void {
    this.writeLabels(new Uint32Array(this.rows * this.#neighbors).fill(NO_LABEL))
  }

  free(): void {
    this.#scope.free()
  }

  async #fill(watch: Watch): Promise<void> {
    if (!this.#resident) {
      this.#vectors = [this.#allocate(this.parts, 'streamed vectors')]
      return
    }
    for (const part of this.parts) {
      const rows = this.#allocate([part], 'vectors')
      this.#vectors.push(await this.#upload(part, rows, watch))
    }
  }

  /** Room for the largest of some parts. */
  #allocate(parts: readonly PointPart[], label: string): DeviceRows {
    const rows = Math.max(...parts.map(({ count }) => count))
    const { sparse } = this.source
    if (sparse === undefined) return allocateRows(this.#scope, rows, this.cols, this.frame.type, label)
    const entries = parts.map(({ first, count }) => sparse.offsets[first + count] - sparse.offsets[first])
    return allocateSparseRows(this.#scope, rows, this.cols, Math.max(...entries), label)
  }

  /** The rows of the part, in the memory of `to`. */
  async #upload(part: PointPart, to: DeviceRows, { signal, onProgress }: Watch = {}): Promise<DeviceRows> {
    const { sparse } = this.source
    const last = part.first + part.count
    if (sparse) {
      signal?.throwIfAborted()
      const values = sparseIntoFrame(sparse, part.first, last, this.frame)
      const rows = writeSparseRows(this.#device, to, sparse, part.first, last, values)
      onProgress?.(last / this.rows)
      return rows
    }
    const step = Math.max(1, Math.floor(UPLOAD_BYTES / (this.stride * elementBytes(this.frame.type))))
    for (let row = 0; row < part.count; row += step) {
      signal?.throwIfAborted()
      const end = Math.min(row + step, part.count)
      const data = await this.source.read(part.first + row, part.first + end)
      writeRows(this.#device, to, intoFrame(data, this.cols, this.frame), row)
      onProgress?.((part.first + end) / this.rows)
    }
    return firstRows(to, part.count)
  }
}

/** At least one row, which the device must be able to bind. */
function rowsOfPart(partBytes: number, bindingBytes: number, rowBytes: number): number {
  return Math.min(rowsWithin(bindingBytes, rowBytes, 'vectors'), Math.max(1, Math.floor(partBytes / rowBytes)))
}

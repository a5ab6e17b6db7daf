/**
 * The points of a run on a device: vectors in parts that each fit one binding, with the labels and
 * distances that go with them. Where all vectors fit the device's memory they stay there; otherwise
 * they are streamed through one buffer, part after part, and only labels and distances stay.
 */
import { elementBytes, type VectorSource } from '../core/matrix.ts'
import { BufferScope, type Device, type DeviceBuffer } from '../device/contract.ts'
import { cutRows, rowsWithin } from '../device/plan.ts'
import { NO_LABEL } from '../kernels/assign-lists.ts'
import { allocateRows, type DeviceRows, firstRows, paddedCols, writeRows } from '../kernels/rows.ts'
import { tallyWorkspaceBytes } from '../kernels/tally.ts'
import { type Frame, intoFrame, type Watch } from './frame.ts'

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
  /** Rows of a part, for who needs room for something else of each. Default: as many as fit. */
  readonly mostRows?: number
  /** While the vectors are loaded. */
  readonly watch?: Watch
}

/** Vectors of this many bytes are uploaded at a time. */
const UPLOAD_BYTES = 32 * 2 ** 20

export class PointStore {
  readonly source: VectorSource
  readonly frame: Frame
  readonly rows: number
  readonly cols: number
  readonly stride: number
  readonly parts: readonly PointPart[]
  /** Rows of the largest part. */
  readonly largestPart: number
  readonly #neighbors: number
  readonly #device: Device
  readonly #scope: BufferScope
  /** One buffer a part, or one for all parts when streaming. */
  #vectors: DeviceRows[] = []
  #resident = true

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

  private constructor(
    device: Device,
    source: VectorSource,
    { frame, weights, neighbors = 1, mostRows = Number.POSITIVE_INFINITY }: PointStoreOptions,
  ) {
    this.#neighbors = neighbors
    this.source = source
    this.frame = frame
    this.rows = source.rows
    this.cols = source.cols
    this.stride = paddedCols(source.cols)
    this.#device = device
    this.#scope = new BufferScope(device)
    const { limits } = device.info
    const rowBytes = this.stride * elementBytes(frame.type)
    this.#resident = source.rows * rowBytes <= limits.memoryBytes
    const room = this.#resident ? limits.bindingBytes : Math.min(limits.bindingBytes, limits.memoryBytes)
    // Labels take 4 bytes a row, and the digits of the sort a little more than 4.
    const most = Math.min(
      rowsWithin(room, rowBytes, 'vectors'),
      Math.floor(limits.bindingBytes / (4 * neighbors)) - 256,
      mostRows,
    )
    const ranges = cutRows(source.rows, Math.max(1, most))
    this.largestPart = ranges[0].end - ranges[0].start
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
    const rows = firstRows(this.#vectors[0], part.count)
    await this.#upload(part, rows)
    return rows
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
    const { type } = this.frame
    if (!this.#resident) {
      this.#vectors = [allocateRows(this.#scope, this.largestPart, this.cols, type, 'streamed vectors')]
      return
    }
    for (const part of this.parts) {
      const rows = allocateRows(this.#scope, part.count, this.cols, type, 'vectors')
      await this.#upload(part, rows, watch)
      this.#vectors.push(rows)
    }
  }

  async #upload(part: PointPart, to: DeviceRows, { signal, onProgress }: Watch = {}): Promise<void> {
    const step = Math.max(1, Math.floor(UPLOAD_BYTES / (this.stride * elementBytes(this.frame.type))))
    for (let row = 0; row < part.count; row += step) {
      signal?.throwIfAborted()
      const end = Math.min(row + step, part.count)
      const data = await this.source.read(part.first + row, part.first + end)
      writeRows(this.#device, to, intoFrame(data, this.cols, this.frame), row)
      onProgress?.((part.first + end) / this.rows)
    }
  }
}

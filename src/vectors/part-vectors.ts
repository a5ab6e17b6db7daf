/**
 * The vectors of the parts that one device owns. Where all of them fit the device's memory they stay there; otherwise they
 * are streamed through one buffer, part after part, and the beginning of the next part is read meanwhile.
 */
import type { VectorData, VectorSource } from '../core/matrix.ts'
import { RowBuffer } from '../core/row-buffer.ts'
import { type BufferScope, type Device, slice } from '../device/contract.ts'
import {
  allocateRows,
  allocateSparseRows,
  type DeviceRows,
  firstRows,
  readRowRange,
  rowBytesOf,
  writeRows,
  writeSparseRows,
} from '../kernels/rows.ts'
import { type Frame, intoFrame, type Watch } from './frame.ts'
import type { PointPart } from './point-part.ts'
import { RowsAhead } from './rows-ahead.ts'
import { sparseIntoFrame } from './sparse-points.ts'

/** Vectors of this many bytes are uploaded at a time. */
const UPLOAD_BYTES = 8 * 2 ** 20
/** Bytes of vectors that are read ahead when streaming, unless memory is limited more. */
const MOST_AHEAD = 64 * 2 ** 20
/** The share of the memory limit that is read ahead. */
const SHARE_AHEAD = 1 / 16

type RowRange = Pick<PointPart, 'first' | 'count'>

export class PartVectors {
  readonly resident: boolean
  readonly #device: Device
  readonly #scope: BufferScope
  readonly #source: VectorSource
  readonly #frame: Frame
  readonly #parts: readonly PointPart[]
  /** One buffer a part, or one for all parts when streaming. */
  #vectors: DeviceRows[] = []
  /** When streaming: the part that is on the device now. */
  #loaded: { readonly part: PointPart; readonly rows: DeviceRows } | undefined
  readonly #ahead: RowsAhead | undefined

  constructor(
    device: Device,
    scope: BufferScope,
    source: VectorSource,
    frame: Frame,
    parts: readonly PointPart[],
    resident: boolean,
  ) {
    const { limits } = device.info
    this.#device = device
    this.#scope = scope
    this.#source = source
    this.#frame = frame
    this.#parts = parts
    this.resident = resident
    if (resident || source.sparse !== undefined) return
    const step = this.#rowsAtATime
    const most = Math.min(MOST_AHEAD, (limits.totalBytes ?? Number.POSITIVE_INFINITY) * SHARE_AHEAD)
    this.#ahead = new RowsAhead(source, parts, step, Math.max(1, Math.floor(most / (step * this.#rowBytes))))
  }

  get #rowBytes(): number {
    return rowBytesOf(this.#source.cols, this.#frame.type)
  }

  get #rowsAtATime(): number {
    return Math.max(1, Math.floor(UPLOAD_BYTES / this.#rowBytes))
  }

  free(): void {
    this.#ahead?.stop()
  }

  async fill(watch: Watch): Promise<void> {
    // What vectors are streamed through is allocated when it is needed: a start from a sample has the memory before.
    if (!this.resident) return
    for (const part of this.#parts) {
      const rows = this.#allocate([part], 'vectors')
      this.#vectors.push(await this.upload(part, rows, watch))
    }
  }

  /**
   * The rows on the device as a source, in its frame. Undefined where they are streamed or sparse, and on GPUs, which answer
   * reads of single rows slowly.
   */
  asSource(): VectorSource | undefined {
    const { cols, rows, name, sparse } = this.#source
    if (!this.resident || sparse !== undefined || this.#device.info.kind !== 'cpu') return undefined
    const { type } = this.#frame
    const read = async (start: number, end: number): Promise<VectorData> => {
      const data = type === 'u8' ? new Uint8Array((end - start) * cols) : new Float32Array((end - start) * cols)
      for (const [i, { first, count }] of this.#parts.entries()) {
        const [from, to] = [Math.max(start, first), Math.min(end, first + count)]
        if (from >= to) continue
        data.set(await readRowRange(this.#device, this.#vectors[i], from - first, to - first), (from - start) * cols)
      }
      return data
    }
    return { rows, cols, type, name, read }
  }

  /** When streaming they are only there until the next call. */
  async of(part: PointPart): Promise<DeviceRows> {
    if (this.resident) return this.#vectors[this.#parts.indexOf(part)]
    if (this.#loaded?.part !== part) {
      if (this.#vectors.length === 0) this.#vectors = [this.#allocate(this.#parts, 'streamed vectors')]
      // Work on the part before is waited for: parts that the device is not ready for would fill the host's memory.
      if (this.#loaded) await this.#device.read(slice(this.#vectors[0].buffer, 0, 4))
      this.#loaded = undefined
      this.#loaded = { part, rows: await this.#stream(part, this.#vectors[0]) }
    }
    return this.#loaded.rows
  }

  /** Like `upload`, with what was read ahead. */
  async #stream(part: PointPart, to: DeviceRows): Promise<DeviceRows> {
    const ahead = this.#ahead
    if (ahead === undefined) return this.upload(part, to)
    const index = this.#parts.indexOf(part)
    for (let row = 0; row < part.count; ) {
      const { data, rows } = await ahead.read(index, row)
      writeRows(this.#device, to, intoFrame(data, this.#source.cols, this.#frame), row)
      row += rows
    }
    return firstRows(to, part.count)
  }

  /** Room for the largest of some ranges. */
  #allocate(ranges: readonly RowRange[], label: string): DeviceRows {
    const rows = Math.max(...ranges.map(({ count }) => count))
    const { sparse, cols } = this.#source
    if (sparse === undefined) return allocateRows(this.#scope, rows, cols, this.#frame.type, label)
    const entries = ranges.map(({ first, count }) => sparse.offsets[first + count] - sparse.offsets[first])
    return allocateSparseRows(this.#scope, rows, cols, Math.max(...entries), label)
  }

  /** Some rows of the source, in the memory of `to`. */
  async upload({ first, count }: RowRange, to: DeviceRows, { signal, onProgress }: Watch = {}): Promise<DeviceRows> {
    const { sparse, cols, rows: all } = this.#source
    const last = first + count
    if (sparse) {
      signal?.throwIfAborted()
      const values = sparseIntoFrame(sparse, first, last, this.#frame)
      const rows = writeSparseRows(this.#device, to, sparse, first, last, values)
      onProgress?.(last / all)
      return rows
    }
    const step = this.#rowsAtATime
    const buffer = new RowBuffer(this.#source)
    for (let row = 0; row < count; row += step) {
      signal?.throwIfAborted()
      const end = Math.min(row + step, count)
      const data = await buffer.read(first + row, first + end)
      writeRows(this.#device, to, intoFrame(data, cols, this.#frame), row)
      onProgress?.((first + end) / all)
    }
    return firstRows(to, count)
  }
}

/** Bytes of the vectors of parts. Sparse rows take two words an entry and one for where the row begins. */
export function vectorBytesOf({ sparse, cols }: VectorSource, frame: Frame, parts: readonly RowRange[]): number {
  const rows = parts.reduce((sum, { count }) => sum + count, 0)
  if (sparse === undefined) return rows * rowBytesOf(cols, frame.type)
  const entries = parts.reduce(
    (sum, { first, count }) => sum + sparse.offsets[first + count] - sparse.offsets[first],
    0,
  )
  return 8 * entries + 4 * (rows + 1)
}

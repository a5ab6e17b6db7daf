/**
 * The vectors of the parts that one device owns. Where all of them fit the device's memory they stay there; otherwise they
 * are streamed through one buffer, part after part.
 */
import { elementBytes, readWide, type VectorSource } from '../core/matrix.ts'
import { type BufferScope, type Device, slice } from '../device/contract.ts'
import {
  allocateRows,
  allocateSparseRows,
  type DeviceRows,
  firstRows,
  paddedCols,
  writeRows,
  writeSparseRows,
} from '../kernels/rows.ts'
import { type Frame, intoFrame, type Watch } from './frame.ts'
import type { PointPart } from './point-part.ts'
import { sparseIntoFrame } from './sparse-points.ts'

/** Vectors of this many bytes are uploaded at a time. */
const UPLOAD_BYTES = 32 * 2 ** 20

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

  constructor(
    device: Device,
    scope: BufferScope,
    source: VectorSource,
    frame: Frame,
    parts: readonly PointPart[],
    resident: boolean,
  ) {
    this.#device = device
    this.#scope = scope
    this.#source = source
    this.#frame = frame
    this.#parts = parts
    this.resident = resident || bytesOf(source, frame, parts) <= device.info.limits.memoryBytes
  }

  async fill(watch: Watch): Promise<void> {
    if (this.#parts.length === 0) return
    if (!this.resident) {
      this.#vectors = [this.#allocate(this.#parts, 'streamed vectors')]
      return
    }
    for (const part of this.#parts) {
      const rows = this.#allocate([part], 'vectors')
      this.#vectors.push(await this.upload(part, rows, watch))
    }
  }

  /** When streaming they are only there until the next call. */
  async of(part: PointPart): Promise<DeviceRows> {
    if (this.resident) return this.#vectors[this.#parts.indexOf(part)]
    if (this.#loaded?.part !== part) {
      // Work on the part before is waited for: parts that the device is not ready for would fill the host's memory.
      if (this.#loaded) await this.#device.read(slice(this.#vectors[0].buffer, 0, 4))
      this.#loaded = undefined
      this.#loaded = { part, rows: await this.upload(part, this.#vectors[0]) }
    }
    return this.#loaded.rows
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
    const step = Math.max(1, Math.floor(UPLOAD_BYTES / (to.stride * elementBytes(this.#frame.type))))
    for (let row = 0; row < count; row += step) {
      signal?.throwIfAborted()
      const end = Math.min(row + step, count)
      const data = await readWide(this.#source, first + row, first + end)
      writeRows(this.#device, to, intoFrame(data, cols, this.#frame), row)
      onProgress?.((first + end) / all)
    }
    return firstRows(to, count)
  }
}

/** Sparse rows take two words an entry and one for where the row begins. */
function bytesOf({ sparse, cols }: VectorSource, frame: Frame, parts: readonly PointPart[]): number {
  const rows = parts.reduce((sum, { count }) => sum + count, 0)
  if (sparse === undefined) return rows * paddedCols(cols) * elementBytes(frame.type)
  const entries = parts.reduce(
    (sum, { first, count }) => sum + sparse.offsets[first + count] - sparse.offsets[first],
    0,
  )
  return 8 * entries + 4 * (rows + 1)
}

/**
 * What training reads of the points, on one device: sums by codeword, the product of the columns, and moments. With shards,
 * everything is a value for each shard or an exact sum over shards (kernels/exact-sums.ts), so that it does not matter which
 * process owns which of them.
 */
import type { ShardValue } from '../core/shard-values.ts'
import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { codeSums } from '../kernels/code-sums.ts'
import { codeBytes, codeStride, errorBytes } from '../kernels/encode.ts'
import { addExact, exactBytes, exactExponent } from '../kernels/exact-sums.ts'
import { gram } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, paddedCols } from '../kernels/rows.ts'
import { tally, tallyWorkspaceBytes } from '../kernels/tally.ts'
import type { PointStore } from '../vectors/points.ts'
import { DeviceCodec } from './codec.ts'
import type { QuantizerType } from './options.ts'

/** What has to be known to sum points by their codewords. */
export interface TrainingShape {
  readonly type: QuantizerType
  readonly ranges: readonly number[]
  readonly codewords: number
  /** Points are rotated before they are encoded. */
  readonly rotated: boolean
  /** No number of a point is larger. */
  readonly largest: number
}

/** Codewords, and the directions they lie along. */
export interface Codebooks {
  readonly books: Float32Array
  /** R', s x d; undefined if points are not rotated. */
  readonly rotation: Float32Array | undefined
}

/** Sums over some shards. */
export interface PartialCodeSums {
  /** Squared distances in the subspaces. */
  readonly errors: readonly ShardValue[]
  /** Exact sums of rows by codeword, [m h][stride]. */
  readonly sums: Uint32Array
  readonly counts: Uint32Array
}

/** Sums over the rows of one shard. */
export interface ShardMoments {
  readonly shard: number
  readonly sums: Float64Array
  readonly squares: Float64Array
}

/** Rows of numbers that are summed up exactly, and the unit of the sums. */
export interface ExactShape {
  readonly rows: number
  readonly width: number
  readonly exponent: number
}

/** Of sums by codeword: of rotated rows where the rotation stays. */
export function codeSumShape(
  { type, ranges, codewords, largest }: TrainingShape,
  rows: number,
  cols: number,
): ExactShape {
  const m = ranges.length - 1
  const width = paddedCols(type === 'pq' ? ranges[m] : cols)
  // A rotation keeps lengths: a number of a rotated point is at most as large as the point is long.
  return { rows: m * codewords, width, exponent: exactExponent(rows * largest * Math.sqrt(cols) * 2) }
}

export function covarianceShape({ largest }: TrainingShape, rows: number, cols: number): ExactShape {
  const width = paddedCols(cols)
  return { rows: width, width, exponent: exactExponent(rows * largest * largest * 2) }
}

export class TrainingPoints {
  readonly #device: Device
  readonly #points: PointStore
  readonly #shape: TrainingShape
  readonly #scope: BufferScope
  #buffers: CodingBuffers | undefined
  #exact: ExactBuffers | undefined

  constructor(device: Device, points: PointStore, shape: TrainingShape) {
    this.#device = device
    this.#points = points
    this.#shape = shape
    this.#scope = new BufferScope(device)
  }

  free(): void {
    this.#buffers?.codec.free()
    this.#scope.free()
  }

  /** Codes of all points; adds the sums to `sums` and `counts`. Returns the squared distances in the subspaces. */
  async addSums(books: Codebooks, into: SumTarget, control: RunControl): Promise<number> {
    let error = 0
    this.#device.clear(into.sums.buffer)
    this.#device.clear(into.counts)
    await this.#eachPart(books, into, control, async (_shard, squares) => {
      error += squares
    })
    return error
  }

  /** The same as values, each shard summed by itself. */
  async partialSums(books: Codebooks, control: RunControl): Promise<PartialCodeSums> {
    const device = this.#device
    const { sums, counts, exact } = this.#exactSet()
    const { ranges, codewords } = this.#shape
    const shape = codeSumShape(this.#shape, this.#points.rows, this.#points.cols)
    const total = new Uint32Array((ranges.length - 1) * codewords)
    const errors: ShardValue[] = []
    device.clear(exact)
    device.clear(sums.buffer)
    device.clear(counts)
    await this.#eachPart(books, { sums, counts }, control, async (shard, value) => {
      errors.push({ shard, value })
      await addExact(device, { ...shape, values: sums.buffer, into: exact })
      new Uint32Array(await device.read(counts)).forEach((count, i) => {
        if (i < total.length) total[i] += count
      })
      device.clear(sums.buffer)
      device.clear(counts)
    })
    const bytes = exactBytes(shape.rows, shape.width)
    return { errors, sums: new Uint32Array(await device.read({ buffer: exact, offset: 0, bytes })), counts: total }
  }

  /** Exact sums of products of columns, each shard by itself. */
  async covariance(): Promise<Uint32Array> {
    const { cols, rows } = this.#points
    const shape = covarianceShape(this.#shape, rows, cols)
    const scope = new BufferScope(this.#device)
    try {
      const bytes = exactBytes(shape.rows, shape.width)
      const exact = scope.allocate(bytes, 'exact products of columns')
      const out = scope.allocate(shape.width * shape.width * 4, 'product of columns')
      for (const part of this.#points.parts) {
        const vectors = await this.#points.vectors(part)
        await gram(this.#device, { a: vectors, b: vectors, out })
        await addExact(this.#device, { ...shape, values: out, into: exact })
      }
      return new Uint32Array(await this.#device.read({ buffer: exact, offset: 0, bytes }))
    } finally {
      scope.free()
    }
  }

  async moments(signal?: AbortSignal): Promise<ShardMoments[]> {
    const { cols } = this.#points
    const step = Math.max(1, Math.floor(MOMENT_NUMBERS / cols))
    const found: ShardMoments[] = []
    for (const { first, count, shards } of this.#points.parts) {
      const sums = new Float64Array(cols)
      const squares = new Float64Array(cols)
      for (let from = first; from < first + count; from += step) {
        signal?.throwIfAborted()
        const rows = await this.#points.read(from, Math.min(first + count, from + step))
        for (let at = 0; at < rows.length; at += cols) {
          for (let j = 0; j < cols; j++) {
            const value = rows[at + j]
            sums[j] += value
            squares[j] += value * value
          }
        }
      }
      found.push({ shard: shards[0].index, sums, squares })
    }
    return found
  }

  async #eachPart(
    books: Codebooks,
    { sums, counts }: SumTarget,
    { signal, onProgress }: RunControl,
    add: (shard: number, squares: number) => Promise<void>,
  ): Promise<void> {
    const { codec, codes, errors, blocks } = this.#bufferSet(books)
    const { ranges, codewords, type } = this.#shape
    const m = ranges.length - 1
    const device = this.#device
    codec.writeBooks(books.books)
    if (books.rotation) codec.writeRotation(books.rotation)
    const total = this.#points.parts.reduce((sum, { count }) => sum + count, 0)
    let done = 0
    for (const part of this.#points.parts) {
      signal?.throwIfAborted()
      const rows = await this.#points.vectors(part)
      const projected = await codec.project(rows)
      await codec.encode(projected, codes, errors, {
        signal,
        onProgress: (share) => onProgress?.((done + share * part.count) / total),
      })
      const [values, differences] = blocks
      const count = (part.count * codeStride(m)) / 4
      const { sum } = await tally(device, { count, values: errors, left: errors, sums: values, differences })
      const points = type === 'pq' ? projected : rows
      await codeSums(device, { points, codes, m, codewords, sums: sums.buffer, counts })
      await add(part.shards[0].index, sum)
      done += part.count
      onProgress?.(done / total)
    }
    signal?.throwIfAborted()
  }

  #bufferSet({ books, rotation }: Codebooks): CodingBuffers {
    if (this.#buffers) return this.#buffers
    const { ranges, codewords } = this.#shape
    const { cols, largestPart: n } = this.#points
    const m = ranges.length - 1
    const scope = this.#scope
    const blockBytes = tallyWorkspaceBytes(errorBytes(n, m) / 4)
    this.#buffers = {
      codec: new DeviceCodec(this.#device, { cols, ranges, codewords, rotation, books }, n, scope),
      codes: scope.allocate(codeBytes(n, m, codewords), 'codes'),
      errors: scope.allocate(errorBytes(n, m), 'squared distances'),
      blocks: [scope.allocate(blockBytes, 'sums of blocks'), scope.allocate(blockBytes, 'changes of blocks')],
    }
    return this.#buffers
  }

  #exactSet(): ExactBuffers {
    if (this.#exact) return this.#exact
    const { ranges, codewords, type } = this.#shape
    const { cols, rows } = this.#points
    const m = ranges.length - 1
    const shape = codeSumShape(this.#shape, rows, cols)
    const scope = this.#scope
    this.#exact = {
      sums: allocateRows(scope, m * codewords, type === 'pq' ? ranges[m] : cols, 'f32', 'sums by codeword'),
      counts: scope.allocate(m * codewords * 4, 'points of codewords'),
      exact: scope.allocate(exactBytes(shape.rows, shape.width), 'exact sums by codeword'),
    }
    return this.#exact
  }
}

/** Numbers that are read at a time. */
const MOMENT_NUMBERS = 2 ** 20

/** Where sums are added. */
export interface SumTarget {
  readonly sums: DeviceRows
  readonly counts: DeviceBuffer
}

interface CodingBuffers {
  readonly codec: DeviceCodec
  readonly codes: DeviceBuffer
  readonly errors: DeviceBuffer
  readonly blocks: readonly [DeviceBuffer, DeviceBuffer]
}

interface ExactBuffers extends SumTarget {
  readonly exact: DeviceBuffer
}

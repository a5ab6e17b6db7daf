/**
 * What a trained quantizer consists of, and the same on a device.
 *
 * A vector x (in the frame) becomes z = R' x, s numbers, cut into m ranges; each range takes the
 * nearest of h codewords. The codewords stand for R c + offset. All four types are that: `pq` has a
 * permutation for R, or none at all; `ok` and `itq` have ranges of one number and two codewords.
 */

import { BufferScope, type Device, type DeviceBuffer, type RunControl } from '../device/contract.ts'
import { bookStride, encode } from '../kernels/encode.ts'
import { matmul } from '../kernels/matmul.ts'
import { allocateRows, type DeviceRows, firstRows, writeRows } from '../kernels/rows.ts'
import type { Frame } from '../vectors/frame.ts'

export interface Codec {
  readonly cols: number
  readonly frame: Frame
  /** First number of each subspace and the end of the last: m + 1 rising numbers. */
  readonly ranges: readonly number[]
  readonly codewords: number
  /** R', s x d: one direction a row. Undefined: the dimensions as they are. */
  readonly rotation: Float32Array | undefined
  /** The part of the mean outside the span of R, d numbers. Undefined if it is zero. */
  readonly offset: Float32Array | undefined
  /** [m][h][bookStride], zeros behind a codeword. */
  readonly books: Float32Array
}

/** m ranges of s numbers, as even as can be, the wider ones first. */
export function evenRanges(s: number, m: number): number[] {
  const ranges = [0]
  for (let i = 0; i < m; i++) ranges.push(ranges[i] + Math.floor(s / m) + (i < s % m ? 1 : 0))
  return ranges
}

/** A codec's buffers, for up to `mostRows` points at a time. Who makes it frees it. */
export class DeviceCodec {
  readonly ranges: readonly number[]
  readonly codewords: number
  readonly books: DeviceBuffer
  readonly #device: Device
  readonly #scope: BufferScope
  readonly #rotation: DeviceRows | undefined
  readonly #turned: DeviceRows | undefined

  constructor(
    device: Device,
    { cols, ranges, codewords, rotation, books }: Pick<Codec, 'cols' | 'ranges' | 'codewords' | 'rotation' | 'books'>,
    mostRows: number,
    scope = new BufferScope(device),
  ) {
    this.#device = device
    this.ranges = ranges
    this.codewords = codewords
    this.#scope = scope
    const s = ranges[ranges.length - 1]
    this.books = this.#scope.upload(books, 'codebooks')
    if (rotation) {
      this.#rotation = allocateRows(this.#scope, s, cols, 'f32', 'rotation')
      this.#turned = allocateRows(this.#scope, mostRows, s, 'f32', 'rotated vectors')
      writeRows(device, this.#rotation, rotation)
    }
  }

  writeBooks(books: Float32Array): void {
    this.#device.write(this.books, books)
  }

  writeRotation(rotation: Float32Array): void {
    if (this.#rotation) writeRows(this.#device, this.#rotation, rotation)
  }

  /** R' x for every row; good until the next call. */
  async project(points: DeviceRows): Promise<DeviceRows> {
    if (!this.#rotation || !this.#turned) return points
    const out = firstRows(this.#turned, points.rows)
    await matmul(this.#device, { a: points, b: this.#rotation, out })
    return out
  }

  /** Codes of projected rows, a code a subspace. */
  encode(points: DeviceRows, codes: DeviceBuffer, errors?: DeviceBuffer, control?: RunControl): Promise<void> {
    const { ranges, books, codewords } = this
    return encode(this.#device, { points, ranges, books, codewords, codes, errors }, control)
  }

  free(): void {
    this.#scope.free()
  }
}

/** Where codeword j of subspace i begins in the books. */
export function wordStart(ranges: readonly number[], codewords: number, i: number, j: number): number {
  return (i * codewords + j) * bookStride(ranges)
}

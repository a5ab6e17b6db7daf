/**
 * Telling equal rows apart: for starts without duplicates, and for the error when there are too few different points. Rows are
 * compared in the frame they are clustered in: with cosine, multiples of one row are the same point.
 */
import { CentroidalError } from '../core/errors.ts'
import { readWide, type VectorData, type VectorSource, type WideData } from '../core/matrix.ts'
import type { SparseMatrix } from '../core/sparse.ts'
import { type Frame, intoFrame, isIdentity, type Watch, wideChunks } from './frame.ts'
import { sparseIntoFrame } from './sparse-points.ts'

/** Remembers rows by a 53-bit hash of their numbers; two different rows that collide are one in 10^15. */
export class RowSet {
  readonly #seen = new Set<number>()
  readonly #frame: Frame

  constructor(frame: Frame) {
    this.#frame = frame
  }

  get size(): number {
    return this.#seen.size
  }

  /** True if the row was not there yet. */
  add(row: WideData): boolean {
    return this.#addFramed(intoFrame(row, row.length, this.#frame))
  }

  /** The same for a row of a source, which is read only if it is not sparse. */
  async addFrom(source: VectorSource, index: number): Promise<boolean> {
    return source.sparse ? this.addSparse(source.sparse, index) : this.add(await readWide(source, index, index + 1))
  }

  addSparse(m: SparseMatrix, index: number): boolean {
    const start = m.offsets[index]
    const end = m.offsets[index + 1]
    const values = sparseIntoFrame(m, index, index + 1, this.#frame)
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length)
    const words = new Float32Array(2 * (end - start))
    const pairs = new Uint32Array(words.buffer)
    let filled = 0
    for (let at = start; at < end; at++) {
      // A zero that was written down is the same as one that was not.
      if (values[at - start] === 0) continue
      pairs[filled++] = m.columns[at]
      pairs[filled++] = bits[at - start]
    }
    return this.#addFramed(words.subarray(0, filled))
  }

  /** The same for a centre, which is in the frame already; `like` is what the rows come from. */
  addCenter(center: Float32Array, like: VectorSource): boolean {
    if (like.sparse) {
      const columns = Uint32Array.from(center, (_, i) => i).filter((i) => center[i] !== 0)
      const words = new Float32Array(2 * columns.length)
      const pairs = new Uint32Array(words.buffer)
      columns.forEach((column, i) => {
        pairs[2 * i] = column
        words[2 * i + 1] = center[column]
      })
      return this.#addFramed(words)
    }
    const bytes = this.#frame.type === 'u8' && center.every((value) => value === (value & 0xff))
    return this.#addFramed(bytes ? Uint8Array.from(center) : center)
  }

  #addFramed(row: VectorData): boolean {
    const before = this.#seen.size
    this.#seen.add(hash(row))
    return this.#seen.size > before
  }
}

/** Number of distinct rows of a source, up to a limit: no more rows are read than necessary. */
export class DistinctRows {
  readonly #source: VectorSource
  readonly #seen: RowSet
  #read = 0

  constructor(source: VectorSource, frame: Frame) {
    this.#source = source
    this.#seen = new RowSet(frame)
  }

  async atLeast(count: number): Promise<boolean> {
    while (this.#seen.size < count && this.#read < this.#source.rows) {
      await this.#seen.addFrom(this.#source, this.#read++)
    }
    return this.#seen.size >= count
  }
}

function hash(row: VectorData): number {
  let a = 0x811c9dc5
  let b = 0x9e3779b9
  const bits = row instanceof Uint8Array ? row : new Uint32Array(row.buffer, row.byteOffset, row.length)
  for (let i = 0; i < bits.length; i++) {
    // 0 and -0 are the same place.
    const word = bits[i] === 0x80000000 ? 0 : bits[i]
    a = Math.imul(a ^ word, 0x01000193)
    b = Math.imul(b ^ (word + (a >>> 13)), 0x85ebca6b)
    b ^= b >>> 15
  }
  return (a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff)
}

/**
 * The number of points as evidence: (sum of weights)^2 / (sum of squared weights), with copies of a point as one point of
 * their weight together (Kish's effective sample size). It is the number of rows where all differ and have equal weights;
 * copies and weights that are the same for all do not change it.
 */
export async function effectivePoints(
  source: VectorSource,
  frame: Frame,
  weights: Float32Array | undefined,
  watch: Watch = {},
): Promise<number> {
  const together = new Map<number, number>()
  let total = 0
  for await (const { first, data } of wideChunks(source, watch)) {
    for (let at = 0, row = first; at < data.length; at += source.cols, row++) {
      const weight = weights ? weights[row] : 1
      const key = hash(intoFrame(data.subarray(at, at + source.cols), source.cols, frame))
      together.set(key, (together.get(key) ?? 0) + weight)
      total += weight
    }
  }
  let squares = 0
  for (const weight of together.values()) squares += weight * weight
  return total ** 2 / squares
}

/** Fails with their number if there are fewer different rows than clusters. Stops looking as soon as there are enough. */
export async function requireDistinct(source: VectorSource, k: number, frame: Frame, watch: Watch = {}): Promise<void> {
  const rows = new RowSet(frame)
  for (let row = 0; source.sparse && row < source.rows; row++) {
    rows.addSparse(source.sparse, row)
    if (rows.size >= k) return
  }
  if (source.sparse) throw tooFew(source, k, rows.size, frame)
  for await (const { data } of wideChunks(source, watch)) {
    for (let at = 0; at < data.length; at += source.cols) {
      rows.add(data.subarray(at, at + source.cols))
      if (rows.size >= k) return
    }
  }
  throw tooFew(source, k, rows.size, frame)
}

function tooFew(source: VectorSource, k: number, different: number, frame: Frame): CentroidalError {
  const differing = frame.unit ? 'different directions' : 'different vectors'
  // Next to values of another magnitude, small differences are lost.
  const lost = !frame.unit && !isIdentity(frame) ? ', as far as 32-bit floats can tell at the size of the data' : ''
  return new CentroidalError(
    'bad-option',
    `Option k is ${k}: ${source.name} has only ${different} ${differing}${lost}; give at most that many clusters.`,
  )
}

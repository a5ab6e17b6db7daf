/**
 * Inner products by the tables of squared distances. Every codeword gets one more number that brings the codewords of its
 * subspace to the same length, and queries have 0 there: |p - y|^2 is then a constant of the query less 2 p.y. (The same is done
 * with whole vectors in exact search.) The products of what was found are taken again from the codes, as that difference has
 * fewer digits.
 */
import { type Matrix, readWide, type VectorSource } from '../core/matrix.ts'
import { bookStride } from '../kernels/encode.ts'
import { NO_QUERY } from '../kernels/scan-codes.ts'
import { LARGEST_FLOAT } from '../vectors/frame.ts'
import { type Codec, wordStart } from './codec.ts'
import { unpackCodes } from './codes.ts'
import { wordsOf } from './encode.ts'
import type { RankedCodes } from './ranked.ts'

/** Queries as inner products need them. */
export interface ProductQueries {
  /** Along the directions of the codec, times its scale, [rows][s]. */
  readonly along: Float64Array
  /** The product with what all vectors share: the shift and the offset of the codec. */
  readonly shared: Float64Array
  /** What tables are made of, [rows][s + m]. */
  readonly points: Float32Array
}

/** Squared lengths of codewords, [m][h]. */
function squaredLengths({ ranges, codewords, books }: Codec): Float64Array {
  const m = ranges.length - 1
  const stride = bookStride(ranges)
  return Float64Array.from({ length: m * codewords }, (_, word) =>
    books.subarray(word * stride, (word + 1) * stride).reduce((sum, value) => sum + value * value, 0),
  )
}

/** The longest codeword of each subspace. */
function longest(squares: Float64Array, codewords: number): number[] {
  return Array.from({ length: squares.length / codewords }, (_, i) =>
    squares.subarray(i * codewords, (i + 1) * codewords).reduce((most, square) => Math.max(most, square), 0),
  )
}

/** A codec with the same codes, for tables of points as `productQueries` makes them. */
export function productCodec(codec: Codec): Codec {
  const { ranges, codewords, books } = codec
  const squares = squaredLengths(codec)
  const wider = ranges.map((first, i) => first + i)
  const out = new Float32Array(squares.length * bookStride(wider))
  longest(squares, codewords).forEach((most, i) => {
    const width = ranges[i + 1] - ranges[i]
    for (let j = 0; j < codewords; j++) {
      const from = wordStart(ranges, codewords, i, j)
      const to = wordStart(wider, codewords, i, j)
      out.set(books.subarray(from, from + width), to)
      out[to + width] = Math.sqrt(most - squares[i * codewords + j])
    }
  })
  return { ...codec, ranges: wider, books: out }
}

/** `points`: the queries in the frame along the directions, as `queryPoints` gives them. */
export async function productQueries(
  codec: Codec,
  source: VectorSource,
  points: Float32Array,
): Promise<ProductQueries> {
  const { cols, ranges, rotation, offset, frame, codewords } = codec
  const { shift, scale } = frame
  const m = ranges.length - 1
  const s = ranges[m]
  const { rows } = source
  const data = await readWide(source, 0, rows)
  const turned = new Float64Array(s)
  if (shift) {
    for (let t = 0; t < s; t++) {
      if (rotation === undefined) turned[t] = shift[t] * scale
      else for (let j = 0; j < cols; j++) turned[t] += rotation[t * cols + j] * shift[j] * scale
    }
  }
  const along = Float64Array.from(points, (value, i) => value + turned[i % s])
  const shared = new Float64Array(rows)
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      shared[i] += data[i * cols + j] * ((shift ? shift[j] : 0) + (offset ? offset[j] / scale : 0))
    }
  }
  // The order of products does not depend on the length of the query: as long as the codewords, it costs the fewest digits.
  const wanted = longest(squaredLengths(codec), codewords).reduce((sum, most) => sum + most, 0)
  const out = new Float32Array(rows * (s + m))
  for (let i = 0; i < rows; i++) {
    const own = along.subarray(i * s, (i + 1) * s)
    const square = own.reduce((sum, value) => sum + value * value, 0)
    const factor = square > 0 ? Math.sqrt(wanted / square) : 1
    for (let space = 0; space < m; space++) {
      for (let t = ranges[space]; t < ranges[space + 1]; t++) out[i * (s + m) + t + space] = own[t] * factor
    }
  }
  return { along, shared, points: out }
}

/** Negative inner products in place of what the tables gave, in order; `codesOf` gives the codes of numbers that were found. */
export function finishProducts(
  out: RankedCodes,
  codec: Codec,
  { along, shared }: ProductQueries,
  codesOf: (labels: Uint32Array) => Matrix,
): void {
  const { ranges, codewords, frame } = codec
  const { m, labels, distances } = out
  const s = ranges[ranges.length - 1]
  for (let query = 0; query < shared.length; query++) {
    const own = labels.subarray(query * m, (query + 1) * m)
    const found = own.filter((label) => label !== NO_QUERY)
    const words = wordsOf(unpackCodes(codesOf(found), { m: ranges.length - 1, codewords }), codec)
    const products = Array.from(found, (label, i) => {
      let sum = 0
      for (let t = 0; t < s; t++) sum += along[query * s + t] * words[i * s + t]
      return { label, distance: -(shared[query] + sum / (frame.scale * frame.scale)) }
    })
    products.sort((a, b) => a.distance - b.distance || a.label - b.label)
    const at = query * m
    distances.fill(Number.POSITIVE_INFINITY, at, at + m)
    products.forEach(({ label, distance }, i) => {
      labels[at + i] = label
      distances[at + i] = Math.max(-LARGEST_FLOAT, Math.min(LARGEST_FLOAT, distance))
    })
  }
}

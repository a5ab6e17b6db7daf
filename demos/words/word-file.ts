/** The word vectors that come with the site: see scripts/word-file.mjs, which makes the file. */
import { type Matrix, matrix } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import type { TaskContext } from '../engine/task.ts'

export interface ShippedWords {
  /** Decoded from their codes, at length one. */
  readonly vectors: Matrix
  readonly names: readonly string[]
  /** Where each word lies on the map: x, y, x, y, from 0 to 1. */
  readonly places: Float32Array
  /** Of the file. */
  readonly bytes: number
  /** Of the codes of a word. */
  readonly codeBytes: number
}

export interface ShippedWordsInput {
  /** Where the site begins. */
  readonly root: string
}

const LENGTHS = 4
const CODEWORDS = 256

export async function* shippedWordsTask(
  { root }: ShippedWordsInput,
  _: TaskContext,
  load: (address: URL) => Promise<Response> = fetch,
): AsyncGenerator<never, ShippedWords> {
  const response = await load(new URL('words.bin', root))
  if (!response.ok) throw new Error('The word vectors could not be loaded: is the network there?')
  const packed = await response.blob()
  const plain = packed.stream().pipeThrough(new DecompressionStream('gzip'))
  const [books, codes, places, names] = partsOf(new Uint8Array(await new Response(plain).arrayBuffer()))
  const words = new TextDecoder().decode(names).split('\n')
  const codeBytes = codes.length / words.length
  return {
    vectors: sharedVectors(decode(new Float32Array(books.buffer), codes, words.length)),
    names: words,
    places: Float32Array.from(new Uint16Array(places.buffer), (value) => value / 65_535),
    bytes: packed.size,
    codeBytes,
  }
}

/**
 * What product codes stand for: the columns of each subspace from the row of its codeword. `Quantizer.decode` does the same; by
 * hand the page needs no quantizer.
 */
function decode(books: Float32Array, codes: Uint8Array, rows: number): Matrix {
  const [cols, m] = [books.length / CODEWORDS, codes.length / rows]
  const width = cols / m
  const data = Float32Array.from({ length: rows * cols }, (_, i) => {
    const column = i % cols
    return books[codes[Math.floor(i / cols) * m + Math.floor(column / width)] * cols + column]
  })
  return matrix(data, rows, cols)
}

/** Lengths first, then the parts. */
function partsOf(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const lengths = new Uint32Array(bytes.slice(0, 4 * LENGTHS).buffer)
  let at = 4 * LENGTHS
  return Array.from(lengths, (length) => {
    at += length
    return bytes.slice(at - length, at)
  })
}

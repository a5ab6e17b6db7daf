/** The word vectors that come with the site: see scripts/word-file.mjs, which makes the file. */
import { loadQuantizer, type Matrix, matrix } from '../../src/index.ts'
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

export async function* shippedWordsTask(
  { root }: ShippedWordsInput,
  { device }: TaskContext,
  load: (address: URL) => Promise<Response> = fetch,
): AsyncGenerator<never, ShippedWords> {
  const response = await load(new URL('words.bin', root))
  if (!response.ok) throw new Error('The word vectors could not be loaded: is the network there?')
  const packed = await response.blob()
  const plain = packed.stream().pipeThrough(new DecompressionStream('gzip'))
  const [quantizer, codes, places, names] = partsOf(new Uint8Array(await new Response(plain).arrayBuffer()))
  const decoder = await loadQuantizer(new Blob([quantizer], { type: 'application/zip' }))
  const rows = codes.length / decoder.codeBytes
  const { data, cols } = await decoder.decode(matrix(codes, rows, decoder.codeBytes), { device })
  return {
    vectors: sharedVectors(matrix(data, rows, cols)),
    names: new TextDecoder().decode(names).split('\n'),
    places: Float32Array.from(new Uint16Array(places.slice().buffer), (value) => value / 65_535),
    bytes: packed.size,
    codeBytes: decoder.codeBytes,
  }
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

/** Photo search in the worker: the shipped descriptors, their words, and rankings of views by the words of a query. */
import { buildIndex, cluster, type ImageIndex, loadQuantizer, type Matrix, matrix } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { photoOptions, ROUNDS, TOP } from './options.ts'

export interface PhotosInput {
  /** Where the site begins. */
  readonly root: string
  /** Visual words. */
  readonly k: number
  readonly seed: number
}

export interface Photos {
  /** The view of each descriptor, in rising order. */
  readonly views: Uint32Array
  /** Of each descriptor: x, y and width of the Gaussian, in pixels of its view. */
  readonly places: Float32Array
  /** The visual word of each descriptor. */
  readonly words: Uint32Array
  readonly count: number
  readonly rounds: number
}

export interface Ranked {
  readonly views: Uint32Array
  /** Cosines of tf-idf vectors. */
  readonly scores: Float32Array
}

const PARTS = 3
const SUBPIXELS = 4

/** What queries are answered from. */
let held: { readonly vectors: Matrix; readonly index: ImageIndex } | undefined

export async function* photosTask(
  { root, k, seed }: PhotosInput,
  { device, progress }: TaskContext,
): AsyncGenerator<never, Photos> {
  const response = await fetch(new URL('photos.bin', root))
  if (!response.ok) throw new Error('The descriptors could not be loaded: is the network there?')
  const plain = response.body?.pipeThrough(new DecompressionStream('gzip'))
  const { vectors, views, places } = await unpackPhotos(new Uint8Array(await new Response(plain).arrayBuffer()))
  const model = await cluster(vectors, {
    ...photoOptions(k, seed),
    device,
    onIteration: ({ iteration }) => progress('Learning visual words', iteration / ROUNDS),
  })
  held = { vectors, index: await buildIndex(model, vectors, views, { device }) }
  return {
    views,
    places,
    words: model.labels.slice(),
    count: views[views.length - 1] + 1,
    rounds: model.facts.iterations.length,
  }
}

export async function unpackPhotos(bytes: Uint8Array<ArrayBuffer>) {
  const lengths = new Uint32Array(bytes.slice(0, 4 * PARTS).buffer)
  let at = 4 * PARTS
  const [packed, codes, numbers] = Array.from(lengths, (length) => {
    at += length
    return bytes.slice(at - length, at)
  })
  const quantizer = await loadQuantizer(new Blob([packed], { type: 'application/zip' }))
  const rows = codes.length / quantizer.codeBytes
  const four = new Uint16Array(numbers.buffer)
  return {
    vectors: await quantizer.decode(matrix(codes, rows, quantizer.codeBytes), { device: 'cpu' }),
    views: Uint32Array.from({ length: rows }, (_, i) => four[4 * i]),
    places: Float32Array.from({ length: 3 * rows }, (_, i) => four[4 * Math.floor(i / 3) + 1 + (i % 3)] / SUBPIXELS),
  }
}

/** The views that share most with some descriptors. */
export async function* rankTask(rows: Uint32Array, { device }: TaskContext): AsyncGenerator<never, Ranked> {
  if (!held || rows.length === 0) return { views: new Uint32Array(0), scores: new Float32Array(0) }
  const { vectors, index } = held
  const { cols, data } = vectors
  const wanted = new Float32Array(rows.length * cols)
  rows.forEach((row, i) => {
    wanted.set(data.subarray(row * cols, (row + 1) * cols), i * cols)
  })
  const { images, scores } = await index.search(matrix(wanted, rows.length, cols), { top: TOP, device })
  return { views: Uint32Array.from(images), scores: Float32Array.from(scores) }
}

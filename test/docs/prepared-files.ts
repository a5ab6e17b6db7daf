/** The files that the documents speak of, small: what stands in a block is there when it runs. */
import { join } from 'node:path'
import {
  blobs,
  createRandom,
  type Matrix,
  matrix,
  nearest,
  sparseMatrix,
  writeLabels,
  writeNeighbors,
  writeVectors,
} from '../../src/index.ts'

/** Bytes around some centres, as descriptors are. */
function bytes(rows: number, cols: number, seed: number): Matrix {
  const { vectors } = blobs({ rows, cols, clusters: 40, seed, spread: 1 })
  return matrix(
    Uint8Array.from(vectors.data, (value) => Math.max(0, Math.min(255, Math.round(value * 8 + 128)))),
    rows,
    cols,
  )
}

const floats = (rows: number, cols: number, seed: number): Matrix =>
  blobs({ rows, cols, clusters: 40, seed, spread: 1 }).vectors

/** Documents of twelve words out of 300, about one of six subjects each. */
function documents(rows: number) {
  const random = createRandom(4)
  const columns = Array.from({ length: rows * 12 }, (_, i) => {
    const subject = Math.floor(i / 12) % 6
    return i % 12 < 8 ? subject * 50 + random.below(50) : random.below(300)
  })
  const offsets = Array.from({ length: rows + 1 }, (_, i) => i * 12)
  return sparseMatrix({ offsets, columns, values: columns.map(() => 1) }, rows, 300)
}

const groupsOf = (rows: number, size: number): Uint32Array =>
  Uint32Array.from({ length: rows }, (_, i) => Math.floor(i / size))

/** The guide asks for vocabularies of 10,000 words: more descriptors than that, of few dimensions. */
const DESCRIPTORS = { rows: 10_400, cols: 8, each: 100 }
const base = bytes(1200, 32, 3)
const queries = bytes(40, 32, 3)

/** Written by name, where a block has that name in it. */
export const PREPARED: Readonly<Record<string, (path: string) => Promise<void>>> = {
  'sift.bvecs': (path) => writeVectors(path, bytes(1200, 128, 1)),
  'more.bvecs': (path) => writeVectors(path, bytes(50, 128, 2)),
  'docs.npz': (path) => writeVectors(path, documents(120)),
  'vectors.npy': (path) => writeVectors(path, floats(1100, 16, 1)),
  'more.npy': (path) => writeVectors(path, floats(60, 16, 2)),
  'classes.npy': (path) => writeLabels(path, blobs({ rows: 60, cols: 16, clusters: 40, seed: 2 }).labels),
  'learn.bvecs': (path) => writeVectors(path, bytes(600, 32, 3)),
  'base.bvecs': (path) => writeVectors(path, base),
  'new.bvecs': (path) => writeVectors(path, bytes(50, 32, 4)),
  'queries.bvecs': (path) => writeVectors(path, queries),
  'groundtruth.ivecs': async (path) => {
    const { labels, m } = await nearest(queries, base, { m: 10, device: 'cpu' })
    await writeNeighbors(path, labels, m)
  },
  'descriptors.npy': (path) => writeVectors(path, floats(DESCRIPTORS.rows, DESCRIPTORS.cols, 5)),
  'images.npy': (path) => writeLabels(path, groupsOf(DESCRIPTORS.rows, DESCRIPTORS.each)),
  'queries.npy': (path) => writeVectors(path, floats(40, DESCRIPTORS.cols, 5)),
  'query-images.npy': (path) => writeLabels(path, groupsOf(40, 20)),
  'groups.npy': (path) => writeLabels(path, groupsOf(DESCRIPTORS.rows / DESCRIPTORS.each, 2)),
  'square.csv': (path) => writeVectors(path, blobs({ rows: 200, cols: 2, clusters: 8, spread: 0.3, seed: 6 }).vectors),
}

export async function prepareFiles(folder: string, text: string): Promise<void> {
  for (const [name, write] of Object.entries(PREPARED)) if (text.includes(name)) await write(join(folder, name))
}

/** Names that a section takes for granted, as its text explains. */
export const PRELUDES: Readonly<Record<string, string>> = {
  'docs/guide.md#Find images by visual words': `import * as prepared from 'centroidal'
const { vectors } = prepared.blobs({ rows: 10_400, cols: 8, clusters: 40 })
const images = Uint32Array.from(vectors.data.subarray(0, 10_400), (_, row) => Math.floor(row / 100))
const descriptorsOfOneImage = prepared.matrix(vectors.data.subarray(0, 800), 100, 8)`,
  'docs/guide.md#Find the number of clusters': `import * as prepared from 'centroidal'
const { vectors } = prepared.blobs({ rows: 300, cols: 4, clusters: 8, separated: true })
const more = vectors`,
  'docs/guide.md#Compress and search': `import * as prepared from 'centroidal'
const queries = await prepared.readVectors('queries.bvecs')`,
}

/** Small files that the tests of the command line cluster. */
import { blobs, matrix, writeLabels, writeVectors } from '../../src/index.ts'

/** 600 points around 6 centres in 8 dimensions, and which centre each belongs to. */
export async function writeBlobs(vectors: string, classes: string): Promise<void> {
  const made = blobs({ rows: 600, cols: 8, clusters: 6, seed: 5, separated: true })
  await writeVectors(vectors, made.vectors)
  await writeLabels(classes, made.labels)
}

/** Bytes without any clusters: takes a good number of rounds to settle. */
export async function writeNoise(file: string, rows: number, cols: number): Promise<void> {
  // A linear congruential generator: noise that is the same everywhere is all that is asked of it.
  let state = 12345
  const data = Uint8Array.from({ length: rows * cols }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
  await writeVectors(file, matrix(data, rows, cols))
}

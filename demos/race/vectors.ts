/** Vectors to race on, made in the worker. The same seed gives the same vectors, here and in Node. */
import { blobs, createRandom, type Matrix } from '../../src/index.ts'

export const MADE_UP = ['sift', 'blobs'] as const
export type MadeUp = (typeof MADE_UP)[number]

const SIFT_COLS = 128
const BLOB_COLS = 16

export function makeVectors(name: MadeUp, n: number, seed: number): Matrix {
  if (name === 'sift') return siftLike(n, seed)
  return blobs({ rows: n, cols: BLOB_COLS, clusters: Math.min(n, 60), spread: 2, seed }).vectors
}

/**
 * Bytes as descriptors of image patches have them: most are small, a few large, neighbours in groups of different size
 * and density.
 */
function siftLike(n: number, seed: number): Matrix {
  const random = createRandom(seed)
  const layout = random.fork(0)
  const groups = Math.max(1, Math.min(500, Math.round(n / 20)))
  const middles = Float32Array.from({ length: groups * SIFT_COLS }, () => 26 * -Math.log(1 - layout.uniform()))
  const widths = Float32Array.from({ length: groups }, () => 0.25 + 0.75 * layout.uniform())
  const draw = random.fork(1)
  const data = new Uint8Array(n * SIFT_COLS)
  for (let i = 0; i < n; i++) {
    // The square makes the first groups larger than the last.
    const group = Math.floor(groups * draw.uniform() ** 2)
    for (let j = 0; j < SIFT_COLS; j++) {
      const middle = middles[group * SIFT_COLS + j]
      const value = middle + widths[group] * (6 + 0.5 * middle) * draw.normal()
      data[i * SIFT_COLS + j] = Math.max(0, Math.min(255, Math.round(value)))
    }
  }
  return { data, rows: n, cols: SIFT_COLS }
}

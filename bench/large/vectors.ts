/** Vectors of bytes for benchmarks of any size: real ones repeated with noise, or blobs. */
import { blobs, type Matrix, matrix } from '../../src/index.ts'

const NOISE = 15
const COLS = 128
/** Different vectors, where no file is given. */
const BLOB_ROWS = 100_000

/** The rows as they are if there are enough; else drawn again and again, each time with other noise. */
export function repeated({ data, rows, cols }: Matrix, wanted: number): Matrix {
  if (wanted <= rows) return matrix(Uint8Array.from(data.subarray(0, wanted * cols)), wanted, cols)
  const out = new Uint8Array(wanted * cols)
  let state = 0x9e3779b9
  const draw = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
  for (let row = 0; row < wanted; row++) {
    const from = (draw() % rows) * cols
    for (let column = 0; column < cols; column++) {
      const noise = (draw() % (2 * NOISE + 1)) - NOISE
      out[row * cols + column] = Math.max(0, Math.min(255, data[from + column] + noise))
    }
  }
  return matrix(out, wanted, cols)
}

export async function bytesOfBlobs(): Promise<Matrix> {
  const { vectors } = blobs({ rows: BLOB_ROWS, cols: COLS, clusters: 1000, seed: 7 })
  let largest = 0
  for (const value of vectors.data) largest = Math.max(largest, Math.abs(value))
  const bytes = Uint8Array.from(vectors.data, (value) => 128 + (127 * value) / largest)
  return matrix(bytes, vectors.rows, COLS)
}

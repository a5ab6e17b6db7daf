/** Vectors in memory that page and worker share where the page may, so that no run copies them. */
import { type Matrix, matrix } from '../../src/index.ts'

export function sharedVectors({ data: read, rows, cols }: Matrix): Matrix {
  if (!globalThis.crossOriginIsolated) return matrix(read, rows, cols)
  const memory = new SharedArrayBuffer(read.byteLength)
  const data = read instanceof Uint8Array ? new Uint8Array(memory) : new Float32Array(memory)
  data.set(read)
  return matrix(data, rows, cols)
}

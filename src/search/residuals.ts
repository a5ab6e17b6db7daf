/** Residuals: what is left of vectors after subtracting the centres of their clusters. */
import { type Matrix, toSource, type VectorSource } from '../core/matrix.ts'

/** Vectors minus the centres of their clusters. */
export function leftOvers(source: VectorSource, centers: Matrix, labels: Uint32Array): VectorSource {
  const { cols } = centers
  return {
    rows: source.rows,
    cols,
    type: 'f32',
    name: source.name,
    async read(start, end) {
      const data = await source.read(start, end)
      const out = new Float32Array(data.length)
      for (let i = start; i < end; i++) {
        const center = labels[i] * cols
        const at = (i - start) * cols
        for (let j = 0; j < cols; j++) out[at + j] = data[at + j] - centers.data[center + j]
      }
      return out
    },
  }
}

/** Each of some rows `times` times, one after the other. */
export async function repeated(source: VectorSource, first: number, end: number, times: number): Promise<VectorSource> {
  const { cols } = source
  const data = await source.read(first, end)
  const out = new Float32Array((end - first) * times * cols)
  for (let i = 0; i < (end - first) * times; i++) {
    const row = Math.floor(i / times)
    out.set(data.subarray(row * cols, (row + 1) * cols), i * cols)
  }
  return { ...toSource({ rows: (end - first) * times, cols, data: out }), name: source.name }
}

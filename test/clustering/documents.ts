/** Sparse rows as texts give them, for the tests of clustering. */
import { createRandom, type Device, type Matrix, matrix, type SparseMatrix, sparseMatrix } from '../../src/index.ts'

/** Documents about `topics`: most words of a document come from its topic's part of the vocabulary. */
export function documents(
  rows: number,
  cols: number,
  words: number,
  topics: number,
  seed: number,
  fewest = 1,
): SparseMatrix {
  const random = createRandom(seed)
  const offsets = [0]
  const columns: number[] = []
  const values: number[] = []
  const part = Math.floor(cols / topics)
  for (let i = 0; i < rows; i++) {
    const count = fewest + random.below(words + 1 - fewest)
    for (let w = 0; w < count; w++) {
      columns.push(random.below(4) === 0 ? random.below(cols) : (i % topics) * part + random.below(part))
      values.push(0.5 + random.uniform())
    }
    offsets.push(values.length)
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols)
}

export function inFull(m: SparseMatrix): Matrix {
  const data = new Float32Array(m.rows * m.cols)
  for (let i = 0; i < m.rows; i++) {
    for (let at = m.offsets[i]; at < m.offsets[i + 1]; at++) data[i * m.cols + m.columns[at]] = m.values[at]
  }
  return matrix(data, m.rows, m.cols)
}

/** Means of runs of rows: they share words with every row, so that no row lies equally far from two of them. */
export function meansOfRuns(m: Matrix, k: number, length: number): Matrix {
  const data = new Float32Array(k * m.cols)
  for (let i = 0; i < k * length; i++) {
    for (let j = 0; j < m.cols; j++) data[Math.floor(i / length) * m.cols + j] += m.data[i * m.cols + j] / length
  }
  return matrix(data, k, m.cols)
}

/** The same device, which notes the most bytes it held at a time beyond those it holds now. */
export function watchMemory(device: Device): { device: Device; most(): number } {
  const before = device.allocatedBytes
  let most = 0
  const watched = new Proxy(device, {
    get(target, key) {
      if (key === 'allocate') {
        return (bytes: number, label: string) => {
          const buffer = target.allocate(bytes, label)
          most = Math.max(most, target.allocatedBytes - before)
          return buffer
        }
      }
      const value = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { device: watched, most: () => most }
}

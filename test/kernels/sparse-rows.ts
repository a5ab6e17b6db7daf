/** Sparse rows for the kernel tests, with the same rows in full beside them. */
import { createRandom } from '../../src/core/random.ts'
import { type SparseMatrix, sparseMatrix } from '../../src/core/sparse.ts'
import { allocateSparseRows, type DeviceRows, writeSparseRows } from '../../src/kernels/rows.ts'
import type { CaseBuffers } from './devices.ts'
import type { Rows } from './oracles.ts'
import { centers, type Flavour } from './vectors.ts'

export interface SparseRows {
  readonly dense: Rows
  readonly sparse: SparseMatrix
}

/** About `share` of the numbers are kept; some rows are empty. */
export function sparsePoints(flavour: Flavour, rows: number, cols: number, share: number, seed: number): SparseRows {
  const data = centers(flavour, rows, cols, seed)
  const random = createRandom(seed + 77)
  for (let i = 0; i < rows; i++) {
    const kept = random.below(9) === 0 ? 0 : share
    for (let j = 0; j < cols; j++) if (random.uniform() >= kept) data[i * cols + j] = 0
  }
  return { dense: { data, cols }, sparse: sparsified(data, rows, cols) }
}

export function sparsified(data: Float32Array, rows: number, cols: number): SparseMatrix {
  const offsets = [0]
  const columns: number[] = []
  const values: number[] = []
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < cols; j++) {
      if (data[i * cols + j] === 0) continue
      columns.push(j)
      values.push(data[i * cols + j])
    }
    offsets.push(values.length)
  }
  return sparseMatrix({ offsets, columns, values }, rows, cols)
}

export function uploadSparse(buffers: CaseBuffers, m: SparseMatrix): DeviceRows {
  const rows = allocateSparseRows(buffers.scope, m.rows, m.cols, m.values.length, 'sparse rows')
  return writeSparseRows(buffers.device, rows, m)
}

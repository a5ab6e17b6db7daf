/** Work over rows cut into passes that each stay short; how short is asked anew before every pass, as the device learns. */
import type { ComputePass, GpuTarget } from '../device/contract.ts'
import { rowsWithinOperations } from '../device/plan.ts'

export interface RowWork {
  readonly rows: number
  /** Arithmetic operations of one row. */
  readonly perRow: number
  /** Fewest rows worth a pass. */
  readonly atLeast: number
  /** Most rows a pass may take, where memory limits them. Optional. */
  readonly atMost?: number | undefined
  pass(first: number, count: number): ComputePass
}

export function* rowPasses(gpu: GpuTarget, work: RowWork): Generator<ComputePass> {
  for (const { first, count } of rowCuts(gpu, work)) {
    yield { operations: count * work.perRow, ...work.pass(first, count) }
  }
}

/** Rows cut as `rowPasses` cuts them, for work that takes several passes for the same rows. */
export function* rowCuts(
  gpu: GpuTarget,
  { rows, perRow, atLeast, atMost = rows }: Omit<RowWork, 'pass'>,
): Generator<{ readonly first: number; readonly count: number }> {
  for (let first = 0; first < rows; ) {
    const count = Math.min(rows - first, atMost, rowsWithinOperations(gpu.operationsPerPass, perRow, atLeast))
    yield { first, count }
    first += count
  }
}

/** Leaves of random partition trees, as the closure methods use them. */
import { type Matrix, type PartitionTreeOptions, partitionTrees, type TreeLeaves } from '../../src/index.ts'
import type { TaskContext } from './task.ts'

export interface LeavesInput {
  readonly vectors: Matrix
  readonly options: Omit<PartitionTreeOptions, 'device'>
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* leavesTask(
  { vectors, options }: LeavesInput,
  { device }: TaskContext,
): AsyncGenerator<never, TreeLeaves[]> {
  return partitionTrees(vectors, { ...options, device })
}

/** A task of the worker for the playground: the centres a run starts from. */
import { type ClusterOptions, cluster, type Matrix, METHODS, type MethodName } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'

export interface StartInput {
  readonly vectors: Matrix
  readonly method: MethodName
  readonly options: ClusterOptions
}

/**
 * The centres that a run begins with: those of a method whose centres stay where they are. Undefined where the start is no
 * set of centres, or is part of the method.
 */
export async function* startTask(
  { vectors, method, options }: StartInput,
  { device }: TaskContext,
): AsyncGenerator<never, Float32Array | undefined> {
  const { k, seed, start = 'auto' } = options
  const { start: own } = METHODS[method]
  const name = start === 'auto' ? own : start
  if (k === undefined || (name !== undefined && !['random', 'kpp', 'tree'].includes(String(name)))) return undefined
  const { centers } = await cluster(vectors, {
    method: {
      name: 'start',
      // Labels that a run begins with are turned into centres first.
      update: ({ iteration, centers, means }) => (iteration === 0 ? means.data : centers.data),
    },
    k,
    seed,
    start: name ?? 'auto',
    iterations: 1,
    device,
  } as ClusterOptions)
  return centers.data as Float32Array
}

/** Codes of vectors and neighbours by them, in the worker. None of it goes in rounds. */
import type { Matrix } from '../../src/index.ts'
import type { TaskContext } from '../engine/task.ts'
import { type CodeChoice, type Codes, findNeighbors, learnCodes, type Neighborhood } from './codes.ts'

type NoRounds<Result> = AsyncGenerator<never, Result>

export interface CodesInput {
  readonly vectors: Matrix
  readonly choice: CodeChoice
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* learnCodesTask({ vectors, choice }: CodesInput, context: TaskContext): NoRounds<Codes> {
  return learnCodes(vectors, choice, context)
}

export interface NeighborsInput extends Pick<Codes, 'quantizer' | 'codes'> {
  readonly vectors: Matrix
  readonly row: number
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* findNeighborsTask(
  { vectors, quantizer, codes, row }: NeighborsInput,
  { device }: TaskContext,
): NoRounds<Neighborhood> {
  return findNeighbors(vectors, quantizer, codes, Uint32Array.of(row), device)
}

/** A task of the worker for the race: making its vectors, which would block the page. */
import type { Matrix } from '../../src/index.ts'
import { loadDigits } from '../data/digits.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import { type MadeUp, makeVectors } from './vectors.ts'

export interface RaceVectorsInput {
  readonly data: MadeUp | 'digits'
  readonly n: number
  readonly seed: number
  /** Where the site begins. */
  readonly root: string
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* raceVectorsTask({ data, n, seed, root }: RaceVectorsInput): AsyncGenerator<never, Matrix> {
  return sharedVectors(data === 'digits' ? (await loadDigits(n, root)).images : makeVectors(data, n, seed))
}

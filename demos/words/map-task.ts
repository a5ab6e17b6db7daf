/** Where vectors lie on the map, worked out in the worker. */
import type { Matrix } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import { placesOf, principalPlane } from './plane.ts'
import { unitRows } from './unit-rows.ts'

export interface VectorMap {
  /** Where each row lies: x, y, x, y. */
  readonly places: Float32Array
  /** The vectors at length one, where that was asked for. */
  readonly unit: Matrix | undefined
}

export interface MapInput {
  readonly vectors: Matrix
  /** Bring rows to length one first. */
  readonly unit: boolean
}

// biome-ignore lint/correctness/useYield: it has no rounds, only a result
export async function* mapTask({ vectors, unit }: MapInput): AsyncGenerator<never, VectorMap> {
  const used = unit ? sharedVectors(unitRows(vectors)) : vectors
  const plane = principalPlane(used)
  return { places: placesOf(plane, used), unit: unit ? used : undefined }
}

/** Where vectors lie on the map, worked out in the worker. */
import type { Matrix } from '../../src/index.ts'
import { sharedVectors } from '../engine/shared-vectors.ts'
import { evenRows, type Plane, placesOf, principalPlane } from './plane.ts'
import { unitRows } from './unit-rows.ts'

/** Points that are drawn: more would be one grey cloud. */
const MOST_POINTS = 6000

export interface VectorMap {
  readonly plane: Plane
  /** Rows that are drawn. */
  readonly rows: Uint32Array
  /** Their places: x, y, x, y. */
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
  const rows = evenRows(used.rows, MOST_POINTS)
  return { plane, rows, places: placesOf(plane, used, rows), unit: unit ? used : undefined }
}

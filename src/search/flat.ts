/** Exact search: the m nearest of a set of vectors, by looking at all of them. */

import { abortSignal, callback, type OptionChecks, optionsOf, whole } from '../core/arguments.ts'
import { CentroidalError } from '../core/errors.ts'
import { denseMatrix, type Matrix, toSource, type VectorInput } from '../core/matrix.ts'
import type { RunControl } from '../device/contract.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import { type DeviceChoice, deviceChoice, withDevice } from '../vectors/device-choice.ts'
import { chooseFrame } from '../vectors/frame.ts'
import { exactNearest } from '../vectors/nearest.ts'

/** How nearness is measured; see {@link FileOptions}. */
export type SearchMetric = 'euclidean' | 'cosine' | 'inner-product'

/** All there are, for programs that offer a choice. */
export const SEARCH_METRICS: readonly SearchMetric[] = ['euclidean', 'cosine', 'inner-product']

/** What can be asked of an exact search. */
export interface NeighborOptions extends RunControl {
  /** How many to find for each vector. Default 1. */
  readonly m?: number
  /** An open device (stays open), or which one to open or share. Default `auto`. */
  readonly device?: DeviceChoice
}

const CHECKS: OptionChecks<NeighborOptions> = {
  m: whole(1, MOST_NEAREST),
  device: deviceChoice,
  signal: abortSignal,
  onProgress: callback,
}

/** The nearest of each vector. */
export interface Neighbors {
  /** How many were asked for. */
  readonly m: number
  /** n x m, best first; 0xffffffff where there are fewer than m. Ties go to the lowest number. */
  readonly labels: Uint32Array
  /** n x m squared distances. */
  readonly distances: Float32Array
}

/**
 * Exact search: the m nearest rows of `among` for each vector, by looking at all of them.
 *
 * @example
 * ```ts
 * import { matrix, nearest } from 'centroidal'
 *
 * const among = matrix(Float32Array.of(0, 0, 1, 1, 5, 5), 3, 2)
 * const { labels, distances } = await nearest([[4, 4]], among, { m: 2 })
 * labels // => [2, 1]
 * distances // => [2, 18]
 * ```
 */
export async function nearest(vectors: VectorInput, among: Matrix, options: NeighborOptions = {}): Promise<Neighbors> {
  const { m = 1, device: choice, ...rest } = optionsOf('nearest', options, CHECKS)
  const source = toSource(vectors)
  denseMatrix(among, 'the vectors to search')
  if (source.cols !== among.cols) {
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the vectors to search ${among.cols}: give the same number.`,
    )
  }
  const frame = await chooseFrame(source, 'euclidean')
  await chooseFrame(toSource(among, 'the vectors to search'), 'euclidean')
  const found = await withDevice(choice, [source, among], (device) =>
    exactNearest(device, source, among, frame, m, rest),
  )
  return { m, ...found }
}

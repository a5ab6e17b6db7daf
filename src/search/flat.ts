/** Exact search: the m nearest of a set of vectors, by looking at all of them. */

import { withDevice } from '../clustering/device-choice.ts'
import { chooseFrame } from '../clustering/frame.ts'
import { exactNearest, type NearestOptions } from '../clustering/nearest.ts'
import { badOption, CentroidalError } from '../core/errors.ts'
import { type Matrix, toSource, type VectorInput } from '../core/matrix.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'

export interface NeighborOptions extends NearestOptions {
  /** How many to find for each vector. Default 1. */
  readonly m?: number
  /** An open device (stays open), or what to open. Default `auto`. */
  readonly device?: Parameters<typeof withDevice>[0]
}

export interface Neighbors {
  readonly m: number
  /** n x m, best first; 0xffffffff where there are fewer than m. Ties go to the lowest number. */
  readonly labels: Uint32Array
  /** n x m squared distances. */
  readonly distances: Float32Array
}

/** The m nearest rows of `among` for each vector. */
export async function nearest(vectors: VectorInput, among: Matrix, options: NeighborOptions = {}): Promise<Neighbors> {
  const { m = 1, device: choice, ...rest } = options
  if (!Number.isInteger(m) || m < 1 || m > MOST_NEAREST) {
    throw badOption('m', m, `give a whole number from 1 to ${MOST_NEAREST}.`)
  }
  const source = toSource(vectors)
  if (source.cols !== among.cols) {
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the vectors to search ${among.cols}: give the same number.`,
    )
  }
  const frame = await chooseFrame(source, 'euclidean')
  await chooseFrame(toSource(among, 'the vectors to search'), 'euclidean')
  const found = await withDevice(choice, (device) => exactNearest(device, source, among, frame, m, rest))
  return { m, ...found }
}

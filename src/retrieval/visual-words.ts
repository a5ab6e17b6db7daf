/** Descriptors to words: the cluster of each, or the m nearest centres with a share of each. */

import { type OptionChecks, whole } from '../core/arguments.ts'
import { badArgument, CentroidalError } from '../core/errors.ts'
import { matrix, type VectorSource } from '../core/matrix.ts'
import type { Device } from '../device/contract.ts'
import { MOST_NEAREST } from '../kernels/assign.ts'
import type { ClusterModel } from '../models/model.ts'
import { withDevice } from '../vectors/device-choice.ts'
import { frameOfNew } from '../vectors/frame.ts'
import { exactNearest, type NearestResult, nearestInFrame } from '../vectors/nearest.ts'
import { WORK_CHECKS, type WorkOptions } from '../vectors/work-options.ts'
import { type Bag, hardBag, type RowsByImage, softBag } from './bags.ts'

/** Options of assigning words to descriptors. */
export type WordOptions = WorkOptions

/** The same, where a descriptor may have several words. */
export interface SoftWordOptions extends WordOptions {
  /**
   * Number of words per descriptor, weighted by distance. Default 1, the prediction of the model, which is fastest.
   */
  readonly words?: number | undefined
  /**
   * Width of the weights: a word at squared distance d has weight exp(-d / (2 sigma^2)), normalised. In units of the
   * vectors (of length one for cosine). Default: half the square root of the model's distortion, which is the typical
   * distance of a descriptor to its centre; with larger values, the third word counts almost as much as the first.
   */
  readonly sigma?: number | undefined
}

export const WORD_CHECKS: OptionChecks<WordOptions> = WORK_CHECKS

export const SOFT_WORD_CHECKS: OptionChecks<SoftWordOptions> = {
  ...WORD_CHECKS,
  words: whole(1, MOST_NEAREST),
  sigma(value, thing) {
    if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value
    throw badArgument(thing, value, 'give a number above 0: about half as far as a descriptor is from its centre.')
  },
}

/** The bag of every image, in the order of `grouped.ids`. */
export async function bagsOf(
  model: ClusterModel,
  source: VectorSource,
  grouped: RowsByImage,
  { words = 1, sigma, ...options }: SoftWordOptions,
): Promise<Bag[]> {
  const each = (bag: (rows: Uint32Array) => Bag): Bag[] =>
    Array.from(grouped.ids, (_, i) => bag(grouped.rows.subarray(grouped.offsets[i], grouped.offsets[i + 1])))
  if (source.cols !== model.centers.cols) {
    throw new CentroidalError(
      'bad-data',
      `${source.name} has ${source.cols} columns and the vocabulary ${model.centers.cols}: give descriptors with the same columns as those it was made from.`,
    )
  }
  if (source.rows === 0) return each(() => ({ words: new Uint32Array(0), counts: [] }))
  const m = Math.min(words, model.centers.rows)
  if (m === 1) {
    const labels = await model.predict(source, options)
    return each((rows) => hardBag(labels, rows))
  }
  const { labels, distances } = await withDevice(options.device, [source], (device) =>
    nearestWords(device, source, model, m, options),
  )
  const shares = sharesOf(distances, m, sigma === undefined ? model.distortion / 4 : sigma * sigma)
  return each((rows) => softBag(labels, shares, m, rows))
}

/** In the frame of the model, as its predictions are. */
async function nearestWords(
  device: Device,
  source: VectorSource,
  model: ClusterModel,
  m: number,
  control: WordOptions,
): Promise<NearestResult> {
  const { frame, centers } = model.state
  const fitting = await frameOfNew(source, model.facts.metric, frame)
  const { signal, onProgress } = control
  if (source.sparse && frame.shift) {
    return exactNearest(device, source, model.centers, { ...fitting, shift: undefined }, m, { signal, onProgress })
  }
  const rows = matrix(centers, model.centers.rows, model.centers.cols)
  return nearestInFrame(device, source, rows, fitting, m, { signal, onProgress })
}

/** Of each row's m words, summing to 1. Measured from the nearest, which keeps a share however far all are. */
function sharesOf(distances: Float32Array, m: number, variance: number): Float64Array {
  const shares = new Float64Array(distances.length)
  for (let first = 0; first < distances.length; first += m) {
    let sum = 0
    for (let at = first; at < first + m; at++) {
      const farther = Math.max(0, distances[at] - distances[first])
      // Where points sit on their centres, all goes to the nearest.
      shares[at] = farther === 0 ? 1 : variance > 0 ? Math.exp(-farther / (2 * variance)) : 0
      sum += shares[at]
    }
    for (let at = first; at < first + m; at++) shares[at] /= sum
  }
  return shares
}

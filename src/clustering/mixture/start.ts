/**
 * The mixture a run begins with: equal weights, and the standard deviation that was asked for. Where none was, all
 * have that of the points about their nearest centres; or, as in the paper of approximate Gaussian mixtures, each has the
 * distance to the nearest other component as its own. (A Gaussian of d dimensions whose deviation in every column is
 * that distance reaches sqrt(d) times as far. On vectors of many dimensions without gaps all components then overlap,
 * and one remains.)
 */
import { sampleDistinct } from '../../core/random.ts'
import { stream } from '../../core/streams.ts'
import { BufferScope } from '../../device/contract.ts'
import { assign } from '../../kernels/assign.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { allocateRows, writeRows } from '../../kernels/rows.ts'
import type { Mixture } from '../../models/mixture.ts'
import type { CandidateSource, RunState } from '../run-state.ts'

/** Number of nearest components compared if all components are candidates: enough if a few have the same centre. */
const NEAREST = 9
/** Points whose spread is taken. */
const SAMPLE = 2048
/** A component is never narrower than this share of the spread of the data, in variances. */
const LEAST_SHARE_OF_SPREAD = 1e-6
/** Nor than rounding lets it be, against the size of the data. */
const LEAST_SHARE_OF_SIZE = 1e-10
const LEAST = 1e-30
/** The least that can be asked for, against the size of the data: ranks of components stay finite in 32 bits. */
const LEAST_ASKED = 2 ** -80

export interface Spread {
  /** Mean variance of a column. */
  readonly variance: number
  /** The least variance a component may have. */
  readonly floor: number
}

/** Both in the points' frame. */
export async function spreadOf({ points, seed, settings, weights: given }: RunState): Promise<Spread> {
  const count = Math.min(points.rows, SAMPLE)
  const chosen = sampleDistinct(stream(seed, 'spread'), points.rows, count)
  const rows = await points.gather(chosen)
  const { cols } = points
  let weights = Float64Array.from(chosen, (point) => (given ? given[point] : 1))
  // Hardly any point has weight, and none of the sample: all count alike then.
  if (!weights.some((weight) => weight > 0)) weights = weights.fill(1)
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let variance = 0
  let size = 0
  for (let column = 0; column < cols; column++) {
    let sum = 0
    for (let i = 0; i < count; i++) sum += weights[i] * rows[i * cols + column]
    const mean = sum / total
    for (let i = 0; i < count; i++) {
      const value = rows[i * cols + column]
      variance += (weights[i] * (value - mean) ** 2) / (total * cols)
      size += (weights[i] * value ** 2) / (total * cols)
    }
  }
  const asked = ((settings.floor as number) * points.frame.scale) ** 2
  const least = Math.max(LEAST_SHARE_OF_SPREAD * variance, LEAST_SHARE_OF_SIZE * size, LEAST)
  return { variance, floor: asked > 0 ? Math.max(asked, LEAST_ASKED * size, LEAST) : least }
}

export async function startMixture(
  state: RunState,
  source: CandidateSource,
  round: number,
  { variance, floor }: Spread,
  fromGaps: boolean,
): Promise<Mixture> {
  const { k, points, settings } = state
  const weights = new Float64Array(k).fill(1 / k)
  const sigma = (settings.sigma as number) * points.frame.scale
  if (sigma > 0) return { weights, variances: new Float64Array(k).fill(Math.max(floor, sigma ** 2)) }
  if (k === 1) return { weights, variances: Float64Array.of(Math.max(floor, variance)) }
  if (!fromGaps) return { weights, variances: new Float64Array(k).fill(Math.max(floor, await withinVariance(state))) }
  const gaps = source.listsOfCenters ? await listedGaps(state, source, round) : await nearestGaps(state)
  return { weights, variances: gaps.map((gap) => Math.max(floor, Number.isFinite(gap) ? gap : 0)) }
}

/** Mean variance of a column about the nearest centre, of some points that are not at one. */
async function withinVariance(state: RunState): Promise<number> {
  const { device, points, centers, assignWorkspace: workspace, seed, weights: given } = state
  const count = Math.min(points.rows, SAMPLE)
  const chosen = sampleDistinct(stream(seed, 'spread within'), points.rows, count)
  const scope = new BufferScope(device)
  try {
    const sample = allocateRows(scope, count, points.cols, 'f32', 'sample of points')
    writeRows(device, sample, await points.gather(chosen))
    const labels = scope.allocate(count * 4, 'labels of the sample')
    const distances = scope.allocate(count * 4, 'distances of the sample')
    await assign(device, { points: sample, centers, labels, distances, workspace })
    const squares = new Float32Array(await device.read(distances)).subarray(0, count)
    let sum = 0
    let total = 0
    squares.forEach((squared, i) => {
      const weight = given ? given[chosen[i]] : 1
      sum += weight * squared
      if (squared > 0) total += weight
    })
    return total > 0 ? sum / total / points.cols : 0
  } finally {
    scope.free()
  }
}

/** Squared distance of each component to the nearest one elsewhere, among those a search lists. */
async function listedGaps(state: RunState, source: CandidateSource, round: number): Promise<Float64Array> {
  const { k } = state
  // The centres stand as they will when the points choose.
  const found = await source.listsOfCenters?.(state, round - 1)
  return found === undefined ? new Float64Array(k) : leastGaps(found.lists, found.distances, k, found.width)
}

async function nearestGaps(state: RunState): Promise<Float64Array> {
  const { device, k, centers, assignWorkspace: workspace, control } = state
  const m = Math.min(NEAREST, k)
  const scope = new BufferScope(device)
  try {
    const labels = scope.allocate(k * m * 4, 'nearest components')
    const distances = scope.allocate(k * m * 4, 'distances of components')
    await assign(device, { points: centers, centers, labels, distances, m, workspace }, { signal: control.signal })
    const gaps = new Float32Array(await device.read(distances))
    return leastGaps(new Uint32Array(await device.read(labels)), gaps, k, m)
  } finally {
    scope.free()
  }
}

function leastGaps(lists: Uint32Array, distances: Float32Array, k: number, width: number): Float64Array {
  const gaps = new Float64Array(k).fill(Number.POSITIVE_INFINITY)
  for (let at = 0; at < k * width; at++) {
    const component = Math.floor(at / width)
    if (lists[at] === NO_LABEL || lists[at] === component || distances[at] === 0) continue
    gaps[component] = Math.min(gaps[component], distances[at])
  }
  return gaps
}

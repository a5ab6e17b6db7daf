/**
 * Components whose points are better described by two Gaussians each. All are tried at once: a few rounds of 2-means
 * among the points labelled with the component, from its mean and its farthest point, so that a small group far away
 * is found as well as two halves.
 */
import { stream } from '../../core/streams.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import { halveGroups } from '../../trees/halves.ts'
import type { RunState } from '../run-state.ts'
import { componentPenalty, type DataSize, type HostMixture, splitGain } from './bic.ts'
import { jointVariance } from './join.ts'
import { squaredGap } from './pairs.ts'
import { regularizedVariances } from './variance-prior.ts'

const ROUNDS = 8
/** Both children need points to estimate a width from. */
const LEAST_POINTS = 2

export interface Splits {
  /** Components as they are after splitting; the second child of a component has a new number at the end. */
  readonly mixture: HostMixture
  readonly labels: Uint32Array
  readonly count: number
}

/** At most `most` components are split, those that gain most. Labels on the device are those of the mixture. */
export async function splitComponents(
  state: RunState,
  mixture: HostMixture,
  size: DataSize,
  { most, prior, floor }: { readonly most: number; readonly prior: number; readonly floor: number },
): Promise<Splits> {
  const { device, points, weights: given, totalWeight, evidence, unit } = state
  const { cols } = size
  const k = mixture.weights.length
  const labels = await points.readLabels()
  const distances = await points.readDistances()
  const weightOf = (point: number): number => ((given ? given[point] : 1) * evidence) / totalWeight
  const farthest = new Int32Array(k).fill(-1)
  labels.forEach((label, point) => {
    if (weightOf(point) === 0 || !(distances[point] > 0)) return
    if (farthest[label] < 0 || distances[point] > distances[farthest[label]]) farthest[label] = point
  })
  const tried = Array.from(farthest.keys()).filter((component) => farthest[component] >= 0)
  if (tried.length === 0 || most <= 0) return { mixture, labels, count: 0 }
  const groupOf = new Uint32Array(k).fill(NO_LABEL)
  const start = new Float32Array(tried.length * 2 * cols)
  const far = await points.gather(tried.map((component) => farthest[component]))
  tried.forEach((component, group) => {
    groupOf[component] = group
    start.set(mixture.means.subarray(component * cols, (component + 1) * cols), 2 * group * cols)
    start.set(far.subarray(group * cols, (group + 1) * cols), (2 * group + 1) * cols)
  })
  const split = await halveGroups(
    device,
    (await points.onFirstDevice()).inParts(given),
    { places: labels.map((label, point) => (weightOf(point) > 0 ? groupOf[label] : NO_LABEL)), start, weightOf },
    stream(state.seed, 'components'),
    { rounds: ROUNDS, unit },
  )
  const { weights: totals, squares } = split
  const plain = squares.map((sum, child) => Math.max(floor, totals[child] > 0 ? sum / totals[child] / cols : 0))
  const variances = regularizedVariances(totals, plain, prior)
  const penalty = componentPenalty(size)
  const accepted = tried
    .map((component, group) => {
      const [left, right] = [2 * group, 2 * group + 1]
      const both = totals[left] + totals[right]
      const gap = squaredGap(split.centers, left, right, cols)
      const parent = jointVariance([totals[left], plain[left]], [totals[right], plain[right]], gap, cols)
      const enough = Math.min(totals[left], totals[right]) >= LEAST_POINTS
      const gain = enough
        ? splitGain([both, parent], [totals[left], variances[left]], [totals[right], variances[right]], cols)
        : 0
      return { component, left, right, gain }
    })
    .filter(({ gain }) => gain > penalty)
    .sort((a, b) => b.gain - a.gain || a.component - b.component)
    .slice(0, most)
  const means = new Float32Array((k + accepted.length) * cols)
  means.set(mixture.means)
  const weights = [...mixture.weights]
  const widths = [...mixture.variances]
  const second = new Map<number, number>()
  accepted.forEach(({ component, left, right }, index) => {
    const name = k + index
    const share = totals[right] / (totals[left] + totals[right])
    means.set(split.centers.subarray(left * cols, (left + 1) * cols), component * cols)
    means.set(split.centers.subarray(right * cols, (right + 1) * cols), name * cols)
    weights.push(weights[component] * share)
    weights[component] *= 1 - share
    widths.push(variances[right])
    widths[component] = variances[left]
    second.set(right, name)
  })
  labels.forEach((label, point) => {
    if (groupOf[label] !== NO_LABEL && weightOf(point) > 0) labels[point] = second.get(split.labels[point]) ?? label
  })
  return {
    mixture: { means, weights: Float64Array.from(weights), variances: Float64Array.from(widths) },
    labels,
    count: accepted.length,
  }
}

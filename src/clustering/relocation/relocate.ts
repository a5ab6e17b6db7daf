/**
 * Relocating clusters: two that share what one could hold are merged, and the number that becomes free goes to a half of
 * one that contains several groups is split. Neither means nor single moves leave such a local optimum. The labels are
 * rewritten and the update gives the clusters their centres; the sum of squares is measured, and where rounding made it no
 * smaller, everything is put back.
 *
 * Cost: about ten distances for each point, and those of merges.ts.
 */
import { stream } from '../../core/streams.ts'
import { type Crew, updateFromLabels } from '../members.ts'
import { distortionOf, measureSquares, roundCenters, roundingCounts } from '../resolution.ts'
import { readCenters, writeCenters } from '../run-state.ts'
import { possibleMerges } from './merges.ts'
import { clusterMasses, pairUp, relabelled } from './pairs.ts'
import { possibleSplits } from './splits.ts'

/** A relocation gains at least this share of the squares a cluster has on average. */
const LEAST_GAIN = 1e-3

export interface Relocation {
  /** Clusters that were relocated. */
  readonly clusters: number
  /** The share by which that lowered the sum of squares. */
  readonly gain: number
  /** Points that got another label. */
  readonly points: number
  /** Distances that were measured, in all. */
  readonly evaluated: number
  /** Labels and centres become those from before again, when the round is stopped. */
  putBack(): Promise<void>
}

/** Works on labels and centres as the last round left them. When it is stopped, they are those from before. */
export async function relocateClusters(crew: Crew, round: number, roundingError: number): Promise<Relocation> {
  const { lead: state } = crew.team
  const { points, weights, k, seed, control } = state
  const random = stream(seed, 'relocation', round)
  const before = await measureSquares(state)
  const labels = await points.readLabels()
  const distances = await points.readDistances()
  const centers = await readCenters(state)
  const masses = clusterMasses(labels, distances, weights, k)
  const margin = (LEAST_GAIN * before) / k
  const { merges, evaluated: compared } = await possibleMerges(state, masses, random)
  control.signal?.throwIfAborted()
  const cheapest = merges.reduce((least, { cost }) => Math.min(least, cost), Number.POSITIVE_INFINITY)
  const splits = await possibleSplits(state, labels, distances, masses, centers, cheapest + margin, random)
  const pairs = pairUp(merges, splits.splits, margin)
  const evaluated = points.rows + compared + splits.evaluated
  if (pairs.length === 0) return { clusters: 0, gain: 0, points: 0, evaluated, putBack }
  const { changed, moved } = relabelled(labels, pairs, splits.second)
  try {
    await points.writeLabels(changed)
    await updateFromLabels(crew)
    if (roundingCounts(roundingError, distortionOf(state, before))) await roundCenters(state)
    const after = await measureSquares(state)
    control.signal?.throwIfAborted()
    if (after < before) {
      const gain = (before - after) / before
      return { clusters: pairs.length, gain, points: moved, evaluated: evaluated + points.rows, putBack }
    }
  } catch (error) {
    await putBack()
    throw error
  }
  await points.writeLabels(labels)
  await updateFromLabels(crew)
  await putBack()
  return { clusters: 0, gain: 0, points: 0, evaluated: evaluated + points.rows, putBack }

  async function putBack(): Promise<void> {
    await points.writeLabels(labels)
    writeCenters(state, centers)
    await crew.team.shareCenters()
  }
}

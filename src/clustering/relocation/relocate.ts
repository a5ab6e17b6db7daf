/**
 * Relocating clusters: two that share what one could hold are merged, and the number that becomes free goes to a half of
 * one that holds what two could. Neither means nor single moves leave such a local optimum. The labels are rewritten and
 * the update gives the clusters their centres; the sum of squares is measured, and where rounding made it no smaller,
 * everything is put back.
 *
 * Cost: about ten distances for each point, and those of merges.ts.
 */
import { createRandom } from '../../core/random.ts'
import { distortionOf, measureSquares, roundCenters, roundingCounts } from '../resolution.ts'
import { type RunState, readCenters, type Update, writeCenters } from '../run-state.ts'
import { possibleMerges } from './merges.ts'
import { clusterMasses, type Pair, pairUp } from './pairs.ts'
import { possibleSplits, type Splits } from './splits.ts'

/** Random numbers of their own for each round: a resumed run draws what the uninterrupted one does. */
const STREAM = 0x5e10ca00
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
  readonly looked: number
  /** Labels and centres become those from before again, when the round is stopped. */
  putBack(): void
}

/** Works on labels and centres as the last round left them. When it is stopped, they are those from before. */
export async function relocateClusters(
  state: RunState,
  update: Update,
  round: number,
  roundingError: number,
): Promise<Relocation> {
  const { points, weights, k, seed, control } = state
  const random = createRandom(seed).fork(STREAM + round)
  const before = await measureSquares(state)
  const labels = await points.readLabels()
  const distances = await points.readDistances()
  const centers = await readCenters(state)
  const masses = clusterMasses(labels, distances, weights, k)
  const margin = (LEAST_GAIN * before) / k
  const { merges, looked: compared } = await possibleMerges(state, masses, random.next())
  control.signal?.throwIfAborted()
  const cheapest = merges.reduce((least, { cost }) => Math.min(least, cost), Number.POSITIVE_INFINITY)
  const splits = await possibleSplits(state, labels, distances, masses, centers, cheapest + margin, random)
  const pairs = pairUp(merges, splits.splits, margin)
  const looked = points.rows + compared + splits.looked
  if (pairs.length === 0) return { clusters: 0, gain: 0, points: 0, looked, putBack }
  const { changed, moved } = relabelled(labels, pairs, splits)
  const take = async (): Promise<void> => {
    for (const part of points.parts) await update.take(state, part, await points.vectors(part))
    await update.finish(state)
  }
  try {
    points.writeLabels(changed)
    await take()
    if (roundingCounts(roundingError, distortionOf(state, before))) await roundCenters(state)
    const after = await measureSquares(state)
    control.signal?.throwIfAborted()
    if (after < before) {
      const gain = (before - after) / before
      return { clusters: pairs.length, gain, points: moved, looked: looked + points.rows, putBack }
    }
  } catch (error) {
    if (control.signal?.aborted) putBack()
    throw error
  }
  points.writeLabels(labels)
  await take()
  putBack()
  return { clusters: 0, gain: 0, points: 0, looked: looked + points.rows, putBack }

  function putBack(): void {
    points.writeLabels(labels)
    writeCenters(state, centers)
  }
}

function relabelled(
  labels: Uint32Array,
  pairs: readonly Pair[],
  { second }: Splits,
): { changed: Uint32Array; moved: number } {
  const merged = new Map(pairs.map(({ merge }) => [merge.from, merge.into]))
  const halved = new Map(pairs.map(({ merge, split }) => [split.cluster, merge.from]))
  let moved = 0
  const changed = labels.map((label, point) => {
    const next = merged.get(label) ?? (second(point) ? halved.get(label) : undefined)
    if (next === undefined) return label
    moved++
    return next
  })
  return { changed, moved }
}

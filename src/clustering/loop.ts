/**
 * The one loop. A round: every point chooses among its candidates, the update takes what was chosen,
 * centres move, empty clusters are refilled. Labels and centres stay on the device; the host reads a
 * few numbers. Progress, checkpoints, demos and stopping all consume what this generator yields.
 */
import { tally } from '../kernels/tally.ts'
import type { PointPart } from './points.ts'
import { refillEmpty } from './refill.ts'
import { measureSquares, roundCenters, roundingCounts } from './resolution.ts'
import { type CandidateSource, type Round, type RunState, readCenters, type Update, writeCenters } from './run-state.ts'
import type { StopReason } from './stats.ts'

export interface LoopOptions {
  readonly iterations: number
  readonly tolerance: number
  readonly empty: 'farthest' | 'keep'
  readonly weights: Float32Array | undefined
  /** What rounding centres to the input's units can add to a squared distance; see resolution.ts. */
  readonly roundingError: number
  /** Rounds that were done before, when a run is resumed. */
  readonly history: readonly Round[]
  /** True where the method and options of those are the same: the run may then be over already. */
  readonly sameMethod: boolean
  /** True when there is no time for another round. */
  readonly timeIsUp: () => boolean
}

export async function* iterate(
  state: RunState,
  candidates: CandidateSource,
  update: Update,
  options: LoopOptions,
): AsyncGenerator<Round, StopReason> {
  const { tolerance, history, iterations } = options
  let last: Round | undefined
  /** Why the run is over after this round, if it is. */
  const ending = async (result: Round): Promise<StopReason | undefined> => {
    const before = last
    last = result
    if (!((await candidates.settled?.(result)) ?? true)) return undefined
    return update.ended ? update.ended(result, before, tolerance) : flattened(result, before?.distortion, tolerance)
  }
  // What a resumed run had learned from its rounds, it learns again.
  let over: StopReason | undefined
  for (const result of history) over = await ending(result)
  if (over && options.sameMethod) return over
  for (let iteration = (last?.iteration ?? 0) + 1; iteration <= iterations; iteration++) {
    const result = await round(state, candidates, update, iteration, options)
    if (result === undefined) return 'aborted'
    yield result
    state.labelled = true
    const reason = await ending(result)
    if (reason) return reason
    if (state.control.signal?.aborted) return 'aborted'
    if (options.timeIsUp()) return 'seconds'
  }
  return 'iterations'
}

function flattened(
  { moved, distortion }: Round,
  before: number | undefined,
  tolerance: number,
): StopReason | undefined {
  if (moved === 0) return 'converged'
  const fall = before === undefined ? Number.POSITIVE_INFINITY : before - distortion
  return tolerance > 0 && fall < tolerance * (before ?? 1) ? 'tolerance' : undefined
}

/** Undefined if it was stopped half-way; labels and centres are then those of the round before. */
async function round(
  state: RunState,
  candidates: CandidateSource,
  update: Update,
  iteration: number,
  options: LoopOptions,
): Promise<Round | undefined> {
  const { device, points } = state
  const taken: PointPart[] = []
  let looked = 0
  let moved = 0
  let squares = 0
  const centersBefore = update.begin && (await readCenters(state))
  try {
    await update.begin?.(state, iteration)
    for (const part of points.parts) {
      part.swapLabels()
      taken.push(part)
      const vectors = await points.vectors(part)
      const seen = await (update.drive
        ? update.drive(state, candidates, part, vectors, iteration)
        : candidates.assign(state, part, vectors, iteration))
      looked += seen * part.count
      await update.take(state, part, vectors)
      const counted = await tally(device, {
        count: part.count,
        values: part.distances,
        weights: part.weights,
        left: part.labels,
        right: part.previous,
        sums: part.sums,
        differences: part.differences,
      })
      state.control.signal?.throwIfAborted()
      moved += counted.different
      squares += counted.sum
    }
  } catch (error) {
    if (!state.control.signal?.aborted) throw error
    for (const part of taken) part.swapLabels()
    if (centersBefore) writeCenters(state, centersBefore)
    return undefined
  }
  const result = await update.finish(state)
  let { gain } = result
  if (result.empty > 0 && options.empty === 'farthest') {
    const refill = await refillEmpty(state, options.weights)
    if (refill.clusters > 0) {
      for (const part of points.parts) await update.take(state, part, await points.vectors(part))
      // The second update moves centres from where the first left them, so the gains add up.
      gain += refill.squares + (await update.finish(state)).gain
      moved += refill.clusters
    }
  }
  const { scale } = points.frame
  const distortionOf = (sum: number): number => sum / state.totalWeight / (scale * scale)
  let distortion = distortionOf(result.squares ?? Math.max(0, squares - gain))
  if (roundingCounts(options.roundingError, distortion)) {
    await roundCenters(state)
    distortion = distortionOf(await measureSquares(state))
  }
  return {
    iteration,
    distortion,
    moved: Math.min(moved, points.rows),
    candidates: (looked + (result.looked ?? 0)) / points.rows,
    ...(result.extra ? { extra: result.extra } : {}),
  }
}

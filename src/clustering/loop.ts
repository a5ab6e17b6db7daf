/**
 * The one loop. A round: every point chooses among its candidates, the update takes what was chosen,
 * centres move, empty clusters are refilled. Some rounds relocate clusters first. Labels and centres stay on the device; the host reads a
 * few numbers. Progress, checkpoints, demos and stopping all consume what this generator yields.
 */
import { tally } from '../kernels/tally.ts'
import type { PointPart } from './points.ts'
import { refillEmpty } from './refill.ts'
import { type Relocation, relocateClusters } from './relocation/relocate.ts'
import { type NextRound, RelocationSchedule } from './relocation/schedule.ts'
import { distortionOf, measureSquares, roundCenters, roundingCounts } from './resolution.ts'
import { type CandidateSource, type Round, type RunState, readCenters, type Update, writeCenters } from './run-state.ts'
import type { StopReason } from './stats.ts'

export interface LoopOptions {
  readonly iterations: number
  readonly tolerance: number
  readonly empty: 'farthest' | 'keep'
  readonly weights: Float32Array | undefined
  /** Merge and split clusters when progress slows, and before the run ends. */
  readonly relocate: boolean
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
  const schedule = new RelocationSchedule(options.relocate, state.k, tolerance)
  /** Whether the run is over after this round, or goes on with a relocation. */
  const follow = async (result: Round): Promise<NextRound> => {
    const before = last
    last = result
    const settled = (await candidates.settled?.(result)) ?? true
    if (!settled) return schedule.after(result, undefined)
    const over = update.ended
      ? update.ended(result, before, tolerance)
      : flattened(result, before?.distortion, tolerance)
    return schedule.after(result, over)
  }
  let next: NextRound = { over: undefined, relocate: false }
  // What a resumed run had learned from its rounds, it learns again.
  for (const result of history) next = await follow(result)
  if (!options.sameMethod) next = { over: undefined, relocate: false }
  for (let iteration = (last?.iteration ?? 0) + 1; iteration <= iterations; iteration++) {
    if (next.over && !next.relocate) return next.over
    const result = await round(state, candidates, update, iteration, options, next)
    if (typeof result === 'string') return result
    yield result
    state.labelled = true
    next = await follow(result)
    if (next.over && !next.relocate) return next.over
    if (state.control.signal?.aborted) return 'aborted'
    if (options.timeIsUp()) return 'seconds'
  }
  return next.over ?? 'iterations'
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

/**
 * Says why the run is over instead, where it was stopped half-way, or was over already and no cluster could be relocated.
 * Labels and centres are then those of the round before.
 */
async function round(
  state: RunState,
  candidates: CandidateSource,
  update: Update,
  iteration: number,
  options: LoopOptions,
  { over, relocate }: NextRound,
): Promise<Round | StopReason> {
  const { device, points } = state
  let relocation: Relocation | undefined
  const taken: PointPart[] = []
  let looked = 0
  let moved = 0
  let squares = 0
  let centersBefore: Float32Array | undefined
  try {
    if (relocate) {
      relocation = await relocateClusters(state, update, iteration, options.roundingError)
      if (over && relocation.clusters === 0) return over
      looked += relocation.looked
      moved += relocation.points
    }
    centersBefore = update.begin && (await readCenters(state))
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
    relocation?.putBack()
    return 'aborted'
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
  let distortion = distortionOf(state, result.squares ?? Math.max(0, squares - gain))
  if (roundingCounts(options.roundingError, distortion)) {
    await roundCenters(state)
    distortion = distortionOf(state, await measureSquares(state))
  }
  const extra = relocation
    ? { ...result.extra, relocated: relocation.clusters, relocationGain: relocation.gain }
    : result.extra
  return {
    iteration,
    distortion,
    moved: Math.min(moved, points.rows),
    candidates: (looked + (result.looked ?? 0)) / points.rows,
    ...(extra ? { extra } : {}),
  }
}

/**
 * The one loop. A round: on every device that owns points each of them chooses among its candidates and the update takes
 * what was chosen; what the shards contribute is merged; centres move, empty clusters are refilled. Some rounds relocate
 * clusters first. Labels and centres stay on the devices; the host reads a few numbers. Progress, checkpoints, demos and
 * stopping all consume what this generator yields.
 */
import { repeatRounds, type StopReason } from '../core/rounds.ts'
import type { TallyResult } from '../kernels/tally.ts'
import { type Crew, finishUpdate, type Member, updateFromLabels } from './members.ts'
import { mergeRounds, type PartialRound, type PartialSums, type ShardValue, sumOf } from './partial.ts'
import { refillEmpty } from './refill.ts'
import { type Relocation, relocateClusters } from './relocation/relocate.ts'
import { type NextRound, RelocationSchedule } from './relocation/schedule.ts'
import type { OwnerTasks } from './remote-owners.ts'
import { distortionOf, measureSquares, roundCenters, roundingCounts, tallyShard } from './resolution.ts'
import { type Counted, countOf, type Round, type UpdateResult } from './run-state.ts'
import { CenterSnapshots } from './snapshots.ts'

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

export async function* iterate(crew: Crew, options: LoopOptions): AsyncGenerator<Round, StopReason> {
  const { tolerance, history, iterations } = options
  const { team, members } = crew
  const { state, update } = members[0]
  const snapshots = new CenterSnapshots(team)
  let last: Round | undefined
  const schedule = new RelocationSchedule(options.relocate, state.k, tolerance)
  /** Whether the run is over after this round, or goes on with a relocation. */
  const follow = async (result: Round): Promise<NextRound> => {
    const before = last
    last = result
    const mayEnd = await Promise.all(members.map(({ candidates }) => candidates.endRound?.(result) ?? true))
    team.note('endRound', result)
    if (!mayEnd[0]) return schedule.after(result, undefined)
    const over = update.ended
      ? update.ended(result, before, tolerance)
      : flattened(result, before?.distortion, tolerance)
    return schedule.after(result, over)
  }
  let next: NextRound = { over: undefined, relocate: false }
  // A resumed run replays its statistics, so that candidate sources have the same state.
  for (const result of history) next = await follow(result)
  if (!options.sameMethod) next = { over: undefined, relocate: false }
  const pending = (): StopReason | undefined => (next.relocate ? undefined : next.over)
  const stopped = pending()
  if (stopped) return stopped
  const ended = yield* repeatRounds<Round>({
    first: (last?.iteration ?? 0) + 1,
    iterations,
    signal: state.control.signal,
    timeIsUp: options.timeIsUp,
    run: (iteration) => round(crew, snapshots, iteration, options, next, last),
    async after(result) {
      for (const each of team.states) each.labelled = true
      next = await follow(result)
      return pending()
    },
  })
  // Only a relocation was left to do.
  return ended === 'iterations' ? (next.over ?? ended) : ended
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
 * Labels and centres are then those of the round before; so they are where a device fails.
 */
async function round(
  crew: Crew,
  snapshots: CenterSnapshots,
  iteration: number,
  options: LoopOptions,
  { over, relocate }: NextRound,
  last: Round | undefined,
): Promise<Round | StopReason> {
  const { team, members } = crew
  const { state, update, candidates } = members[0]
  const { points, control } = state
  let relocation: Relocation | undefined
  let statistics: readonly (() => Promise<PartialRound>)[]
  let answers: readonly OwnerTasks['choose']['result'][]
  let swapped = false
  snapshots.forget()
  try {
    if (relocate) {
      relocation = await relocateClusters(crew, iteration, options.roundingError)
      if (over && relocation.clusters === 0) return over
    }
    if (state.labelled && update.stale) {
      // Centres may have been rounded since they were means; a resumed run goes on from the same.
      snapshots.take()
      await updateFromLabels(crew)
      snapshots.putBack()
    }
    if ((update.ahead || update.assignPart) && !update.centersWait) snapshots.take()
    if (update.ahead) {
      await update.ahead(state, candidates, iteration)
      await team.shareCenters()
    }
    for (const part of points.parts) part.swapLabels()
    swapped = true
    ;[answers, statistics] = await Promise.all([
      team.ask('choose', { iteration }),
      team.everywhere((_state, owner) => chooseAndTake(members[owner], iteration)),
    ])
  } catch (error) {
    if (swapped) {
      for (const part of points.parts) part.swapLabels()
      team.note('undo', {})
    }
    snapshots.putBack()
    await relocation?.putBack().catch(() => {})
    if (!control.signal?.aborted) throw error
    return 'aborted'
  }
  let result = await finishUpdate(
    crew,
    answers.map(({ sums }) => sums),
  )
  // They came to the host with what the update has read.
  const own = await Promise.all(statistics.map((read) => read()))
  const chosen = [...own, ...answers.map((answer) => answer.round)].reduce(mergeRounds)
  let squares = sumOf(chosen.squares)
  const before = last?.distortion
  if (update.retreat && before !== undefined && distortionOf(state, Math.max(0, squares - result.gain)) > before) {
    const retreated = await retreat(crew)
    squares = retreated.squares
    result = await finishUpdate(crew, retreated.sums)
  }
  const { gain, refilled } = await refill(crew, result, options)
  let distortion = distortionOf(state, result.squares ?? Math.max(0, squares - gain))
  if (roundingCounts(options.roundingError, distortion)) {
    await roundCenters(state)
    distortion = distortionOf(state, await measureSquares(state))
  }
  const extra = relocation
    ? { ...result.extra, relocated: relocation.clusters, relocationGain: relocation.gain }
    : result.extra
  const evaluated = chosen.evaluated + (relocation?.evaluated ?? 0) + (result.evaluated ?? 0)
  return {
    iteration,
    distortion,
    moved: Math.min(chosen.moved + (relocation?.points ?? 0) + refilled, points.rows),
    candidates: evaluated / points.rows,
    ...(extra ? { extra } : {}),
  }
}

/**
 * The part of a round on one device: its points are assigned, and summed by label. What is returned reads the statistics,
 * for which nothing has to wait.
 */
export async function chooseAndTake(
  { state, candidates, update }: Member,
  iteration: number,
): Promise<() => Promise<PartialRound>> {
  const { points, parts, control } = state
  const counts: Counted[] = []
  const tallies: { readonly shard: number; read(): Promise<TallyResult> }[] = []
  if (parts.length === 0) await candidates.prepare?.(state, iteration)
  await update.begin?.(state, candidates, iteration)
  update.reset?.(state)
  for (const part of parts) {
    const vectors = await points.vectors(part)
    counts.push(
      await (update.assignPart
        ? update.assignPart(state, candidates, part, vectors, iteration)
        : candidates.assign(state, part, vectors, iteration)),
    )
    await update.addPart(state, part, vectors)
    for (const shard of part.shards) tallies.push({ shard: shard.index, read: await tallyShard(part, shard) })
    control.signal?.throwIfAborted()
  }
  return async () => {
    const [evaluated, found] = await Promise.all([
      Promise.all(counts.map(countOf)),
      Promise.all(tallies.map(({ read }) => read())),
    ])
    return {
      squares: found.map(({ sum }, i) => ({ shard: tallies[i].shard, value: sum })),
      moved: found.reduce((sum, { different }) => sum + different, 0),
      evaluated: evaluated.reduce((sum, count) => sum + count, 0),
    }
  }
}

interface Retreated {
  readonly squares: number
  /** Of other processes. */
  readonly sums: readonly PartialSums[]
}

/** Points return to labels that cannot raise the objective, and are summed again. */
async function retreat({ team, members }: Crew): Promise<Retreated> {
  const [answers, own] = await Promise.all([
    team.ask('retreat', {}),
    team.everywhere((_state, owner) => retreatAndTake(members[owner])),
  ])
  const squares = [...own, ...answers.map((answer) => answer.squares)].flat()
  return { squares: sumOf(squares), sums: answers.map(({ sums }) => sums) }
}

/** The same on one device. Returns sums of squares. */
export async function retreatAndTake({ state, update }: Member): Promise<ShardValue[]> {
  const { points, parts } = state
  const squares: ShardValue[] = []
  update.beginRetreat?.(state)
  update.reset?.(state)
  for (const part of parts) {
    const vectors = await points.vectors(part)
    await update.retreat?.(state, part, vectors)
    await update.addPart(state, part, vectors)
    for (const shard of part.shards) {
      const read = await tallyShard(part, shard)
      squares.push({ shard: shard.index, value: (await read()).sum })
    }
  }
  return squares
}

/** Empty clusters get points, and centres are updated once more. */
async function refill(
  crew: Crew,
  { gain, empty }: UpdateResult,
  options: LoopOptions,
): Promise<{ readonly gain: number; readonly refilled: number }> {
  if (empty === 0 || options.empty !== 'farthest') return { gain, refilled: 0 }
  const { clusters, squares } = await refillEmpty(crew.team.lead, empty, options.weights)
  if (clusters === 0) return { gain, refilled: 0 }
  // The second update moves centres from where the first left them, so the gains add up.
  return { gain: gain + squares + (await updateFromLabels(crew)).gain, refilled: clusters }
}

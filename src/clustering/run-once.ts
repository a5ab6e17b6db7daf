/** One start, run to its end: the rounds of the loop, with what the caller asked to be told and to be kept of them. */

import { badOption } from '../core/errors.ts'
import { isMatrix, type Matrix } from '../core/matrix.ts'
import { finished } from '../core/rounds.ts'
import { stream } from '../core/streams.ts'
import type { StartName } from '../models/method-names.ts'
import type { Mixture } from '../models/mixture.ts'
import type { ClusterModel } from '../models/model.ts'
import { mixtureOf } from '../models/responsibilities.ts'
import type { IterationStats, StopReason } from '../models/stats.ts'
import { type Frame, intoFrame } from '../vectors/frame.ts'
import type { PointStore } from '../vectors/points.ts'
import type { AnyClusterOptions } from './cluster-options.ts'
import { iterate } from './loop.ts'
import { type Crew, rehearseRounds, updateFromLabels } from './members.ts'
import { methodRow } from './own-method.ts'
import { METHODS } from './presets.ts'
import { centersOf, type RunOptions, readModel, sigmasOf } from './read-model.ts'
import type { Machines, RowValues, RunDescription } from './remote-owners.ts'
import { arraysToResume, exactMixture, sameMethod, withBest } from './resume.ts'
import { createRunState, type RunState, replaceCenters, writeCenters } from './run-state.ts'
import { beginsFromSample, type SampledPoints, sampleStart, samplesPay } from './sample-start.ts'
import { chooseStart, completeCenters, type Start, samplePoints } from './seeding.ts'
import { Team } from './team.ts'
import { meansFromLabels } from './updates/mean.ts'
import { labelNearest } from './weightless.ts'

/** A sample may always take this many rounds, even if `iterations` is lower: they are cheap. */
const ROUNDS_OF_SAMPLE = 10
/** Most rounds of a sample that began from a sample itself: what is left then, all points settle better. */
const ROUNDS_AFTER_SAMPLE = 4

/** A round, with access to the state after it; valid until the next step. */
export interface ClusterStep extends IterationStats {
  /** k x d, as in {@link ClusterModel}. */
  centers(): Promise<Matrix<Float32Array>>
  /** The cluster of each point. */
  labels(): Promise<Uint32Array>
  /** Standard deviations of the components, where the clusters are those of a mixture. */
  sigmas(): Float32Array | undefined
}

/** Mixtures are compared by BIC where their sizes may differ, else by likelihood; clusterings by distortion. */
export function isBetter(model: ClusterModel, best: ClusterModel): boolean {
  const last = ({ facts }: ClusterModel) => facts.iterations[facts.iterations.length - 1].extra
  const [own, other] = [last(model), last(best)]
  if (own?.bic !== undefined && other?.bic !== undefined) return own.bic < other.bic
  if (own?.logLikelihood === undefined || other?.logLikelihood === undefined) return model.distortion < best.distortion
  return own.logLikelihood > other.logLikelihood
}

export interface Attempt {
  /** Which one, from 0. */
  readonly restart: number
  /** What it begins with, where that is known already: neither the options nor the method choose then. */
  readonly start?: Start | undefined
  /** The initial weights and variances of a mixture, in addition to the initial labels. */
  readonly mixture?: Mixture | undefined
  /** The state to continue from. Without it, the run starts from the beginning. */
  readonly from: ClusterModel | undefined
  /** The best of those before. */
  readonly best: ClusterModel | undefined
}

/** One start, run to its end. Undefined if it was stopped before the first round was done. */
export async function* runOnce(
  points: PointStore,
  resolved: RunOptions,
  options: AnyClusterOptions,
  { restart, from, best, start, mixture }: Attempt,
  began: number,
): AsyncGenerator<ClusterStep, ClusterModel | undefined> {
  const { k, weights } = resolved
  const elapsed = (): number => (performance.now() - began) / 1000
  const totalWeight = weights ? weights.reduce((sum, weight) => sum + weight, 0) : points.rows
  const history = from?.facts.iterations ?? []
  const stats: IterationStats[] = [...history]
  const before = stats[stats.length - 1]?.seconds ?? 0
  const method = methodRow(resolved.method, resolved.own)
  // A resumed run may have had more clusters, and may have more again.
  const saved = from?.resumeState?.arrays.most?.[0]
  const most = saved ?? method.mostClusters?.(resolved.settings, points.rows, k) ?? k
  if (saved !== undefined && !(saved >= k && saved <= points.rows)) {
    throw badOption('resume', `a model with room for ${saved} clusters`, 'create the model again.')
  }
  const control = {
    signal: options.signal,
    onProgress: options.onProgress && ((share: number) => options.onProgress?.(share, `round ${stats.length + 1}`)),
  }
  const { seed, settings, weightScale, treeUse } = resolved
  const evidence = resolved.evidence ?? totalWeight / weightScale
  const setting = {
    seed,
    settings,
    weights,
    totalWeight,
    weightScale,
    evidence,
    largest: resolved.largest,
    treeUse,
    control,
  }
  const team = new Team()
  try {
    const members = points.devices.map((_, owner) => {
      const state = createRunState(team, points, owner, k, setting, most)
      return { state, candidates: method.candidates(state), update: method.update(state) }
    })
    const crew: Crew = { team, members }
    if (options.on) await connectTeam(team, points, resolved, options.on, { k, most, totalWeight, evidence })
    const [{ state }] = members
    let startSeconds = from?.facts.startSeconds
    const snapshot = async (stopped: StopReason, best?: ClusterModel, checkpoint = false): Promise<ClusterModel> => {
      const arrays = await arraysToResume(crew, stopped)
      const resumeState = checkpoint ? withBest(arrays, restart, best) : { arrays }
      return readModel(state, resolved, { stats, stopped, startSeconds }, resumeState, start !== undefined)
    }
    const same = from !== undefined && sameMethod(from, resolved)
    if (from) {
      await takeOver(state, from)
      for (const each of team.states) each.sample = from.facts.sample
    } else {
      const started = elapsed()
      rehearseRounds(crew).catch(() => {})
      if (!(await prepare(crew, resolved, options, { restart, start, mixture }, began))) return undefined
      startSeconds = elapsed() - started
    }
    await team.shareCenters()
    if (same) {
      const saved = from.resumeState?.arrays ?? {}
      for (const member of members) {
        member.candidates.restore?.(member.state, saved)
        member.update.restore?.(member.state, saved)
      }
      team.note('restore', { arrays: saved })
    }
    const loop = iterate(crew, {
      ...resolved,
      history,
      sameMethod: same,
      timeIsUp: () => elapsed() >= resolved.seconds,
    })
    for (;;) {
      const next = await loop.next()
      if (next.done) return stats.length > 0 ? await snapshot(next.value) : undefined
      const step: IterationStats = { ...next.value, seconds: before + elapsed(), restart }
      stats.push(step)
      options.onIteration?.(step)
      if (options.checkpoint && step.iteration % options.checkpoint.every === 0) {
        await options.checkpoint.save(await snapshot('iterations', best, true))
      }
      yield {
        ...step,
        centers: () => centersOf(state),
        labels: () => points.readLabels(),
        sigmas: () => sigmasOf(state),
      }
    }
  } finally {
    points.remote = undefined
    await team.remote?.close()
    team.free()
  }
}

/** Other processes get to know of the run, and own its points from here on. */
async function connectTeam(
  team: Team,
  points: PointStore,
  { method, settings, seed, weightScale, largest }: RunOptions,
  on: Machines,
  sizes: Pick<RunDescription, 'k' | 'most' | 'totalWeight' | 'evidence'>,
): Promise<void> {
  const { frame, layout, source } = points
  const { signal, onProgress } = team.lead.control
  const description = { method, settings, seed, weightScale, largest, frame, layout, ...sizes }
  const remote = await on.begin(source, description, { signal, onProgress })
  team.remote = remote
  const gathered = <T extends Uint32Array | Float32Array>(into: T, answers: readonly RowValues<T>[]): T => {
    for (const { first, values } of answers) into.set(values, first)
    return into
  }
  points.remote = {
    labels: async () => gathered(new Uint32Array(points.rows), (await team.ask('labels', {})).flat()),
    distances: async () => gathered(new Float32Array(points.rows), (await team.ask('distances', {})).flat()),
    writeLabels: (labels) => team.note('labels', { labels }),
  }
  points.forgetLabels()
}

/** Centres and labels as the model has them. */
async function takeOver(state: RunState, from: ClusterModel): Promise<void> {
  writeCenters(state, from.state.centers)
  state.mixture = exactMixture(from) ?? mixtureOf(from)
  await state.points.writeLabels(from.labels)
  state.labelled = true
  state.tree = from.tree
}

/** Centres and labels as they are before the first round. False if it was stopped. */
async function prepare(
  crew: Crew,
  resolved: RunOptions,
  options: AnyClusterOptions,
  attempt: Pick<Attempt, 'restart' | 'start' | 'mixture'>,
  began: number,
): Promise<boolean> {
  const { state, update } = crew.members[0]
  const { points } = state
  try {
    const start = attempt.start ?? (await firstState(state, resolved, options, attempt.restart, began))
    if ('centers' in start) {
      points.forgetLabels()
      // Where the method finds the number, there may be fewer distinct points than it wanted to begin with.
      replaceCenters(state, start.centers)
      return true
    }
    if ('labels' in start) {
      if (METHODS[resolved.method].keepsTree) state.tree = start.tree
      await points.writeLabels(start.labels)
    }
    // A cluster of points without weight has no other mean than that in which all count alike.
    if (resolved.weights?.includes(0)) await meansFromLabels(state, false)
    if (update.startFromLabels) await update.startFromLabels(state)
    else await updateFromLabels(crew)
    await labelNearest(state)
    state.mixture = attempt.mixture
    state.labelled = true
    return true
  } catch (error) {
    if (options.signal?.aborted) return false
    throw error
  }
}

async function firstState(
  state: RunState,
  resolved: RunOptions,
  options: AnyClusterOptions,
  restart: number,
  began: number,
): Promise<Start> {
  const { start, method, seed, weights, iterations, relocate } = resolved
  const random = stream(seed, 'seeding', restart)
  const onProgress = (share: number): void => options.onProgress?.(share, 'choosing the first centres')
  if (isMatrix(start)) {
    const given = givenCenters(start, state.points.frame)
    return {
      centers: start.rows === state.k ? given : await completeCenters(state, given, { random, weights, onProgress }),
    }
  }
  const row = METHODS[method]
  const counted = start === 'all' ? undefined : row.countedStart?.(state.settings)
  if ((row.findsCount || typeof start === 'number' || start === 'all') && counted === undefined) {
    return { centers: await samplePoints(state, random) }
  }
  const usual = counted ?? row.start ?? 'auto'
  const wanted = start === 'auto' ? usual : (start as StartName)
  const sampled = wanted === 'sample' || (start === 'auto' && usual === 'tree' && beginsFromSample(state))
  if (sampled) {
    const cluster = (sample: SampledPoints) => clusterSample(sample, resolved, options, restart, began)
    const found = await sampleStart(state, restart, usual === 'tree', cluster, onProgress)
    options.signal?.throwIfAborted()
    if (found) {
      for (const each of state.team.states) each.sample = found.sample
      return found
    }
  }
  const name = wanted === 'sample' ? usual : wanted
  return chooseStart(state, { start: name, random, weights, iterations, relocate, onProgress })
}

/** Clusters the sample that a run of all points starts from, with the same method and options. */
async function clusterSample(
  { points, weights }: SampledPoints,
  resolved: RunOptions,
  options: AnyClusterOptions,
  restart: number,
  began: number,
): Promise<ClusterModel | undefined> {
  const { signal, onProgress } = options
  const told: AnyClusterOptions = {
    k: resolved.k,
    ...(signal && { signal }),
    ...(onProgress && { onProgress: (share: number) => onProgress(share, 'clustering a sample') }),
  }
  const again = METHODS[resolved.method].start === 'tree' && samplesPay(points.rows, resolved.k)
  const run: RunOptions = {
    ...resolved,
    start: 'auto',
    weights,
    roundingError: 0,
    iterations: again ? ROUNDS_AFTER_SAMPLE : Math.max(resolved.iterations, ROUNDS_OF_SAMPLE),
  }
  return finished(runOnce(points, run, told, { restart, from: undefined, best: undefined }, began))
}

function givenCenters(start: Matrix, frame: Frame): Float32Array {
  const data = start.data instanceof Float32Array ? start.data : Float32Array.from(start.data)
  return intoFrame(data, start.cols, { ...frame, type: 'f32' }) as Float32Array
}

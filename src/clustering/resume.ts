/**
 * Continuing a run from a model, so that it ends with the same bits as a run that was never
 * interrupted. Most of it follows from centres, labels, statistics and the seed; the rest is kept
 * with the model as named arrays: what a method asks for, and the best of the restarts before.
 */
import { badOption, CentroidalError } from '../core/errors.ts'
import { matrix, type VectorSource } from '../core/matrix.ts'
import type { ModelFacts } from '../models/facts.ts'
import type { Mixture } from '../models/mixture.ts'
import { ClusterModel, type ResumeState } from '../models/model.ts'
import type { ResumeArrays } from '../models/resume-arrays.ts'
import type { StopReason } from '../models/stats.ts'
import { outOfFrame } from '../vectors/frame.ts'
import type { Crew } from './members.ts'
import type { ResolvedOptions } from './options.ts'
import { METHODS } from './presets.ts'
import { methodNamed } from './read-model.ts'

export function checkResume(model: ClusterModel, source: VectorSource, resolved: ResolvedOptions): void {
  const { rows, cols, k, metric } = model.facts
  const wanted = { rows: source.rows, cols: source.cols, k: resolved.k, metric: resolved.metric }
  if (METHODS[resolved.method].mixture && model.sigmas === undefined) {
    throw badOption(
      'resume',
      `a model of ${model.facts.method}`,
      `${resolved.method} can only resume from a mixture; give a model of the same method.`,
    )
  }
  for (const [name, value] of Object.entries({ rows, cols, k, metric })) {
    const asked = wanted[name as keyof typeof wanted]
    if (value !== asked) {
      throw new CentroidalError(
        'bad-option',
        `The model to resume has ${name} ${value}, this run has ${asked}: resume with the same vectors and options.`,
      )
    }
  }
}

/** Whether the model came from the same method, options and seed: only then can it be finished already, and its saved arrays be used. */
export function sameMethod({ facts }: ClusterModel, resolved: ResolvedOptions): boolean {
  const { options } = facts
  const { settings, seed, empty, weights, relocate } = resolved
  const method = methodNamed(resolved)
  const [mine, other] = [settings, options.settings ?? {}].map((given) => JSON.stringify(Object.entries(given).sort()))
  const weighted = options.weighted === (weights !== undefined)
  if ((options.relocate === true) !== relocate) return false
  return facts.method === method && facts.seed === seed && options.empty === empty && weighted && mine === other
}

/** The restart a run goes on with; a model that is not a checkpoint is the result of all restarts, and only goes on itself. */
export function restartsLeft({ resumeState, facts }: ClusterModel, restarts: number): { first: number; end: number } {
  if (resumeState?.restart !== undefined && !(Number.isInteger(resumeState.restart) && resumeState.restart >= 0)) {
    throw badOption('resume', `a checkpoint of restart ${resumeState.restart}`, 'create the model again.')
  }
  const first = resumeState?.restart ?? facts.iterations[facts.iterations.length - 1]?.restart ?? 0
  return { first, end: resumeState?.restart === undefined ? first + 1 : Math.max(restarts, first + 1) }
}

/** What is kept of a run besides centres and labels. A run that is over needs no lists of points. */
export async function arraysToResume({ members }: Crew, stopped: StopReason): Promise<ResumeArrays> {
  const [{ state, candidates, update }, ...others] = members
  const { mixture } = state
  const over = stopped === 'converged' || stopped === 'tolerance'
  return {
    ...(mixture && { 'mixture-weights': mixture.weights.slice(), 'mixture-variances': mixture.variances.slice() }),
    ...(await candidates.save?.(state)),
    ...(over
      ? {}
      : await update.save?.(
          state,
          others.map((other) => other.update),
        )),
  }
}

/** The components in 64 bits, in the frame. Undefined where the model does not have them so. */
export function exactMixture({ resumeState, facts }: ClusterModel): Mixture | undefined {
  const { 'mixture-weights': weights, 'mixture-variances': variances } = resumeState?.arrays ?? {}
  if (!(weights instanceof Float64Array && variances instanceof Float64Array)) return undefined
  const fits = weights.length === facts.k && variances.length === facts.k
  if (!fits || !weights.every((weight) => weight >= 0 && weight <= 1) || !variances.every((variance) => variance > 0)) {
    throw new CentroidalError(
      'bad-data',
      'The weights and variances in the model to resume are invalid for a mixture: create the model again.',
    )
  }
  return { weights: weights.slice(), variances: variances.slice() }
}

const PREFIX = 'best'

/** A checkpoint of a later restart carries the best of those before. */
export function withBest(arrays: ResumeArrays, restart: number, best: ClusterModel | undefined): ResumeState {
  if (best === undefined) return { arrays, restart }
  const { state, labels, tree, weights, sigmas, resumeState } = best
  const own: Record<string, ResumeArrays[string] | undefined> = {
    ...resumeState?.arrays,
    centers: state.centers,
    labels,
    tree,
    weights,
    sigmas,
  }
  const all: Record<string, ResumeArrays[string]> = { ...arrays }
  for (const [name, values] of Object.entries(own)) if (values) all[`${PREFIX}-${name}`] = values
  return { arrays: all, restart, best: best.facts }
}

/** The best of the restarts before the one the model is of. */
export function bestBefore({ resumeState, facts: checked, state: { frame } }: ClusterModel): ClusterModel | undefined {
  if (resumeState?.best === undefined) return undefined
  const own: Record<string, ResumeArrays[string]> = {}
  for (const [name, values] of Object.entries(resumeState.arrays)) {
    if (name.startsWith(`${PREFIX}-`)) own[name.slice(PREFIX.length + 1)] = values
  }
  const { centers, labels, tree, weights, sigmas, ...arrays } = own
  const facts: ModelFacts = resumeState.best
  const { k, rows, cols, iterations } = facts
  const shaped = rows === own.labels?.length && rows === checked.rows && cols === checked.cols
  const fits = shaped && centers?.length === k * cols && Array.isArray(iterations) && iterations.length > 0
  if (!fits || !labels.every((label) => label < k)) {
    throw new CentroidalError(
      'bad-data',
      'The best restart in the model to resume is incomplete: create the model again.',
    )
  }
  const inner = centers as Float32Array
  return new ClusterModel(
    matrix(outOfFrame(inner, facts.cols, frame), facts.k, facts.cols),
    labels as Uint32Array,
    facts,
    { centers: inner, frame },
    tree as Uint32Array | undefined,
    weights && sigmas && { weights: weights as Float32Array, sigmas: sigmas as Float32Array },
    { arrays },
  )
}

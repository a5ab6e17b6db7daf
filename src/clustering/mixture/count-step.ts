/** Carries out what the search for the number of components decides: see count-search.ts. */
import { CentroidalError } from '../../core/errors.ts'
import { assign } from '../../kernels/assign.ts'
import { NO_LABEL } from '../../kernels/assign-lists.ts'
import type { Mixture } from '../../models/mixture.ts'
import type { ResumeArrays } from '../../models/resume-arrays.ts'
import { type CandidateSource, type RunState, readCenters, replaceCenters } from '../run-state.ts'
import type { DataSize, HostMixture } from './bic.ts'
import type { ComponentStep, StepInput, StepResult } from './component-step.ts'
import { CountSearch, type Pair } from './count-search.ts'
import { joinComponents } from './join.ts'
import { neighboringPairs } from './pairs.ts'
import { splitComponents } from './split.ts'

export class CountStep implements ComponentStep {
  readonly #search: CountSearch
  readonly #size: DataSize
  readonly #prior: number

  constructor(state: RunState) {
    this.#size = { points: state.evidence, cols: state.points.cols }
    this.#prior = state.settings.prior as number
    this.#search = new CountSearch(this.#size, (mixture) => neighboringPairs(state, mixture, this.#size))
  }

  get done(): boolean {
    return this.#search.done
  }

  async after(state: RunState, _source: CandidateSource, { logLikelihood, floor }: StepInput): Promise<StepResult> {
    const extra = { bic: this.#search.criterion(logLikelihood, state.k) }
    const unchanged = { evaluated: 0, renamed: Uint32Array.from({ length: state.k }, (_, i) => i), extra }
    if (this.#search.done) return unchanged
    const mixture: HostMixture = { ...(state.mixture as Mixture), means: await readCenters(state) }
    const change = await this.#search.next(extra.bic, mixture)
    if (change === undefined) return unchanged
    if (change.kind === 'split') {
      const most = state.room.rows - state.k
      const split = await splitComponents(state, mixture, this.#size, { most, prior: this.#prior, floor })
      if (!this.#search.split(split.count)) return unchanged
      replaceComponents(state, split.mixture)
      await state.points.writeLabels(split.labels)
      return { ...unchanged, renamed: undefined }
    }
    if (change.kind === 'merge' && change.from === undefined) {
      const { merged, renamed, heirs } = mergePairs(mixture, change.pairs, state.unit)
      replaceComponents(state, merged)
      const labels = await state.points.readLabels()
      await state.points.writeLabels(labels.map((label) => heirs[label]))
      return { ...unchanged, renamed }
    }
    const next = change.kind === 'restore' ? change.mixture : (change.from as HostMixture)
    replaceComponents(state, change.kind === 'merge' ? mergePairs(next, change.pairs, state.unit).merged : next)
    await labelNearest(state)
    return { ...unchanged, renamed: undefined }
  }

  save({ room }: RunState): ResumeArrays {
    const { best } = this.#search
    return {
      most: Uint32Array.of(room.rows),
      search: this.#search.save(),
      ...(best && {
        'search-means': best.means,
        'search-weights': best.weights,
        'search-variances': best.variances,
      }),
    }
  }

  restore(state: RunState, arrays: ResumeArrays): void {
    const { search, 'search-means': means, 'search-weights': weights, 'search-variances': variances } = arrays
    // A finished run does not keep the state of the search.
    if (search === undefined) {
      this.#search.end()
      return
    }
    const best = means && ({ means, weights, variances } as HostMixture)
    const whole = search instanceof Float64Array && CountSearch.isSaved(search, best !== undefined)
    const k = weights?.length ?? 0
    const fits =
      best === undefined ||
      (means instanceof Float32Array &&
        weights instanceof Float64Array &&
        variances instanceof Float64Array &&
        k >= 1 &&
        k <= state.room.rows &&
        variances.length === k &&
        means.length === k * this.#size.cols &&
        means.every(Number.isFinite) &&
        weights.every((weight) => weight >= 0 && weight <= 1) &&
        variances.every((variance) => variance > 0 && variance < Number.POSITIVE_INFINITY))
    if (!whole || !fits) {
      throw new CentroidalError(
        'bad-data',
        'The state of the search for the number of clusters in the model to resume is damaged: create the model again.',
      )
    }
    this.#search.restore(search, best)
  }
}

function replaceComponents(state: RunState, { means, weights, variances }: HostMixture): void {
  replaceCenters(state, means)
  state.mixture = { weights: weights.slice(), variances: variances.slice() }
}

interface Merged {
  readonly merged: HostMixture
  /** New numbers; NO_LABEL of those that were taken in. */
  readonly renamed: Uint32Array
  /** New numbers; of those that were taken in, that of the other one of the pair. */
  readonly heirs: Uint32Array
}

/** The second of each pair becomes part of the first. */
export function mergePairs(mixture: HostMixture, pairs: readonly Pair[], unit: boolean): Merged {
  const k = mixture.weights.length
  const cols = mixture.means.length / k
  const weights = mixture.weights.slice()
  const variances = mixture.variances.slice()
  const means = mixture.means.slice()
  joinComponents(
    { weights, variances },
    means,
    pairs.map(({ i, j }) => [j, i] as const),
    unit,
  )
  const into = new Uint32Array(k).fill(NO_LABEL)
  for (const { i, j } of pairs) into[j] = i
  const kept = Uint32Array.from(into.keys()).filter((component) => into[component] === NO_LABEL)
  const renamed = new Uint32Array(k).fill(NO_LABEL)
  kept.forEach((component, name) => {
    renamed[component] = name
  })
  const left = new Float32Array(kept.length * cols)
  kept.forEach((component, name) => {
    left.set(means.subarray(component * cols, (component + 1) * cols), name * cols)
  })
  return {
    merged: {
      means: left,
      weights: Float64Array.from(kept, (component) => weights[component]),
      variances: Float64Array.from(kept, (component) => variances[component]),
    },
    renamed,
    heirs: renamed.map((name, component) => (name === NO_LABEL ? renamed[into[component]] : name)),
  }
}

async function labelNearest({ team }: RunState): Promise<void> {
  await team.shareCenters()
  await Promise.all([team.ask('nearest', {}), team.everywhere(assignNearest)])
}

/** Every point of a device takes the nearest centre. */
export async function assignNearest(state: RunState): Promise<void> {
  const { device, points, parts, centers, assignWorkspace: workspace } = state
  for (const part of parts) {
    const vectors = await points.vectors(part)
    const { labels, distances } = part
    await assign(device, { points: vectors, centers, labels, distances, workspace })
  }
}

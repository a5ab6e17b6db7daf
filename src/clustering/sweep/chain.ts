/** Clusterings of the same points with more and more clusters, each begun from the one before. */
import { createRandom } from '../../core/random.ts'
import type { Device } from '../../device/contract.ts'
import { scatterSums } from '../../metrics/scatter-sums.ts'
import type { ClusterModel } from '../model.ts'
import type { PointStore } from '../points.ts'
import { METHODS } from '../presets.ts'
import type { RunOptions } from '../read-model.ts'
import { type Attempt, runOnce } from '../run-once.ts'
import type { Mixture } from '../run-state.ts'
import { extendClusters } from './extension.ts'
import { scoredSource } from './scored-source.ts'

/** Random numbers for the splits, apart from those of the clusterings. */
const STREAM = 0x5feeb
/**
 * A clustering that begins from another one has most centres in their places already: it ends after a few rounds, or when
 * a round lowers the distortion by less than this share.
 */
const FOLLOWING = { iterations: 6, tolerance: 1e-3 } as const
/** A mixture that begins from hard clusters has little to learn besides the widths. */
const MIXTURE_ROUNDS = 20
/** The least variance a mixture begins with, against the mean variance within clusters. */
const LEAST_VARIANCE = 0.01

/** What to run with one number of clusters. */
export interface ChainRun {
  readonly run: RunOptions
  /** For mixtures: the hard clustering that the chain is made of, and each mixture begins from. Otherwise undefined. */
  readonly hard: RunOptions | undefined
}

export interface ChainControl {
  readonly signal: AbortSignal | undefined
  /** Rounds done, of how many at most. */
  readonly onRound: (done: number, most: number) => void
}

export class Chain {
  readonly #device: Device
  readonly #points: PointStore
  readonly #seed: number
  #last: ClusterModel | undefined

  constructor(device: Device, points: PointStore, seed: number) {
    this.#device = device
    this.#points = points
    this.#seed = seed
  }

  /** The clustering with more clusters than the one before. Undefined if it was stopped. */
  async next({ run, hard }: ChainRun, control: ChainControl): Promise<ClusterModel | undefined> {
    const linked = await this.#link(hard ?? run, control)
    if (linked === undefined || hard === undefined) return linked
    const { labels } = linked
    const mixture = await this.#mixtureOf(labels, control.signal)
    return this.#run({ ...run, iterations: MIXTURE_ROUNDS }, { start: { labels }, mixture }, control)
  }

  /** One clustering of the chain. */
  async #link(run: RunOptions, control: ChainControl): Promise<ClusterModel | undefined> {
    const labels = await this.#startLabels(run, control.signal)
    const model = labels
      ? await this.#run({ ...run, ...FOLLOWING }, { start: { labels } }, control)
      : await this.#run(run, {}, control)
    if (model) this.#last = model
    return model
  }

  async #run(
    resolved: RunOptions,
    begin: Pick<Attempt, 'start' | 'mixture'>,
    { signal, onRound }: ChainControl,
  ): Promise<ClusterModel | undefined> {
    const run = { ...resolved, seed: this.#seed }
    const attempt: Attempt = { restart: 0, from: undefined, best: undefined, ...begin }
    const steps = runOnce(this.#device, this.#points, run, signal ? { signal } : {}, attempt, performance.now())
    for (;;) {
      const step = await steps.next()
      if (signal?.aborted) {
        await steps.return(undefined)
        return undefined
      }
      if (step.done) return step.value
      onRound(step.value.iteration, run.iterations)
    }
  }

  /** Undefined where the method begins by itself: at first, and where a tree of its own is what makes the clusters. */
  async #startLabels({ k, method }: RunOptions, signal: AbortSignal | undefined): Promise<Uint32Array | undefined> {
    const last = this.#last
    if (last === undefined || METHODS[method].keepsTree) return undefined
    const random = createRandom(this.#seed).fork(STREAM + k)
    const { unit } = this.#points.frame
    const before = { labels: last.labels, centers: last.state.centers }
    return extendClusters(this.#device, this.#points, before, { k, random, unit, signal })
  }

  /** Weights and variances, in the frame, of the clusters that the labels name; none of them is empty. */
  async #mixtureOf(labels: Uint32Array, signal: AbortSignal | undefined): Promise<Mixture | undefined> {
    const { rows, cols, frame } = this.#points
    const { sizes, squares, clusters } = await scatterSums(scoredSource(this.#points), labels, { signal })
    const k = this.#last?.facts.k ?? 0
    if (sizes.length < k) return undefined
    const mean = squares.reduce((sum, value) => sum + value, 0) / (rows * cols)
    if (!(mean > 0)) return undefined
    const weights = new Float64Array(k)
    const variances = new Float64Array(k)
    // Sums are numbered in the order in which labels appear.
    clusters.forEach((cluster, row) => {
      const variance = Math.max(LEAST_VARIANCE * mean, squares[cluster] / (sizes[cluster] * cols))
      weights[labels[row]] = sizes[cluster] / rows
      variances[labels[row]] = variance * frame.scale ** 2
    })
    return { weights, variances }
  }
}

/** Clusterings of the same points with more and more clusters, each begun from the one before. */
import { stream } from '../../core/streams.ts'
import type { Device } from '../../device/contract.ts'
import { scatterSums } from '../../metrics/scatter-sums.ts'
import type { Mixture } from '../../models/mixture.ts'
import type { ClusterModel } from '../../models/model.ts'
import { isIdentity } from '../../vectors/frame.ts'
import type { PointStore } from '../../vectors/points.ts'
import { METHODS, type MethodName } from '../presets.ts'
import type { RunOptions } from '../read-model.ts'
import { type Attempt, runOnce } from '../run-once.ts'
import type { TreeUse } from '../run-state.ts'
import { BRIEF, type Clustering, type Extension, type ExtensionEffort, extendClusters, THOROUGH } from './extension.ts'
import type { Sample } from './samples.ts'
import { scoredSource } from './scored-source.ts'
import { nearestLabels, spreadLabels } from './spread.ts'

/** A clustering that begins from another one has most centres in their places already: it ends after a few rounds. */
const MOST_ROUNDS = 12
/**
 * It also ends when a round lowers the distortion by less than this share. Where a round costs the same whatever k, all
 * steps cost as much as the largest, and many steps must be shorter; a round of moves leaves less to do than one of means.
 */
const TOLERANCE = 1.5e-3
const TOLERANCES: Partial<Record<MethodName, number>> = { closures: 3e-3, 'closures-sharp': 4e-3 }
const MANY_STEPS = 12
/** Few points are cheap, and so are more rounds. */
const TOLERANCE_OF_FEW = 1e-3
/** Swaps of clusters of a sample that lower the squares by less than this share: relocating those of all points gains little. */
const SMALL_GAIN = 1e-3
/**
 * Up to so many clusters, all but the last round are those of a sample, which has at least 160 points for each of them. Then
 * all points look at all centres, which is cheap.
 */
const FEW = 100
/** Rounds of all points that follow: one of moves leaves less to do than one of means. */
const ADAPTING_ROUNDS = 2
const ADAPTING_ROUNDS_OF_MOVES = 1
/**
 * Rounds of all points, in all steps before the last together: about as many as one clustering takes by itself. A round of
 * moves does more than one of means, and even more when it visits more trees.
 */
const ALL_ROUNDS = 24
const ALL_ROUNDS_OF_MOVES = 12
const LEAST_ROUNDS = 2
const VISITS_OF_MOVES = 4
/** Trees that a chain begins with: for clusterings of all points, and for those of a sample. */
const TREES = 5
const TREES_OF_SAMPLE = 3
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

/** What a run begins with. */
type Begin = Pick<Attempt, 'start' | 'mixture'>

export class Chain {
  readonly #device: Device
  readonly #all: PointStore
  readonly #steps: number
  readonly #largest: number
  readonly #seed: number
  /** The points that the last clustering is one of, and trees over them. */
  #points: PointStore | undefined
  #treeUse: TreeUse = { grown: 0, rounds: 0 }
  #last: Clustering | undefined
  /** The sample that the last clustering came from, and trees over it. */
  #sample: PointStore | undefined
  #sampleTrees: TreeUse = { grown: 0, rounds: 0 }

  /** `all` are the points of the sweep, `counts` the numbers of clusters, rising. */
  constructor(device: Device, all: PointStore, counts: readonly number[], seed: number) {
    this.#steps = counts.length
    this.#largest = counts[counts.length - 1]
    this.#device = device
    this.#all = all
    this.#seed = seed
  }

  /**
   * A clustering of the points with more clusters than the one before, which may be one of other points. Undefined if it
   * was stopped.
   */
  async next(
    { run, hard }: ChainRun,
    points: PointStore,
    sample: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    if (points !== this.#points) await this.#enter(points, control.signal)
    const linked = await this.#link(hard ?? run, points, sample, control)
    if (linked === undefined || hard === undefined) return linked
    const { labels } = linked
    const mixture = await this.#mixtureOf(points, labels, control.signal)
    return this.#run({ ...run, iterations: MIXTURE_ROUNDS }, points, { start: { labels }, mixture }, control)
  }

  /** Trees over other points are of no use here, and labels are those of the nearest centres. */
  async #enter(points: PointStore, signal: AbortSignal | undefined): Promise<void> {
    this.#treeUse = { grown: points === this.#all ? TREES : TREES_OF_SAMPLE, rounds: 0 }
    this.#points = points
    if (this.#last === undefined) return
    const { centers } = this.#last
    this.#last = { labels: await nearestLabels(this.#device, points, centers, signal), centers }
  }

  /** One clustering of the chain. */
  async #link(
    run: RunOptions,
    points: PointStore,
    sample: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    const model = await this.#clustered({ ...run, treeUse: this.#treeUse }, points, sample, control)
    if (model) this.#last = { labels: model.labels, centers: model.state.centers }
    return model
  }

  async #clustered(
    run: RunOptions,
    points: PointStore,
    sample: Sample,
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    const last = this.#last
    // A tree of its own is what makes the clusters of some methods: those begin by themselves.
    if (METHODS[run.method].keepsTree) return this.#run(run, points, {}, control)
    const { rows } = sample
    const helped = rows !== undefined && sample.helps
    if (last === undefined && (!helped || run.k > FEW)) {
      // A run by itself ends when it has seen all trees, those of a chain as soon as they gain little.
      this.#treeUse = { grown: 0, rounds: 0 }
      return this.#run({ ...run, treeUse: this.#treeUse }, points, {}, control)
    }
    if (helped && run.k <= FEW) return this.#adapted(run, points, { ...sample, rows }, control)
    const known = last as Clustering
    const among = helped ? sample.points : points
    const before = helped ? within(known, rows) : known
    const effort = helped || points !== this.#all ? BRIEF : THOROUGH
    const extended = await this.#extended(run, among, before, effort, control)
    const labels = helped
      ? await spreadLabels(this.#device, points, known.labels, rows, extended, control.signal)
      : extended.labels
    // All points, and not enough of them for samples: time hardly counts.
    const few = points === this.#all && !helped
    const rules = {
      iterations: MOST_ROUNDS,
      tolerance: few ? TOLERANCE_OF_FEW : this.#tolerance(run.method),
      relocate: run.relocate && (few || (helped && extended.swapGain >= SMALL_GAIN)),
      ...(helped && run.k < this.#largest ? this.#shortened(run) : {}),
    }
    return this.#run({ ...run, ...rules }, points, { start: { labels } }, control)
  }

  /** Rules of a clustering that the next one corrects. */
  #shortened({ method, settings }: RunOptions): Pick<RunOptions, 'iterations' | 'settings'> {
    if (method !== 'closures-sharp') {
      return { iterations: Math.max(LEAST_ROUNDS, Math.floor(ALL_ROUNDS / this.#steps)), settings }
    }
    const visits = Math.max(settings.visits as number, VISITS_OF_MOVES)
    return {
      iterations: Math.max(1, Math.floor(ALL_ROUNDS_OF_MOVES / this.#steps)),
      settings: { ...settings, visits },
    }
  }

  /** The clusters of a sample, with every point given to the nearest. */
  async #adapted(
    run: RunOptions,
    points: PointStore,
    sample: Sample & { readonly rows: Uint32Array },
    control: ChainControl,
  ): Promise<ClusterModel | undefined> {
    if (this.#sample !== sample.points) {
      this.#sample = sample.points
      this.#sampleTrees = { grown: TREES_OF_SAMPLE, rounds: 0 }
    }
    let first: ClusterModel | undefined
    if (this.#last === undefined) {
      first = await this.#run({ ...run, tolerance: TOLERANCE_OF_FEW, treeUse: undefined }, sample.points, {}, control)
    } else {
      const extended = await this.#extended(run, sample.points, within(this.#last, sample.rows), BRIEF, control)
      const rules = {
        iterations: MOST_ROUNDS,
        tolerance: TOLERANCE_OF_FEW,
        relocate: run.relocate && extended.swapGain >= SMALL_GAIN,
        treeUse: this.#sampleTrees,
      }
      first = await this.#run({ ...run, ...rules }, sample.points, { start: { labels: extended.labels } }, control)
    }
    const start = first && { centers: first.state.centers }
    const iterations = run.method === 'closures-sharp' ? ADAPTING_ROUNDS_OF_MOVES : ADAPTING_ROUNDS
    return start && this.#run({ ...run, iterations, relocate: false }, points, { start }, control)
  }

  #extended(
    run: RunOptions,
    points: PointStore,
    before: Clustering,
    effort: ExtensionEffort,
    { signal }: ChainControl,
  ): Promise<Extension> {
    const random = stream(this.#seed, 'extension', run.k)
    const { unit } = points.frame
    return extendClusters(this.#device, points, before, { k: run.k, random, unit, effort, signal })
  }

  #tolerance(method: MethodName): number {
    const wide = (TOLERANCES[method] ?? TOLERANCE) * Math.min(1, this.#steps / MANY_STEPS)
    return Math.max(TOLERANCE_OF_FEW, wide)
  }

  async #run(
    resolved: RunOptions,
    points: PointStore,
    begin: Begin,
    { signal, onRound }: ChainControl,
  ): Promise<ClusterModel | undefined> {
    // Rounding is a matter of units, and points of a sample have none.
    const rounding = isIdentity(points.frame) ? { roundingError: 0 } : {}
    const run = { ...resolved, ...rounding, seed: this.#seed }
    const attempt: Attempt = { restart: 0, from: undefined, best: undefined, ...begin }
    const steps = runOnce(points, run, signal ? { signal } : {}, attempt, performance.now())
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

  /** Weights and variances, in the frame, of the clusters that the labels name; none of them is empty. */
  async #mixtureOf(
    points: PointStore,
    labels: Uint32Array,
    signal: AbortSignal | undefined,
  ): Promise<Mixture | undefined> {
    const { rows, cols, frame } = points
    const { sizes, squares, clusters } = await scatterSums(scoredSource(points), labels, { signal })
    const k = (this.#last?.centers.length ?? 0) / cols
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

/** The clustering of the points with the given numbers. */
function within({ labels, centers }: Clustering, rows: Uint32Array): Clustering {
  return { labels: Uint32Array.from(rows, (row) => labels[row]), centers }
}
